# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""enroot's credentials file, which looks like netrc and is parsed differently.

enroot takes the user from the first line that begins 'machine HOST login', then the line for that machine and user;
curl then parses the file as netrc, where an earlier 'default' entry wins. So an entry is written as one line at column
0, before any other line for the machine and before 'default'.
Source: https://github.com/NVIDIA/enroot (src/docker.sh, doc/cmd/import.md).
"""

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from .lines import split_lines, split_words

BYTE_ORDER_MARK = "\xef\xbb\xbf"  # as latin-1


class EnrootEntry(NamedTuple):
    """The lines of a file for a machine and login."""

    passwords: List[str]  # one per line, in order
    well_formed: bool  # enroot can read the first line
    foremost: bool  # no other entry for the machine and no default comes before it


def is_ours(line: str, machine: str, login: str) -> bool:
    """Return True if the line is an entry for this machine and login, in any order and indentation."""
    parts = split_words(line)
    values = _values(parts[2:])
    return parts[:2] == ["machine", machine] and values.get("login") == login and "password" in values


def _values(parts: List[str]) -> Dict[str, str]:
    """Return the word after each keyword, which may look like a keyword itself; the first one counts."""
    values: Dict[str, str] = {}
    rest = iter(parts)
    for word in rest:
        if word in ("login", "password", "account"):
            value = next(rest, None)
            if value is not None:
                values.setdefault(word, value)
    return values


def is_rival(line: str, machine: str) -> bool:
    """Return True if enroot or curl would use this line before a later one for the machine."""
    parts = [word.lower() for word in split_words(line)]  # curl reads keywords and hosts in any case
    return parts[:2] == ["machine", machine.lower()] or parts[:1] == ["default"]


def entry(machine: str, login: str, password: str) -> str:
    """Return the line, without its end."""
    return "machine %s login %s password %s" % (machine, login, password)


def find(text: str, machine: str, login: str) -> Optional[EnrootEntry]:
    """Return the entry for a machine and login, or None."""
    every = split_lines(text)
    ours = [i for i, line in enumerate(every) if is_ours(line, machine, login)]
    if not ours:
        return None
    well = re.match(r"^machine[ \t]+\S+[ \t]+login[ \t]+\S+[ \t]+password[ \t]+\S", every[ours[0]]) is not None
    passwords = [password_of(every[i]) for i in ours]
    above = any(is_rival(line, machine) for line in every[: ours[0]])
    return EnrootEntry(passwords, well, not above and curl_login(text, machine) == (login, passwords[0]))


def password_of(line: str) -> str:
    """Return the password in a line for which is_ours() is true."""
    return _values(split_words(line)[2:])["password"]


def curl_login(text: str, machine: str) -> Tuple[Optional[str], Optional[str]]:
    """Return login and password that curl sends to a machine: the first entry in the words of all lines.

    Source: lib/netrc.c of curl 7.88. Keywords and hosts are case-insensitive; a comment ends with its line, a macro at
    an empty line. A quoted word keeps its quotes.
    """
    login: Optional[str] = None
    password: Optional[str] = None
    expected = "keyword"
    for line in split_lines(text):
        if expected == "macro" and line[:1] not in "\r\n":
            continue
        if expected == "macro":
            expected = "keyword"
        for word in split_words(line):
            if word.startswith("#"):
                break
            if login and password:
                return login, password
            if expected == "macro":
                continue
            if expected == "machine":
                expected = "entry" if word.lower() == machine.lower() else "keyword"
            elif expected == "login":
                login, expected = word, "entry"
            elif expected == "password":
                password, expected = word, "entry"
            elif word.lower() in ("login", "password") and expected == "entry":
                expected = word.lower()
            elif word.lower() == "machine":
                expected = "machine"
            elif word.lower() == "default" and expected == "keyword":
                expected = "entry"
            elif word.lower() == "macdef" and expected == "keyword":
                expected = "macro"
    return login, password


def put(text: str, machine: str, login: str, password: str) -> str:
    """Return the text with one line for machine and login: in place of the first one, else at the end.

    Entries of a login at the end have a fixed order, whichever is written first: nvcr.io before authn.nvidia.com.
    """
    every = split_lines(text)
    end = "\r\n" if every and every[0].rstrip("\n").endswith("\r") else "\n"
    kept: List[str] = []
    place = None
    for line in every:
        if place is None and is_rival(line, machine):
            place = len(kept)
        if not is_ours(line, machine, login):
            kept.append(line)
    ours = entry(machine, login, password) + end
    if place is None and kept and not kept[-1].endswith("\n"):
        place = 0  # the last line has no line end and is kept so
    elif place is None:
        place = len(kept)
        while place and _is_behind(kept[place - 1], machine, login):
            place -= 1
    return "".join(kept[:place]) + ours + "".join(kept[place:])


def _is_behind(line: str, machine: str, login: str) -> bool:
    """Return True if a line is an entry of the same login for a machine that comes first in the alphabet."""
    other = split_words(line)[1:2]
    return bool(other) and other[0] < machine and is_ours(line, other[0], login)


def without(text: str, machine: str, login: str) -> str:
    """Return the text without the lines for machine and login."""
    return "".join(line for line in split_lines(text) if not is_ours(line, machine, login))


def restore_former(text: str, machine: str, login: str, former: str) -> str:
    """Return the text in which the lines for machine and login are those of the former text."""
    if without(text, machine, login) == without(former, machine, login):
        return former
    every, kept = split_lines(text), [line for line in split_lines(former) if is_ours(line, machine, login)]
    place = next((at for at, line in enumerate(every) if is_ours(line, machine, login)), len(every))
    rest = [line for line in every if not is_ours(line, machine, login)]
    if kept and rest[place:] and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    return "".join(rest[:place] + kept + rest[place:])


def problem(text: str, machine: str) -> Optional[str]:
    """Return why this file cannot be edited by lines, and what to do; None if it can."""
    if text.startswith(BYTE_ORDER_MARK):
        return "the file begins with a byte-order mark, which hides the first line from enroot: delete the mark"
    if "\0" in text:
        return "the file contains a NUL byte, so it is not a text file: inspect it, then move it away"
    for number, line in enumerate(split_lines(text), 1):
        parts = split_words(line)
        if parts[:2] == ["machine", machine] and "password" not in parts:
            return (
                "line %d begins an entry for %s with several lines, but enroot reads one line per entry:"
                " delete the entry" % (number, machine)
            )
        if parts == ["machine"]:
            return (
                "line %d contains only 'machine', but enroot reads one line per entry: join the lines of the entry"
                % number
            )
        if parts[:1] == ["machine"] and "machine" in parts[3:] and machine in parts:
            return "line %d contains several entries, but enroot reads one entry per line: split the line" % number
    return None
