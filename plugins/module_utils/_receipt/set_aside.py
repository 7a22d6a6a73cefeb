# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands with which a user sets a conflicting file aside and restores it.

The new name follows from the old one, so nothing is recorded: when its successor is removed, the old one is found.
"""

import shlex
from typing import List

from .._core.host import Host

SUFFIX = ".mine"


def set_aside_command(path: str) -> List[str]:
    """Return the command, as a list of words, that sets a path aside."""
    return ["mv", "-n", path, path + SUFFIX]


def restore_command(path: str) -> List[str]:
    """Return the command, as a list of words, that restores it."""
    return ["mv", "-n", path + SUFFIX, path]


def advice(shown: str) -> str:
    """Return what to do about a path that blocks a resource."""
    return "move it away (%s), then run again" % _quote_line(set_aside_command(shown))


def restore_notes(path: str, host: Host) -> List[str]:
    """Return how to restore what a user set aside, if its place is free again."""
    if host.entry(path) or not host.entry(path + SUFFIX):
        return []
    shown = host.shown(path)
    text = "%s may be your former %s: run `%s` to restore it"
    return [text % (shown + SUFFIX, shown, _quote_line(restore_command(shown)))]


def _quote_line(words: List[str]) -> str:
    """Return the words as a shell reads them; a leading ~/ stays the home."""
    return " ".join("~/" + shlex.quote(word[2:]) if word[:2] == "~/" else shlex.quote(word) for word in words)
