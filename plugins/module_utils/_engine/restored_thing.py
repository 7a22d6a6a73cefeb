# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A thing of the user's that was moved away for a resource, and gets its place back when that is removed."""

from typing import List, Optional

from .._core.host import Host
from .._core.resource import Resource, State
from .._core.values import note_key
from .._receipt import former_copies

COPY = "what was there"  # the field that is set while it is in the private folder


class RestoredThing(Resource):
    """The resource is removed, and the user's thing is moved back. It is done when nothing is in the private folder."""

    def __init__(self, thing: Resource) -> None:
        """Take a resource whose removal is declared."""
        self._thing = thing
        self.options, self.identity, self.KIND = thing.options, thing.identity, thing.KIND

    def bound(self, host: Host) -> "RestoredThing":
        return RestoredThing(self._thing.bound(host))

    def touches(self, host: Host) -> List[str]:
        return self._thing.touches(host)

    def desired(self, host: Host) -> State:
        return {}

    def inspect(self, host: Host) -> State:
        if not former_copies.has_copy(host, self):
            return {}
        return dict(self._thing.inspect(host), **{COPY: "kept"})

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        found = self._thing.inspect(host)
        return self._thing.obstacle(found, host) if before and found else None

    def apply(self, host: Host) -> None:
        if self._thing.inspect(host):
            self._thing.apply(host)
        former_copies.move_back(host, note_key(self.KIND, self.identity), str(self.options["path"]))
