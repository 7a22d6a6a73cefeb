# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read, check and write a text file of the user in which hpc-onboard keeps some lines.

A Host reads and changes the files of the account.
"""

from typing import NamedTuple, Optional

from .errors import AccountError
from .host import Host

BROKEN_LINK = "%s is a link to %s, which does not exist: remove the link, then run hpc-onboard again"
NO_FILE = "%s is a %s, not a file: rename or move the %s, then run hpc-onboard again"


class EditedFile(NamedTuple):
    """A text file: its path with all links resolved, and its text as latin-1, so that every byte is preserved."""

    path: str
    text: str
    mode: int
    exists: bool = True


def read_edited_file(host: Host, path: str, mode: int = 0o644) -> EditedFile:
    """Return the file at a path after links are resolved.

    Without a regular file at the path, "exists" is False and the text is empty. mode: used only in this case.
    """
    real = host.resolve(path) or path
    found = host.entry(real)
    if found is None or found.kind != "file":
        return EditedFile(real, "", mode, exists=False)
    return EditedFile(real, host.read(real).decode("latin-1"), found.mode)


def read_text_if_possible(host: Host, path: str) -> str:
    """Return the text of a file as latin-1, for a note about the file; "" if it is missing or cannot be read."""
    try:
        return read_edited_file(host, path).text
    except AccountError:
        return ""


def why_not_editable(host: Host, path: str, advice: str) -> Optional[str]:
    """Return why a file must not be edited; None if the file may be edited or created.

    A link is followed only to a file inside the home directory.

    advice: what to do about a file that has several hard links or is outside the home directory.
    """
    shown = host.shown(path)
    real = host.resolve(path)
    if real is None:
        return "%s is a link to itself: remove the link, then run hpc-onboard again" % shown
    home = host.resolve(host.home) or host.home  # the site may use links in the path of the home directory
    if not real.startswith(home + "/") and not real.startswith(host.home + "/"):
        text = "the real path of %s is %s, but hpc-onboard edits only files in your home directory: %s"
        return text % (shown, real, advice)
    found = host.entry(real)
    if found is None:
        link = host.entry(path)
        if link and link.kind == "link":
            return BROKEN_LINK % (shown, real)
        return None  # the file will be created
    if found.kind != "file":
        return NO_FILE % (shown, found.kind, found.kind)
    if not found.mine:
        return "%s belongs to another user: rename or move the file, then run hpc-onboard again" % shown
    if found.links != 1:
        return "writing to %s would break its %d hard links: %s" % (shown, found.links, advice)
    return None


def write_edited_file(host: Host, file: EditedFile, text: str, keep: bool = False) -> None:
    """Write the new text if it differs from the file's. If the new text is empty, remove the file.

    keep: write an empty file rather than remove the file, for example because a link points to the file.
    """
    if text == file.text:
        return
    if text or keep:
        old = file.text.encode("latin-1") if file.exists else None
        host.write(file.path, old, content=text.encode("latin-1"), mode=file.mode)
    else:
        host.remove(file.path)
