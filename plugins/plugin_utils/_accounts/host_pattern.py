"""Find the word in a -l option that names no account and no group.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
from collections.abc import Collection

ALWAYS = {"all", "localhost", "ungrouped", "127.0.0.1", "::1"}
PATTERN_CHARACTERS = re.compile(r"[*?\[\]~@{}]")


def unknown_term(limit: str, known: Collection[str]) -> str | None:
    """The first plain term of a limit that is not known; wildcards, slices, files and so on may be all."""
    for term in re.split(r"[,:]", limit):
        plain = term.strip().lstrip("!&")
        if not plain or plain in known or plain in ALWAYS:
            continue
        name = plain.replace("@", "", 1) if plain[0] != "@" else plain
        if not PATTERN_CHARACTERS.search(name):
            return plain
    return None
