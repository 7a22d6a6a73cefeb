# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a known_hosts file tells of a host: then its person has been there."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

HASHED = "|1|"  # salt and HMAC-SHA1 of the name follow, both in base64: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT


def is_known(text: str, host: str, port: int = 22) -> bool:
    """Return True if a line names this host, plainly or by its hash; patterns and authorities tell of no visit."""
    name = host.lower() if port == 22 else f"[{host.lower()}]:{port}"
    return any(_names_host(line.split()[0], name) for line in text.splitlines() if line.strip() and line[0] not in "#@")


def _names_host(field: str, name: str) -> bool:
    """Return True if the first field of a line names it."""
    if not field.startswith(HASHED):
        return name in field.lower().split(",")
    salt, _bar, made = field[len(HASHED) :].partition("|")
    try:
        ours = hmac.new(base64.b64decode(salt), name.encode(), hashlib.sha1).digest()
        return hmac.compare_digest(ours, base64.b64decode(made))
    except (binascii.Error, ValueError):
        return False
