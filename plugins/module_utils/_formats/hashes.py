# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SHA-256 of short texts without OpenSSL: hashlib loads it, which takes a fifteenth of a run without changes."""

try:
    from _sha2 import sha256  # type: ignore[import-not-found]  # Python 3.12 and newer
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]
    except ImportError:  # a distribution may build Python without this module
        from hashlib import sha256

BLOCK = 64  # block size of SHA-256 in bytes
INNER = bytes(byte ^ 0x36 for byte in range(256))  # translation tables for the inner and outer padding of HMAC
OUTER = bytes(byte ^ 0x5C for byte in range(256))


def digest(content: bytes) -> bytes:
    """Return the SHA-256 of the content, 32 bytes."""
    return bytes(sha256(content).digest())


def keyed_digest(key: bytes, content: bytes) -> bytes:
    """Return the HMAC-SHA256 of the content, 32 bytes (RFC 2104). The key may have at most 64 bytes."""
    block = key.ljust(BLOCK, b"\0")
    return digest(block.translate(OUTER) + digest(block.translate(INNER) + content))
