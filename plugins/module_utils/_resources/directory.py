# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of the account's own, in its home or in a storage area of the site.

A run compares the states from inspect() and desired(); an empty state means that the resource is absent. If the states
differ and obstacle() returns None, the run calls apply(). remarks() returns notes for the user. before is the state
from inspect(). A Host reads and changes the account's files.
"""

import os
import stat
from typing import List, Optional

from .._core.files import FileEntry
from .._core.host import Host
from .._core.resource import Resource, State
from .._options.folder_options import DirectoryOptions

FOREIGN, OPEN = "folder of another user", "folder that all users can write to"  # values of the field "is" of a state


class Directory(DirectoryOptions, Resource):
    """An existing folder. Its mode is set only when it is created, and it is removed only if it is empty."""

    def touches(self, host: Host) -> List[str]:
        """Return the only path that this resource depends on."""
        return [self.options["path"]]

    def desired(self, host: Host) -> State:
        """Return {"is": "folder"}; an empty state if the folder is to be removed and can be removed."""
        return {} if self._will_be_absent(host) else {"is": "folder"}

    def _will_be_absent(self, host: Host) -> bool:
        """Return True if the folder is to be removed, and is the user's own and empty, or does not exist."""
        if self.options["state"] == "present":
            return False
        entry = host.entry(self.options["path"])
        return entry is None or (entry.kind == "folder" and entry.mine and not host.names(self.options["path"]))

    def inspect(self, host: Host) -> State:
        """Return {"is": kind of the entry at the path}; an empty state if the path does not exist.

        The kind is FOREIGN or OPEN for a folder that is not safe to use, and "nothing" for a broken link.
        """
        path, is_to_exist = self.options["path"], self.options["state"] == "present"
        if not is_to_exist and not self._will_be_absent(host):
            return self.desired(host)  # a folder that is not removed needs no change
        if is_to_exist and self._find_foreign(host):
            return {"is": FOREIGN}
        entry = host.resolved_entry(path)
        if entry is None:
            return {} if host.entry(path) is None else {"is": "nothing"}
        is_open = entry.kind == "folder" and is_to_exist and self._is_open_by_mistake(entry)
        return {"is": OPEN if is_open else entry.kind}

    def _find_parent(self, host: Host) -> str:
        """Return the folder that must exist already: the option root, or the parent folder.

        In the home, where every missing folder may be created, return the nearest existing folder above the path.
        """
        if self.options.get("root"):
            return str(self.options["root"])
        parent = os.path.dirname(str(self.options["path"]))
        while parent.startswith(host.home + "/") and host.resolved_kind(parent) != "folder":
            parent = os.path.dirname(parent)
        return parent

    def _find_foreign(self, host: Host) -> Optional[str]:
        """Return the first path, from below _find_parent() down to the folder, that another user owns, or None.

        A link also counts if another user owns its target.
        """
        path, current = str(self.options["path"]), self._find_parent(host).rstrip("/")
        below = path[len(current) :].strip("/") if path.startswith(current + "/") else ""  # "": not below the root
        for name in below.split("/") if below else []:
            current += "/" + name
            entry = host.entry(current)
            if entry is None:
                continue
            target = host.resolved_entry(current)
            if entry.is_foreign or (target and target.is_foreign):
                return current
        return None

    def _is_open_by_mistake(self, folder: FileEntry) -> bool:
        """Return True if the user's own folder lets all users write, without a sticky bit and against the option mode.

        In a folder with a sticky bit, other users cannot replace the user's files.
        """
        desired_mode = int(self.options["mode"], 8)
        is_intended = (folder.mode & stat.S_ISVTX) or (desired_mode & stat.S_IWOTH)
        return bool(folder.mine and folder.mode & stat.S_IWOTH and not is_intended)

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the folder is unsafe or cannot be created, or None. before: the state from inspect()."""
        path = self.options["path"]
        if self.options["state"] == "absent":
            return None
        display_path = host.shown(path)
        if before.get("is") == FOREIGN:
            return (
                "%s belongs to another user, who could change its content: set another path, then run hpc-onboard again"
                % host.shown(self._find_foreign(host) or path)
            )
        if before.get("is") == OPEN:
            return "all users can write to %s: check its content, run chmod o-w %s, then run hpc-onboard again" % (
                display_path,
                display_path,
            )
        if before.get("is", "folder") != "folder":
            return "%s already exists and is not a folder: rename or move it, then run hpc-onboard again" % display_path
        parent, problem = self._find_parent(host), host.why_blocked(path)
        if not problem and host.resolved_kind(parent) != "folder":
            return "%s does not exist, and only the site can create it: check the project name" % host.shown(parent)
        return problem

    def remarks(self, host: Host) -> List[str]:
        """Return a note with the reason why the entry at the path is not removed, for example a folder with content."""
        entry = host.entry(self.options["path"])
        if self.options["state"] == "present" or self._will_be_absent(host) or entry is None:
            return []
        why = "it is not empty"
        if not entry.mine:
            why = "it belongs to another user"
        elif entry.kind != "folder":
            why = "it is a %s, not a folder" % entry.kind
        return ["%s is not removed, because %s" % (host.shown(self.options["path"]), why)]

    def apply(self, host: Host) -> None:
        """Remove the empty folder, or create the folder and the missing folders above it."""
        if self.options["state"] == "absent":
            host.remove(self.options["path"])
            return
        # area: a folder that the site or another user may own
        host.make_folders(self.options["path"], int(self.options["mode"], 8), area=self._find_parent(host))
