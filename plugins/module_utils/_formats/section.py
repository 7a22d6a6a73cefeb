# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Named sections that hpc-onboard writes into a text of the user; every byte outside of them is preserved.

The opening line of a section has a hash of its body, which shows whether the section was edited since. In all
functions, text is the whole text of the user, and name is the name of a section.
"""

import re
from typing import NamedTuple, Optional

from .origin_mark import hash_text

OPENING = "# >>> %s (hpc.onboard %s) >>>\n"
CLOSING = "# <<< %s <<<\n"


class Section(NamedTuple):
    """A section of a text."""

    start: int  # offset of the opening line
    end: int  # offset after the closing line
    body: str
    untouched: bool  # True if the body was not edited since hpc-onboard wrote the section


def find(text: str, name: str) -> Optional[Section]:
    """Return the section with this name, or None.

    A section without its closing line ends at the next section or at the end of the text.
    """
    opening = re.search(r"^# >>> %s \(hpc\.onboard ([0-9a-f]{12})\) >>>\n" % re.escape(name), text, re.MULTILINE)
    if not opening:
        return None
    closing = re.compile("^" + re.escape(CLOSING % name), re.MULTILINE).search(text, opening.end())
    if not closing:
        next_opening = re.compile(r"^# >>> ", re.MULTILINE).search(text, opening.end())
        end = next_opening.start() if next_opening else len(text)
        return Section(opening.start(), end, text[opening.end() : end], untouched=False)
    body = text[opening.end() : closing.start()]
    return Section(opening.start(), closing.end(), body, hash_text(body) == opening.group(1))


def put(text: str, name: str, body: str) -> str:
    """Return the text with a section of this name: in the place of the former one, else at the end."""
    section = OPENING % (name, hash_text(body)) + body + CLOSING % name
    found = find(text, name)
    if found:
        return text[: found.start] + section + text[found.end :]
    if text and not text.endswith("\n"):
        text += "\n"
    return text + section


def without(text: str, name: str) -> str:
    """Return the text without the section, and without copies of it."""
    found = find(text, name)
    return without(text[: found.start] + text[found.end :], name) if found else text


def has_any(text: str) -> bool:
    """Return True if the text has a section of any name."""
    return re.search(r"^# >>> .* \(hpc\.onboard [0-9a-f]{12}\) >>>$", text, re.MULTILINE) is not None


def first_line_outside(text: str) -> int:
    """Return the number, from 1, of the first line outside of sections that is neither empty nor a comment; else 0."""
    name = ""  # of the section that contains the line
    for number, line in enumerate(text.split("\n"), 1):
        opening = re.match(r"^# >>> (.*) \(hpc\.onboard [0-9a-f]{12}\) >>>$", line)
        if opening:
            name = opening.group(1)
        elif name and line + "\n" == CLOSING % name:
            name = ""
        elif not name and line.strip() and not line.lstrip().startswith("#"):
            return number
    return 0
