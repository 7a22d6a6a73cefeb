# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of the account's own, in its home or in a storage area of the site."""

import os
import stat
from typing import List, Optional

from .._core.files import FileEntry
from .._core.host import Host
from .._core.resource import Resource, State
from .._options.folder_options import DirectoryOptions

FOREIGN, OPEN = "folder of somebody else", "folder that everybody may write in"


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
        if self.options["state"] == "absent" and not self._is_to_go(host):
            return self.desired(host)
        if self.options["state"] == "present" and self._foreign(host):
            return {"is": FOREIGN}
        found = host.resolved_entry(self.options["path"])
        kind = found.kind if found else "nothing"
        if found and kind == "folder" and self.options["state"] == "present" and self._is_open(found):
            kind = OPEN
        return {} if kind == "nothing" and host.entry(self.options["path"]) is None else {"is": kind}

    @property
    def _area(self) -> str:
        return str(self.options.get("root") or os.path.dirname(self.options["path"]))

    def _foreign(self, host: Host) -> Optional[str]:
        """The first one of the folders below the site's own that somebody else has made, or a link of his."""
        path, place = str(self.options["path"]), self._area.rstrip("/")
        for part in path[len(place) :].strip("/").split("/") if path.startswith(place + "/") else []:
            place += "/" + part
            found = host.entry(place)
            if found and (found.is_foreign or getattr(host.resolved_entry(place), "is_foreign", False)):
                return place
        return None

    def _is_open(self, found: FileEntry) -> bool:
        """Whether everybody may put something into a folder of ours, though that is not wanted."""
        wanted = int(self.options["mode"], 8)
        meant = (found.mode & stat.S_ISVTX) or (wanted & stat.S_IWOTH)
        return bool(found.mine and found.mode & stat.S_IWOTH and not meant)

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        path = self.options["path"]
        if self.options["state"] == "absent":
            return None
        shown = host.shown(path)
        if before.get("is") == FOREIGN:
            text = "%s belongs to somebody else, who could put anything there: ask who made it, then run again"
            return text % host.shown(self._foreign(host) or path)
        if before.get("is") == OPEN:
            return "everybody may write in %s: look at what is in it, chmod o-w there, then run again" % shown
        if before.get("is", "folder") != "folder":
            return "%s is there already, and is no folder: move it away, then run again" % host.shown(path)
        if host.resolved_kind(self._area) == "link":
            return host.why_blocked(self._area)
        if host.resolved_kind(self._area) != "folder":
            text = "%s is not there, and only the site can make it: is the project's name right?"
            return text % host.shown(self._area)
        return host.why_blocked(path)

    def remarks(self, host: Host) -> List[str]:
        if self.options["state"] == "present" or self._is_to_go(host):
            return []
        return ["%s is not empty, and stays" % host.shown(self.options["path"])]

    def apply(self, host: Host) -> None:
        if self.options["state"] == "absent":
            host.remove(self.options["path"])
            return
        host.make_folders(self.options["path"], int(self.options["mode"], 8), self._area)
