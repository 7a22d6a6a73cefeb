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

FOREIGN, OPEN = "folder of another user", "folder that all users can write to"  # values of a state


class Directory(DirectoryOptions, Resource):
    """An existing folder. Its mode is set only when it is created, and it is removed only if it is empty."""

    def touches(self, host: Host) -> List[str]:
        return [self.options["path"]]

    def desired(self, host: Host) -> State:
        """Return that there is a folder; nothing if it is to be removed and may be."""
        return {} if self._will_be_absent(host) else {"is": "folder"}

    def _will_be_absent(self, host: Host) -> bool:
        """Return True if it will be absent. A folder with content, or anything that is no folder, stays."""
        if self.options["state"] == "present":
            return False
        found = host.entry(self.options["path"])
        return found is None or (found.kind == "folder" and found.mine and not host.names(self.options["path"]))

    def inspect(self, host: Host) -> State:
        """Return the kind of what is at the path; FOREIGN or OPEN for a folder that is not safe to use."""
        if self.options["state"] == "absent" and not self._will_be_absent(host):
            return self.desired(host)
        if self.options["state"] == "present" and self._find_foreign(host):
            return {"is": FOREIGN}
        found = host.resolved_entry(self.options["path"])
        kind = found.kind if found else "nothing"
        if found and kind == "folder" and self.options["state"] == "present" and self._is_open(found):
            kind = OPEN
        return {} if kind == "nothing" and host.entry(self.options["path"]) is None else {"is": kind}

    def _area(self, host: Host) -> str:
        """Return the folder that must exist: the root, or the one above; in the home, the closest that exists."""
        area = str(self.options.get("root") or os.path.dirname(self.options["path"]))
        while (
            not self.options.get("root") and area.startswith(host.home + "/") and host.resolved_kind(area) != "folder"
        ):
            area = os.path.dirname(area)
        return area

    def _find_foreign(self, host: Host) -> Optional[str]:
        """Return the first folder or link below the site's own that another user created, or None."""
        path, place = str(self.options["path"]), self._area(host).rstrip("/")
        for part in path[len(place) :].strip("/").split("/") if path.startswith(place + "/") else []:
            place += "/" + part
            found = host.entry(place)
            if found and (found.is_foreign or getattr(host.resolved_entry(place), "is_foreign", False)):
                return place
        return None

    def _is_open(self, found: FileEntry) -> bool:
        """Return True if all users may write in a folder of ours although its mode does not say so."""
        desired = int(self.options["mode"], 8)
        is_intended = (found.mode & stat.S_ISVTX) or (desired & stat.S_IWOTH)
        return bool(found.mine and found.mode & stat.S_IWOTH and not is_intended)

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the folder is unsafe or cannot be created, or None."""
        path = self.options["path"]
        if self.options["state"] == "absent":
            return None
        shown = host.shown(path)
        if before.get("is") == FOREIGN:
            text = "%s belongs to another user, who could change its content: set another path, then run again"
            return text % host.shown(self._find_foreign(host) or path)
        if before.get("is") == OPEN:
            return "all users can write to %s: check its content, run chmod o-w %s, then run again" % (shown, shown)
        if before.get("is", "folder") != "folder":
            return "%s already exists and is not a folder: move it away, then run again" % host.shown(path)
        area = self._area(host)
        if host.resolved_kind(area) == "link":
            return host.why_blocked(area)
        if host.resolved_kind(area) != "folder":
            text = "%s does not exist, and only the site can create it: is the project's name right?"
            return text % host.shown(area)
        return host.why_blocked(path)

    def remarks(self, host: Host) -> List[str]:
        """Return a note about a folder that stays because it has content."""
        if self.options["state"] == "present" or self._will_be_absent(host):
            return []
        return ["%s is not removed, because it is not empty" % host.shown(self.options["path"])]

    def apply(self, host: Host) -> None:
        if self.options["state"] == "absent":
            host.remove(self.options["path"])
            return
        host.make_folders(self.options["path"], int(self.options["mode"], 8), self._area(host))
