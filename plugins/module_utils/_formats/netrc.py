# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A netrc file as programs other than enroot parse it: an entry consists of words on one or several lines.

Every byte outside of the edited entry stays. In all functions, text is the content of the file, and machine is a host
name. Format: https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html
"""

import re
from typing import List, NamedTuple, Optional

WORD = re.compile(r'"(?:\\.|[^"\\\n])*"|[^ \t\r\n]+')  # quoted words may contain spaces
LINE_END = re.compile(r"[ \t\r]*\n")


class NetrcLogin(NamedTuple):
    """The entry for a machine."""

    start: int  # offset in the text
    end: int  # offset after the entry
    login: str
    password: str


def find_entries(text: str, machine: str) -> List[NetrcLogin]:
    """Return the entries for a machine, in order."""
    starts = [word.start() for word in _find_keywords(text) if word.group() in ("machine", "default", "macdef")]
    entries = []
    for start, next_start in zip(starts, starts[1:] + [len(text)]):
        matches = _find_words(text, start, next_start)
        words = [match.group() for match in matches]
        if words[:2] == ["machine", machine]:
            values = dict(zip(words[2::2], words[3::2]))  # keyword -> value, after "machine NAME"
            # the entry includes its line end, but not a comment after the last word
            line_end = LINE_END.match(text, matches[-1].end())
            end = line_end.end() if line_end else matches[-1].end()
            entries.append(NetrcLogin(start, end, values.get("login", ""), values.get("password", "")))
    return entries


def list_machines(text: str) -> List[str]:
    """Return the machines that have entries, each once."""
    values = [WORD.search(text, word.end()) for word in _find_keywords(text) if word.group() == "machine"]
    return list(dict.fromkeys(value.group() for value in values if value))


def has_effective_entry(text: str, machine: str) -> bool:
    """Return True if the machine has an entry that programs use, which is not below 'default'."""
    default, entries = _find_default(text), find_entries(text, machine)
    return bool(entries) and (default is None or entries[0].start < default)


def put(text: str, machine: str, login: str, password: str) -> str:
    """Return the text with a single entry for the machine: in place of its first entry, above 'default', or at the end.

    Of the first two places, the earlier one is used.
    """
    entry = "machine %s\n  login %s\n  password %s\n" % (machine, login, password)
    offsets = [former.start for former in find_entries(text, machine)]
    default = _find_default(text)
    if default is not None:
        offsets.append(default)
    if not offsets:
        return text + _separator(text) + entry
    offset = min(offsets)
    return without(text[:offset], machine) + entry + without(text[offset:], machine)


def _separator(text: str) -> str:
    """Return the line ends to write between the text and a new entry. A macro at the end needs an empty line, too."""
    end = "" if not text or text.endswith("\n") else "\n"
    # in a macro that has not ended, another entry adds no keyword
    is_in_macro = len(_find_keywords(text + end + "machine x")) == len(_find_keywords(text))
    return end + ("\n" if is_in_macro else "")


def _find_default(text: str) -> Optional[int]:
    """Return the offset of 'default', which applies to every machine; None without one."""
    return next((word.start() for word in _find_keywords(text) if word.group() == "default"), None)


def without(text: str, machine: str) -> str:
    """Return the text without the entries for the machine."""
    for entry in reversed(find_entries(text, machine)):
        text = text[: entry.start] + text[entry.end :]
    return text


def problem(text: str) -> Optional[str]:
    """Return why the file cannot be edited, and what to do; else None."""
    if "\0" in text:
        return "the file contains a NUL byte, so it is not a text file: inspect the file, then rename it"
    return None


def _find_keywords(text: str) -> "List[re.Match[str]]":
    """Return the words that programs read as keywords, as matches. Values, macros and comments are skipped."""
    keywords: "List[re.Match[str]]" = []
    offset, is_value = 0, False
    while True:
        word = WORD.search(text, offset)
        if word is None:
            return keywords
        offset = word.end()
        if is_value:
            is_value = False
        elif word.group().startswith("#"):
            offset = _find_line_end(text, offset)
        else:
            keywords.append(word)
            is_value = word.group() != "default"  # every other keyword has a value
            if word.group() == "macdef":  # skip its name and its body
                blank = re.compile(r"\n[ \t\r]*\n").search(text, offset)
                offset, is_value = (blank.end() if blank else len(text)), False


def _find_words(text: str, start: int, end: int) -> "List[re.Match[str]]":
    """Return the words of the entry between two offsets, as matches. Comments at the ends of lines are skipped."""
    words: "List[re.Match[str]]" = []
    offset = start
    while True:
        word = WORD.search(text, offset, end)
        if word is None:
            return words
        offset = word.end()
        if word.group().startswith("#") and len(words) % 2 == 0:  # in place of a keyword; a value may begin with #
            offset = _find_line_end(text, offset)
        else:
            words.append(word)


def _find_line_end(text: str, offset: int) -> int:
    """Return the offset of the end of the line that contains an offset."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end
