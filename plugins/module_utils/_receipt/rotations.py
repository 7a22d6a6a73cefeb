# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rotation last installed a key on the account, so that a machine that does not know of it undoes nothing.

A mark {sequence, rotation, machine, controller, when} in the receipt says it, for each secret, and nothing of the key.
Who sends a plan says which rotations it knows. A key that an unknown one has installed stays as it is, unless the
sender has that very key: then it is ahead of its own records, and nothing is undone.
"""

from typing import Any, Callable, Dict, List, Mapping, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Outcome, Resource, State, examine
from .notes import Document, is_newer, read_marks
from .receipt import Receipt

Loop = Callable[[Resource, Host], Outcome]
WHY = "another machine has rotated this key since, and this one does not know of it"


class Keyed:
    """The resources of a plan that hold keys.

    names: identity -> the name of its key. keys: by name, what the sender knows of its rotations (plan.schema.json).
    """

    def __init__(
        self, entries: List[Mapping[str, Any]], resources: List[Resource], keys: Mapping[str, Document]
    ) -> None:
        self.keys = keys
        self.names = {
            resource.identity: name_of(entry) for entry, resource in zip(entries, resources) if name_of(entry) in keys
        }
        self._resources = [resource for resource in resources if resource.identity in self.names]
        self._marks: Optional[Dict[str, Document]] = None

    def careful(self, loop: Loop) -> Loop:
        """The loop, in which a key of a rotation that the sender does not know is only looked at."""

        def taken(resource: Resource, host: Host) -> Outcome:
            mark = self._unknown(resource, host)
            if mark is None:
                return loop(resource, host)
            outcome = examine(resource, host)
            if outcome.fields:
                outcome.reason, outcome.status = WHY, "blocked"
                outcome.evidence = dict(outcome.evidence, rotated=mark)
            return outcome

        return taken if self.names else loop

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

    def _marked(self, host: Host) -> Dict[str, Document]:
        """The marks as they were before this plan, by name: what it adds itself is of rotations that are known."""
        if self._marks is None:
            try:
                self._marks = read_marks(Receipt({}).inspect(host))
            except AccountError:
                self._marks = {}  # beside such a receipt nothing is made anyway
        return self._marks

    def installed(self, documents: List[Document]) -> Dict[str, Document]:
        """What is to be marked, by name: of the keys that are, or are about to be, as wanted on the account."""
        wanted = [one["identity"] for one in documents if one["status"] in WANTED and _keys(one["after"])]
        return {self.names[one]: self.keys[self.names[one]] for one in wanted if one in self.names}


def name_of(entry: Mapping[str, Any]) -> str:
    """The name of the key of an entry, which says NAME or NAME@VERSION; empty where it holds none."""
    return str(entry.get("key") or "").partition("@")[0]


WANTED = ("in_place", "missing", "different")


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
