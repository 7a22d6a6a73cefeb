# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A private folder with the keys and files of the user that were replaced; offboarding restores them.

A file in which a key was replaced is copied to the folder. Any other file, link or folder is moved, in one step, so it
keeps its content, mode and times, and a killed run leaves it in one of the two places.

Only the user can open their folder. A copy's name follows from the key of its note, so nothing else records it. The
first copy is kept: it is what the user had.
"""

import os
from typing import Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource
from .._core.values import FORMER, note_key
from .._formats.hashes import digest


def copy_path(host: Host, key: str) -> str:
    """Return the path of the copy for a resource. key: the key of its note."""
    return os.path.join(host.home, FORMER, digest(key.encode("utf-8")).hex()[:16])


def has_copy(host: Host, resource: Resource) -> bool:
    """Return True if there is a copy of what a resource replaced."""
    return host.entry(copy_path(host, note_key(resource.KIND, resource.identity))) is not None


def save_copy(host: Host, key: str, content: bytes) -> None:
    """Write the copy, unless it exists: the first one is what the user had."""
    path = copy_path(host, key)
    if host.entry(path) is None:
        host.make_folders(os.path.dirname(path), 0o700)
        host.write(path, None, content, 0o600, private=True)


def may_move(host: Host, key: str, path: str) -> bool:
    """Return True if a thing is the user's to move, and nothing has been moved for this resource yet."""
    found = host.entry(path)
    is_theirs = found is not None and found.mine and found.kind in ("file", "link", "folder")
    return is_theirs and host.entry(copy_path(host, key)) is None


def move_there(host: Host, key: str, path: str) -> None:
    """Move the user's thing into the private folder."""
    folder = os.path.dirname(copy_path(host, key))
    host.make_folders(folder, 0o700)
    unsafe = host.why_unsafe_folder(folder)
    if unsafe:
        raise AccountError(unsafe)
    host.move(path, copy_path(host, key))


def move_back(host: Host, key: str, path: str) -> None:
    """Move the user's thing back to its place, which is free, and remove the folder with the last one."""
    host.move(copy_path(host, key), path)
    _remove_if_empty(host)


def read_copy(host: Host, key: str) -> Optional[bytes]:
    """Return the content of the copy, or None if it does not exist."""
    path = copy_path(host, key)
    found = host.entry(path)
    return host.read(path) if found and found.kind == "file" and found.mine else None


def remove_copy(host: Host, key: str) -> None:
    """Remove the copy, and the folder with the last one."""
    path = copy_path(host, key)
    if host.entry(path):
        host.remove(path)
    _remove_if_empty(host)


def _remove_if_empty(host: Host) -> None:
    folder = os.path.join(host.home, FORMER)
    if host.entry(folder) and not host.names(folder):
        host.remove(folder)
