# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write and remove the file of the receipt, the account's record of what hpc-onboard created, and its folders.

A draft is a file or folder under a temporary name. A Host reads and changes the files of the account.
"""

import os
from typing import List, Optional

from .._core.errors import AccountError
from .._core.files import draft_path
from .._core.host import Host
from .engine_files import find_engines

PLACE = ".config/hpc.onboard/receipt.json"  # path of the receipt below the home
# names of the receipt, of its folder and of their drafts
OWN_NAMES = {os.path.basename(name) for path in (PLACE, os.path.dirname(PLACE)) for name in (path, draft_path(path))}
FOREIGN_FOLDER = "%s belongs to another user; rename or move the folder, then run hpc-onboard again"


def check_folder(host: Host, folder: str) -> None:
    """Raise AccountError if the receipt could not be created in this folder."""
    found = host.entry(folder)
    problem = host.why_blocked(folder)
    if not problem and found and found.is_foreign:
        problem = FOREIGN_FOLDER % host.shown(folder)
    if problem:
        raise AccountError(problem)


def list_missing_folders(host: Host, folder: str) -> List[str]:
    """Return those of a folder and the folders above it that do not exist, the topmost first."""
    missing: List[str] = []
    while host.resolved_kind(folder) == "nothing":
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def write_receipt(host: Host, folders: List[str], path: str, old: Optional[bytes], content: bytes) -> None:
    """Write the receipt and its missing folders (topmost first) in one step, so that no folder is without a note.

    path, old, content: as in Host.write(). make_folder() calls fill with the draft of a folder, and then renames it.
    """
    if not folders:
        host.write(path, old, content, 0o600)
        return
    top = folders[0]
    empty_draft(host, draft_path(top))

    def fill(draft: str) -> None:
        """Write the other folders and the receipt into the draft of the topmost folder."""
        below = [draft + folder[len(top) :] for folder in folders[1:]]
        write_receipt(host, below, draft + path[len(top) :], old, content)

    try:
        host.make_folder(top, 0o755, fill)
    except AccountError:
        empty_draft(host, draft_path(top))
        raise


def remove_receipt(host: Host, path: str, above: Optional[str]) -> None:
    """Remove the kept engines and the receipt, with their folder and the folder above if these are then empty.

    above: the path of the folder above; None if that folder must stay, because hpc-onboard did not create it.
    """
    folder = os.path.dirname(path)
    for engine in find_engines(host):
        host.remove(engine)
    if not contains_only(host, folder, [os.path.basename(path)]):
        host.remove(path)
        return
    top = above if above and contains_only(host, above, [os.path.basename(folder)]) else folder
    host.empty_and_remove(top, lambda draft: _remove_own_names(host, draft))


def contains_only(host: Host, folder: str, names: List[str]) -> bool:
    """Return True if a folder contains exactly these names. Return False for a link, which the user has created."""
    found = host.entry(folder)
    return found is not None and found.kind == "folder" and host.names(folder) == names


def _remove_own_names(host: Host, folder: str) -> None:
    """Remove the receipt, its folder and their drafts from a folder, by their names; other content stays."""
    for name in sorted(OWN_NAMES.intersection(host.names(folder))):
        path = os.path.join(folder, name)
        found = host.entry(path)
        if found and found.kind == "folder":
            _remove_own_names(host, path)
        if not host.names(path):  # a file, or a folder that is empty now
            host.remove(path)


def empty_draft(host: Host, draft: str) -> None:
    """Remove the draft of a receipt's folder that a killed run has left; the draft stays if it has other content."""
    found = host.entry(draft)
    if found and found.kind == "folder" and found.mine:
        _remove_own_names(host, draft)
        if not host.names(draft):
            host.remove(draft)
