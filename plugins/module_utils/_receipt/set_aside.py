# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands with which a user renames a conflicting file and restores it later.

The new name is computed from the old name, so it is not recorded. When the resource at the old name is removed, the
renamed file is found.
"""

import shlex
from typing import List

from .._core.host import Host

SUFFIX = ".mine"  # added to the name of a renamed file


def set_aside_command(path: str) -> List[str]:
    """Return the command, as a list of words, that renames a path to PATH.mine."""
    return ["mv", "-n", path, path + SUFFIX]


def restore_command(path: str) -> List[str]:
    """Return the command, as a list of words, that renames PATH.mine to the path."""
    return ["mv", "-n", path + SUFFIX, path]


def advise_rename(shown: str) -> str:
    """Return the advice to rename a path that blocks a resource. shown: the path for the message."""
    return "rename it (%s), then run hpc-onboard again" % _quote_line(set_aside_command(shown))


def describe_restore(path: str, host: Host) -> List[str]:
    """Return a list with one sentence on how to restore a renamed file, if its former path is free again; else [].

    path: the former path.
    """
    if host.entry(path) or not host.entry(path + SUFFIX):
        return []
    shown = host.shown(path)
    text = "%s may be your former %s: run `%s` to restore it"
    return [text % (shown + SUFFIX, shown, _quote_line(restore_command(shown)))]


def _quote_line(words: List[str]) -> str:
    """Return the words as a shell command line. A ~/ at the start of a word stays unquoted: the shell expands it."""
    return " ".join("~/" + shlex.quote(word[2:]) if word[:2] == "~/" else shlex.quote(word) for word in words)
