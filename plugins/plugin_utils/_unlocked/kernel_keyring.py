# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold a key in the kernel's keyring of the user (keyrings(7)). The kernel removes it when its time is over.

It is in the keyring of the user, not of the session: an unlocked file serves all terminals and timers of the user, and
with a session keyring each would ask again. Only who possesses the key may use it, and one possesses it through the
user keyring of the same user: no other user has access, whatever number of a key they try.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TITLE = "the kernel's keyring"
CALLS = {  # machine -> numbers of add_key and keyctl
    "x86_64": (248, 250),
    "aarch64": (217, 219),
    "riscv64": (217, 219),
    "ppc64le": (269, 271),
    "s390x": (278, 280),
}
PROCESS, USER = -2, -4  # keyrings
SET_PERMISSIONS, LINK, UNLINK, SEARCH, READ, SET_TIMEOUT, INVALIDATE = 5, 8, 9, 10, 11, 15, 21  # of keyctl
POSSESSOR_ONLY = 0x3B000000  # view, read, search, link and set attributes; not write. Nothing for user, group, other
LARGEST = 4096


def hold(name: str, payload: bytes, seconds: int) -> bool:
    """Hold the payload under this name. False if the kernel refuses, as in most containers."""
    drop(name)  # nothing can write to a key that is held
    try:
        # In the keyring of this process it gets its end and its permissions before anything else can find it.
        with _linked(_add_key(name, payload)) as key:
            _keyctl(SET_TIMEOUT, key, seconds)
            _keyctl(SET_PERMISSIONS, key, POSSESSOR_ONLY)
            _keyctl(LINK, key, USER)
    except OSError:
        return False
    return True


def find(name: str) -> bytes:
    """Return the payload; empty if there is none, or its time is over."""
    with suppress(OSError), _linked(_search(name)) as key:
        buffer = ctypes.create_string_buffer(LARGEST)
        length = _keyctl(READ, key, ctypes.addressof(buffer), LARGEST)
        found = buffer.raw[: min(length, LARGEST)]
        ctypes.memset(buffer, 0, LARGEST)
        return found
    return b""


def drop(name: str) -> bool:
    """Remove the payload. False if there was none."""
    with suppress(OSError), _linked(_search(name)) as key:
        _keyctl(INVALIDATE, key)
        return True
    return False


@contextmanager
def _linked(key: int) -> Iterator[int]:
    """Yield a key in the keyring of this process, and take it out of there."""
    try:
        yield key
    finally:
        with suppress(OSError):  # it was removed
            _keyctl(UNLINK, key, PROCESS)


def _search(name: str) -> int:
    """Return the key's number. It is linked to this process, which possesses it then in every kind of session."""
    text = ctypes.create_string_buffer(name.encode())
    kind = ctypes.create_string_buffer(b"user")
    return _keyctl(SEARCH, USER, ctypes.addressof(kind), ctypes.addressof(text), PROCESS)


def _add_key(name: str, payload: bytes) -> int:
    kind, text = ctypes.create_string_buffer(b"user"), ctypes.create_string_buffer(name.encode())
    content = ctypes.create_string_buffer(payload, len(payload))
    addresses = [ctypes.addressof(one) for one in (kind, text, content)]
    try:
        return _call(0, *addresses, len(payload), PROCESS)
    finally:
        ctypes.memset(content, 0, len(payload))


def _keyctl(operation: int, *arguments: int) -> int:
    return _call(1, operation, *arguments)


def _call(which: int, *arguments: int) -> int:
    """Make a system call. Raises OSError, also where its number is not known."""
    numbers = CALLS.get(platform.machine()) if sys.platform == "linux" and struct.calcsize("P") == 8 else None
    if not numbers:
        raise OSError("no keyring of the kernel is known here")
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    padded = [*arguments, *([0] * (5 - len(arguments)))]
    result: int = library.syscall(ctypes.c_long(numbers[which]), *map(ctypes.c_long, padded))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
