# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what was found on an account to findings: pure functions from data to data.

An outcome says that something differs. Here it is said which rule that breaks, what kind of difference it is, how
bad, who moved, and what mends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.hpc.onboard.plugins.module_utils._receipt.notes import DONE, hashes, is_keyed
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.finding_text import (
    Text,
    bare,
    ended,
    it,
    its,
    reason_of,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules import RULES, SEVERITIES, WATCHED

Outcome = Mapping[str, Any]
Finding = dict[str, Any]


class Wrong(NamedTuple):
    """One thing that is wrong with one resource.

    fields: which of its fields; severity: where it is not the rule's; about: what it is about, where that is not the
    resource alone (several entries share a file).
    """

    rule: str
    what: str
    text: Text
    fields: tuple[str, ...] = ()
    severity: str = ""
    place: str = ""
    cause: str = ""
    about: str = ""


class Look(NamedTuple):
    """What one account was looked at with, beside the outcomes.

    notes: its receipt; fingerprints: which key the fingerprints here are made with; old: fingerprints of keys that
    were replaced, and of which secret; purged: paths (or the variables that they begin with) that the site purges.
    """

    notes: Mapping[str, Mapping[str, Any]]
    fingerprints: str
    old: Mapping[str, str]
    purged: tuple[str, ...]


def of_resource(entry: Mapping[str, Any], key: str, outcome: Outcome, look: Look) -> list[Finding]:
    """The findings of one declared resource. key: what it is noted under in a receipt."""
    if outcome["status"] == "in_place":
        return []
    wrongs = _unmeasured(outcome) or JUDGES[entry["kind"]](entry, outcome, look)
    note = look.notes.get(key)
    return [_finding(entry, outcome, wrong, wrong.cause or _cause(outcome, wrong, note, look)) for wrong in wrongs]


def of_watch(entry: Mapping[str, Any], outcome: Outcome) -> list[Finding]:
    """The findings of a watch: each field names a rule and a place."""
    found = [Wrong("RUN-001", "not_measured", bare(text), cause="unknown") for text in outcome["remarks"]]
    found += _unmeasured(outcome)
    for field, said in outcome["before"].items():
        text = ended(said[:1].upper() + said[1:])
        rule, _blank, place = field.partition(" ")
        what, cause = WATCHED.get(rule, ("unmanaged", "unknown"))
        if rule in RULES:
            severity = _worse(rule, outcome["evidence"].get("severities", {}).get(field, ""))
            found.append(Wrong(rule, what, bare(text), (field,), severity, place, cause))
        else:
            found.append(
                Wrong("RUN-001", "not_measured", bare("the account names a rule that there is not"), cause="unknown")
            )
    return [_finding(entry, outcome, wrong, wrong.cause or "unknown") for wrong in found]


def _worse(rule: str, seen: str) -> str:
    """How bad a finding is that is worse on the account than its rule; no account makes one milder."""
    usual = RULES[rule].severity
    return min(usual, seen, key=SEVERITIES.index) if seen in SEVERITIES else usual


def of_orphan(entry: Mapping[str, Any], outcome: Outcome) -> list[Finding]:
    """The finding of a thing that was made here and is not declared any more."""
    if not outcome["before"] or outcome["status"] == "in_place":
        return []
    wrong = Wrong("ORP-001", "orphan", it("was made here, and the accounts file does not ask for it any more."))
    return [_finding(entry, outcome, wrong, "spec")]


def _finding(entry: Mapping[str, Any], outcome: Outcome, wrong: Wrong, cause: str) -> Finding:
    fields = wrong.fields or tuple(outcome["fields"])
    return {
        "rule": wrong.rule,
        "capability": outcome["capability"],
        "resource": wrong.about or outcome["identity"],
        "place": wrong.place,
        "class": wrong.what,
        "cause": cause,
        "severity": wrong.severity or RULES[wrong.rule].severity,
        "text": wrong.text.of(wrong.about or outcome["identity"], outcome["reason"]),
        "desired": _short(outcome["after"], fields),
        "actual": _short(outcome["before"], fields),
        "blocked": outcome["status"] == "blocked",
        "in_the_way": str(entry["options"].get("path", "")) if outcome["evidence"].get("theirs") else "",
    }


def same(finding: Finding) -> tuple[str, ...]:
    """Equal for findings that say the same of the same thing: several entries of one file, say."""
    return tuple(finding[name] for name in ("rule", "capability", "resource", "place", "text"))


def _short(state: Mapping[str, str], fields: Iterable[str]) -> dict[str, str]:
    """The fields of a state, each cut to what a person reads."""
    return {
        field: state[field] if len(state[field]) <= 300 else state[field][:300] + "…"
        for field in fields
        if field in state
    }


def _unmeasured(outcome: Outcome) -> list[Wrong]:
    """What could not be looked at, or not for want of its key."""
    if outcome["status"] not in ("failed", "not_measured") and not (
        outcome["status"] == "blocked" and not outcome["fields"]
    ):
        return []
    return [Wrong("RUN-001", "not_measured", Text("", str(outcome["reason"]), True), cause="unknown")]


def _cause(outcome: Outcome, wrong: Wrong, note: Mapping[str, Any] | None, look: Look) -> str:
    """Who moved since we wrote it: what is there, or what is wanted; by hashes, field by field."""
    if note is None:  # where others are noted, it was wished for since
        return "spec" if look.notes and not outcome["before"] else "unknown"
    if note["state"] != DONE:
        return "unknown"
    noted = {**note["hashes"], **note["keyed"].get(look.fingerprints, {})}  # of keys: what we noted ourselves
    others = {field for side in (outcome["before"], outcome["after"]) for field in side if is_keyed(side[field])}
    fields = [field for field in wrong.fields or outcome["fields"] if field in noted or field not in others]
    there, wanted = hashes(outcome["before"]), hashes(outcome["after"])
    if any(there.get(field) != noted.get(field) for field in fields):
        return "hand"
    return "spec" if any(wanted.get(field) != noted.get(field) for field in fields) else "unknown"


# -- kinds -------------------------------------------------------------------------------------


def _key(entry: Mapping[str, Any], outcome: Outcome, look: Look) -> list[Wrong]:
    """A key in a file."""
    before = outcome["before"]
    if not before:
        return [
            _in_the_way("KEY-004", outcome)
            or Wrong("KEY-001", "missing", it("is not in the file that its reader reads."))
        ]
    if "is" in before:
        return [Wrong("KEY-004", "broken", reason_of(outcome) or bare(f"There is a {before['is']}."), ("is",))]
    file = str(entry["options"].get("path") or outcome["identity"])
    wrongs = [_key_field(field, before.get(field, ""), file, look) for field in outcome["fields"]]
    return wrongs or [one for one in [_in_the_way("KEY-004", outcome)] if one]


SEVERAL = ("lines", "entries", "keys")  # of which a file should have one for each machine


def _key_field(field: str, found: str, file: str, look: Look) -> Wrong:
    if field == "password":
        if found in look.old:
            return Wrong("KEY-002", "stale", it(f"has the key of '{look.old[found]}' that was replaced."), (field,))
        return Wrong("KEY-002", "changed", it("has another key than the current one."), (field,))
    if field == "mode" and "access list" in found:
        text = bare("An access list lets others at the file.")
        return Wrong("SEC-003", "changed", text, (field,), about=f"file {file}")
    if field == "mode":
        return _mode("SEC-001", field, found, f"file {file}")
    if field == "folder mode" and not found.isdigit():
        return Wrong("KEY-004", "broken", its("folder", f"has no mode ({found})."), (field,))
    if field == "folder mode":
        return _mode("SEC-002", field, found, f"folder {file.rpartition('/')[0]}")
    if field in SEVERAL:
        return Wrong("KEY-003", "changed", it(f"has {found} {field}; one of them counts."), (field,))
    if field.endswith(".BAK"):
        return Wrong(
            "SEC-006", "changed", it(f"has another key in the copy that its program keeps ({field})."), (field,)
        )
    return Wrong(
        "KEY-004", "changed", it(f"is not written as its reader finds it ({field}: {found or 'missing'})."), (field,)
    )


def _mode(rule: str, field: str, found: str, about: str) -> Wrong:
    """A mode that is not as it should be; one that keeps more from others is no danger."""
    if found.isdigit() and not int(found, 8) & 0o077:
        return Wrong(
            rule, "changed", its("mode", f"is {found}, which others gain nothing by."), (field,), "low", about=about
        )
    text = its("mode", f"is {found}: others may look at it or change it.")
    return Wrong(rule, "changed", text, (field,), about=about)


def _link(entry: Mapping[str, Any], outcome: Outcome, look: Look) -> list[Wrong]:
    before, after = outcome["before"], outcome["after"]
    if "is" in before:
        return [Wrong("LNK-004", "changed", reason_of(outcome) or it(f"is a {before['is']}."), ("is",))]
    if before.get("target", after.get("target")) != after.get("target"):
        return [Wrong("LNK-002", "changed", it(f"leads to {before['target']}."), ("target",))]
    if before or outcome["reason"]:
        text = reason_of(outcome) or bare(f"What it leads to is a {before.get('leads to', 'thing')}.")
        cause = "time" if _is_purged(entry, look) else "site"
        return [Wrong("LNK-003" if before else "LNK-001", "broken", text, cause=cause)]
    return [Wrong("LNK-001", "missing", it("is not there."))]


def _folder(entry: Mapping[str, Any], outcome: Outcome, look: Look) -> list[Wrong]:
    if outcome["before"]:
        return [Wrong("DIR-002", "changed", it(f"is a {outcome['before'].get('is', 'thing')}, no folder."))]
    reason = reason_of(outcome)
    if reason:
        return [Wrong("DIR-001", "broken", reason, cause="site")]
    return [Wrong("DIR-001", "missing", it("is not there."), cause="time" if _is_purged(entry, look) else "")]


def _environment(_entry: Mapping[str, Any], outcome: Outcome, _look: Look) -> list[Wrong]:
    reason = reason_of(outcome)
    if reason:
        return [Wrong("ENV-002", "changed", reason)]
    missing = tuple(field for field in outcome["fields"] if field not in outcome["before"])
    changed = tuple(field for field in outcome["fields"] if field in outcome["before"])
    wrongs = [Wrong("ENV-006", "missing", it(f"is missing in {', '.join(missing)}."), missing)] if missing else []
    return wrongs + ([Wrong("ENV-002", "changed", it(f"differs in {', '.join(changed)}."), changed)] if changed else [])


def _script(_entry: Mapping[str, Any], outcome: Outcome, _look: Look) -> list[Wrong]:
    if not outcome["before"]:
        return [_in_the_way("SCR-001", outcome) or Wrong("SCR-001", "missing", it("is not there."))]
    reason = reason_of(outcome)
    if reason:
        return [Wrong("SCR-002", "changed", reason)]
    return [Wrong("SCR-002", "changed", it(f"differs in {' and '.join(outcome['fields'])}."))]


def _conda(_entry: Mapping[str, Any], outcome: Outcome, _look: Look) -> list[Wrong]:
    before = outcome["before"]
    if not before:
        return [_in_the_way("PKG-005", outcome) or Wrong("PKG-005", "missing", it("is not there."))]
    if "is" in before:
        return [Wrong("PKG-005", "broken", reason_of(outcome) or it(f"is {before['is']}."), ("is",))]
    return [_conda_field(field, before) for field in outcome["fields"]]


def _conda_field(field: str, before: Mapping[str, str]) -> Wrong:
    if field.startswith("environment "):
        if field not in before:
            return Wrong("PKG-005", "missing", bare(f"The {field} is not there."), (field,))
        return Wrong("PKG-004", "changed", bare(f"The {field} is as another file says."), (field,))
    if field == "conda":
        return Wrong("PKG-004", "changed", it("is another version than wanted."), (field,))
    return Wrong("PKG-003", "changed", its("settings", f"({field}) are others than ours."), (field,))


def _in_the_way(rule: str, outcome: Outcome) -> Wrong | None:
    reason = reason_of(outcome)
    return Wrong(rule, "broken", reason) if reason else None


def _is_purged(entry: Mapping[str, Any], look: Look) -> bool:
    """Whether a resource lies on storage that the site purges."""
    paths = [str(entry["options"].get(name, "")) for name in ("path", "target")]
    return any(path == area or path.startswith(area + "/") for path in paths for area in look.purged)


Judge = Callable[[Mapping[str, Any], Outcome, Look], list[Wrong]]
JUDGES: dict[str, Judge] = {
    "enroot_credential": _key,
    "registry_auth": _key,
    "netrc_entry": _key,
    "ngc_config": _key,
    "token_file": _key,
    "storage_link": _link,
    "directory": _folder,
    "shell_environment": _environment,
    "path_script": _script,
    "conda_install": _conda,
}
