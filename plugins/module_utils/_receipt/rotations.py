# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Protect keys on the account: a key that another machine has rotated, or that is unknown, is not replaced.

The receipt is the account's record of what hpc-onboard created, with a note for each resource. For each key, a mark
{sequence, rotation, machine, controller, when} in the receipt names the rotation (replacement) that installed it,
without any part of the key. A plan lists the rotations that its sender, the user's machine, knows. A key of an unknown
rotation stays, unless the sender has the same key: then only its records are outdated.

A key that is not a version of the sender's and not in the receipt may exist nowhere else. Such a key stays too, unless
the user has agreed to replace it: then a private copy of the file is kept first. The same applies to a key without a
name in the plan, such as the key of a module.

The user can also agree for single resources, including files and links without a key: these are moved to the private
folder of former_copies.py.
"""

from typing import Any, Callable, Dict, List, Mapping, Optional, Set

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import CHANGES, Outcome, Resource, State, examine, hash_fields
from .former_copies import can_move
from .notes import Document, is_unknown_to_sender, parse_marks, read_key_name
from .receipt import Receipt

Loop = Callable[[Resource, Host], Outcome]  # examines or reconciles (changes, if needed) one resource
UP_TO_DATE = ("ok", "missing", "different")  # statuses after which the desired key is on the account
ROTATED = "another machine has rotated this key, and this machine does not have the new key"
UNKNOWN = "%s: this key is not in your keyring and may exist nowhere else, so hpc-onboard does not replace the key"
UNRECORDED = "%s: hpc-onboard did not write this key, and does not replace the key, which may exist nowhere else"


class KeyGuard:
    """Decides for the resources of a plan whether the keys on the account may be replaced.

    entries, resources: of the plan, in the same order. keys: what the sender knows about each key, by the key's name:
    its rotations, and the fingerprints of the current key ('held') and of all versions (see plan.schema.json). key_id:
    the id of the fingerprint key. may_replace: True if the user has agreed to replace all unknown keys.
    """

    def __init__(
        self,
        entries: List[Mapping[str, Any]],
        resources: List[Resource],
        keys: Mapping[str, Document],
        key_id: str,
        may_replace: bool,
    ) -> None:
        self.keys, self._key_id, self._may_replace = keys, key_id, may_replace
        names = {resource.identity: read_key_name(entry) for entry, resource in zip(entries, resources)}
        # identities of the resources whose key or file the user has agreed to replace
        self._agreed = {resource.identity for entry, resource in zip(entries, resources) if entry.get("replace")}
        # identity of a resource -> name of its key, if keys has an entry for this key
        self.names = {identity: name for identity, name in names.items() if name in keys}
        self._unnamed = {  # identities of the resources whose key has no name
            resource.identity
            for entry, resource in zip(entries, resources)
            if entry["options"].get("password") and not read_key_name(entry)
        }
        self._resources = [resource for resource in resources if resource.identity in self.names]
        self._marks: Optional[Dict[str, Document]] = None  # of the receipt, by key name, once they were read

    def guard_keys(self, loop: Loop) -> Loop:
        """Return a loop that only examines the resources whose keys must stay, and is the given loop for all others."""

        def guarded_loop(resource: Resource, host: Host) -> Outcome:
            """Return the outcome of the given loop, or of an examination if the key must stay."""
            mark = self._find_unknown_mark(resource, host)
            if mark is not None:
                return _keep_key(resource, host, ROTATED, evidence={"rotated": mark})
            places = self._list_places_of_unknown_keys(resource, host)
            if not places and not self._should_move(resource, host):  # nothing of the user would be lost
                return loop(resource, host)
            if places and not self._may_replace and resource.identity not in self._agreed:
                why = UNKNOWN if resource.identity in self.names else UNRECORDED
                return _keep_key(resource, host, why % " and ".join(places), evidence={"unknown_key": True})
            resource.keeps_copy = True  # the user has agreed to replace the key or file
            outcome = loop(resource, host)
            if outcome.status in CHANGES:
                outcome.evidence = dict(outcome.evidence, replaces=True)
            return outcome

        has_guarded = self.names or self._unnamed or self._agreed
        return guarded_loop if has_guarded else loop  # without a key or an agreement, the guard has nothing to do

    def _should_move(self, resource: Resource, host: Host) -> bool:
        """Return True if a file or link of the user is in the resource's place, and the user agreed to replace it."""
        if not resource.IS_MOVABLE or resource.identity not in self._agreed:
            return False
        # "theirs" is True if the user's own file or folder blocks the resource
        is_users_own = resource.evidence(resource.inspect(host), host).get("theirs")
        return bool(is_users_own) and can_move(host, resource)

    def _find_unknown_mark(self, resource: Resource, host: Host) -> Optional[Document]:
        """Return the mark of a rotation that the sender does not know and the resource would undo, or None.

        The returned mark has the name of the key as 'secret'.
        """
        name = self.names.get(resource.identity)
        if name is None:  # the resource has no key, or the sender knows none of its rotations
            return None
        mark = self._read_marks(host).get(name)
        if mark is None or not is_unknown_to_sender(mark, self.keys[name]):
            return None
        if not _fingerprints(resource.desired(host)):  # the resource is to be removed
            return None
        found = _fingerprints(resource.inspect(host))
        if found and set(found.values()) <= set(self.keys[name].get("held", [])):
            return None  # the sender has this key: only its records are outdated
        resources_with_key = [other for other in self._resources if self.names[other.identity] == name]
        if any(_has_desired_key(other, host) for other in resources_with_key):
            return None  # in another place, the account has the sender's key already
        return dict(mark, secret=name)

    def _list_places_of_unknown_keys(self, resource: Resource, host: Host) -> List[str]:
        """Return descriptions of the places whose keys would be replaced, but are neither the sender's nor noted."""
        desired = _fingerprints(resource.desired(host))
        if not desired:  # the resource has no key, or is to be removed
            return []
        known = self._list_known_fingerprints(resource, desired)
        if not known:  # the plan has no fingerprint to compare with
            return []
        present = resource.keys(host)  # place -> fingerprint
        if set(present.values()) <= known or resource.obstacle(resource.inspect(host), host):
            return []  # with an obstacle, the key stays anyway
        note = host.receipt_notes.get(resource.note_key, {})
        # hashes of keys that hpc-onboard wrote: under this fingerprint key, and before
        states = [note.get("keyed", {}).get(self._key_id, {})] + note.get("former", [])
        noted_hashes = {value for state in states for value in state.values()}
        unknown = {place: fingerprint for place, fingerprint in present.items() if fingerprint not in known}
        return [place for place, value in hash_fields(unknown).items() if value not in noted_hashes]

    def _list_known_fingerprints(self, resource: Resource, desired: State) -> Set[str]:
        """Return the fingerprints of the sender's versions of a resource's key.

        desired: the fingerprints of the plan's key, which are returned for a key without a name. Return an empty
        set for a resource that is not in the plan.
        """
        name = self.names.get(resource.identity)
        if name:
            return {*self.keys[name].get("held", []), *self.keys[name].get("versions", [])}
        return set(desired.values()) if resource.identity in self._unnamed else set()

    def _read_marks(self, host: Host) -> Dict[str, Document]:
        """Return the marks in the receipt by key name, read before this plan adds its own."""
        if self._marks is None:
            try:
                self._marks = parse_marks(Receipt(changes={}).inspect(host))
            except AccountError:
                self._marks = {}  # with an unusable receipt, the run changes nothing
        return self._marks

    def marks_to_write(self, outcomes: List[Document]) -> Dict[str, Document]:
        """Return, by key name, the sender's rotations of the keys that are on the account after the run.

        outcomes: of the plan's resources. The receipt gets the marks of these rotations (see notes.merge_changes).
        "writes" is True if the run writes the key to one of its places.
        """
        rotations: Dict[str, Document] = {}
        for outcome in outcomes:
            name = self.names.get(outcome["identity"])
            if name and outcome["status"] in UP_TO_DATE and _fingerprints(outcome["after"]):
                writes = _fingerprints(outcome["before"]) != _fingerprints(outcome["after"])
                has_written = name in rotations and rotations[name]["writes"]
                rotations[name] = dict(self.keys[name], writes=writes or has_written)
        return rotations


def _keep_key(resource: Resource, host: Host, why: str, evidence: Document) -> Outcome:
    """Examine a resource without changes, and return the outcome: blocked if a field differs.

    why: the reason for the user. evidence: added to the outcome's evidence.
    """
    outcome = examine(resource, host)
    if outcome.fields:
        outcome.reason, outcome.status = why, "blocked"
        outcome.evidence = dict(outcome.evidence, **evidence)
    return outcome


def _fingerprints(state: State) -> State:
    """Return the fields of a state whose values are fingerprints of keys: "password", or a name that ends with it."""
    return {field: value for field, value in state.items() if field.rpartition(" ")[2] == "password"}


def _has_desired_key(resource: Resource, host: Host) -> bool:
    """Return True if the desired key is already in one of the resource's places. resource: without expanded paths."""
    try:
        expanded = resource.with_expanded_paths(host)
        found = expanded.inspect(host)
    except AccountError:
        return False  # its own outcome reports the error
    return any(found.get(field) == value for field, value in _fingerprints(expanded.desired(host)).items())
