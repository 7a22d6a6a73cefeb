# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which keys on the account may be replaced: none that another machine has rotated since, and none that is unknown.

A mark {sequence, rotation, machine, controller, when} in the receipt says it, for each secret, and nothing of the key.
Who sends a plan says which rotations it knows. A key that an unknown one has installed stays as it is, unless the
sender has that very key: then it is ahead of its own records, and nothing is undone.

A key that is none of the sender's versions, and that the receipt does not know, may exist nowhere else. It stays too,
unless the user has agreed to replace it: then a private copy of the file is kept first. The same holds for
a key that comes without a name, as a module's does.
"""

from typing import Any, Callable, Dict, List, Mapping, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Outcome, Resource, State, examine, hash_fields, note_key
from .notes import Document, is_newer, parse_marks
from .receipt import Receipt

Loop = Callable[[Resource, Host], Outcome]
WHY = "another machine has rotated this key since, and this one does not know of it"
UNKNOWN = "%s: a key that is not in your keyring, and may exist nowhere else; it stays"
UNNOTED = "%s: another key, which hpc-onboard did not write, and which may exist nowhere else; it stays"


class KeyGuard:
    """The resources of a plan that hold keys.

    names: identity -> the name of its key. keys: by name, what the sender knows of its rotations (plan.schema.json).
    own: which key the fingerprints are made with. replaces: whether unknown keys may be replaced.
    """

    def __init__(
        self,
        entries: List[Mapping[str, Any]],
        resources: List[Resource],
        keys: Mapping[str, Document],
        own: str = "",
        replaces: bool = False,
    ) -> None:
        self.keys, self._own, self._replaces = keys, own, replaces
        self.names = {
            resource.identity: key_name(entry) for entry, resource in zip(entries, resources) if key_name(entry) in keys
        }
        self._unnamed = {
            resource.identity
            for entry, resource in zip(entries, resources)
            if entry["options"].get("password") and not key_name(entry)
        }
        self._resources = [resource for resource in resources if resource.identity in self.names]
        self._marks: Optional[Dict[str, Document]] = None

    def guard_keys(self, loop: Loop) -> Loop:
        """The loop, in which a key of a rotation that the sender does not know is only looked at."""

        def taken(resource: Resource, host: Host) -> Outcome:
            mark = self._unknown(resource, host)
            if mark is not None:
                return _stays(resource, host, WHY, {"rotated": mark})
            unknown = self._unknown_keys(resource, host)
            if not unknown:
                return loop(resource, host)
            if not self._replaces:
                why = UNKNOWN if resource.identity in self.names else UNNOTED
                return _stays(resource, host, why % " and ".join(unknown), {"unknown_key": True})
            resource.keeps_copy = True
            outcome = loop(resource, host)
            outcome.evidence = dict(outcome.evidence, replaces=True)
            return outcome

        return taken if self.names or self._unnamed else loop

    def _unknown(self, resource: Resource, host: Host) -> Optional[Document]:
        """The mark of an unknown rotation that this resource would undo."""
        name = self.names.get(resource.identity)
        if name is None:
            return None
        mark = self._marked(host).get(name)
        if mark is None or not is_newer(mark, self.keys[name]) or not _keys(resource.desired(host)):
            return None
        if _holds_one_of(resource, host, self.keys[name].get("held", [])):
            return None  # the sender's own current key: it is not behind, whatever it has lost of its records
        alike = [one.bound(host) for one in self._resources if self.names[one.identity] == name]
        return None if any(_holds(one, host) for one in alike) else dict(mark, secret=name)

    def _unknown_keys(self, resource: Resource, host: Host) -> List[str]:
        """Return the places of keys that the sender cannot recognise and that the receipt does not know either."""
        wanted = _keys(resource.desired(host))
        if not wanted:
            return []
        name = self.names.get(resource.identity)
        sent = self.keys[name] if name else {"held": wanted.values() if resource.identity in self._unnamed else ()}
        known = {*sent.get("held", []), *sent.get("versions", [])}
        there = resource.keys(host) if known else {}
        if set(there.values()) <= known or resource.obstacle(resource.inspect(host), host):
            return []
        note = host.receipt_notes.get(note_key(resource.KIND, resource.identity), {})
        left = [note.get("keyed", {}).get(self._own, {})] + note.get("former", [])
        noted = {one for way in left for one in way.values()}
        return [place for place, one in there.items() if one not in known and hash_fields({"": one})[""] not in noted]

    def _marked(self, host: Host) -> Dict[str, Document]:
        """The marks as they were before this plan, by name: what it adds itself is of rotations that are known."""
        if self._marks is None:
            try:
                self._marks = parse_marks(Receipt({}).inspect(host))
            except AccountError:
                self._marks = {}  # beside such a receipt nothing is made anyway
        return self._marks

    def marks_to_write(self, documents: List[Document]) -> Dict[str, Document]:
        """What is to be marked, by name: of the keys that are, or are about to be, as wanted on the account."""
        wanted = [one["identity"] for one in documents if one["status"] in WANTED and _keys(one["after"])]
        return {self.names[one]: self.keys[self.names[one]] for one in wanted if one in self.names}


def _stays(resource: Resource, host: Host, why: str, evidence: Document) -> Outcome:
    """Return the outcome of a key that is only looked at; blocked where it differs from the desired one."""
    outcome = examine(resource, host)
    if outcome.fields:
        outcome.reason, outcome.status = why, "blocked"
        outcome.evidence = dict(outcome.evidence, **evidence)
    return outcome


def key_name(entry: Mapping[str, Any]) -> str:
    """The name of the key of an entry, which says NAME or NAME@VERSION; empty where it holds none."""
    return str(entry.get("key") or "").partition("@")[0]


WANTED = ("ok", "missing", "different")


def _keys(state: State) -> State:
    """The fields of a state that hold fingerprints of keys."""
    return {field: value for field, value in state.items() if field.rpartition(" ")[2] == "password"}


def _holds_one_of(resource: Resource, host: Host, fingerprints: List[str]) -> bool:
    """Whether all keys that are there have these fingerprints."""
    there = _keys(resource.inspect(host))
    return bool(there) and set(there.values()) <= set(fingerprints)


def _holds(resource: Resource, host: Host) -> bool:
    """Whether the key that is to be there is there."""
    found = resource.inspect(host)
    return any(found.get(field) == value for field, value in _keys(resource.desired(host)).items())
