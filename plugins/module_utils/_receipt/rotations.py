# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Protect keys on the account: a key that another machine has rotated since, or that is unknown, is not replaced.

For each secret, a mark {sequence, rotation, machine, controller, when} in the receipt names the rotation that installed
it, and says nothing of the key. The sender of a plan says which rotations it knows. A key of another rotation stays,
unless the sender has that very key: then only its records are behind, and nothing is undone.

A key that is none of the sender's versions, and that the receipt does not know, may exist nowhere else. It stays too,
unless the user has agreed to replace it: then a private copy of the file is kept first. The same holds for a key that
comes without a name, as a module's does.

The user can agree for single resources, too, also where a thing of theirs is no key: it is moved away then.
"""

from typing import Any, Callable, Dict, List, Mapping, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import CHANGES, Outcome, Resource, State, examine, hash_fields
from .._core.values import note_key
from .former_copies import may_move
from .notes import Document, is_newer, parse_marks
from .receipt import Receipt

Loop = Callable[[Resource, Host], Outcome]
UP_TO_DATE = ("ok", "missing", "different")  # statuses after which the desired key is on the account
ROTATED = "another machine has rotated this key, and this machine does not have the new key"
UNKNOWN = "%s: this key is not in your keyring and may exist nowhere else, so it is not replaced"
UNNOTED = "%s: hpc-onboard did not write this key, which may exist nowhere else, so it is not replaced"


class KeyGuard:
    """The resources of a plan that hold keys, and what the sender knows of these.

    names: identity -> name of its key. keys: by name, the rotations that the sender knows (plan.schema.json).
    own: id of the fingerprint key. replaces: whether unknown keys may be replaced.
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
        names = {resource.identity: key_name(entry) for entry, resource in zip(entries, resources)}
        self._agreed = {resource.identity for entry, resource in zip(entries, resources) if entry.get("replace")}
        self.names = {identity: name for identity, name in names.items() if name in keys}
        self._unnamed = {
            resource.identity
            for entry, resource in zip(entries, resources)
            if entry["options"].get("password") and not key_name(entry)
        }
        self._resources = [resource for resource in resources if resource.identity in self.names]
        self._marks: Optional[Dict[str, Document]] = None

    def guard_keys(self, loop: Loop) -> Loop:
        """Return the loop, which only examines a resource whose key must stay."""

        def guarded(resource: Resource, host: Host) -> Outcome:
            mark = self._newer_mark(resource, host)
            if mark is not None:
                return _keep_key(resource, host, ROTATED, {"rotated": mark})
            unknown = self._unknown_keys(resource, host)
            if not unknown and not self._should_move(resource, host):
                return loop(resource, host)
            if unknown and not self._replaces and resource.identity not in self._agreed:
                why = UNKNOWN if resource.identity in self.names else UNNOTED
                return _keep_key(resource, host, why % " and ".join(unknown), {"unknown_key": True})
            resource.keeps_copy = True
            outcome = loop(resource, host)
            if outcome.status in CHANGES:
                outcome.evidence = dict(outcome.evidence, replaces=True)
            return outcome

        return guarded if self.names or self._unnamed or self._agreed else loop

    def _should_move(self, resource: Resource, host: Host) -> bool:
        """Return True if a thing of the user's is in its place, and the user has agreed to have it replaced."""
        if not resource.IS_MOVABLE or resource.identity not in self._agreed:
            return False
        is_theirs = resource.evidence(resource.inspect(host), host).get("theirs")
        return bool(is_theirs) and may_move(host, note_key(resource.KIND, resource.identity), resource.options["path"])

    def _newer_mark(self, resource: Resource, host: Host) -> Optional[Document]:
        """Return the mark of a rotation unknown to the sender that this resource would undo."""
        name = self.names.get(resource.identity)
        if name is None:
            return None
        mark = self._read_marks(host).get(name)
        if mark is None or not is_newer(mark, self.keys[name]) or not _fingerprints(resource.desired(host)):
            return None
        there = _fingerprints(resource.inspect(host))
        if there and set(there.values()) <= set(self.keys[name].get("held", [])):
            return None  # the sender's own current key: only its records are behind
        alike = [one.bound(host) for one in self._resources if self.names[one.identity] == name]
        return None if any(_has_desired_key(one, host) for one in alike) else dict(mark, secret=name)

    def _unknown_keys(self, resource: Resource, host: Host) -> List[str]:
        """Return the places of keys that neither the sender nor the receipt knows."""
        desired = _fingerprints(resource.desired(host))
        if not desired:
            return []
        name = self.names.get(resource.identity)
        sent = self.keys[name] if name else {"held": desired.values() if resource.identity in self._unnamed else ()}
        known = {*sent.get("held", []), *sent.get("versions", [])}
        there = resource.keys(host) if known else {}
        if set(there.values()) <= known or resource.obstacle(resource.inspect(host), host):
            return []
        note = host.receipt_notes.get(note_key(resource.KIND, resource.identity), {})
        states = [note.get("keyed", {}).get(self._own, {})] + note.get("former", [])
        noted = {value for state in states for value in state.values()}
        return [place for place, one in there.items() if one not in known and hash_fields({"": one})[""] not in noted]

    def _read_marks(self, host: Host) -> Dict[str, Document]:
        """Return the marks before this plan, by name: the ones that it adds are of rotations that the sender knows."""
        if self._marks is None:
            try:
                self._marks = parse_marks(Receipt({}).inspect(host))
            except AccountError:
                self._marks = {}  # with such a receipt nothing is changed anyway
        return self._marks

    def marks_to_write(self, outcomes: List[Document]) -> Dict[str, Document]:
        """Return what the sender knows of the keys that are, or are about to be, on the account, by their names."""
        there = [one["identity"] for one in outcomes if one["status"] in UP_TO_DATE and _fingerprints(one["after"])]
        return {self.names[one]: self.keys[self.names[one]] for one in there if one in self.names}


def key_name(entry: Mapping[str, Any]) -> str:
    """Return the name of an entry's key, which is given as NAME or NAME@VERSION; empty if it holds none."""
    return str(entry.get("key") or "").partition("@")[0]


def _keep_key(resource: Resource, host: Host, why: str, evidence: Document) -> Outcome:
    """Examine a resource whose key stays, and return its outcome: blocked if that key differs from the desired one."""
    outcome = examine(resource, host)
    if outcome.fields:
        outcome.reason, outcome.status = why, "blocked"
        outcome.evidence = dict(outcome.evidence, **evidence)
    return outcome


def _fingerprints(state: State) -> State:
    """Return the fields of a state that hold fingerprints of keys."""
    return {field: value for field, value in state.items() if field.rpartition(" ")[2] == "password"}


def _has_desired_key(resource: Resource, host: Host) -> bool:
    """Return True if one of the resource's keys is the desired one already."""
    found = resource.inspect(host)
    return any(found.get(field) == value for field, value in _fingerprints(resource.desired(host)).items())
