# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A netrc file as programs other than enroot parse it: entries of words, on one or several lines.

Every byte outside of the edited entry stays. Format: https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html
"""

import re
from typing import List, NamedTuple, Optional

WORD = re.compile(r'"(?:\\.|[^"\\\n])*"|[^ \t\r\n]+')  # quoted words may contain spaces
END = re.compile(r"[ \t\r]*\n")


class NetrcLogin(NamedTuple):
    """An entry: its offsets in the text, login and password."""

    start: int
    end: int
    login: str
    password: str


def find_entries(text: str, machine: str) -> List[NetrcLogin]:
    """Return the entries for a machine, in order."""
    starts = [found for found in _keywords(text) if found.group() in ("machine", "default", "macdef")]
    ends = [found.start() for found in starts[1:]] + [len(text)]
    ours = []
    for found, end in zip(starts, ends):
        spans = _words(text, found.start(), end)
        words = [word.group() for word in spans]
        if words[:2] == ["machine", machine]:
            values = dict(zip(words[2::2], words[3::2]))
            last = END.match(text, spans[-1].end())
            place = last.end() if last else spans[-1].end()  # a comment after it does not belong to the entry
            ours.append(NetrcLogin(found.start(), place, values.get("login", ""), values.get("password", "")))
    return ours


def is_read(text: str, machine: str) -> bool:
    """Return True if programs find an entry for the machine: they stop at a 'default'."""
    default, found = _find_default(text), find_entries(text, machine)
    return bool(found) and (default is None or found[0].start < default)


def put(text: str, machine: str, login: str, password: str) -> str:
    """Return the text with one entry for the machine: in place of the first one, else at the end, before a default."""
    entry = "machine %s\n  login %s\n  password %s\n" % (machine, login, password)
    found = find_entries(text, machine)
    places = [one.start for one in found[:1]] + [place for place in [_find_default(text)] if place is not None]
    if not places:
        return text + _gap(text) + entry
    place = min(places)
    return without(text[:place], machine) + entry + without(text[place:], machine)


def _gap(text: str) -> str:
    """Return what is needed between the text and a new entry: a macro ends at an empty line only."""
    gap = "" if not text or text.endswith("\n") else "\n"
    return gap + ("" if len(_keywords(text + gap + "machine x")) > len(_keywords(text)) else "\n")


def _find_default(text: str) -> Optional[int]:
    """Return the offset of 'default', which applies to every machine."""
    return next((found.start() for found in _keywords(text) if found.group() == "default"), None)


def without(text: str, machine: str) -> str:
    """Return the text without the entries for the machine."""
    for one in reversed(find_entries(text, machine)):
        text = text[: one.start] + text[one.end :]
    return text


def problem(text: str) -> Optional[str]:
    """Return why the file cannot be edited, and what to do; None if it can."""
    if "\0" in text:
        return "the file contains a NUL byte, so it is not a text file: inspect it, then move it away"
    return None


def _keywords(text: str) -> "List[re.Match[str]]":
    """Return the words at which a keyword is expected, without macros and comments."""
    found: "List[re.Match[str]]" = []
    at, expected = 0, 0
    while True:
        word = WORD.search(text, at)
        if word is None:
            return found
        at = word.end()
        if expected:
            expected -= 1
        elif word.group().startswith("#"):
            at = _line_end(text, at)
        else:
            found.append(word)
            expected = 0 if word.group() == "default" else 1
            if word.group() == "macdef":
                blank = re.compile(r"\n[ \t\r]*\n").search(text, at)
                at, expected = (blank.end() if blank else len(text)), 0


def _words(text: str, start: int, end: int) -> "List[re.Match[str]]":
    """Return the words of an entry, without comments at the ends of lines."""
    words: "List[re.Match[str]]" = []
    at = start
    while True:
        word = WORD.search(text, at, end)
        if word is None:
            return words
        at = word.end()
        if word.group().startswith("#") and len(words) % 2 == 0:
            at = _line_end(text, at)
        else:
            words.append(word)


def _line_end(text: str, at: int) -> int:
    """Return the offset of the end of the line at an offset."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end
