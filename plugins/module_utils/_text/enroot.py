# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""enroot's credentials file. It looks like netrc and is not.

enroot takes the user from the first line that begins 'machine HOST login', then the line for that
machine and user; curl then reads the file as netrc, where a 'default' entry above wins. So ours is
one line at column 0 before any other line for the machine and before 'default'.
Source: https://github.com/NVIDIA/enroot (src/docker.sh, doc/cmd/import.md).
"""

import re
from typing import List, NamedTuple, Optional

from .lines import lines, words

BYTE_ORDER_MARK = "\xef\xbb\xbf"  # as latin-1


class Found(NamedTuple):
    """What the file says for a machine and login."""

    passwords: List[str]  # of our lines, in order
    well_formed: bool  # the first of ours is written the way enroot reads
    foremost: bool  # no other line for the machine, and no default, stands above it


def is_ours(line: str, machine: str, login: str) -> bool:
    """Whether the line is an entry for this machine and login, in whatever order and indent."""
    parts = words(line)
    if parts[:2] != ["machine", machine] or "login" not in parts[2:-1] or "password" not in parts[2:-1]:
        return False
    return parts[parts.index("login", 2) + 1] == login


def is_rival(line: str, machine: str) -> bool:
    """Whether a reader would take this line before a later one of ours."""
    parts = words(line)
    return parts[:2] == ["machine", machine] or parts[:1] == ["default"]


def entry(machine: str, login: str, password: str) -> str:
    """The one line, without its end."""
    return "machine %s login %s password %s" % (machine, login, password)


def find(text: str, machine: str, login: str) -> Optional[Found]:
    """What stands in the file for machine and login, or None."""
    every = lines(text)
    ours = [i for i, line in enumerate(every) if is_ours(line, machine, login)]
    if not ours:
        return None
    well = re.match(r"^machine[ \t]+\S+[ \t]+login[ \t]+\S+[ \t]+password[ \t]+\S", every[ours[0]]) is not None
    foremost = not any(is_rival(line, machine) for line in every[: ours[0]])
    return Found([password_of(every[i]) for i in ours], well, foremost)


def password_of(line: str) -> str:
    """The word behind 'password' in a line of ours."""
    parts = words(line)
    return parts[parts.index("password", 2) + 1]


def put(text: str, machine: str, login: str, password: str) -> str:
    """The text with exactly one line of ours, where the first line for the machine stood, else at the end."""
    every = lines(text)
    end = "\r\n" if every and every[0].endswith("\r\n") else "\n"
    kept: List[str] = []
    place = None
    for line in every:
        if place is None and is_rival(line, machine):
            place = len(kept)
        if not is_ours(line, machine, login):
            kept.append(line)
    ours = entry(machine, login, password) + end
    if place is not None:
        return "".join(kept[:place]) + ours + "".join(kept[place:])
    if kept and not kept[-1].endswith("\n"):
        kept[-1] += end
    return "".join(kept) + ours


def without(text: str, machine: str, login: str) -> str:
    """The text without any line of ours."""
    return "".join(line for line in lines(text) if not is_ours(line, machine, login))


def unreadable(text: str, machine: str) -> Optional[str]:
    """Why this file cannot be edited line by line, and what to do; None when it can."""
    if text.startswith(BYTE_ORDER_MARK):
        return "the file begins with a byte-order mark, which hides its first line from enroot: delete that mark"
    for number, line in enumerate(lines(text), 1):
        parts = words(line)
        if parts[:2] == ["machine", machine] and "password" not in parts:
            return (
                "line %d begins an entry for %s that goes on over several lines, which enroot does not read:"
                " delete that entry" % (number, machine)
            )
        if parts == ["machine"]:
            return "line %d holds 'machine' alone, and enroot reads one line per entry: join it" % number
    return None
