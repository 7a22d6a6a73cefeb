# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private copies of files in which a key of the user was replaced; offboarding restores them.

Only the user can open their folder. A copy's name follows from the key of its note, so nothing else records it. The
first copy is kept: it is what the user had.
"""

import os
from typing import Optional

from .._core.host import Host
from .._formats.hashes import digest

FOLDER = ".config/hpc.onboard/former"


def copy_path(host: Host, key: str) -> str:
    """Return the path of the copy for a resource. key: the key of its note."""
    return os.path.join(host.home, FOLDER, digest(key.encode("utf-8")).hex()[:16])


def save_copy(host: Host, key: str, content: bytes) -> None:
    """Write the copy, unless there is one."""
    path = copy_path(host, key)
    if host.entry(path) is None:
        host.make_folders(os.path.dirname(path), 0o700)
        host.write(path, None, content, 0o600, private=True)


def read_copy(host: Host, key: str) -> Optional[bytes]:
    """Return the content of the copy, or None if there is none."""
    path = copy_path(host, key)
    found = host.entry(path)
    return host.read(path) if found and found.kind == "file" and found.mine else None


def remove_copy(host: Host, key: str) -> None:
    """Remove the copy, and the folder with the last one."""
    path = copy_path(host, key)
    if host.entry(path):
        host.remove(path)
    folder = os.path.dirname(path)
    if host.entry(folder) and not host.names(folder):
        host.remove(folder)
