# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Search a known_hosts file for a host, to see whether the user has connected to it before."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

HASHED = "|1|"  # salt and HMAC-SHA1 of the name follow, both in base64: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT


def is_known(text: str, host: str, port: int = 22) -> bool:
    """Return True if a line of known_hosts contains this host as text or hash: the user has connected to the host.

    text: the content of the file. Comments, patterns, and lines with a marker such as @cert-authority prove no
    connection, so they are ignored.
    """
    name = host.lower() if port == 22 else f"[{host.lower()}]:{port}"
    return any(_names_host(line.split()[0], name) for line in text.splitlines() if line.strip() and line[0] not in "#@")


def _names_host(field: str, name: str) -> bool:
    """Return True if the first field of a line contains the name of a host, as text or as a hash."""
    if not field.startswith(HASHED):
        return name in field.lower().split(",")
    salt, _bar, expected = field[len(HASHED) :].partition("|")
    try:
        digest = hmac.new(base64.b64decode(salt), name.encode(), hashlib.sha1).digest()
        return hmac.compare_digest(digest, base64.b64decode(expected))
    except (binascii.Error, ValueError):  # a damaged line is for no host
        return False
