# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file, link or folder of the user that was moved away for a resource, and is moved back when that is removed."""

from typing import List, Optional

from .._core.host import Host
from .._core.resource import Resource, State
from .._core.values import note_key
from .._receipt import former_copies

COPY = "former content"  # the field that is set while it is in the private folder


class RestoredThing(Resource):
    """Removes the resource and moves the user's thing back. Done when the private folder does not contain it."""

    def __init__(self, thing: Resource) -> None:
        """Take a resource whose removal is declared."""
        self._thing = thing
        self.options, self.identity, self.KIND = thing.options, thing.identity, thing.KIND

    def bound(self, host: Host) -> "RestoredThing":
        return RestoredThing(self._thing.bound(host))

    def touches(self, host: Host) -> List[str]:
        return self._thing.touches(host)

    def desired(self, host: Host) -> State:
        """Return nothing: neither the resource nor the private copy is desired."""
        return {}

    def inspect(self, host: Host) -> State:
        """Return the state of the resource as long as the user's thing is in the private folder."""
        if not former_copies.has_copy(host, self):
            return {}
        return dict(self._thing.inspect(host), **{COPY: "kept"})

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the resource in the place must not be removed, or None."""
        found = self._thing.inspect(host)
        return self._thing.obstacle(found, host) if before and found else None

    def apply(self, host: Host) -> None:
        """Remove the resource, and move the user's thing back."""
        if self._thing.inspect(host):
            self._thing.apply(host)
        former_copies.move_back(host, note_key(self.KIND, self.identity), str(self.options["path"]))
