# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A text file of somebody's own in which some lines are ours: where it really lies, and whether we may edit it."""

from typing import NamedTuple, Optional

from .host import Host


class EditedFile(NamedTuple):
    """A text file, where it really lies; its text is read as latin-1, so that every byte comes back as it was."""

    path: str
    text: str
    mode: int
    there: bool = True


def read_edited_file(host: Host, path: str, mode: int = 0o644) -> EditedFile:
    """The file behind path; empty where there is none, or none that can be read as text. mode: of one that is new."""
    real = host.resolve(path) or path
    found = host.entry(real)
    if found is None or found.kind != "file":
        return EditedFile(real, "", mode, False)
    return EditedFile(real, host.read(real).decode("latin-1"), found.mode)


def why_not_editable(host: Host, path: str, instead: str) -> Optional[str]:
    """Why a file may not be rewritten. A link is edited where it leads, inside the home only.

    instead: what a person can do whose file has several names.
    """
    shown = host.shown(path)
    real = host.resolve(path)
    if real is None:
        return "%s is a link that leads back to itself" % shown
    home = host.resolve(host.home) or host.home
    if not real.startswith(home + "/") and not real.startswith(host.home + "/"):
        return "%s is a link to %s, outside your home: that is not ours to edit" % (shown, real)
    found = host.entry(real)
    if found is None:
        link = host.entry(path)
        return "%s is a link to nothing (%s)" % (shown, real) if link and link.kind == "link" else None
    if found.kind != "file":
        return "%s is a %s, not a file" % (shown, found.kind)
    if not found.mine:
        return "%s belongs to somebody else" % shown
    if found.links != 1:
        return "%s has %d names (hard links), which a rewrite would part: %s" % (shown, found.links, instead)
    return None


def write_edited_file(host: Host, file: EditedFile, text: str, keep: bool = False) -> None:
    """Write what differs; a file that holds nothing any more goes, but for one that a link of the user's leads to."""
    if text == file.text:
        return
    if text or keep:
        old = file.text.encode("latin-1") if file.there else None
        host.write(file.path, old, text.encode("latin-1"), file.mode)
    else:
        host.remove(file.path)
