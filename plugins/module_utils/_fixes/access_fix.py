# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of keys, or a folder above one, that others can get at: it is shut, and nothing else of it changes."""

from typing import Any, Dict, Optional

from .._core.files import FileEntry
from .._core.host import Host
from .._core.resource import State
from .fix_resource import FILE, Fix, why_not_written


class AccessFix(Fix):
    """What others may do. way: by the mode of a file, by its access list, or by the mode of a folder."""

    KIND = "access_fix"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "path": FILE,
        "way": {"type": "str", "required": True, "choices": ["mode", "list", "folder"]},
    }

    def name(self) -> str:
        return "what others may do with %s" % self.options["path"]

    def inspect(self, host: Host) -> State:
        real = host.resolve(self.options["path"])
        found = host.entry(real) if real else None
        if real is None or found is None or found.kind != ("folder" if self.options["way"] == "folder" else "file"):
            return {}
        if self.options["way"] == "list":
            return {"access list": "lets others at it"} if host.has_acl(real) else {}
        return {"mode": "%04o" % found.mode} if found.mode & self._shut() else {}

    def _shut(self) -> int:
        """The bits that nobody needs: others may still pass through a folder, and list it."""
        return 0o022 if self.options["way"] == "folder" else 0o077

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        real = host.resolve(self.options["path"])
        found: Optional[FileEntry] = host.entry(real) if real else None
        if found is not None and not found.mine:
            return "%s is not yours: ask its owner" % host.shown(self.options["path"])
        return why_not_written(host, self.options["path"]) if self.options["way"] == "list" else None

    def apply(self, host: Host) -> None:
        real = host.resolve(self.options["path"])
        found = host.entry(real) if real else None
        if real is None or found is None:
            return
        if self.options["way"] == "list":
            content = host.read(real)
            host.write(real, content, content, found.mode & 0o700, private=True)
        else:
            host.set_mode(real, found.mode & ~self._shut())
