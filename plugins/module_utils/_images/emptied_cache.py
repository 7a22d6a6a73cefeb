# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache of a container tool, emptied on request. Only files that the tool can download again are removed.

Sources: https://github.com/NVIDIA/enroot (src/docker.sh: layers by their digests), https://apptainer.org/docs/user/latest/
build_env.html (the cache's folders, which "apptainer cache clean" empties).

A run compares inspect() with desired(). If they differ and obstacle() returns None, the run calls apply(). A Host reads
and changes the account's files.
"""

import os
import re
import stat
from typing import List, Optional

from .._core.host import Host
from .._core.resource import Resource, State
from .._options.image_options import EmptiedCacheOptions

LAYER = re.compile(r"[0-9a-f]{64}(?:\.[A-Za-z0-9]{10})?\Z")  # of enroot; with a suffix, an incomplete download
APPTAINER_FOLDERS = ("blob", "library", "net", "oci-tmp", "oras", "shub")
NOTHING = "0 bytes"


class EmptiedCache(EmptiedCacheOptions, Resource):
    """A cache without files that its tool could download again."""

    IS_KEPT = False

    def touches(self, host: Host) -> List[str]:
        """Return the only path that this resource depends on."""
        return [self.options["path"]]

    def desired(self, host: Host) -> State:
        """Return the size of removable files after the run: NOTHING. With state "absent", nothing is removed: {}."""
        return {"size": NOTHING} if self.options["state"] == "present" else {}

    def inspect(self, host: Host) -> State:
        """Return the total size of the removable files, as text. With state "absent", nothing is removed: {}."""
        if self.options["state"] == "absent":
            return {}
        paths = self._list_removable(host)
        return {"size": self._format_total_size(host, paths) if paths else NOTHING}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why no file may be removed from the path, or None. before: not used here."""
        entry = host.entry(self.options["path"])
        if self.options["state"] == "absent" or entry is None:
            return None
        if entry.kind != "folder" or not entry.mine:
            return "%s is not a folder that you own, so hpc-onboard removes nothing from it" % host.shown(
                self.options["path"]
            )
        return None

    def apply(self, host: Host) -> None:
        """Remove the files and folders that the tool can download again."""
        for path in self._list_removable(host):
            entry = host.entry(path)
            if entry is not None and entry.kind == "folder":
                host.remove_folder(path)
            else:
                host.remove(path)

    def _list_removable(self, host: Host) -> List[str]:
        """Return the paths of the files and folders in the cache that the tool can download again."""
        folder = self.options["path"]
        if host.resolved_kind(folder) != "folder":
            return []
        entries = [(name, host.entry(os.path.join(folder, name))) for name in host.names(folder)]
        if self.options["runtime"] == "enroot":
            names = [name for name, entry in entries if entry and entry.kind == "file" and LAYER.match(name)]
        else:
            names = [name for name, entry in entries if entry and entry.kind == "folder" and name in APPTAINER_FOLDERS]
        return [os.path.join(folder, name) for name in names]

    def _format_total_size(self, host: Host, paths: List[str]) -> str:
        """Return the total size of the regular files at and below these paths, as text."""
        from .._scan.amounts import format_size
        from .._scan.walk import Walk

        walk, total = Walk(host), 0
        for path in paths:
            own_status = os.lstat(host.path_via_handle(path))
            entries_below = walk.below(path) if stat.S_ISDIR(own_status.st_mode) else ()
            statuses = [own_status, *(entry.status for entry in entries_below)]
            total += sum(status.st_size for status in statuses if stat.S_ISREG(status.st_mode))
            if walk.cut:  # the walk has reached its limit on time or on the number of files
                return "more than " + format_size(total)
        return format_size(total)
