# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache of a container tool, emptied on request: only what the tool can fetch again is removed.

Sources: https://github.com/NVIDIA/enroot (src/docker.sh: layers by their digests), https://apptainer.org/docs/user/latest/
build_env.html (the cache's folders, which "apptainer cache clean" empties).
"""

import os
import re
import stat
from typing import List, Optional

from .._core.host import Host
from .._core.resource import Resource, State
from .._options.image_options import EmptiedCacheOptions

LAYER = re.compile(r"[0-9a-f]{64}(?:\.[A-Za-z0-9]{10})?\Z")  # of enroot, and one that was not fetched to its end
OF_APPTAINER = ("blob", "library", "net", "oci-tmp", "oras", "shub")
NOTHING = "0 bytes"


class EmptiedCache(EmptiedCacheOptions, Resource):
    """A cache without anything that its tool could fetch again."""

    IS_KEPT = False

    def touches(self, host: Host) -> List[str]:
        return [self.options["path"]]

    def desired(self, host: Host) -> State:
        """Return that nothing removable is left."""
        return {"size": NOTHING} if self.options["state"] == "present" else {}

    def inspect(self, host: Host) -> State:
        """Return the size of what can be removed."""
        if self.options["state"] == "absent":
            return {}
        found = self._list_removable(host)
        return {"size": self._size(host, found) if found else NOTHING}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why nothing may be removed from the path, or None."""
        there = host.entry(self.options["path"])
        if self.options["state"] == "absent" or there is None:
            return None
        if there.kind != "folder" or not there.mine:
            return "%s is not a folder that you own, so nothing is removed from it" % host.shown(self.options["path"])
        return None

    def apply(self, host: Host) -> None:
        for path in self._list_removable(host):
            found = host.entry(path)
            if found is not None and found.kind == "folder":
                host.remove_folder(path)
            else:
                host.remove(path)

    def _list_removable(self, host: Host) -> List[str]:
        """Return the paths in the cache that the tool can fetch again."""
        folder = self.options["path"]
        if host.resolved_kind(folder) != "folder":
            return []
        every = [(name, host.entry(os.path.join(folder, name))) for name in host.names(folder)]
        if self.options["runtime"] == "enroot":
            names = [name for name, one in every if one and one.kind == "file" and LAYER.match(name)]
        else:
            names = [name for name, one in every if one and one.kind == "folder" and name in OF_APPTAINER]
        return [os.path.join(folder, name) for name in names]

    def _size(self, host: Host, paths: List[str]) -> str:
        """Return the total size of these paths, in words."""
        from .._scan.amounts import format_size
        from .._scan.walk import Walk

        walk, total = Walk(host), 0
        for path in paths:
            status = os.lstat(host.path_via_handle(path))
            below = walk.below(path) if stat.S_ISDIR(status.st_mode) else ()
            total += sum(one.st_size for one in [status, *(one.status for one in below)] if stat.S_ISREG(one.st_mode))
            if walk.cut:
                return "more than " + format_size(total)
        return format_size(total)
