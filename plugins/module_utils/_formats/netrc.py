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
EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")


class Token(NamedTuple):
    """A word of the file."""

    start: int  # offset in the text
    end: int  # offset after the word
    text: str
    is_keyword: bool  # else it is the value of the keyword before it


class NetrcLogin(NamedTuple):
    """The entry for a machine."""

    start: int  # offset in the text
    end: int  # offset after the entry
    login: str
    password: str


def find_entries(text: str, machine: str) -> List[NetrcLogin]:
    """Return the entries for a machine, in order."""
    sections: List[List[Token]] = []  # the words of each entry or macro
    for word in _find_words(text):
        if word.is_keyword and word.text in ("machine", "default", "macdef"):
            sections.append([])
        if sections:
            sections[-1].append(word)
    entries = []
    for section in sections:
        words = [word.text for word in section]
        if words[:2] == ["machine", machine]:
            values = dict(zip(words[2::2], words[3::2]))  # keyword -> value, after "machine NAME"
            # the entry includes its line end, but not a comment after the last word
            line_end = LINE_END.match(text, section[-1].end)
            end = line_end.end() if line_end else section[-1].end
            entries.append(NetrcLogin(section[0].start, end, values.get("login", ""), values.get("password", "")))
    return entries


def list_machines(text: str) -> List[str]:
    """Return the machines that have entries, each once."""
    words = _find_words(text)
    names = [name.text for word, name in zip(words, words[1:]) if word.is_keyword and word.text == "machine"]
    return list(dict.fromkeys(names))


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
        return text + _render_separator(text) + entry
    offset = min(offsets)
    return without(text[:offset], machine) + entry + without(text[offset:], machine)


def _render_separator(text: str) -> str:
    """Return the line ends to write between the text and a new entry. A macro at the end needs an empty line, too."""
    end = "" if not text or text.endswith("\n") else "\n"
    # the words of a macro that has not ended are skipped
    is_in_macro = len(_find_words(text + end + "machine x")) == len(_find_words(text))
    return end + ("\n" if is_in_macro else "")


def _find_default(text: str) -> Optional[int]:
    """Return the offset of 'default', which applies to every machine; None without one."""
    return next((word.start for word in _find_words(text) if word.is_keyword and word.text == "default"), None)


def without(text: str, machine: str) -> str:
    """Return the text without the entries for the machine."""
    for entry in reversed(find_entries(text, machine)):
        text = text[: entry.start] + text[entry.end :]
    return text


def _find_words(text: str) -> List[Token]:
    """Return the words in the order in which programs read them. Comments, and names and bodies of macros are skipped.

    A word that begins with # is a comment only in place of a keyword.
    """
    words: List[Token] = []
    offset, is_value = 0, False
    while True:
        found = WORD.search(text, offset)
        if found is None:
            return words
        word, offset = found.group(), found.end()
        if word.startswith("#") and not is_value:
            end = text.find("\n", offset)
            offset = end if end >= 0 else len(text)
            continue
        words.append(Token(found.start(), offset, word, is_keyword=not is_value))
        if word == "macdef" and not is_value:  # skip its name and its body
            blank = EMPTY_LINE.search(text, offset)
            offset = blank.end() if blank else len(text)
        else:
            is_value = not is_value and word != "default"  # every other keyword has a value
