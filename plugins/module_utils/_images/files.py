# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Image files: those that hpc-onboard imported, known by the note next to each, and those of the site."""

import json
import os
from typing import Any, Dict, List, Optional, Sequence

from .._core.host import Host
from .._options import image_name
from .._options.image_name import ImageName

NOTE = ".hpc.onboard"  # the suffix of the note about an image that hpc-onboard imported


class ImageFiles:
    """The files of one image, with any digest, in a folder of the account."""

    def __init__(self, host: Host, folder: str, image: ImageName, ending: str) -> None:
        self.folder = folder
        self._host, self._image, self._ending = host, image, ending

    def note(self, name: str) -> Optional[Dict[str, Any]]:
        """Return the note {digest, bytes} of an existing image, or None if hpc-onboard did not import it."""
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
        """Return True if an imported image has another size than its note says. Simulated images never do."""
        note = self.note(name)
        try:
            size = os.stat(self._host.path_via_handle(os.path.join(self.folder, name))).st_size
        except OSError:
            return False
        return note is not None and size != note["bytes"] and not self._host.root

    def size(self, names: Sequence[str]) -> str:
        """Return the total size of these images, in words."""
        from .._scan.amounts import format_size

        return format_size(
            sum(os.lstat(self._host.path_via_handle(os.path.join(self.folder, name))).st_size for name in names)
        )

    def ours(self) -> List[str]:
        """Return the names of all images that hpc-onboard imported."""
        names = [name for name in self._host.names(self.folder) if self.is_name(name)]
        return [name for name in names if self.note(name) is not None]

    def is_name(self, name: str) -> bool:
        """Return True if an imported file of this image could have that name."""
        start, end = self._image.plain + "+", "." + self._ending
        return name.startswith(start) and name.endswith(end) and len(name) == len(start) + image_name.DIGITS + len(end)

    def old(self, current: str) -> List[str]:
        """Return the names of imported images other than the current one."""
        return [name for name in self.ours() if name != current]

    def remove(self, name: str) -> None:
        """Remove an image and then its note, so that an interrupted removal leaves an image that is still ours."""
        path = os.path.join(self.folder, name)
        self._host.remove(path)
        self._host.remove(path + NOTE)

    def of_site(self, folder: str, packages: Sequence[str]) -> str:
        """Return the site's file of the image in that folder, with all these packages in its list, or ""."""
        if self._image.digest or self._host.resolved_kind(folder) != "folder":
            return ""
        there = self._host.names(folder)
        for name in image_name.site_names(self._image):
            file = "%s.%s" % (name, self._ending)
            if file in there and (not packages or self._has(os.path.join(folder, name), packages)):
                return os.path.join(folder, file)
        return ""

    def _has(self, path: str, packages: Sequence[str]) -> bool:
        """Return True if the list next to a site's image names each package at the beginning of a line."""
        for place in (path + ".packages", "%s.%s.packages" % (path, self._ending)):
            if self._host.resolved_kind(place) == "file":
                text = self._host.read(self._host.resolve(place) or place).decode("utf-8", "replace")
                heads = {_plain(line.replace("==", " ").split()[0]) for line in text.splitlines() if line.strip()}
                return {_plain(name) for name in packages} <= heads
        return False


def _plain(name: str) -> str:
    """Return the name of a package as pip compares it."""
    return name.lower().replace("_", "-")


def why_too_little_space(host: Host, folder: str, needed: int, doing: str) -> Optional[str]:
    """Return why there is too little space at a (future) folder, or None. needed: bytes."""
    from .._jobs.machine import measure_free_space
    from .._scan.amounts import format_size

    above, rooms = measure_free_space(host, folder)
    for whose, left in rooms:
        if left.bytes is not None and left.bytes < needed:
            return (
                "%s has %s left at %s, but %s temporarily needs about %s:"
                " remove files or ask the site for more, then run again"
                % (whose, format_size(left.bytes), above, doing, format_size(needed))
            )
    return None
