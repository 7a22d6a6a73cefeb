# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that a declared resource breaks: a default for all resource types, and more precise ones for some.

An outcome compares the fields of a resource's actual state ("before") and desired state ("after"). The field "is"
exists only if something else is in place of the resource: "file", "folder" and so on. The account's receipt has a note
for each resource that hpc-onboard created. A new type is one line in RULES_BY_TYPE, with its rules' ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...module_utils._core.resource import hash_fields
from ...module_utils._core.values import note_key

if TYPE_CHECKING:
    from .._documents.answer import Notes
    from .._documents.declaration import PlanEntry, ResourceEntry
    from .._documents.finding import Cause, Class
    from .._documents.outcome import ResourceOutcome, Severity

REPEATED = ("lines", "entries", "keys")  # fields that report several entries for one machine
LINK = "points to"  # the field of a link that names what it points to


class RuleBreak(NamedTuple):
    """One rule that one resource breaks.

    text: one or more sentences. fields: those of the state that break the rule; all that differ if empty. severity,
    cause: empty for the usual ones. place: a path, often with a line. about: the file or folder, if the finding is not
    about the resource alone. auto_fix: a fix that loses no data. case: the key of the advice in the rule's cases.
    """

    rule: str
    found_class: Class
    text: str
    fields: tuple[str, ...] = ()
    severity: Severity | Literal[""] = ""
    place: str = ""
    cause: Cause | Literal[""] = ""
    about: str = ""
    auto_fix: ResourceEntry | None = None
    case: str = ""


class AccountContext(NamedTuple):
    """The facts about an account that the rules need in addition to the outcomes.

    notes: its receipt. key_id: id of the key with which the account's fingerprints are made. replaced_keys: fingerprint
    of a replaced key -> name of the secret. purged: paths or variables ($SCRATCH) of the storage that the site purges.
    """

    notes: Notes
    key_id: str
    replaced_keys: Mapping[str, str]
    purged: tuple[str, ...]


def end_sentence(text: str) -> str:
    """Return the text with a full stop, unless it ends with a punctuation mark."""
    return text if text[-1:] in (".", "?", "!") else text + "."


def read_reason(outcome: ResourceOutcome) -> str:
    """Return the reason that the account reports, as a sentence; empty without a reason."""
    return end_sentence(str(outcome["reason"])) if outcome["reason"] else ""


def _is_purged(entry: PlanEntry, context: AccountContext) -> bool:
    """Return True if the resource, or the target of the link, is in storage that the site purges."""
    paths = [str(entry["options"].get(name, "")) for name in ("path", "target")]
    return any(path == area or path.startswith(area + "/") for path in paths for area in context.purged)


class ResourceRules:
    """The default: one rule for a missing resource, and one for a resource that differs."""

    def __init__(self, missing: str, different: str) -> None:
        self.missing, self.different = missing, different

    def find_breaks(self, entry: PlanEntry, outcome: ResourceOutcome, context: AccountContext) -> list[RuleBreak]:
        """Return the broken rule: missing if nothing exists, else different. Its text is the account's reason."""
        if not outcome["before"]:
            return [self._make_missing_break(entry, outcome, context)]
        return self._find_differences(outcome, context)

    def _make_missing_break(self, entry: PlanEntry, outcome: ResourceOutcome, context: AccountContext) -> RuleBreak:
        """Return the break for a resource that does not exist; "broken" if the account reports a reason."""
        if reason := read_reason(outcome):
            return RuleBreak(self.missing, "broken", reason)
        return RuleBreak(self.missing, "missing", f"{outcome['identity']} does not exist.")

    def _find_differences(self, outcome: ResourceOutcome, context: AccountContext) -> list[RuleBreak]:
        """Return the breaks of a resource that exists; subclasses override this for their resource type."""
        text = read_reason(outcome) or f"{outcome['identity']} differs in {' and '.join(outcome['fields'])}."
        return [RuleBreak(self.different, "changed", text)]


class NoRules(ResourceRules):
    """No rules, for a resource type that leaves nothing on the account: an emptied cache, a query of Slurm."""

    def find_breaks(self, entry: PlanEntry, outcome: ResourceOutcome, context: AccountContext) -> list[RuleBreak]:
        return []


class FolderRules(ResourceRules):
    """A missing folder has the cause "site" if only the site can create it, and "time" if it was purged."""

    def _make_missing_break(self, entry: PlanEntry, outcome: ResourceOutcome, context: AccountContext) -> RuleBreak:
        rule_break = super()._make_missing_break(entry, outcome, context)
        if outcome["reason"]:  # given only if the site must create the folder
            return rule_break._replace(cause="site")
        return rule_break._replace(cause="time" if _is_purged(entry, context) else "")

    def _find_differences(self, outcome: ResourceOutcome, context: AccountContext) -> list[RuleBreak]:
        actual = outcome["before"].get("is", "thing")
        text = read_reason(outcome) or f"{outcome['identity']} is a {actual}, not a folder."
        return [RuleBreak(self.different, "changed", text)]


class ShellRules(ResourceRules):
    """Shell settings: each file is a field. Some can be missing while others differ."""

    def find_breaks(self, entry: PlanEntry, outcome: ResourceOutcome, context: AccountContext) -> list[RuleBreak]:
        if reason := read_reason(outcome):  # a file was changed by hand, or cannot be edited
            return [RuleBreak(self.different, "changed", reason)]
        breaks, name = [], outcome["identity"]
        missing = tuple(field for field in outcome["fields"] if field not in outcome["before"])
        changed = tuple(field for field in outcome["fields"] if field in outcome["before"])
        if missing:
            text = f"{name} is missing in {', '.join(missing)}."
            cause = self._find_cause(entry, outcome, context)
            breaks.append(RuleBreak(self.missing, "missing", text, fields=missing, cause=cause))
        if changed:
            breaks.append(RuleBreak(self.different, "changed", f"{name} differs in {', '.join(changed)}.", changed))
        return breaks

    def _find_cause(self, entry: PlanEntry, outcome: ResourceOutcome, context: AccountContext) -> Cause | Literal[""]:
        """Return "hand" if the note lacks a field: the user has created that start-up file since the note; else ""."""
        note = context.notes.get(note_key(entry["kind"], outcome["identity"]))
        lacks_field = note is not None and any(field not in note["hashes"] for field in outcome["fields"])
        return "hand" if lacks_field and outcome["before"] else ""


class ImageRules(ResourceRules):
    """An image is different if its tag has moved. Another file in its place counts as a missing image."""

    def _find_differences(self, outcome: ResourceOutcome, context: AccountContext) -> list[RuleBreak]:
        reason, name = read_reason(outcome), outcome["identity"]
        if "is" in outcome["before"]:
            return [RuleBreak(self.missing, "broken", reason or f"{name} is not a container image.", fields=("is",))]
        text = reason or f"The tag of {name} now points to a different image, or old versions of the image still exist."
        return [RuleBreak(self.different, "changed", text)]


class PythonRules(ResourceRules):
    """A Python environment is a link to a folder. A link to another target counts as a missing environment."""

    def _find_differences(self, outcome: ResourceOutcome, context: AccountContext) -> list[RuleBreak]:
        before, fields = outcome["before"], tuple(outcome["fields"])
        reason, name = read_reason(outcome), outcome["identity"]
        if "is" in before or LINK in fields:
            text = reason or f"{name} points to {before.get(LINK, 'something else')}."
            return [RuleBreak(self.missing, "broken", text, fields=("is",) if "is" in before else (LINK,))]
        text = reason or f"{name} was created with different settings ({', '.join(fields)})."
        return [RuleBreak(self.different, "changed", text)]


class CondaRules(ResourceRules):
    """conda, its settings and its environments are fields of one resource, with a rule for each."""

    def _find_differences(self, outcome: ResourceOutcome, context: AccountContext) -> list[RuleBreak]:
        before, reason = outcome["before"], read_reason(outcome)
        if "is" in before:
            text = reason or f"{outcome['identity']} is not a conda installation ({before['is']})."
            return [RuleBreak(self.missing, "broken", text, fields=("is",))]
        breaks = [self._rate_field(field, outcome) for field in outcome["fields"]]
        return breaks or ([RuleBreak(self.missing, "broken", reason)] if reason else [])  # no field, but a problem

    def _rate_field(self, field: str, outcome: ResourceOutcome) -> RuleBreak:
        """Return the rule that one field of the installation breaks."""
        name = outcome["identity"]
        if field.startswith("environment ") and field not in outcome["before"]:
            return RuleBreak(self.missing, "missing", f"The {field} does not exist.", (field,))
        if field.startswith("environment "):
            return RuleBreak(self.different, "changed", f"The {field} was created from a different file.", (field,))
        if field == "conda":
            text = f"The version of {name} differs from the declared version."
            return RuleBreak(self.different, "changed", text, (field,))
        return RuleBreak("PKG-003", "changed", f"The settings of {name} ({field}) were changed.", (field,))


class LinkRules(ResourceRules):
    """A link can be missing, have another target, have no usable target, or be replaced by a file or folder."""

    def find_breaks(self, entry: PlanEntry, outcome: ResourceOutcome, context: AccountContext) -> list[RuleBreak]:
        before, after, name = outcome["before"], outcome["after"], outcome["identity"]
        if "is" in before:  # not a link
            text = read_reason(outcome) or f"{name} is a {before['is']}."
            return [RuleBreak("LNK-004", "changed", text, fields=("is",))]
        if "target" in before and before["target"] != after.get("target"):
            return [self._break_by_target(entry, outcome, context)]
        if before or outcome["reason"]:  # the target is unusable; without "before", the link is missing, too
            text = read_reason(outcome) or f"The target of {name} is a {before.get(LINK, 'thing')}."
            cause: Cause = "time" if _is_purged(entry, context) else "site"
            return [RuleBreak("LNK-003" if before else self.missing, "broken", text, cause=cause)]
        return [self._make_missing_break(entry, outcome, context)]

    def _break_by_target(self, entry: PlanEntry, outcome: ResourceOutcome, context: AccountContext) -> RuleBreak:
        """Return the break of a link with another target, with the cause "site" if the site has moved the target."""
        text = f"{outcome['identity']} points to {outcome['before']['target']}."
        if not self._was_moved_by_site(entry, outcome, context):
            return RuleBreak(self.different, "changed", text, ("target",))
        variable = str(entry["options"]["target"]).partition("/")[0]
        new_target = outcome["after"].get("target")
        text += f" The site has changed {variable} to {new_target}. Copy your data before you update the link."
        return RuleBreak(self.different, "changed", text, ("target",), cause="site")

    def _was_moved_by_site(self, entry: PlanEntry, outcome: ResourceOutcome, context: AccountContext) -> bool:
        """Return True if the link has its recorded target, and the site has changed the variable of the target."""
        target = entry["options"].get("target", "")
        note = context.notes.get(note_key(entry["kind"], outcome["identity"]))
        if note is None or not target.startswith("$") or note["options"].get("target") != target:
            return False
        return hash_fields({"target": outcome["before"]["target"]})["target"] == note["hashes"].get("target")


class KeyRules(ResourceRules):
    """A key in a file: its value, its form, and the access of other users to the file and its folder."""

    def find_breaks(self, entry: PlanEntry, outcome: ResourceOutcome, context: AccountContext) -> list[RuleBreak]:
        before, reason, name = outcome["before"], read_reason(outcome), outcome["identity"]
        open_folder = outcome["evidence"].get("open_folder")  # the path of a folder that is open to other users
        if open_folder and reason and not outcome["fields"]:  # the file itself is as desired
            fix: ResourceEntry = {"kind": "access_fix", "options": {"path": open_folder, "way": "folder"}}
            about = f"folder {open_folder}"
            return [RuleBreak("SEC-002", "changed", reason, cause="hand", about=about, place=open_folder, auto_fix=fix)]
        if not before and not reason:
            return [RuleBreak(self.missing, "missing", f"{name} is missing from the file that the program reads.")]
        if not before or "is" in before:  # the file cannot be read, or something else is in its place
            text = reason or f"A {before['is']} exists in place of {name}."
            return [RuleBreak("KEY-004", "broken", text, fields=("is",) if before else ())]
        file = str(entry["options"].get("path") or name)
        breaks = [self._rate_field(field, before.get(field, ""), name, file, context) for field in outcome["fields"]]
        return breaks or ([RuleBreak("KEY-004", "broken", reason)] if reason else [])  # no field, but a problem

    def _rate_field(self, field: str, actual: str, name: str, file: str, context: AccountContext) -> RuleBreak:
        """Return the break of one field. actual: its value, empty if missing. name: of the resource. file: its path."""
        if field == "password" and actual in context.replaced_keys:
            text = f"{name} contains an old key of '{context.replaced_keys[actual]}', which was replaced."
            return RuleBreak(self.different, "stale", text, (field,))
        if field == "password":
            text = f"{name} contains a key that differs from the current key."
            return RuleBreak(self.different, "changed", text, (field,))
        if field == "mode" and "access list" in actual:
            text = f"An access list gives other users access to file {file}."
            return RuleBreak("SEC-003", "changed", text, (field,), about=f"file {file}")
        if field == "mode":
            return _make_mode_break("SEC-001", field, actual, f"file {file}")
        if field == "folder mode" and not actual.isdigit():
            return RuleBreak("KEY-004", "broken", f"The folder of {name} is not a regular folder ({actual}).", (field,))
        if field == "folder mode":
            return _make_mode_break("SEC-002", field, actual, f"folder {file.rpartition('/')[0]}")
        if field in REPEATED:
            text = f"{name} has {actual} {field}, but programs use only one of them."
            return RuleBreak("KEY-003", "changed", text, (field,))
        if field.endswith(".BAK"):
            text = f"The program that uses {name} keeps a copy in {field}, but the copy contains a different key."
            return RuleBreak("SEC-006", "changed", text, (field,))
        text = f"The program that uses {name} cannot read the key: the {field} is {actual or 'missing'}."
        return RuleBreak("KEY-004", "changed", text, (field,))


def _make_mode_break(rule: str, field: str, mode: str, about: str) -> RuleBreak:
    """Return the break of a rule by the mode of a file or folder (about). field: the mode's field in the state."""
    if mode.isdigit() and not int(mode, 8) & 0o077:  # without access, the severity is low
        text = f"The mode of {about} is {mode}, which gives other users no access."
        return RuleBreak(rule, "changed", text, (field,), severity="low", about=about)
    text = f"The mode of {about} is {mode}: other users may read or change it."
    return RuleBreak(rule, "changed", text, (field,), about=about)


RULES_BY_TYPE: dict[str, ResourceRules] = {
    "conda_install": CondaRules("PKG-005", "PKG-004"),
    "container_image": ImageRules("IMG-001", "IMG-002"),
    "directory": FolderRules("DIR-001", "DIR-002"),
    "own_file": ResourceRules("OWN-001", "OWN-002"),
    "path_script": ResourceRules("SCR-001", "SCR-002"),
    "python_env": PythonRules("PKG-006", "PKG-007"),
    "shell_environment": ShellRules("ENV-006", "ENV-002"),
    "storage_link": LinkRules("LNK-001", "LNK-002"),
    **dict.fromkeys(("emptied_cache", "scheduler"), NoRules(missing="", different="")),
    **dict.fromkeys(
        ("enroot_credential", "netrc_entry", "ngc_config", "registry_auth", "token_file"),
        KeyRules("KEY-001", "KEY-002"),
    ),
}
