# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private keys in a text (PEM, RFC 7468; PROTOCOL.key of OpenSSH; PuTTY's and WireGuard's files), without those that a
passphrase protects."""

import base64
import binascii
import re
from typing import Iterator, Tuple

MARKS = (b"PRIVATE KEY-----", b"Private")  # one of which is in each text with one
PRIVATE_KEY = "a private key without a passphrase"
SHORTEST = 48  # bytes of a private key of 32 bytes with its wrapping
_BLOCK = re.compile(r"-----BEGIN ((?:[A-Z0-9]+ )*)PRIVATE KEY-----(.{40,20000}?)-----END \1PRIVATE KEY-----", re.DOTALL)
_AROUND = re.compile(r"\\[nr]|[\s\"'>#*|\\,]")  # in JSON, mail and comments
_OPENSSH = b"openssh-key-v1\0"
_SIGN = re.compile(r"^[+-]", re.MULTILINE)  # in a patch
_SEQUENCE = b"\x30"  # of ASN.1
_PUTTY = re.compile(
    r"PuTTY-User-Key-File-\d: [^\n]+\nEncryption: none\s(?:[^\n]*\n){1,60}?Private-Lines: \d+\s+"
    r"([A-Za-z0-9+/=\s]{40,}?)\s*(?:Private-|\Z)"
)
_WIREGUARD = re.compile(r"^[ \t]*PrivateKey[ \t]*=[ \t]*([A-Za-z0-9+/]{43}=)", re.MULTILINE)
_FREE = _OPENSSH + b"\0\0\0\x04none"


def find_private_keys(text: str) -> Iterator[Tuple[int, str]]:
    """Yield where each private key without a passphrase begins, and its body, which is never shown."""
    for form in (_PUTTY, _WIREGUARD):
        for found in form.finditer(text):
            yield found.start(1), found.group(1)
    for block in _BLOCK.finditer(text):
        if "ENCRYPTED" not in block.group(1) + block.group(2):
            for body in (block.group(2), _SIGN.sub("", block.group(2))):
                body = _AROUND.sub("", body)
                if _is_free(body):
                    yield block.start(), body
                    break


def _is_free(body: str) -> bool:
    """Return True if the body of a block is a private key that needs no passphrase."""
    try:
        content = base64.b64decode(body, validate=True)
    except binascii.Error:
        return False
    beginning = _FREE if content.startswith(_OPENSSH) else _SEQUENCE
    return len(content) >= SHORTEST and content.startswith(beginning)
