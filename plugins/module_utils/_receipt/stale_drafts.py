# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drafts that a killed run has left: files and folders that do not have their final name yet.

A run that creates the same file again replaces its draft. Offboarding creates no files, so it removes the drafts. The
receipt is the account's record of what hpc-onboard created. A Host reads and changes the files of the account.
"""

import os
from typing import List

from .._core.files import draft_path
from .._core.host import Host
from .._core.resource import Resource, State, list_touched_paths
from . import former_copies
from .receipt_file import PLACE, empty_draft


class StaleDrafts(Resource):
    """The drafts next to the paths of resources and of the receipt; desired is that no draft exists."""

    KIND = "drafts"

    def __init__(self, resources: List[Resource]) -> None:
        """Store the resources that are removed, next to whose paths drafts may be left."""
        self._resources = resources
        super().__init__(options={})

    def name(self) -> str:
        """Return the name for messages."""
        return "drafts of a killed run"

    def touches(self, host: Host) -> List[str]:
        """Return no path, so that the failure of another resource does not block the removal of drafts."""
        return []

    def desired(self, host: Host) -> State:
        """Return an empty state: no draft is desired. host: not used."""
        return {}

    def inspect(self, host: Host) -> State:
        """Return the drafts next to the paths of the resources and of the receipt: path -> kind."""
        receipt = os.path.join(host.home, PLACE)
        folder = os.path.dirname(receipt)
        paths = [os.path.dirname(folder), folder, receipt]  # a run may create all three
        for resource in self._resources:
            # none if a path is unknown, which the resource's outcome reports
            paths += list_touched_paths(resource, host)
            paths.append(former_copies.copy_path(host, resource))
        found = {}  # path of a draft -> its kind
        # a file behind a link has its draft next to the file
        for path in sorted(set(paths) | {host.resolve(path) or path for path in paths}):
            draft = host.entry(draft_path(path))
            if draft and draft.mine and draft.kind in ("file", "link", "folder"):
                found[draft_path(path)] = draft.kind
        return found

    def apply(self, host: Host) -> None:
        """Remove the drafts."""
        for path, kind in self.inspect(host).items():
            if kind == "folder":
                empty_draft(host, path)
            else:
                host.remove(path)
