# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The receipt on the account: the resources that hpc-onboard created or changed, and hashes of their states.

So an audit can tell who changed something, and offboarding removes only what was created. The receipt is a resource: it
goes through the same loop, under the same lock, and is written only if it differs. A resource is noted before it is
created (its state is "intended"), so that a killed run leaves nothing without a note. The folders that were
created for a resource are noted with it ("for"); they are removed after it, when they are empty.

A receipt that is damaged or of another version is left as it is, and nothing is created or removed: nothing else tells
the resources of hpc-onboard from those of the user. docs/formats.md describes it.
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
from .notes import (
    DONE,
    INTENDED,
    SCHEMA,
    Document,
    folder_key,
    folder_notes,
    merge_changes,
    parse_marks,
    parse_notes,
    to_state,
)

PLACE = ".config/hpc.onboard/receipt.json"
ABOVE = "~/" + os.path.dirname(os.path.dirname(PLACE))  # the folder above the receipt's own: removed with the receipt
FOLDERS = (ABOVE, "~/" + os.path.dirname(PLACE))
OWN = {os.path.basename(name) for one in (PLACE, os.path.dirname(PLACE)) for name in (one, draft_path(one))}
IDENTITY = "receipt ~/" + PLACE
EMPTY = {"resources": {}, "keys": {}}  # type: Document
NOW_WHAT = "restore it from a backup, or move it away (mv -n ~/%s ~/receipt.json.damaged); then run again" % PLACE

EACH = ""  # in a form: every value, whatever its name
HASHES = {EACH: str}
OF_NOTE = {
    **dict.fromkeys(("kind", "capability", "identity", "for", "secret"), str),
    **{"state": (INTENDED, DONE), "made": bool, "options": {EACH: object}, "clusters": [str]},
    **{"hashes": HASHES, "found": HASHES, "keyed": {EACH: HASHES}, "former": [HASHES]},
    **{"was": {EACH: str}, "replaced": bool},
}  # type: Document
OF_MARK = {"sequence": int, "rotation": str, "machine": str, "controller": str, "when": str}  # type: Document
OPTIONAL = ("secret", "found", "former", "controller", "was", "replaced")
LARGEST = 1024 * 1024  # bytes; an answer holds the whole receipt in up to 3.5 times as many, and may have 4 MiB
LEVELS = 20  # of nesting; a receipt has six
MOST_DIGITS = 20  # of a number; old Pythons take minutes for a million of them


class Receipt(Resource):
    """The notes of an account as a resource. Without news it only reads them."""

    KIND = "receipt"

    def __init__(
        self,
        news: Mapping[str, Optional[Document]],
        cluster: str = "",
        rotations: Optional[Mapping[str, Document]] = None,
        decided_by: Optional[State] = None,
        things: Optional[Mapping[str, Resource]] = None,
    ) -> None:
        """Take the changes of a run (see merge_changes).

        decided_by: the receipt by which this run decided to remove notes. things: the resources, by the keys of their
        notes. A note that differs from decided_by stays: a run on another login node is about to create its resource.
        So does the note of a resource that is there again.
        """
        self._news, self._cluster, self._rotations = news, cluster, rotations or {}
        self._decided_by, self._things = decided_by, things or {}
        super().__init__({})

    def name(self) -> str:
        return IDENTITY

    def bound(self, host: Host) -> "Receipt":
        return self

    def touches(self, host: Host) -> List[str]:
        return [os.path.join(host.home, PLACE)]

    def desired(self, host: Host) -> State:
        """Return the notes after the run; none if nothing is left to note, so that the folder and all marks go too."""
        found = self.inspect(host)
        document = merge_changes(found, self._news_to_keep(found, host), self._cluster, self._rotations)
        is_marked = document["keys"] != parse_marks(found) or not self._news
        if set(document["resources"]) <= {folder_key(ABOVE)} and not (document["keys"] and is_marked):
            return {}
        return to_state(document)

    def _news_to_keep(self, found: State, host: Host) -> Mapping[str, Optional[Document]]:
        """Return the news without those that would remove a note of another run."""
        before = self._decided_by
        if before is None:
            return self._news
        return {
            key: new
            for key, new in self._news.items()
            if new or (found.get(key) == before.get(key) and not (new is None and self._may_exist(key, host)))
        }

    def _may_exist(self, key: str, host: Host) -> bool:
        """Return True if a removed resource is there again, or cannot be inspected."""
        try:
            return key in self._things and bool(self._things[key].bound(host).inspect(host))
        except (AccountError, OSError):
            return True

    def inspect(self, host: Host) -> State:
        found = to_state(self._read(host))
        host.receipt_notes = parse_notes(found) or host.receipt_copy
        if found:
            return found
        key, above = folder_key(ABOVE), host.expand(ABOVE)
        # an earlier run may have removed the receipt and failed to remove the folder above it, which it had created
        is_left = key in host.receipt_copy and host.resolved_kind(above) == "folder" and not host.names(above)
        return to_state({"resources": {key: host.receipt_copy[key]}, "keys": {}}) if is_left else {}

    def _read(self, host: Host) -> Document:
        """Return the receipt on the disk. Raises AccountError if it cannot be used, with what to do."""
        (path,) = self.touches(host)
        found, folder = host.entry(path), os.path.dirname(path)
        if found is None:
            above = host.entry(folder)
            problem = host.why_blocked(folder)
            if not problem and above and above.kind == "folder" and above.is_foreign:
                problem = "%s belongs to another user; move it away, then run again" % host.shown(folder)
            if problem:
                raise AccountError(problem)
            return EMPTY
        if found.kind != "file" or not found.mine or found.links != 1:
            text = "%s is not a regular file that you own with a single hard link; move it away, then run again"
            raise AccountError(text % host.shown(path))
        content = host.read(path)
        if len(content) > LARGEST:
            text = "%s is larger than 1 MiB, so hpc-onboard did not write it; %s"
            raise AccountError(text % (host.shown(path), NOW_WHAT))
        try:
            return parse_receipt(content.decode("utf-8"))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            text = "%s (what hpc-onboard created on this account) is damaged; %s"
            raise AccountError(text % (host.shown(path), NOW_WHAT)) from None

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        return None  # inspect raises

    def apply(self, host: Host) -> None:
        (path,), state = self.touches(host), self.desired(host)
        old = host.read(path) if host.entry(path) else None
        if state:
            missing = _missing_folders(host, os.path.dirname(path))
            above = [ABOVE] if host.expand(ABOVE) in missing else []
            notes = dict(parse_notes(state), **folder_notes(self.KIND, self.KIND, above, True))
            document = {"schema": SCHEMA, "resources": notes, "keys": parse_marks(state)}
            content = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode("utf-8")
            if len(content) > LARGEST:
                raise AccountError("the record in %s would exceed 1 MiB; declare fewer resources" % host.shown(path))
            _write_receipt(host, missing, path, old, content)
        elif old is not None:
            _remove_receipt(host, path, [host.expand(ABOVE)] if folder_key(ABOVE) in host.receipt_notes else [])
        else:
            host.remove(host.expand(ABOVE))


def parse_receipt(text: str) -> Document:
    """Return the document in a receipt's text, if all of it has the form that hpc-onboard writes: it may be forged.

    Raises AccountError for another version; ValueError, TypeError, KeyError, AttributeError or RecursionError for a
    damaged one.
    """
    document: Document = json.loads(text, parse_int=_parse_number)
    why = refusal(document["schema"], SCHEMA, "the receipt on this account", NOW_WHAT)
    if why:
        raise AccountError(why)
    forms = [(note, OF_NOTE) for note in document["resources"].values()]
    forms += [(mark, OF_MARK) for mark in document["keys"].values()]
    if not _is_plain(document, LEVELS) or not all(_has_form(value, form) for value, form in forms):
        raise ValueError
    return document


def check_notes(notes: Any) -> Mapping[str, Document]:
    """Return the notes of the sender's copy. Raises AccountError if they do not have the form of notes."""
    try:
        if _is_plain(notes, LEVELS) and all(_has_form(note, OF_NOTE) for note in notes.values()):
            return dict(notes)
    except (KeyError, TypeError, AttributeError):
        pass
    raise AccountError("this machine's copy of the receipt, sent with the plan, is damaged")


def _parse_number(digits: str) -> int:
    """Return an integer of JSON. Raise ValueError if it has too many digits to parse quickly."""
    if len(digits) > MOST_DIGITS:
        raise ValueError
    return int(digits)


def _is_plain(value: Any, levels: int) -> bool:
    """Return True if a value can be part of an answer: it has few levels, and no number is infinite or NaN."""
    if isinstance(value, (dict, list)):
        below = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_plain(one, levels - 1) for one in below)
    return not isinstance(value, float) or abs(value) < float("inf")


def _has_form(value: Any, form: Any) -> bool:
    """Return True if a value matches OF_NOTE, OF_MARK or a part of them. Raises KeyError if it lacks a field."""
    if isinstance(form, list):
        return isinstance(value, list) and all(_has_form(one, form[0]) for one in value)
    if isinstance(form, tuple):
        return value in form
    if not isinstance(form, dict):
        return isinstance(value, form)
    if EACH in form:
        return isinstance(value, dict) and all(_has_form(one, form[EACH]) for one in value.values())
    return all(_has_form(value[name], one) for name, one in form.items() if name in value or name not in OPTIONAL)


def _missing_folders(host: Host, folder: str) -> List[str]:
    """Return the folders to create for one, the topmost first."""
    found: List[str] = []
    while host.resolved_kind(folder) == "nothing":
        found.insert(0, folder)
        folder = os.path.dirname(folder)
    return found


def _write_receipt(host: Host, folders: List[str], path: str, old: Optional[bytes], content: bytes) -> None:
    """Write the receipt and the folders that it lacks in one step: without it, nothing shows who created them."""
    if not folders:
        host.write(path, old, content, 0o600)
        return
    top = folders[0]
    empty_draft(host, draft_path(top))

    def fill(draft: str) -> None:
        _write_receipt(host, [draft + one[len(top) :] for one in folders[1:]], draft + path[len(top) :], old, content)

    try:
        host.make_folder(top, 0o755, fill)
    except AccountError:
        empty_draft(host, draft_path(top))
        raise


def _remove_receipt(host: Host, path: str, above: List[str]) -> None:
    """Remove the receipt, kept engines, their folder and the one above it if that was created, if they hold no more."""
    folder = os.path.dirname(path)
    for engine in find_engines(host):
        host.remove(engine)
    if host.names(folder) != [os.path.basename(path)]:
        host.remove(path)
        return
    only = [one for one in above if host.names(one) == [os.path.basename(folder)]]
    host.empty_and_remove((only or [folder])[0], lambda draft: _remove_own_names(host, draft))


def _remove_own_names(host: Host, folder: str) -> None:
    """Remove from a folder what has a name that the receipt uses."""
    for name in host.names(folder):
        path = os.path.join(folder, name)
        found = host.entry(path)
        if name in OWN and found and found.kind == "folder":
            _remove_own_names(host, path)
        if name in OWN and not host.names(path):
            host.remove(path)


def empty_draft(host: Host, folder: str) -> None:
    """Remove the draft of a receipt's folder that a killed run left."""
    found = host.entry(folder)
    if found and found.kind == "folder" and found.mine:
        _remove_own_names(host, folder)
        if not host.names(folder):
            host.remove(folder)


def to_answer(outcome: Mapping[str, Any]) -> Document:
    """Return the receipt's part of an answer: notes, marks, and the problem if nothing could be noted."""
    if outcome["status"] not in ("ok",) + CHANGES:
        return {"notes": {}, "keys": {}, "problem": outcome["reason"]}
    notes = {key: text for key, text in outcome["after"].items() if key in parse_notes(outcome["after"])}
    return {"notes": notes, "keys": parse_marks(outcome["after"]), "problem": None}


def blocked_outcome(outcome: Mapping[str, Any]) -> Document:
    """Return the outcome of a resource that would be changed, if nothing can be noted."""
    return dict(outcome, status="blocked", reason="waits for: " + IDENTITY)
