# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images as files: those that we have made, by the note beside each, and those that a site has."""

import json
import os
from typing import Any, Dict, List, Optional, Sequence

from .._core.host import Host
from .._options import image_name
from .._options.image_name import ImageName

NOTE = ".hpc.onboard"  # the end of the name of the file that says of an image that it is ours, and what it is


class ImageFiles:
    """The files of one image, whatever its digest, in a folder of the account's."""

    def __init__(self, host: Host, folder: str, image: ImageName, ending: str) -> None:
        self.folder = folder
        self._host, self._image, self._ending = host, image, ending

    def note(self, name: str) -> Optional[Dict[str, Any]]:
        """What is noted of an image that is there, {digest, bytes}; None where it is not ours, or not there."""
        path = os.path.join(self.folder, name)
        image, note = self._host.entry(path), self._host.entry(path + NOTE)
        if image is None or note is None or image.kind != "file" or note.kind != "file" or not note.mine:
            return None
        try:
            document = json.loads(self._host.read(path + NOTE).decode("utf-8"))
            return {"digest": str(document["digest"]), "bytes": int(document["bytes"])}
        except (ValueError, KeyError, TypeError):
            return None

    def is_changed(self, name: str) -> bool:
        """Whether an image of ours has another size than the one that was made; a pretended one has not."""
        note = self.note(name)
        try:
            there = os.stat(self._host.path_via_handle(os.path.join(self.folder, name))).st_size
        except OSError:
            return False
        return note is not None and there != note["bytes"] and not self._host.root

    def size(self, names: Sequence[str]) -> str:
        """How much these hold together, as a person reads it."""
        from .._scan.amounts import format_size

        return format_size(
            sum(os.lstat(self._host.path_via_handle(os.path.join(self.folder, name))).st_size for name in names)
        )

    def ours(self) -> List[str]:
        """The names of all that we have made."""
        names = [name for name in self._host.names(self.folder) if self.is_name(name)]
        return [name for name in names if self.note(name) is not None]

    def is_name(self, name: str) -> bool:
        """Whether a file of ours would be called so."""
        start, end = self._image.plain + "+", "." + self._ending
        return name.startswith(start) and name.endswith(end) and len(name) == len(start) + image_name.DIGITS + len(end)

    def old(self, current: str) -> List[str]:
        """Those of them that are not the current one."""
        return [name for name in self.ours() if name != current]

    def remove(self, name: str) -> None:
        """Remove an image and then its note: one that was left half way is still known as ours."""
        path = os.path.join(self.folder, name)
        self._host.remove(path)
        self._host.remove(path + NOTE)

    def of_site(self, folder: str, packages: Sequence[str]) -> str:
        """The site's own file of the image in that folder, with all these packages in its list; or empty."""
        if self._image.digest or self._host.resolved_kind(folder) != "folder":
            return ""
        there = self._host.names(folder)
        for name in image_name.site_names(self._image):
            file = "%s.%s" % (name, self._ending)
            if file in there and (not packages or self._has(os.path.join(folder, name), packages)):
                return os.path.join(folder, file)
        return ""

    def _has(self, path: str, packages: Sequence[str]) -> bool:
        """Whether the list beside an image of the site's names each package at the beginning of a line."""
        for place in (path + ".packages", "%s.%s.packages" % (path, self._ending)):
            if self._host.resolved_kind(place) == "file":
                text = self._host.read(self._host.resolve(place) or place).decode("utf-8", "replace")
                heads = {_plain(line.replace("==", " ").split()[0]) for line in text.splitlines() if line.strip()}
                return {_plain(name) for name in packages} <= heads
        return False


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def too_little_room(host: Host, folder: str, needed: int, doing: str) -> Optional[str]:
    """Why there is too little room for so many bytes where a folder is or will be; None where there is enough."""
    from .._jobs.machine import room
    from .._scan.amounts import format_size

    above, rooms = room(host, folder)
    for whose, left in rooms:
        if left.bytes is not None and left.bytes < needed:
            return (
                "%s has %s left at %s, and %s takes about %s for a while:"
                " remove files or ask the site for more, then run again"
                % (whose, format_size(left.bytes), above, doing, format_size(needed))
            )
    return None
