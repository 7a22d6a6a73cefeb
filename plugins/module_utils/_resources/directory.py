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
        """Return {"is": "folder"}; an empty state if the folder is to be removed and can be."""
        return {} if self._will_be_absent(host) else {"is": "folder"}

    def _will_be_absent(self, host: Host) -> bool:
        """Return True if the folder is to be removed, and is the user's own and empty, or does not exist."""
        if self.options["state"] == "present":
            return False
        found = host.entry(self.options["path"])
        return found is None or (found.kind == "folder" and found.mine and not host.names(self.options["path"]))

    def inspect(self, host: Host) -> State:
        """Return the kind of what is at the path; FOREIGN or OPEN for a folder that is not safe to use.

        A link to nothing has the kind "nothing"; for a path that does not exist, the state is empty.
        """
        if self.options["state"] == "absent" and not self._will_be_absent(host):
            return self.desired(host)  # a folder that must stay needs no change
        if self.options["state"] == "present" and self._find_foreign(host):
            return {"is": FOREIGN}
        found = host.resolved_entry(self.options["path"])
        kind = found.kind if found else "nothing"
        if found and kind == "folder" and self.options["state"] == "present" and self._is_open_by_mistake(found):
            kind = OPEN
        return {} if kind == "nothing" and host.entry(self.options["path"]) is None else {"is": kind}

    def _find_parent(self, host: Host) -> str:
        """Return the folder that must exist already: the root, or the parent; in the home, the closest existing one."""
        if self.options.get("root"):
            return str(self.options["root"])
        parent = os.path.dirname(str(self.options["path"]))
        while parent.startswith(host.home + "/") and host.resolved_kind(parent) != "folder":
            parent = os.path.dirname(parent)
        return parent

    def _find_foreign(self, host: Host) -> Optional[str]:
        """Return the first path below the parent that another user created (a folder, or a link or its target)."""
        path, current = str(self.options["path"]), self._find_parent(host).rstrip("/")
        below = path[len(current) :].strip("/") if path.startswith(current + "/") else ""
        for name in below.split("/") if below else []:
            current += "/" + name
            found = host.entry(current)
            if found and (found.is_foreign or getattr(host.resolved_entry(current), "is_foreign", False)):
                return current
        return None

    def _is_open_by_mistake(self, found: FileEntry) -> bool:
        """Return True if all users may write to the user's folder, which has no sticky bit, against the option mode."""
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
            return "%s already exists and is not a folder: move it away, then run again" % shown
        parent = self._find_parent(host)
        if host.resolved_kind(parent) == "link":
            return host.why_blocked(parent)
        if host.resolved_kind(parent) != "folder":
            text = "%s does not exist, and only the site can create it: check the project name"
            return text % host.shown(parent)
        return host.why_blocked(path)

    def remarks(self, host: Host) -> List[str]:
        """Return a note about a folder that is not removed because it has content."""
        if self.options["state"] == "present" or self._will_be_absent(host):
            return []
        return ["%s is not removed, because it is not empty" % host.shown(self.options["path"])]

    def apply(self, host: Host) -> None:
        """Remove the empty folder, or create the folder and the missing ones above it."""
        if self.options["state"] == "absent":
            host.remove(self.options["path"])
            return
        host.make_folders(self.options["path"], int(self.options["mode"], 8), self._find_parent(host))
