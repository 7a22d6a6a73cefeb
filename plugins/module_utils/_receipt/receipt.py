# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The receipt on the account: a note for each resource that hpc-onboard created or changed, with hashes of its states.

So an audit can find out who changed something, and offboarding removes only what hpc-onboard created. For each key, the
receipt also has a mark of the key's last rotation (replacement). The receipt itself is a resource: it is examined and
reconciled like others, under the same lock. A resource is noted before it is created (its state is "intended"), so that
a killed run leaves no resource without a note. Folders created for a resource are noted, too ("for"). Without a usable
receipt, nothing is created or removed: only the receipt shows what hpc-onboard created. Format: docs/formats.md
"""

import json
import os
from typing import Any, List, Mapping, Optional

from .._core.document_version import refusal
from .._core.errors import AccountError
from .._core.files import draft_path
from .._core.host import Host
from .._core.resource import CHANGES, Resource, State
from .engine_files import find_engines
from .notes import SCHEMA, STATES, Document, folder_key, folder_notes, merge_changes, parse_marks, parse_notes, to_state

PLACE = ".config/hpc.onboard/receipt.json"  # path of the receipt below the home
CONFIG_FOLDER = "~/.config"  # the folder above the receipt's folder; may be created for the receipt
FOLDERS = (CONFIG_FOLDER, "~/" + os.path.dirname(PLACE))
OWN_NAMES = {os.path.basename(name) for path in (PLACE, os.path.dirname(PLACE)) for name in (path, draft_path(path))}
IDENTITY = "receipt ~/" + PLACE
EMPTY = {"resources": {}, "keys": {}}  # type: Document
ADVICE = "restore it from a backup or rename it (mv -n ~/%s ~/receipt.json.damaged), then run again" % PLACE

# a form is a type, [the form of each item], (the permitted values) or {a field's name: its form}
EACH = ""  # in a form: all names of a mapping
HASHES = {EACH: str}
NOTE_FORM = {
    **dict.fromkeys(("kind", "capability", "identity", "for", "secret"), str),
    **{"state": STATES, "made": bool, "replaced": bool, "options": {EACH: object}, "clusters": [str]},
    **{"hashes": HASHES, "found": HASHES, "keyed": {EACH: HASHES}, "former": [HASHES], "was": {EACH: str}},
}  # type: Document
MARK_FORM = {"sequence": int, "rotation": str, "machine": str, "controller": str, "when": str}  # type: Document
OPTIONAL = ("secret", "found", "former", "controller", "was", "replaced")
LARGEST = 1024 * 1024  # bytes; in an answer, which may have 4 MiB, the receipt takes up to 3.5 times as many
LEVELS = 20  # of nesting; a receipt has six
MOST_DIGITS = 20  # of a number; old Pythons take minutes to parse a million digits


class Receipt(Resource):
    """The receipt as a resource; without changes, only read. Methods without a docstring are those of Resource."""

    KIND = "receipt"

    def __init__(
        self,
        changes: Mapping[str, Optional[Document]],
        cluster: str = "",
        rotations: Optional[Mapping[str, Document]] = None,
        decided_by: Optional[State] = None,
        resources: Optional[Mapping[str, Resource]] = None,
    ) -> None:
        """Store the changes of a run: new notes by key, with None for a removed resource.

        cluster: of the account. rotations: what the user's machine knows about each key (see merge_changes).
        decided_by: the state of the receipt when this run decided which notes to remove. A note that has changed since
        is not removed, because another run is about to create its resource. resources: the resources by the keys of
        their notes. The note of a resource that still exists is not removed.
        """
        self._changes, self._cluster, self._rotations = changes, cluster, rotations or {}
        self._decided_by, self._resources = decided_by, resources or {}
        super().__init__(options={})

    def name(self) -> str:
        return IDENTITY

    def bound(self, host: Host) -> "Receipt":
        return self  # no option has a path that must be expanded

    def touches(self, host: Host) -> List[str]:
        return [os.path.join(host.home, PLACE)]

    def desired(self, host: Host) -> State:
        """Return the notes and marks after the run; {}, which removes the receipt, if no resource is left to note."""
        found = self.inspect(host)
        document = merge_changes(found, self._safe_changes(found, host), self._cluster, self._rotations)
        has_resource = not set(document["resources"]) <= {folder_key(CONFIG_FOLDER)}  # besides the receipt's folder
        # marks alone keep the receipt if this run changes them, or changes no notes
        keeps_marks = document["keys"] != parse_marks(found) or not self._changes
        if not has_resource and not (document["keys"] and keeps_marks):
            return {}
        return to_state(document)

    def _safe_changes(self, found: State, host: Host) -> Mapping[str, Optional[Document]]:
        """Return the changes, but do not remove notes of another run or of existing resources. found: the receipt."""
        if self._decided_by is None:  # the receipt is only examined
            return self._changes
        changes = {}
        for key, note in self._changes.items():
            is_of_other_run = found.get(key) != self._decided_by.get(key)
            is_of_existing = note is None and self._may_exist(key, host)
            if note or not (is_of_other_run or is_of_existing):
                changes[key] = note
        return changes

    def _may_exist(self, key: str, host: Host) -> bool:
        """Return True if a resource that was removed exists again, or cannot be inspected. key: the key of its note."""
        try:
            return key in self._resources and bool(self._resources[key].bound(host).inspect(host))
        except (AccountError, OSError):
            return True

    def inspect(self, host: Host) -> State:
        """Return the notes and marks in the receipt, and store the notes in host.receipt_notes for other resources."""
        found = to_state(self._read(host))
        host.receipt_notes = parse_notes(found) or host.receipt_copy
        if found:
            return found
        key, above = folder_key(CONFIG_FOLDER), host.expand(CONFIG_FOLDER)
        # an earlier run may have removed the receipt, but not the folder above it, which hpc-onboard had created
        is_left = key in host.receipt_copy and host.resolved_kind(above) == "folder" and not host.names(above)
        return to_state({"resources": {key: host.receipt_copy[key]}, "keys": {}}) if is_left else {}

    def _read(self, host: Host) -> Document:
        """Return the document in the receipt's file; EMPTY without a file. Raise AccountError if it cannot be used."""
        (path,) = self.touches(host)
        found, folder = host.entry(path), os.path.dirname(path)
        if found is None:  # check that the receipt could be created
            folder_entry = host.entry(folder)
            problem = host.why_blocked(folder)
            if not problem and folder_entry and folder_entry.kind == "folder" and folder_entry.is_foreign:
                problem = "%s belongs to another user; rename or move it, then run again" % host.shown(folder)
            if problem:
                raise AccountError(problem)
            return EMPTY
        if found.kind != "file" or not found.mine or found.links != 1:
            text = "%s is not a regular file that you own with a single hard link; rename or move it, then run again"
            raise AccountError(text % host.shown(path))
        content = host.read(path)
        if len(content) > LARGEST:
            text = "%s is larger than 1 MiB, so hpc-onboard did not write it; %s"
            raise AccountError(text % (host.shown(path), ADVICE))
        try:
            return parse_receipt(content.decode("utf-8"))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            text = "%s, the record of what hpc-onboard created on this account, is damaged; %s"
            raise AccountError(text % (host.shown(path), ADVICE)) from None

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        return None  # inspect raises an error instead

    def apply(self, host: Host) -> None:
        """Write or remove the receipt. If an earlier run has removed the receipt, remove the folder above it."""
        (path,), state = self.touches(host), self.desired(host)
        old = host.read(path) if host.entry(path) else None
        if state:
            missing = _missing_folders(host, os.path.dirname(path))
            created = [CONFIG_FOLDER] if host.expand(CONFIG_FOLDER) in missing else []
            notes_of_created = folder_notes(made_for=self.KIND, capability=self.KIND, folders=created, done=True)
            notes = dict(parse_notes(state), **notes_of_created)
            document = {"schema": SCHEMA, "resources": notes, "keys": parse_marks(state)}
            content = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode("utf-8")
            if len(content) > LARGEST:
                raise AccountError("the record in %s would exceed 1 MiB; declare fewer resources" % host.shown(path))
            _write_receipt(host, missing, path, old, content)
        elif old is not None:
            is_created = folder_key(CONFIG_FOLDER) in host.receipt_notes
            _remove_receipt(host, path, above=host.expand(CONFIG_FOLDER) if is_created else None)
        else:  # only the folder that an earlier run left
            host.remove(host.expand(CONFIG_FOLDER))


def parse_receipt(text: str) -> Document:
    """Return the document in a receipt's text. Each part is checked, because other programs can change the receipt.

    Raise AccountError for another version; ValueError, TypeError, KeyError, AttributeError or RecursionError for a
    damaged receipt.
    """
    document: Document = json.loads(text, parse_int=_parse_number)
    why = refusal(document["schema"], SCHEMA, "the receipt on this account", ADVICE)
    if why:
        raise AccountError(why)
    forms = [(note, NOTE_FORM) for note in document["resources"].values()]
    forms += [(mark, MARK_FORM) for mark in document["keys"].values()]
    if not _is_sendable(document, LEVELS) or not all(_matches_form(value, form) for value, form in forms):
        raise ValueError
    return document


def check_notes(notes: Any) -> Mapping[str, Document]:
    """Return the notes of the sender's copy of the receipt. Raise AccountError if they are damaged."""
    try:
        if _is_sendable(notes, LEVELS) and all(_matches_form(note, NOTE_FORM) for note in notes.values()):
            return dict(notes)
    except (KeyError, TypeError, AttributeError):
        pass
    raise AccountError("this machine's copy of the receipt, sent with the plan, is damaged")


def _parse_number(digits: str) -> int:
    """Return the integer in a JSON text. Raise ValueError if the number has too many digits to parse quickly."""
    if len(digits) > MOST_DIGITS:
        raise ValueError
    return int(digits)


def _is_sendable(value: Any, levels: int) -> bool:
    """Return True if a value can be part of an answer: few levels of nesting, and no infinite number or NaN."""
    if isinstance(value, (dict, list)):
        members = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_sendable(member, levels - 1) for member in members)
    return not isinstance(value, float) or abs(value) < float("inf")


def _matches_form(value: Any, form: Any) -> bool:
    """Return True if a value has this form (see NOTE_FORM). Raise KeyError if the value lacks a required field."""
    if isinstance(form, list):
        return isinstance(value, list) and all(_matches_form(item, form[0]) for item in value)
    if isinstance(form, tuple):  # the permitted values
        return value in form
    if not isinstance(form, dict):  # a type
        return isinstance(value, form)
    if EACH in form:  # any names; other forms list the names, of which those in OPTIONAL may be missing
        return isinstance(value, dict) and all(_matches_form(item, form[EACH]) for item in value.values())
    return all(_matches_form(value[name], form[name]) for name in form if name in value or name not in OPTIONAL)


def _missing_folders(host: Host, folder: str) -> List[str]:
    """Return those of a folder and the folders above it that do not exist, the topmost first."""
    missing: List[str] = []
    while host.resolved_kind(folder) == "nothing":
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def _write_receipt(host: Host, folders: List[str], path: str, old: Optional[bytes], content: bytes) -> None:
    """Write the receipt and its missing folders (topmost first) in one step, so that no folder is without a note."""
    if not folders:
        host.write(path, old, content, 0o600)
        return
    top = folders[0]
    empty_draft(host, draft_path(top))

    def fill(draft: str) -> None:
        """Write the other folders and the receipt into the draft of the topmost folder."""
        below = [draft + folder[len(top) :] for folder in folders[1:]]
        _write_receipt(host, below, draft + path[len(top) :], old, content)

    try:
        host.make_folder(top, 0o755, fill)
    except AccountError:
        empty_draft(host, draft_path(top))
        raise


def _remove_receipt(host: Host, path: str, above: Optional[str]) -> None:
    """Remove the kept engines and the receipt, with their folder and the folder above if these are then empty.

    above: the path of the folder above; None if that folder must stay, because hpc-onboard did not create it.
    """
    folder = os.path.dirname(path)
    for engine in find_engines(host):
        host.remove(engine)
    if host.names(folder) != [os.path.basename(path)]:  # the folder has other content
        host.remove(path)
        return
    top = above if above and host.names(above) == [os.path.basename(folder)] else folder
    host.empty_and_remove(top, lambda draft: _remove_own_names(host, draft))


def _remove_own_names(host: Host, folder: str) -> None:
    """Remove the receipt, its folder and their drafts from a folder, by their names; other content stays."""
    for name in sorted(OWN_NAMES.intersection(host.names(folder))):
        path = os.path.join(folder, name)
        found = host.entry(path)
        if found and found.kind == "folder":
            _remove_own_names(host, path)
        if not host.names(path):  # a file, or a folder that is empty now
            host.remove(path)


def empty_draft(host: Host, draft: str) -> None:
    """Remove the draft of a receipt's folder that a killed run has left; the draft stays if it has other content."""
    found = host.entry(draft)
    if found and found.kind == "folder" and found.mine:
        _remove_own_names(host, draft)
        if not host.names(draft):
            host.remove(draft)


def to_answer(outcome: Mapping[str, Any]) -> Document:
    """Return an answer's part about the receipt from its outcome: notes (as JSON), marks ("keys"), problem or None."""
    if outcome["status"] not in ("ok",) + CHANGES:
        return {"notes": {}, "keys": {}, "problem": outcome["reason"]}
    note_keys = parse_notes(outcome["after"])
    notes = {key: text for key, text in outcome["after"].items() if key in note_keys}
    return {"notes": notes, "keys": parse_marks(outcome["after"]), "problem": None}


def blocked_outcome(outcome: Mapping[str, Any]) -> Document:
    """Return a resource's outcome, but blocked by the receipt: a change that cannot be noted is not made."""
    return dict(outcome, status="blocked", reason="waits for: " + IDENTITY)
