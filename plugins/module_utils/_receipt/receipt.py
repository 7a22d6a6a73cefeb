# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The receipt on the account: a note for each resource that hpc-onboard created or changed, with hashes of its states.

So an audit can find out who changed something, and offboarding removes only what hpc-onboard created. For each key, the
receipt also has a mark of the key's last rotation (replacement). The receipt itself is a resource: it is examined and
reconciled like others, under the same lock. A resource is noted before it is created (its state is "intended"), so that
a killed run leaves no resource without a note. Folders created for a resource are noted, too ("for"). Without a usable
receipt, nothing is created or removed: only the receipt shows what hpc-onboard created. Format: docs/formats.md

A Host reads and changes the files of the account.
"""

import json
import os
from typing import Any, List, Mapping, Optional

from .._core.document_version import refusal
from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import FAILURES, WAITS_FOR, Resource, State
from .notes import (
    SCHEMA,
    STATES,
    Document,
    folder_key,
    make_folder_notes,
    merge_changes,
    parse_marks,
    parse_notes,
    to_state,
)
from .receipt_file import PLACE, check_folder, contains_only, list_missing_folders, remove_receipt, write_receipt

CONFIG_FOLDER = "~/.config"  # the folder above the receipt's folder; may be created for the receipt
FOLDERS = (CONFIG_FOLDER, "~/" + os.path.dirname(PLACE))
IDENTITY = "receipt ~/" + PLACE
EMPTY = {"resources": {}, "keys": {}}  # type: Document
ADVICE = "restore a backup or rename the file (mv -n ~/%s ~/receipt.json.damaged), then run hpc-onboard again" % PLACE
FOREIGN_FILE = "%s is not a regular file that you own with a single hard link; rename it, then run hpc-onboard again"

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
    """The receipt as a resource; without changes, only read. It has no obstacle, because inspect raises an error."""

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

    def touches(self, host: Host) -> List[str]:
        """Return a list with the path of the receipt's file."""
        return [os.path.join(host.home, PLACE)]

    def desired(self, host: Host) -> State:
        """Return the notes and marks after the run; {}, which removes the receipt, if no resource is left to note."""
        found = self.inspect(host)
        document = merge_changes(found, self._select_safe_changes(found, host), self._cluster, self._rotations)
        has_resource = not set(document["resources"]) <= {folder_key(CONFIG_FOLDER)}  # besides the receipt's folder
        # marks alone keep the receipt if this run changes them, or changes no notes
        keeps_marks = document["keys"] != parse_marks(found) or not self._changes
        if not has_resource and not (document["keys"] and keeps_marks):
            return {}
        return to_state(document)

    def _select_safe_changes(self, found: State, host: Host) -> Mapping[str, Optional[Document]]:
        """Return the changes, but do not remove notes of another run or of existing resources. found: the receipt."""
        if self._decided_by is None:  # the receipt is only examined
            return self._changes
        safe_changes = {}
        for key, note in self._changes.items():
            is_of_other_run = found.get(key) != self._decided_by.get(key)
            is_of_existing = note is None and self._may_exist(key, host)
            if note or not (is_of_other_run or is_of_existing):  # a new note removes nothing
                safe_changes[key] = note
        return safe_changes

    def _may_exist(self, key: str, host: Host) -> bool:
        """Return True if a resource that was removed exists again, or cannot be inspected. key: the key of its note."""
        try:
            return key in self._resources and bool(self._resources[key].with_expanded_paths(host).inspect(host))
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
        is_left = key in host.receipt_copy and contains_only(host, above, names=[])
        return to_state({"resources": {key: host.receipt_copy[key]}, "keys": {}}) if is_left else {}

    def _read(self, host: Host) -> Document:
        """Return the document in the receipt's file; EMPTY without a file. Raise AccountError if it cannot be used."""
        (path,) = self.touches(host)
        found = host.entry(path)
        if found is None:
            check_folder(host, os.path.dirname(path))
            return EMPTY
        if found.kind != "file" or not found.mine or found.links != 1:
            raise AccountError(FOREIGN_FILE % host.shown(path))
        content = host.read(path)
        if len(content) > LARGEST:
            text = "%s is larger than 1 MiB, so hpc-onboard did not write it; %s"
            raise AccountError(text % (host.shown(path), ADVICE))
        try:
            return parse_receipt(content.decode("utf-8"))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            text = "%s, the record of what hpc-onboard created on this account, is damaged; %s"
            raise AccountError(text % (host.shown(path), ADVICE)) from None

    def apply(self, host: Host) -> None:
        """Write or remove the receipt. If an earlier run has removed the receipt, remove the folder above it."""
        (path,), state = self.touches(host), self.desired(host)
        old = host.read(path) if host.entry(path) else None
        if state:
            missing = list_missing_folders(host, os.path.dirname(path))
            created = [CONFIG_FOLDER] if host.expand(CONFIG_FOLDER) in missing else []
            notes_of_created = make_folder_notes(made_for=self.KIND, capability=self.KIND, folders=created, done=True)
            notes = {**parse_notes(state), **notes_of_created}
            document = {"schema": SCHEMA, "resources": notes, "keys": parse_marks(state)}
            content = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode("utf-8")
            if len(content) > LARGEST:
                raise AccountError("the record in %s would exceed 1 MiB; declare fewer resources" % host.shown(path))
            write_receipt(host, missing, path, old, content)
        elif old is not None:  # no resource is left
            is_created = folder_key(CONFIG_FOLDER) in host.receipt_notes
            remove_receipt(host, path, above=host.expand(CONFIG_FOLDER) if is_created else None)
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
    raise AccountError(
        "your machine's copy of this account's receipt (in the folder receipts of the state folder) is damaged. Rename"
        " or move the copy, then run: hpc-onboard audit"
    )


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


def to_answer(outcome: Mapping[str, Any]) -> Document:
    """Return an answer's part about the receipt from its outcome: notes (as JSON), marks ("keys"), problem or None."""
    if outcome["status"] in FAILURES:
        return {"notes": {}, "keys": {}, "problem": outcome["reason"]}
    note_keys = parse_notes(outcome["after"])
    notes = {key: text for key, text in outcome["after"].items() if key in note_keys}
    return {"notes": notes, "keys": parse_marks(outcome["after"]), "problem": None}


def make_blocked_outcome(outcome: Mapping[str, Any]) -> Document:
    """Return a resource's outcome, but blocked by the receipt: a change that cannot be noted is not made."""
    return dict(outcome, status="blocked", reason=WAITS_FOR + IDENTITY)
