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
APIKEY = re.compile(r"^(apikey[ \t]*[=:][ \t]*)([^\r\n]*?)([ \t]*\r?\n?)\Z", re.IGNORECASE)
NO_KEY = "no-apikey"  # what the program writes without a key


class KeyLine(NamedTuple):
    """A line with a key: its number and the key."""

    number: int
    key: str


def read_keys(text: str) -> List[str]:
    """Return the keys in [CURRENT]; the last one counts."""
    return [place.key for place in _places(text) if place.key and place.key != NO_KEY]


def put(text: str, key: str) -> str:
    """Return the text with this key in [CURRENT], once."""
    every = split_lines(text)
    places = _places(text)
    if places:
        line = every[places[0].number]
        every[places[0].number] = APIKEY.sub(lambda found: found.group(1) + key + found.group(3), line)
        doubles = {place.number for place in places[1:]}
        return "".join(line for number, line in enumerate(every) if number not in doubles)
    heading = next((number for number, line in enumerate(every) if _section(line) == SECTION), None)
    if heading is not None:
        end = "\r\n" if every[heading].endswith("\r\n") else "\n"
        every[heading] = every[heading].rstrip("\r\n") + end
        return "".join(every[: heading + 1]) + "apikey = %s%s" % (key, end) + "".join(every[heading + 1 :])
    gap = "" if not text or text.endswith("\n") else "\n"
    return text + gap + "[%s]\napikey = %s\n" % (SECTION, key)


def without(text: str) -> str:
    """Return the text without the key; empty if nothing but the empty section is left."""
    numbers = {place.number for place in _places(text)}
    left = "".join(line for number, line in enumerate(split_lines(text)) if number not in numbers)
    return "" if left.strip() == "[%s]" % SECTION else left


def _section(line: str) -> Optional[str]:
    """Return the name of the section that a line opens, or None."""
    found = HEADING.match(line)
    return found.group(1).strip() if found else None


def _places(text: str) -> List[KeyLine]:
    """Return the lines in [CURRENT] that set apikey, in order."""
    places = []
    section: Optional[str] = None
    for number, line in enumerate(split_lines(text)):
        section = _section(line) or section
        found = APIKEY.match(line) if section == SECTION else None
        if found:
            places.append(KeyLine(number, found.group(2)))
    return places
