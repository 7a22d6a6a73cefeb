# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the ngc program: an INI file whose section [CURRENT] has the key.

Only the line of the key is rewritten; every other byte stays. The program keeps the previous file as config.BAK.
Format: https://pypi.org/project/ngcsdk/
"""

import re
from typing import List, NamedTuple, Optional

from .lines import split_lines

SECTION = "CURRENT"
HEADING = re.compile(r"^\[([^\]]*)\]")
# three parts: all before the key, the key, and all after the key
APIKEY = re.compile(r"^(apikey[ \t]*[=:][ \t]*)([^\r\n]*?)([ \t]*\r?\n?)\Z", re.IGNORECASE)
NO_KEY = "no-apikey"  # the program writes this if it has no key


class KeyLine(NamedTuple):
    """A line with a key: its number and the key."""

    number: int
    key: str


def read_keys(text: str) -> List[str]:
    """Return the keys in [CURRENT]; the program uses the last one."""
    return [line.key for line in _find_key_lines(text) if line.key and line.key != NO_KEY]


def put(text: str, key: str) -> str:
    """Return the text with this key on exactly one line of [CURRENT]: the first line with a key, else a new line."""
    lines = split_lines(text)
    key_lines = _find_key_lines(text)
    if key_lines:
        first, *duplicates = [line.number for line in key_lines]
        lines[first] = APIKEY.sub(lambda parts: parts.group(1) + key + parts.group(3), lines[first])
        return "".join(line for number, line in enumerate(lines) if number not in duplicates)
    heading = next((number for number, line in enumerate(lines) if _read_heading(line) == SECTION), None)
    if heading is not None:
        line_end = "\r\n" if lines[heading].endswith("\r\n") else "\n"
        lines[heading] = lines[heading].rstrip("\r\n") + line_end  # the heading may be the last line, without an end
        return "".join(lines[: heading + 1]) + "apikey = %s%s" % (key, line_end) + "".join(lines[heading + 1 :])
    missing_end = "" if not text or text.endswith("\n") else "\n"  # of the last line
    return text + missing_end + "[%s]\napikey = %s\n" % (SECTION, key)


def without(text: str) -> str:
    """Return the text without the key; "" if only the heading of the section would be left."""
    key_lines = {line.number for line in _find_key_lines(text)}
    rest = "".join(line for number, line in enumerate(split_lines(text)) if number not in key_lines)
    return "" if rest.strip() == "[%s]" % SECTION else rest


def _read_heading(line: str) -> Optional[str]:
    """Return the name of the section that a line opens, or None."""
    found = HEADING.match(line)
    return found.group(1).strip() if found else None


def _find_key_lines(text: str) -> List[KeyLine]:
    """Return the lines in [CURRENT] that set apikey, in order."""
    key_lines = []
    section: Optional[str] = None
    for number, line in enumerate(split_lines(text)):
        section = _read_heading(line) or section
        parts = APIKEY.match(line) if section == SECTION else None
        if parts:
            key_lines.append(KeyLine(number, parts.group(2)))
    return key_lines
