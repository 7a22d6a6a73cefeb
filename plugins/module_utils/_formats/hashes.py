# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SHA-256 of short texts by what Python itself brings.

hashlib and hmac load OpenSSL first: a fifteenth of what an account had to do where nothing was to be changed.
"""

try:
    from _sha2 import sha256  # type: ignore[import-not-found]  # Python 3.12 and newer
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]
    except ImportError:  # built without its own, as a distribution may decide
        from hashlib import sha256

BLOCK = 64  # bytes that SHA-256 takes at once
INNER = bytes(byte ^ 0x36 for byte in range(256))
OUTER = bytes(byte ^ 0x5C for byte in range(256))


def digest(content: bytes) -> bytes:
    """The SHA-256 of it, 32 bytes."""
    return bytes(sha256(content).digest())


def keyed_digest(key: bytes, content: bytes) -> bytes:
    """The HMAC-SHA256 of it, 32 bytes (RFC 2104). The key: 64 bytes at most, as all of ours are."""
    block = key.ljust(BLOCK, b"\0")
    return digest(block.translate(OUTER) + digest(block.translate(INNER) + content))
