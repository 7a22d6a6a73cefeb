# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Named sections in a text whose other lines are not ours; every foreign byte survives."""

import re
from typing import NamedTuple, Optional

from .origin_mark import digest

OPENING = "# >>> %s (hpc.onboard %s) >>>\n"
CLOSING = "# <<< %s <<<\n"


class Section(NamedTuple):
    """Where a section lies in the text, what it holds, and whether that is what we wrote."""

    start: int
    end: int
    body: str
    untouched: bool


def find(text: str, name: str) -> Optional[Section]:
    """The section of that name, or None. An opening without its closing line runs to the next opening or the end."""
    opening = re.search(r"^# >>> %s \(hpc\.onboard ([0-9a-f]{12})\) >>>\n" % re.escape(name), text, re.MULTILINE)
    if not opening:
        return None
    closing = re.compile("^" + re.escape(CLOSING % name), re.MULTILINE).search(text, opening.end())
    if not closing:
        following = re.compile(r"^# >>> ", re.MULTILINE).search(text, opening.end())
        end = following.start() if following else len(text)
        return Section(opening.start(), end, text[opening.end() : end], False)
    body = text[opening.end() : closing.start()]
    return Section(opening.start(), closing.end(), body, digest(body) == opening.group(1))


def put(text: str, name: str, body: str) -> str:
    """The text with the section as given: replaced where it stands, else added at the end."""
    written = OPENING % (name, digest(body)) + body + CLOSING % name
    found = find(text, name)
    if found:
        return text[: found.start] + written + text[found.end :]
    if text and not text.endswith("\n"):
        text += "\n"
    return text + written


def without(text: str, name: str) -> str:
    """The text without the section."""
    found = find(text, name)
    return text[: found.start] + text[found.end :] if found else text


def has_any(text: str) -> bool:
    """Whether any section of ours is left."""
    return re.search(r"^# >>> .* \(hpc\.onboard [0-9a-f]{12}\) >>>$", text, re.MULTILINE) is not None
