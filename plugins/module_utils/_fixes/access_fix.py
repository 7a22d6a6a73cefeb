# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix that removes other users' access to a file or folder, and changes nothing else."""

from typing import Any, Dict, Optional, Tuple

from .._core.files import FileEntry
from .._core.host import Host
from .._core.resource import State
from .fix_resource import FILE, FixResource, why_not_writable

WAYS = {  # way -> mode bits to remove, and the kinds of entries whose access can be removed
    "mode": (0o077, ("file",)),
    "list": (0o077, ("file",)),
    "folder": (0o022, ("folder",)),  # other users may still read, list and traverse
    "write": (0o022, ("file", "folder")),
}


class AccessFix(FixResource):
    """The access of other users to a file or folder.

    The option way selects the access to remove. "mode": all access that a file's mode allows. "list": all access that
    a file's access list (ACL) allows. "folder": write access to a folder above a secret file. "write": write access to
    a file or folder that is not secret.
    """

    KIND = "access_fix"
    TITLE = "other users' access to %(path)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "path": FILE,
        "way": {"type": "str", "required": True, "choices": list(WAYS)},
    }

    def _find_entry(self, host: Host) -> Tuple[str, Optional[FileEntry]]:
        """Return (path without links, entry) of the file or folder; ("", None) if the file does not exist."""
        real = host.resolve(self.options["path"])
        return real or "", host.entry(real) if real else None

    def inspect(self, host: Host) -> State:
        """Return the access list or the mode that gives other users access; empty if neither does."""
        real, entry = self._find_entry(host)
        bits, kinds = WAYS[self.options["way"]]
        if entry is None or entry.kind not in kinds:
            return {}
        if self.options["way"] == "list":
            return {"access list": "gives other users access"} if host.has_acl(real) else {}
        return {"mode": "%04o" % entry.mode} if entry.mode & bits else {}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the access must not be removed, and what to do; None if it may be removed."""
        _real, entry = self._find_entry(host)
        if entry is not None and not entry.mine:
            text = "%s belongs to another user: ask the owner to change the permissions"
            return text % host.shown(self.options["path"])
        if self.options["way"] == "list":  # apply replaces the file only in this case
            return why_not_writable(host, self.options["path"])
        return None  # a change of the mode needs no new file

    def apply(self, host: Host) -> None:
        """Remove the mode bits, or replace the file by one without an access list."""
        real, entry = self._find_entry(host)
        if entry is None:  # removed since the inspection
            return
        if self.options["way"] == "list":
            # Writing the same content creates a new file, which has no access list. Only the user needs the key file.
            content = host.read(real)
            host.write(real, old=content, content=content, mode=entry.mode & 0o700, private=True)
        else:
            bits, _kinds = WAYS[self.options["way"]]
            host.set_mode(real, entry.mode & ~bits)
