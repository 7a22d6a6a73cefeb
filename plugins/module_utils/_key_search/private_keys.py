# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for private keys without a passphrase (PEM, RFC 7468; PROTOCOL.key of OpenSSH; PuTTY; WireGuard)."""

import base64
import binascii
import re
from typing import Iterator, Tuple

MARKS = (b"PRIVATE KEY-----", b"Private")  # each text with a private key contains one of these
PRIVATE_KEY = "a private key without a passphrase"
SHORTEST = 48  # bytes of an encoded private key of 32 bytes
_BLOCK = re.compile(r"-----BEGIN ((?:[A-Z0-9]+ )*)PRIVATE KEY-----(.{40,20000}?)-----END \1PRIVATE KEY-----", re.DOTALL)
_AROUND = re.compile(r"\\[nr]|[\s\"'>#*|\\,]")  # characters that JSON, mail and comments add
_SIGN = re.compile(r"^[+-]", re.MULTILINE)  # at the beginning of a line of a patch
_PUTTY = re.compile(
    r"PuTTY-User-Key-File-\d: [^\n]+\nEncryption: none\s(?:[^\n]*\n){1,60}?Private-Lines: \d+\s+"
    r"([A-Za-z0-9+/=\s]{40,}?)\s*(?:Private-|\Z)"
)
_WIREGUARD = re.compile(r"^[ \t]*PrivateKey[ \t]*=[ \t]*([A-Za-z0-9+/]{43}=)", re.MULTILINE)
_OPENSSH_UNENCRYPTED = b"openssh-key-v1\0\0\0\0\x04none"


def find_private_keys(text: str) -> Iterator[Tuple[int, str]]:
    """Yield (start, body) of each private key without a passphrase. The body must never be shown."""
    for pattern in (_PUTTY, _WIREGUARD):
        for match in pattern.finditer(text):
            yield match.start(1), match.group(1)
    for block in _BLOCK.finditer(text):
        label, content = block.groups()
        if "ENCRYPTED" in label + content:  # the key has a passphrase
            continue
        for variant in (content, _SIGN.sub("", content)):  # as it is, and as the lines of a patch
            body = _AROUND.sub("", variant)
            if _is_unencrypted(body, is_openssh=label.startswith("OPENSSH")):
                yield block.start(), body
                break


def _is_unencrypted(body: str, is_openssh: bool) -> bool:
    """Return True if the body of a PEM block is a private key without a passphrase.

    is_openssh: the body has OpenSSH's own format, in which only the content shows whether the key has a passphrase.
    """
    try:
        content = base64.b64decode(body, validate=True)
    except binascii.Error:
        return False
    if is_openssh:
        return content.startswith(_OPENSSH_UNENCRYPTED)
    return len(content) >= SHORTEST and max(content) > 127  # a placeholder is text, which has only ASCII characters
