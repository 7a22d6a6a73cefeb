# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold a key in the Linux kernel's keyring of the user (keyrings(7)). The kernel removes it at its time limit.

The user keyring is used, not the session keyring, so that an unlocked file is available to all terminals and timers of
the user. Only a process that "possesses" the key may use it, which requires the user keyring of the same user: other
users have no access, even if they guess the key's number.

A payload is the content of a key in the keyring: the key that unlocks a file, with its id and time limit (held_key.py).
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
CALLS = {  # machine -> numbers of the system calls add_key and keyctl
    "x86_64": (248, 250),
    "aarch64": (217, 219),
    "riscv64": (217, 219),
    "ppc64le": (269, 271),
    "s390x": (278, 280),
}
PROCESS, USER = -2, -4  # the kernel's numbers for the keyrings of this process and this user
ADD_KEY, KEYCTL = 0, 1  # positions in CALLS
SET_PERMISSIONS, LINK, UNLINK, SEARCH, READ, SET_TIMEOUT, INVALIDATE = 5, 8, 9, 10, 11, 15, 21  # operations of keyctl
POSSESSOR_ONLY = 0x3B000000  # view, read, search, link and set attributes; not write. Nothing for user, group, other
LARGEST = 4096  # bytes of a payload


def hold(name: str, payload: bytes, seconds: int) -> bool:
    """Hold the payload under this name for this number of seconds. Return False if the kernel refuses.

    In most containers, the kernel refuses.
    """
    drop(name)  # a held key cannot be changed
    try:
        # Set limit and permissions while the key is only in this process's keyring, where no other process finds it.
        with _unlink_afterwards(_add_key(name, payload)) as key:
            _keyctl(SET_TIMEOUT, key, seconds)
            _keyctl(SET_PERMISSIONS, key, POSSESSOR_ONLY)
            _keyctl(LINK, key, USER)
    except OSError:
        return False
    return True


def find(name: str) -> bytes:
    """Return the payload of this name; empty if the kernel holds no payload, or its time limit has passed."""
    with suppress(OSError), _unlink_afterwards(_search(name)) as key:
        buffer = ctypes.create_string_buffer(LARGEST)
        length = _keyctl(READ, key, ctypes.addressof(buffer), LARGEST)  # of the whole payload
        payload = buffer.raw[: min(length, LARGEST)]
        ctypes.memset(buffer, 0, LARGEST)
        return payload
    return b""


def drop(name: str) -> bool:
    """Remove the payload of this name. Return False if the kernel holds no payload."""
    with suppress(OSError), _unlink_afterwards(_search(name)) as key:
        _keyctl(INVALIDATE, key)
        return True
    return False


@contextmanager
def _unlink_afterwards(key: int) -> Iterator[int]:
    """Yield a key that is linked to this process's keyring, and remove the link afterwards."""
    try:
        yield key
    finally:
        with suppress(OSError):  # the key no longer exists
            _keyctl(UNLINK, key, PROCESS)


def _search(name: str) -> int:
    """Return the number of the key, and link the key to this process's keyring: then the process possesses the key."""
    description = ctypes.create_string_buffer(name.encode())
    key_type = ctypes.create_string_buffer(b"user")
    return _keyctl(SEARCH, USER, ctypes.addressof(key_type), ctypes.addressof(description), PROCESS)


def _add_key(name: str, payload: bytes) -> int:
    """Add a key to this process's keyring, and return its number (add_key(2))."""
    key_type, description = ctypes.create_string_buffer(b"user"), ctypes.create_string_buffer(name.encode())
    content = ctypes.create_string_buffer(payload, len(payload))
    addresses = [ctypes.addressof(buffer) for buffer in (key_type, description, content)]
    try:
        return _call(ADD_KEY, *addresses, len(payload), PROCESS)
    finally:
        ctypes.memset(content, 0, len(payload))


def _keyctl(operation: int, *arguments: int) -> int:
    """Do an operation on a key, and return its result (keyctl(2)). Raise OSError.

    operation: such as SEARCH. arguments: of this operation.
    """
    return _call(KEYCTL, operation, *arguments)


def _call(position: int, *arguments: int) -> int:
    """Make the system call at this position of CALLS. Raise OSError, also on a machine that is not in CALLS."""
    is_64_bit_linux = sys.platform == "linux" and struct.calcsize("P") == 8
    numbers = CALLS.get(platform.machine()) if is_64_bit_linux else None
    if not numbers:
        raise OSError("the kernel's keyring is not supported on this machine")
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    padded = [*arguments, *([0] * (5 - len(arguments)))]  # both calls have five arguments
    result: int = library.syscall(ctypes.c_long(numbers[position]), *map(ctypes.c_long, padded))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
