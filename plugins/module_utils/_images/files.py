# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of container images: those that hpc-onboard imported, each with a note next to it, and the site's own.

A Host reads and changes the account's files.
"""

import json
import os
from typing import Any, Dict, List, Optional, Sequence

from .._core.edited_file import read_edited_file
from .._core.host import Host
from .._options import image_name
from .._options.image_name import ImageName

NOTE = ".hpc.onboard"  # the suffix of the note about an image that hpc-onboard imported
DIGEST_FILE = "digest"  # in the folder of an import on the login node: the digest of the image that is being imported


class ImageFiles:
    """The files of one image in a folder of the account, one for each imported digest, with the digest in its name."""

    def __init__(self, host: Host, folder: str, image: ImageName, ending: str) -> None:
        """Store the folder that contains the files, and the image.

        ending: the suffix of the files' names, "sqsh" for enroot or "sif" for Apptainer.
        """
        self.folder = folder
        self._host, self._image, self._ending = host, image, ending

    def read_note(self, name: str) -> Optional[Dict[str, Any]]:
        """Return the note of an existing image, or None if hpc-onboard did not import the image.

        name: of the image's file. The note's "digest" and "bytes" are those of the image after the import.
        """
        path = os.path.join(self.folder, name)
        image, note = self._host.entry(path), self._host.entry(path + NOTE)
        if image is None or note is None or image.kind != "file" or note.kind != "file":
            return None
        if not note.mine:  # a note of another user proves nothing
            return None
        try:
            document = json.loads(self._host.read(path + NOTE).decode("utf-8"))
            return {"digest": str(document["digest"]), "bytes": int(document["bytes"])}
        except (ValueError, KeyError, TypeError):  # not in the form that an import writes
            return None

    def is_changed(self, name: str) -> bool:
        """Return True if the size of an imported image differs from its note."""
        note = self.read_note(name)
        try:
            size = os.stat(self._host.path_via_handle(os.path.join(self.folder, name))).st_size
        except OSError:  # the image has been removed since
            return False
        is_sandbox = bool(self._host.root)  # with simulated images, whose files are empty
        return note is not None and size != note["bytes"] and not is_sandbox

    def format_total_size(self, names: Sequence[str]) -> str:
        """Return the total size of these images as text."""
        from .._scan.amounts import format_size

        paths = [self._host.path_via_handle(os.path.join(self.folder, name)) for name in names]
        return format_size(sum(os.lstat(path).st_size for path in paths))

    def list_imported(self) -> List[str]:
        """Return the names of the files that hpc-onboard imported."""
        names = [name for name in self._host.names(self.folder) if self.is_file_name(name)]
        return [name for name in names if self.read_note(name) is not None]

    def list_removable(self) -> List[str]:
        """Return the names of the imported files that were not changed after the import."""
        return [name for name in self.list_imported() if not self.is_changed(name)]

    def is_file_name(self, name: str) -> bool:
        """Return True if an imported file of this image could have that name."""
        start, end = self._image.plain + "+", "." + self._ending  # the digits of the digest are in between
        return name.startswith(start) and name.endswith(end) and len(name) == len(start) + image_name.DIGITS + len(end)

    def list_older(self, current: str) -> List[str]:
        """Return the names of the imported files except the current one. current: its name."""
        return [name for name in self.list_imported() if name != current]

    def remove(self, name: str) -> None:
        """Remove an image, then its note: after an interruption, the note still shows that hpc-onboard imported it."""
        path = os.path.join(self.folder, name)
        self._host.remove(path)
        self._host.remove(path + NOTE)

    def find_site_file(self, folder: str, packages: Sequence[str]) -> str:
        """Return the path of the site's own file of the image in this folder, or "".

        packages: the packages that must be in the package list that the site has put next to the file.
        """
        if self._image.digest:  # the user requires a digest, but the digest of a site's file is unknown
            return ""
        if self._host.resolved_kind(folder) != "folder":
            return ""
        existing = self._host.names(folder)
        for name in image_name.site_names(self._image):
            file = "%s.%s" % (name, self._ending)
            if file not in existing:
                continue
            if not packages or self._lists_packages(os.path.join(folder, name), packages):
                return os.path.join(folder, file)
        return ""

    def _lists_packages(self, path: str, packages: Sequence[str]) -> bool:
        """Return True if the package list next to a site's image names all of these packages.

        path: of the image, without its ending. The list is in IMAGE.packages or IMAGE.sqsh.packages (or .sif); its
        lines are "NAME VERSION" or "NAME==VERSION".
        """
        for list_path in (path + ".packages", "%s.%s.packages" % (path, self._ending)):
            package_list = read_edited_file(self._host, list_path)
            if package_list.exists:
                lines = [line.replace("==", " ") for line in package_list.text.splitlines() if line.strip()]
                listed_names = {_normalise(line.split()[0]) for line in lines}
                return listed_names.issuperset(map(_normalise, packages))
        return False


def _normalise(name: str) -> str:
    """Return the name of a package in the form in which pip compares names."""
    return name.lower().replace("_", "-")


def why_too_little_space(host: Host, folder: str, needed: int, action: str) -> Optional[str]:
    """Return why the free space for a folder, which may not exist yet, is too small, or None.

    needed: bytes. action: what needs the space, for the message, such as "importing IMAGE".
    """
    from .._jobs.machine import measure_free_space
    from .._scan.amounts import format_size

    place, limits = measure_free_space(host, folder)
    for limit, left in limits:  # limit: "the file system" or "your quota"
        if left.bytes is not None and left.bytes < needed:
            return (
                "%s has %s left at %s, but %s temporarily needs about %s:"
                " remove files or ask the site for more space, then run hpc-onboard again"
                % (limit, format_size(left.bytes), place, action, format_size(needed))
            )
    return None
