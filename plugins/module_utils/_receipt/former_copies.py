# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A private folder with the keys and files of the user that were replaced; offboarding restores them.

A file in which a key was replaced is copied to the folder. Any other file, link or folder is moved in one step. So it
keeps its content, mode and times, and a killed run leaves it in one of the two places.

Only the user can access the folder. A copy is named after the resource that replaced the user's file: the name is
computed from the key of the resource's note in the receipt, so it is not recorded elsewhere. The first copy is
never overwritten: it has the user's original content. A Host reads and changes the files of the account.
"""

import os
from typing import Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource
from .._core.values import FORMER
from .._formats.hashes import digest


def copy_path(host: Host, resource: Resource) -> str:
    """Return the path of the copy for a resource that replaced, or will replace, a file of the user."""
    return os.path.join(host.home, FORMER, digest(resource.note_key.encode("utf-8")).hex()[:16])


def has_copy(host: Host, resource: Resource) -> bool:
    """Return True if a copy exists of the user's file, link or folder that a resource has replaced."""
    return host.entry(copy_path(host, resource)) is not None


def save_copy(host: Host, resource: Resource, content: bytes) -> None:
    """Write the copy, unless a copy exists: the first copy has the user's original content. content: of the file."""
    path = copy_path(host, resource)
    if not has_copy(host, resource):
        host.make_folders(os.path.dirname(path), 0o700)
        host.write(path, old=None, content=content, mode=0o600, private=True)


def can_move(host: Host, resource: Resource) -> bool:
    """Return True if move_to_copies may move what is in a resource's place: it is the user's, and no copy exists."""
    found = host.entry(resource.options["path"])
    is_users_own = found is not None and found.mine and found.kind in ("file", "link", "folder")
    return is_users_own and not has_copy(host, resource)


def move_to_copies(host: Host, resource: Resource) -> None:
    """Move the user's file, link or folder from the resource's place into the private folder.

    Raise AccountError if other users can change the private folder.
    """
    folder = os.path.dirname(copy_path(host, resource))
    host.make_folders(folder, 0o700)
    unsafe = host.why_unsafe_folder(folder)
    if unsafe:
        raise AccountError(unsafe)
    host.move(resource.options["path"], copy_path(host, resource))


def restore_folder(host: Host, path: str, mode: int) -> None:
    """Create the folder of a former file again, if the user has removed it. mode: of each new folder."""
    host.make_folders(os.path.dirname(path), mode)
    host.created_folders.clear()  # the user had the folder before, so it is not noted


def move_back(host: Host, resource: Resource) -> None:
    """Move the user's file, link or folder back to the resource's place. Remove an empty private folder."""
    restore_folder(host, resource.options["path"], 0o755)
    host.move(copy_path(host, resource), resource.options["path"])
    _remove_if_empty(host)


def read_copy(host: Host, resource: Resource) -> Optional[bytes]:
    """Return the content of the copy; None if no copy exists, or if it is a moved link or folder."""
    path = copy_path(host, resource)
    found = host.entry(path)
    return host.read(path) if found and found.kind == "file" and found.mine else None


def remove_copy(host: Host, resource: Resource) -> None:
    """Remove the copy, and the private folder if it is then empty."""
    if has_copy(host, resource):
        host.remove(copy_path(host, resource))
    _remove_if_empty(host)


def _remove_if_empty(host: Host) -> None:
    """Remove the private folder if no copy is left in it."""
    folder = os.path.join(host.home, FORMER)
    if host.entry(folder) and not host.names(folder):
        host.remove(folder)
