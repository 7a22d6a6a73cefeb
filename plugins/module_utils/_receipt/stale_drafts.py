# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run that was killed had begun and given no name yet: files and folders beside those that it was to make.

The next run that makes the same thing clears it away. Where the thing is to go instead, nobody else would.
"""

import os
from typing import List, Optional

from .._core.errors import AccountError
from .._core.files import draft_path
from .._core.host import Host
from .._core.resource import Resource, State
from .receipt import PLACE, empty_draft


class StaleDrafts(Resource):
    """The drafts beside all that some resources keep, and of the receipt's own folders. None is to be there."""

    KIND = "drafts"

    def __init__(self, resources: List[Resource]) -> None:
        self._resources = resources
        super().__init__({})

    def name(self) -> str:
        return "drafts of a run that was ended"

    def bound(self, host: Host) -> "StaleDrafts":
        return self

    def touches(self, host: Host) -> List[str]:
        return []

    def desired(self, host: Host) -> State:
        return {}

    def inspect(self, host: Host) -> State:
        found = {}
        for path in self._places(host):
            draft = host.entry(draft_path(path))
            if draft and draft.mine and draft.kind in ("file", "link", "folder"):
                found[draft_path(path)] = draft.kind
        return found

    def _places(self, host: Host) -> List[str]:
        """Where something of ours may lie, by its own name and by the one that links on the way lead to."""
        receipt = os.path.join(host.home, PLACE)
        found = [os.path.dirname(os.path.dirname(receipt)), os.path.dirname(receipt), receipt]
        for resource in self._resources:
            try:
                found += resource.bound(host).touches(host)
            except AccountError:
                pass  # its own outcome says so
        return sorted(set(found) | {host.resolve(path) or path for path in found})

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        return None

    def apply(self, host: Host) -> None:
        for path, kind in self.inspect(host).items():
            if kind == "folder":
                empty_draft(host, path)
            else:
                host.remove(path)
