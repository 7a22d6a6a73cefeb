# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What we last wrote on the account, noted there: which things, made by us or found, and how they were, as hashes.

So an audit can say who moved, and what we made can be taken out again. It is kept like any other resource: by the
same loop, under the same lock, and written only when it differs. A thing is noted before it is made (its state is
"intended"), for a run that is killed in between must not leave anything that nobody owns up to. The folders that were
made for a thing to lie in are noted with it ("for"); they go after it, when they are empty.

A receipt that cannot be read, or that a newer version wrote, is left as it is, and nothing is made beside it: what it
says is all that tells our things from the account's own. docs/formats.md describes it.
"""

import json
import os
from typing import Any, List, Mapping, Optional

from .._core.document_version import LATER, compare, refusal
from .._core.errors import AccountError
from .._core.files import draft_path
from .._core.host import Host
from .._core.resource import CHANGES, Outcome, Resource, State
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
    upgraded,
)

PLACE = ".config/hpc.onboard/receipt.json"
ABOVE = "~/" + os.path.dirname(os.path.dirname(PLACE))  # the folder above our own: it goes with the notes themselves
FOLDERS = (ABOVE, "~/" + os.path.dirname(PLACE))
OWN = {os.path.basename(name) for one in (PLACE, os.path.dirname(PLACE)) for name in (one, draft_path(one))}
IDENTITY = "receipt ~/" + PLACE
EMPTY = {"resources": {}, "keys": {}}  # type: Document
NOW_WHAT = "restore it from a backup, or move it away (mv -n ~/%s ~/receipt.json.damaged); then run again" % PLACE

EACH = ""  # in a form: whatever a value is called
HASHES = {EACH: str}
OF_NOTE = {
    **dict.fromkeys(("kind", "capability", "identity", "for", "secret"), str),
    **{"state": (INTENDED, DONE), "made": bool, "options": {EACH: object}, "clusters": [str]},
    **{"hashes": HASHES, "found": HASHES, "keyed": {EACH: HASHES}, "former": [HASHES]},
    **{"was": {EACH: str}, "replaced": bool},
}  # type: Document
OF_MARK = {"sequence": int, "rotation": str, "machine": str, "controller": str, "when": str}  # type: Document
MAY_LACK = ("secret", "found", "former", "controller", "was", "replaced")
LARGEST = 1024 * 1024  # bytes of the whole: an answer tells it all, in up to 3.5 times as many, and may have 4 MiB
LEVELS = 20  # within each other; ours are six


class Receipt(Resource):
    """The notes of an account, one for each resource. Without anything to note it only tells what is noted."""

    KIND = "receipt"

    def __init__(
        self,
        news: Mapping[str, Optional[Document]],
        cluster: str = "",
        rotations: Optional[Mapping[str, Document]] = None,
        decided_by: Optional[State] = None,
        things: Optional[Mapping[str, Resource]] = None,
    ) -> None:
        """news: by key what is to be noted, and of which rotations (see joined); cluster: for which one.

        decided_by: the receipt by which it was decided what is noted no more, and things: by key what the notes are
        about. A note that is another one by now was made by a run on another login node, of a thing that it is about to
        make, and a thing that is there again was made by one: its note stays.
        """
        self._news, self._cluster, self._rotations = news, cluster, rotations or {}
        self._decided_by, self._things = decided_by, things or {}
        super().__init__({})

    def name(self) -> str:
        return IDENTITY

    def bound(self, host: Host) -> "Receipt":
        return self

    def touches(self, host: Host) -> List[str]:
        return [self._path(host)]

    def _path(self, host: Host) -> str:
        return os.path.join(host.home, PLACE)

    def desired(self, host: Host) -> State:
        """What is noted; once nothing is left to note, not even the notes' own folder, nor any mark."""
        found = self.inspect(host)
        document = merge_changes(found, self._current(found, host), self._cluster, self._rotations)
        is_marked = document["keys"] != parse_marks(found) or not self._news
        if set(document["resources"]) <= {folder_key(ABOVE)} and not (document["keys"] and is_marked):
            return {}
        return to_state(document)

    def _current(self, found: State, host: Host) -> Mapping[str, Optional[Document]]:
        """The news, without those that take away a note of another run."""
        before = self._decided_by
        if before is None:
            return self._news
        return {
            key: new
            for key, new in self._news.items()
            if new or (found.get(key) == before.get(key) and not (new is None and self._is_there(key, host)))
        }

    def _is_there(self, key: str, host: Host) -> bool:
        """Whether a thing that was taken out is there, or cannot be looked at."""
        try:
            return key in self._things and bool(self._things[key].bound(host).inspect(host))
        except (AccountError, OSError):
            return True

    def inspect(self, host: Host) -> State:
        found = to_state(self._document(host))
        host.receipt_notes = parse_notes(found) or host.receipt_copy
        return found or _left_above(host)

    def _document(self, host: Host) -> Document:
        """The receipt as it is on the disk, in the words of this version. Raises AccountError where it must be left."""
        path = self._path(host)
        found = host.entry(path)
        if found is None:
            problem = host.why_blocked(os.path.dirname(path)) or _foreign(host, os.path.dirname(path))
            if problem:
                raise AccountError(problem)
            return EMPTY
        if found.kind != "file" or not found.mine or found.links != 1:
            raise AccountError("%s is no plain file of yours: move it away, then run again" % host.shown(path))
        content = host.read(path)
        if len(content) > LARGEST:
            raise AccountError("%s is larger than 1 MiB: no run has written that: %s" % (host.shown(path), NOW_WHAT))
        try:
            return parse_receipt(content.decode("utf-8"))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            what = "%s (what was made on this account)" % host.shown(path)
            raise AccountError("%s is damaged: %s" % (what, NOW_WHAT)) from None

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        return None  # inspect raises what there is

    def apply(self, host: Host) -> None:
        path, wanted, before = self._path(host), self.desired(host), self._document(host)
        old, noted = host.read(path) if host.entry(path) else None, parse_notes(wanted)
        unknown = {name: value for name, value in before.items() if name not in ("schema", "resources", "keys")}
        if wanted or unknown:
            missing = _missing(host, os.path.dirname(path))
            above = [ABOVE] if host.expand(ABOVE) in missing else []
            noted.update(folder_notes(self.KIND, self.KIND, above, True))
            schema = before["schema"] if compare(before.get("schema"), SCHEMA) == LATER else SCHEMA
            document = dict(unknown, schema=schema, resources=noted, keys=parse_marks(wanted))
            content = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode("utf-8")
            if len(content) > LARGEST:
                raise AccountError("what is to be noted in %s is more than 1 MiB: declare less" % host.shown(path))
            _put(host, missing, path, old, content)
        elif old is not None:
            _take_out(host, path, [host.expand(ABOVE)] if folder_key(ABOVE) in before["resources"] else [])
        else:
            host.remove(host.expand(ABOVE))


def parse_receipt(text: str) -> Document:
    """The document in a receipt's text, in the words of this version: nothing in it has another form than we write.

    Anybody may have written it. Raises AccountError for a newer one; ValueError, TypeError, KeyError, AttributeError or
    RecursionError for a damaged one.
    """
    found = json.loads(text, parse_int=_number)
    why = refusal(found["schema"], SCHEMA, "the receipt on this account", NOW_WHAT)
    if why:
        raise AccountError(why)
    document = upgraded(found)
    forms = [(note, OF_NOTE) for note in document["resources"].values()]
    forms += [(mark, OF_MARK) for mark in document["keys"].values()]
    if not _is_plain(document, LEVELS) or not all(_has_form(*one) for one in forms):
        raise ValueError
    return document


def check_notes(notes: Any) -> Mapping[str, Document]:
    """Return the notes of a sender's copy, if they have the form of notes. Raises AccountError."""
    try:
        if _is_plain(notes, LEVELS) and all(_has_form(note, OF_NOTE) for note in notes.values()):
            return dict(notes)
    except (KeyError, TypeError, AttributeError):
        pass
    raise AccountError("the copy of the receipt that came with the plan is damaged")


def _number(digits: str) -> int:
    if len(digits) > 20:  # old Pythons take minutes for a million of them
        raise ValueError
    return int(digits)


def _is_plain(value: Any, levels: int) -> bool:
    """Whether a value can be told again: nothing is nested without end, and no number is endless or none."""
    if isinstance(value, (dict, list)):
        below = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_plain(one, levels - 1) for one in below)
    return not isinstance(value, float) or abs(value) < float("inf")


def _has_form(value: Any, form: Any) -> bool:
    """Whether a value is made as a form of OF_NOTE or OF_MARK says."""
    if isinstance(form, list):
        return isinstance(value, list) and all(_has_form(one, form[0]) for one in value)
    if isinstance(form, tuple):
        return value in form
    if not isinstance(form, dict):
        return isinstance(value, form)
    if EACH in form:
        return isinstance(value, dict) and all(_has_form(one, form[EACH]) for one in value.values())
    return all(_has_form(value[name], one) for name, one in form.items() if name in value or name not in MAY_LACK)


def _foreign(host: Host, folder: str) -> Optional[str]:
    """Return why a folder tells nothing about this account: another user owns it, and decides what is in it."""
    found = host.entry(folder)
    is_foreign = found and found.kind == "folder" and found.is_foreign
    return "%s belongs to another user; move it away, then run again" % host.shown(folder) if is_foreign else None


def _left_above(host: Host) -> State:
    """Return the note of the folder above, if hpc-onboard created it and all in it is gone with the receipt."""
    key, above = folder_key(ABOVE), host.expand(ABOVE)
    is_left = key in host.receipt_copy and host.resolved_kind(above) == "folder" and not host.names(above)
    return to_state({"resources": {key: host.receipt_copy[key]}, "keys": {}}) if is_left else {}


def _missing(host: Host, folder: str) -> List[str]:
    """The folders that are to be made for one, the topmost first."""
    found: List[str] = []
    while host.resolved_kind(folder) == "nothing":
        found.insert(0, folder)
        folder = os.path.dirname(folder)
    return found


def _put(host: Host, folders: List[str], path: str, old: Optional[bytes], content: bytes) -> None:
    """Write the receipt with the folders that it lacks, all at once: nobody would own up to them without it."""
    if not folders:
        host.write(path, old, content, 0o600)
        return
    top = folders[0]
    empty_draft(host, draft_path(top))

    def fill(draft: str) -> None:
        _put(host, [draft + one[len(top) :] for one in folders[1:]], draft + path[len(top) :], old, content)

    try:
        host.make_folder(top, 0o755, fill)
    except AccountError:
        empty_draft(host, draft_path(top))
        raise


def _take_out(host: Host, path: str, above: List[str]) -> None:
    """Remove the receipt with its own folder, and with the one above it where that is ours, all that holds no more."""
    folder = os.path.dirname(path)
    if host.names(folder) != [os.path.basename(path)]:
        host.remove(path)
        return
    only = [one for one in above if host.names(one) == [os.path.basename(folder)]]
    host.empty_and_remove((only or [folder])[0], lambda draft: _empty(host, draft))


def _empty(host: Host, folder: str) -> None:
    """Take out of a folder what has the name of something of ours there."""
    for name in host.names(folder):
        path = os.path.join(folder, name)
        found = host.entry(path)
        if name in OWN and found and found.kind == "folder":
            _empty(host, path)
        if name in OWN and not host.names(path):
            host.remove(path)


def empty_draft(host: Host, folder: str) -> None:
    """Take out what an ended run has left of a receipt's folder that had not got its name yet."""
    found = host.entry(folder)
    if found and found.kind == "folder" and found.mine:
        _empty(host, folder)
        if not host.names(folder):
            host.remove(folder)


def to_answer(document: Mapping[str, Any]) -> Document:
    """What an answer says of the receipt: the notes and marks, and why nothing could be noted."""
    if document["status"] not in ("ok",) + CHANGES:
        return {"notes": {}, "keys": {}, "problem": document["reason"]}
    notes = {key: text for key, text in document["after"].items() if key in parse_notes(document["after"])}
    return {"notes": notes, "keys": parse_marks(document["after"]), "problem": None}


def kept_outcome(identity: str, why: str) -> Document:
    """The outcome of a thing that stays when ours are taken out, and why; nothing is said of what is not there."""
    outcome = Outcome(identity, {}, {})
    outcome.remarks = ["%s: %s: it stays" % (identity, why)] if why else []
    return outcome.document()


def blocked_outcome(document: Mapping[str, Any]) -> Document:
    """The outcome of a thing that would be changed, where nothing can be noted."""
    return dict(document, status="blocked", reason="waits for: " + IDENTITY)
