# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of the account's own, in its home or in a storage area of the site."""

import os
from typing import List, Optional

from .._core.host import Host
from .._core.resource import Resource, State
from .._core.values import DirectoryOptions


class Directory(DirectoryOptions, Resource):
    """A folder that is there. Its mode is ours to choose only when we make it; it is removed only when it is empty."""

    def touches(self, host: Host) -> List[str]:
        return [self.options["path"]]

    def desired(self, host: Host) -> State:
        return {} if self._is_to_go(host) else {"is": "folder"}

    def _is_to_go(self, host: Host) -> bool:
        """Whether it is unwanted; one with something in it, or that is no plain folder, stays whatever is wanted."""
        if self.options["state"] == "present":
            return False
        found = host.entry(self.options["path"])
        return found is None or (found.kind == "folder" and found.mine and not host.names(self.options["path"]))

    def inspect(self, host: Host) -> State:
        kind = host.kind_behind(self.options["path"])
        if self.options["state"] == "absent" and not self._is_to_go(host):
            return self.desired(host)
        return {} if kind == "nothing" and host.entry(self.options["path"]) is None else {"is": kind}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        path = self.options["path"]
        if self.options["state"] == "absent":
            return None
        if before.get("is", "folder") != "folder":
            return "%s is there already, and is no folder: move it away, then run again" % host.shown(path)
        root = self.options.get("root") or os.path.dirname(path)
        if host.kind_behind(root) != "folder":
            return "%s is not there, and only the site can make it: is the project's name right?" % host.shown(root)
        return host.in_the_way(path)

    def remarks(self, host: Host) -> List[str]:
        if self.options["state"] == "present" or self._is_to_go(host):
            return []
        return ["%s is not empty, and stays" % host.shown(self.options["path"])]

    def apply(self, host: Host) -> None:
        if self.options["state"] == "absent":
            host.remove(self.options["path"])
            return
        host.make_folders(self.options["path"], int(self.options["mode"], 8))
