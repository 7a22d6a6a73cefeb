# SPDX-License-Identifier: GPL-3.0-or-later
"""Independent witnesses that nobody writes: the kernel's own events over whole trees, and trees that are read-only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.integration.audit.audit_scene import by_root

CHANGES = {
    0x2: "modify",
    0x4: "attrib",
    0x8: "close after writing",
    0x40: "moved from",
    0x80: "moved to",
    0x100: "create",
    0x200: "delete",
    0x400: "delete self",
    0x800: "move self",
}
_LIBC = ctypes.CDLL(None, use_errno=True)


class Witness:
    """Sees every change below the home and the areas of accounts. A context manager."""

    def __init__(self, *accounts: Any) -> None:
        """Nothing is watched yet."""
        self._accounts, self._places = accounts, dict[int, str]()

    def __enter__(self) -> Witness:
        """Watch every folder that there is; a new one is an event of its own."""
        self._queue = _LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._queue >= 0
        for account in self._accounts:
            for top in (account.home, *account.folders):
                for folder, _folders, _files in os.walk(account.path(top)):
                    self._watch(folder)
        return self

    def _watch(self, folder: str) -> None:
        watch = _LIBC.inotify_add_watch(self._queue, os.fsencode(folder), sum(CHANGES))
        assert watch >= 0, f"{folder}: {os.strerror(ctypes.get_errno())}"
        self._places[watch] = folder

    def __exit__(self, *_error: object) -> None:
        """Watch no more."""
        os.close(self._queue)

    def seen(self) -> list[str]:
        """What was changed since it was last asked."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._queue, 1 << 20):
                while data:
                    watch, mask, _cookie, length = struct.unpack("iIII", data[:16])
                    name = data[16 : 16 + length].rstrip(b"\0").decode("utf-8", "replace")
                    words = [word for bit, word in CHANGES.items() if mask & bit]
                    assert words or mask & 0x8000, hex(mask)  # the queue did not run over
                    found += [f"{'/'.join(words)} {Path(self._places[watch]) / name}"] if words else []
                    data = data[16 + length :]
        return found


@contextlib.contextmanager
def read_only(account: Any) -> Iterator[None]:
    """The home and the areas of an account, mounted so that nobody can write there, not even root."""
    tops = [account.home, *account.folders]
    for top in tops:
        by_root(account, f"mount --bind {top} {top}; mount -o remount,bind,ro {top}")
    try:
        yield
    finally:
        for top in reversed(tops):
            by_root(account, f"umount -l {top}")
