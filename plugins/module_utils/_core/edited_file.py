# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A text file of the user in which hpc-onboard keeps some lines: where links lead, and whether it may be edited."""

from typing import NamedTuple, Optional

from .host import Host


class EditedFile(NamedTuple):
    """A text file: its path with all links resolved, and its text as latin-1, so that every byte is preserved."""

    path: str
    text: str
    mode: int
    there: bool = True


def read_edited_file(host: Host, path: str, mode: int = 0o644) -> EditedFile:
    """Return the file that path resolves to; an empty one if it is missing or not a file. mode: of a new file."""
    real = host.resolve(path) or path
    found = host.entry(real)
    if found is None or found.kind != "file":
        return EditedFile(real, "", mode, False)
    return EditedFile(real, host.read(real).decode("latin-1"), found.mode)


def why_not_editable(host: Host, path: str, instead: str) -> Optional[str]:
    """Return why a file must not be edited, or None. The target of a link is edited, inside the home only.

    instead: what to do about a file with several hard links, or outside the home.
    """
    shown = host.shown(path)
    real = host.resolve(path)
    if real is None:
        return "%s is a link to itself: remove the link, then run again" % shown
    home = host.resolve(host.home) or host.home
    if not real.startswith(home + "/") and not real.startswith(host.home + "/"):
        return "%s is a link to %s, outside your home directory, where hpc-onboard edits nothing: %s" % (
            shown,
            real,
            instead,
        )
    found = host.entry(real)
    if found is None:
        link = host.entry(path)
        return (
            "%s is a link to %s, which does not exist: remove the link, then run again" % (shown, real)
            if link and link.kind == "link"
            else None
        )
    if found.kind != "file":
        return "%s is a %s, not a file: move it away, then run again" % (shown, found.kind)
    if not found.mine:
        return "%s belongs to another user: move it away, then run again" % shown
    if found.links != 1:
        return "%s has %d hard links, which a rewrite would break: %s" % (shown, found.links, instead)
    return None


def write_edited_file(host: Host, file: EditedFile, text: str, keep: bool = False) -> None:
    """Write the text if it differs. An empty file is removed, unless keep: a link of the user points to it."""
    if text == file.text:
        return
    if text or keep:
        old = file.text.encode("latin-1") if file.there else None
        host.write(file.path, old, text.encode("latin-1"), file.mode)
    else:
        host.remove(file.path)
