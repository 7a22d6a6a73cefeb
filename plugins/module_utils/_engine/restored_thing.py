# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file, link or folder of the user that was moved away for a resource, and is moved back at offboarding.

A Host reads and changes the files of the account.
"""

from typing import List, Optional

from .._core.host import Host
from .._core.resource import Resource, State
from .._receipt import former_copies

COPY = "former content"  # the field of the state that exists until the move back is done


class RestoredThing(Resource):
    """Removes a resource, and moves what the user had in its place back from the private folder (former_copies.py)."""

    def __init__(self, resource: Resource) -> None:
        """Store a resource whose removal is declared."""
        self._resource = resource
        self.options, self.identity, self.KIND = resource.options, resource.identity, resource.KIND

    def with_expanded_paths(self, host: Host) -> "RestoredThing":
        """Return a copy of this resource whose paths are expanded for the account."""
        return RestoredThing(self._resource.with_expanded_paths(host))

    def touches(self, host: Host) -> List[str]:
        """Return the absolute paths that the resource to remove depends on."""
        return self._resource.touches(host)

    def desired(self, host: Host) -> State:
        """Return an empty state: neither the resource nor the private copy is desired. host: not used."""
        return {}

    def inspect(self, host: Host) -> State:
        """Return the state of the resource, with COPY; an empty state after the user's file was moved back."""
        if not former_copies.has_copy(host, self):
            return {}
        return dict(self._resource.inspect(host), **{COPY: "kept"})

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the resource must not be removed, or None; a missing resource has no obstacle.

        before: the state with COPY; empty if nothing is left to do.
        """
        state = self._resource.inspect(host)
        return self._resource.obstacle(state, host) if before and state else None

    def apply(self, host: Host) -> None:
        """Remove the resource, if it exists, and move the user's file, link or folder back."""
        if self._resource.inspect(host):
            self._resource.apply(host)
        former_copies.move_back(host, self)
