# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two texts: lines of ours at the end of ~/.ssh/config, and the file that they read, a section for each account.

Texts are read as latin-1, so that every byte comes back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...module_utils._formats import section

FOLDER, CONFIG, FILE = "~/.ssh", "~/.ssh/config", "~/.ssh/hpc.onboard.conf"
READ = f"Match all\nInclude {FILE}\n"
WHY = "# hpc.onboard: names of my accounts. Keep this last: what stands above it wins."
BLOCK = f"{WHY}\n{READ}"
JOINED = f"{WHY} (No line end stood above.)\n{READ}"  # so that the file can be given back without one
TRACE = re.compile(r"^[ \t]*(?:# hpc\.onboard:|include\b.*hpc\.onboard\.conf).*$", re.MULTILINE | re.IGNORECASE)

HEADER = "# Kept by hpc-onboard ssh-config. Settings of your own belong into ~/.ssh/config, where they win.\n"
MADE = "# Made for it: "
HEAD = re.compile(rf"\A{re.escape(HEADER)}(?:{re.escape(MADE)}([^\n]*)\n)?")
NAME = re.compile(r"^# >>> (\S+) \(hpc\.onboard [0-9a-f]{12}\) >>>$", re.MULTILINE)
SOURCE = "# of "


class Found(NamedTuple):
    """The section of one account. source: the accounts file that it is of; names: by which ssh knows the account."""

    body: str
    untouched: bool
    source: str
    names: tuple[str, ...]


# ~/.ssh/config


def insert(text: str) -> str:
    """The person's text with our lines at its end."""
    return text + BLOCK if text.endswith("\n") or not text else f"{text}\n{JOINED}"


def remove(text: str) -> str:
    """The text without our lines: the exact inverse of insert, wherever they stand meanwhile."""
    at = _place(text, JOINED)
    if at is not None:
        start, end = at
        is_joined = start > 0 and end == len(text)  # what came behind them needs the line end
        return text[: start - is_joined] + text[end:]
    at = _place(text, BLOCK)
    return text if at is None else text[: at[0]] + text[at[1] :]


def is_read(text: str) -> bool:
    """Whether our lines stand in the text."""
    return any(_place(text, block) for block in (BLOCK, JOINED))


def is_last(text: str) -> bool:
    """Whether nothing but comments and blanks comes behind our lines."""
    at = _place(text, JOINED) or _place(text, BLOCK)
    return at is not None and all(not line.strip() or line.lstrip()[0] == "#" for line in text[at[1] :].split("\n"))


def trace(text: str) -> str:
    """The first line that is of ours beside our lines themselves: a hand has changed them; empty if there is none."""
    found = TRACE.search(remove(text))
    return found[0].strip() if found else ""


def _place(text: str, block: str) -> tuple[int, int] | None:
    found = re.search(f"^{re.escape(block)}", text, re.MULTILINE)
    return found.span() if found else None


# The file of ours


def sections(text: str) -> dict[str, Found]:
    """What the file holds, by account."""
    found: dict[str, Found] = {}
    for account in NAME.findall(text):
        one = section.find(text, account)
        if one and account not in found:
            source = re.search(f"^{SOURCE}(.*)$", one.body, re.MULTILINE)
            names = tuple(name for line in re.findall(r"^Host (.*)$", one.body, re.MULTILINE) for name in line.split())
            found[account] = Found(one.body, one.untouched, source[1] if source else "", names)
    return found


def edited(text: str, wanted: Mapping[str, str], gone: Iterable[str], made: str) -> str:
    """The file with these sections (account -> body), and without those; empty when nothing of ours is left in it.

    made: what was made for a file that is new, in words with blanks between them.
    """
    new = text or HEADER + (f"{MADE}{made}\n" if made else "")
    for account in gone:
        new = section.without(new, account)
    for account, body in wanted.items():
        new = section.put(new, account, body)
    return "" if not wanted and not HEAD.sub("", new).strip() else new


def made_for(text: str) -> tuple[str, ...]:
    """What was made for the file: ~/.ssh and ~/.ssh/config, or nothing."""
    head = HEAD.match(text)
    return tuple((head[1] or "").split()) if head else ()
