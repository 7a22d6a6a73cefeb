# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""enroot's credentials file, which looks like netrc but is parsed differently.

enroot reads the user from the first line that begins with 'machine HOST login', then the line for that machine and
user. After that, curl parses the file as netrc, where an earlier 'default' entry wins. So an entry is written as one
line at column 0, before any other line for the machine and before 'default'. In all functions, text is the content of
the file, machine the host name of a registry, and login a user name there.
Source: https://github.com/NVIDIA/enroot (src/docker.sh, doc/cmd/import.md).
"""

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from .lines import NUL_PROBLEM, split_lines, split_words

BYTE_ORDER_MARK = "\xef\xbb\xbf"  # as latin-1


class EnrootEntry(NamedTuple):
    """The entry for a machine and login, which may be on several lines of a file."""

    passwords: List[str]  # of each line, in order
    well_formed: bool  # True if enroot can parse the first line
    foremost: bool  # True if no other entry for the machine, and no default entry, is before this one


def is_entry_for(line: str, machine: str, login: str) -> bool:
    """Return True if the line is an entry for this machine and login, with any order of words and any indentation."""
    words = split_words(line)
    values = _parse_values(words[2:])
    return words[:2] == ["machine", machine] and values.get("login") == login and "password" in values


def _parse_values(words: List[str]) -> Dict[str, str]:
    """Return the value of each keyword, which is the next word, even if that looks like a keyword.

    Of a repeated keyword, the first value is returned.
    """
    values: Dict[str, str] = {}
    remaining = iter(words)
    for word in remaining:
        if word in ("login", "password", "account"):
            value = next(remaining, None)
            if value is not None:
                values.setdefault(word, value)
    return values


def takes_precedence(line: str, machine: str) -> bool:
    """Return True if enroot or curl would use this line instead of a later line for the machine."""
    words = [word.lower() for word in split_words(line)]  # curl reads keywords and hosts in any case
    return words[:2] == ["machine", machine.lower()] or words[:1] == ["default"]


def format_entry(machine: str, login: str, password: str) -> str:
    """Return the line of an entry, without a line end."""
    return "machine %s login %s password %s" % (machine, login, password)


def find(text: str, machine: str, login: str) -> Optional[EnrootEntry]:
    """Return the entry for a machine and login, or None."""
    lines = split_lines(text)
    numbers = [number for number, line in enumerate(lines) if is_entry_for(line, machine, login)]
    if not numbers:
        return None
    first = lines[numbers[0]]
    well_formed = re.match(r"^machine[ \t]+\S+[ \t]+login[ \t]+\S+[ \t]+password[ \t]+\S", first) is not None
    passwords = [_parse_values(split_words(lines[number])[2:])["password"] for number in numbers]
    has_rival = any(takes_precedence(line, machine) for line in lines[: numbers[0]])
    # curl may find another entry, which spans several lines
    foremost = not has_rival and find_curl_login(text, machine) == (login, passwords[0])
    return EnrootEntry(passwords, well_formed, foremost)


def find_curl_login(text: str, machine: str) -> Tuple[Optional[str], Optional[str]]:
    """Return login and password of the entry that curl uses for a machine; None for each that is missing.

    curl uses the first entry for the machine, which may span several lines.

    Source: lib/netrc.c of curl 7.88. Keywords and hosts are case-insensitive. A comment ends with its line, a macro at
    an empty line. A quoted word keeps its quotes.
    """
    login: Optional[str] = None
    password: Optional[str] = None
    # the next word: "machine", "login" or "password" is its value, "entry" a keyword in the entry for this machine,
    # "keyword" any other keyword, and "macro" a part of a macro
    expected = "keyword"
    for line in split_lines(text):
        if expected == "macro" and line[:1] in "\r\n":  # an empty line ends the macro
            expected = "keyword"
        for word in split_words(line):
            if expected == "macro" or word.startswith("#"):
                break
            if login and password:
                return login, password
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
    """Return the text with one line for machine and login: before the first line with precedence, else at the end.

    If the last line has no line end, the new line becomes the first one instead. At the end, entries with the same
    login are sorted by machine in reverse, such as nvcr.io before authn.nvidia.com, so that the order does not depend
    on which entry is written first.
    """
    lines = split_lines(text)
    line_end = "\r\n" if lines and lines[0].rstrip("\n").endswith("\r") else "\n"
    kept: List[str] = []
    place = None  # the index in kept at which the new line is inserted
    for line in lines:
        if place is None and takes_precedence(line, machine):
            place = len(kept)
        if not is_entry_for(line, machine, login):
            kept.append(line)
    new_line = format_entry(machine, login, password) + line_end
    if place is None and kept and not kept[-1].endswith("\n"):
        place = 0  # the last line has no line end, and must not get one
    elif place is None:
        place = len(kept)
        while place and _belongs_below_new_line(kept[place - 1], machine, login):
            place -= 1
    return "".join(kept[:place]) + new_line + "".join(kept[place:])


def _belongs_below_new_line(line: str, machine: str, login: str) -> bool:
    """Return True if a line is an entry of the same login for a machine earlier in the alphabet.

    Such a line stays below the entry that is written, so that nvcr.io comes before authn.nvidia.com.
    """
    names = split_words(line)[1:2]  # the name of the machine, if the line has two words
    return bool(names) and names[0] < machine and is_entry_for(line, names[0], login)


def without(text: str, machine: str, login: str) -> str:
    """Return the text without the lines for machine and login."""
    return "".join(line for line in split_lines(text) if not is_entry_for(line, machine, login))


def restore_former(text: str, machine: str, login: str, former: str) -> str:
    """Return the text with the lines for machine and login as they were in the former text.

    former: the whole text of the file before hpc-onboard changed it.
    """
    if without(text, machine, login) == without(former, machine, login):  # no other line has changed
        return former
    lines = split_lines(text)
    restored = [line for line in split_lines(former) if is_entry_for(line, machine, login)]
    place = next((number for number, line in enumerate(lines) if is_entry_for(line, machine, login)), len(lines))
    others = [line for line in lines if not is_entry_for(line, machine, login)]
    new_lines = others[:place] + restored + others[place:]
    # a line that was the last one may need a line end now
    return "".join(line if line.endswith("\n") else line + "\n" for line in new_lines[:-1]) + "".join(new_lines[-1:])


def find_problem(text: str, machine: str) -> Optional[str]:
    """Return why the entry for a machine cannot be edited in this file, and what to do; else None."""
    if text.startswith(BYTE_ORDER_MARK):
        return "the file begins with a byte-order mark, which hides the first line from enroot: delete the mark"
    if "\0" in text:
        return NUL_PROBLEM
    for number, line in enumerate(split_lines(text), 1):
        words = split_words(line)
        if words[:2] == ["machine", machine] and "password" not in words:
            return (
                "line %d begins an entry for %s that spans several lines, but enroot reads one line per entry:"
                " delete the entry" % (number, machine)
            )
        if words == ["machine"]:
            return (
                "line %d contains only 'machine', but enroot reads one line per entry: join the lines of the entry"
                % number
            )
        if words[:1] == ["machine"] and "machine" in words[3:] and machine in words:
            return "line %d contains several entries, but enroot reads one entry per line: split the line" % number
    return None
