# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits the block at the end of ~/.ssh/config, and the file that it includes, with a section for each account.

Texts are read as latin-1, so that no byte changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...module_utils._formats import section

FOLDER, CONFIG, FILE = "~/.ssh", "~/.ssh/config", "~/.ssh/hpc.onboard.conf"
READ = f"Match all\nInclude {FILE}\n"
WHY = "# hpc.onboard: names of my accounts. Keep this at the end: settings above take precedence."
BLOCK = f"{WHY}\n{READ}"
JOINED = f"{WHY} (The line above had no line end.)\n{READ}"  # so that the file is restored without one
TRACE = re.compile(r"^[ \t]*(?:# hpc\.onboard:|include\b.*hpc\.onboard\.conf).*$", re.MULTILINE | re.IGNORECASE)

HEADER = "# Written by hpc-onboard ssh-config. Put your own settings into ~/.ssh/config: they take precedence.\n"
CREATED = "# Made for it: "
HEAD = re.compile(rf"\A{re.escape(HEADER)}(?:{re.escape(CREATED)}([^\n]*)\n)?")
NAME = re.compile(r"^# >>> (\S+) \(hpc\.onboard [0-9a-f]{12}\) >>>$", re.MULTILINE)
SOURCE = "# of "


class NameSection(NamedTuple):
    """The section of an account. source: its accounts file. names: for ssh. untouched: not changed by hand."""

    body: str
    untouched: bool
    source: str
    names: tuple[str, ...]


# ~/.ssh/config


def add_block(text: str) -> str:
    """Return the user's text with the block at its end."""
    return text + BLOCK if text.endswith("\n") or not text else f"{text}\n{JOINED}"


def remove_block(text: str) -> str:
    """Return the text without the block, wherever the block is: the exact inverse of add_block."""
    span = _find_block(text, JOINED)
    if span is not None:
        start, end = span
        added_bytes = 1 if start > 0 and end == len(text) else 0  # the line end; text after the block needs it
        return text[: start - added_bytes] + text[end:]
    span = _find_block(text, BLOCK)
    return text if span is None else text[: span[0]] + text[span[1] :]


def has_block(text: str) -> bool:
    """Return True if the block is in the text."""
    return any(_find_block(text, block) for block in (BLOCK, JOINED))


def is_block_last(text: str) -> bool:
    """Return True if only comments and empty lines follow the block."""
    span = _find_block(text, JOINED) or _find_block(text, BLOCK)
    if span is None:
        return False
    return all(not line.strip() or line.lstrip()[0] == "#" for line in text[span[1] :].split("\n"))


def find_trace(text: str) -> str:
    """Return the first line of a block that was changed by hand; empty if no such block is in the text."""
    match = TRACE.search(remove_block(text))
    return match[0].strip() if match else ""


def _find_block(text: str, block: str) -> tuple[int, int] | None:
    """Return start and end of a form of the block (BLOCK or JOINED), which begins a line; None if it is missing."""
    match = re.search(f"^{re.escape(block)}", text, re.MULTILINE)
    return match.span() if match else None


# The included file


def read_sections(text: str) -> dict[str, NameSection]:
    """Return the sections of the file, by account."""
    sections: dict[str, NameSection] = {}
    for account in NAME.findall(text):
        account_section = section.find(text, account)
        if account_section and account not in sections:
            source = re.search(f"^{SOURCE}(.*)$", account_section.body, re.MULTILINE)
            hosts = re.findall(r"^Host (.*)$", account_section.body, re.MULTILINE)
            names = tuple(name for line in hosts for name in line.split())
            sections[account] = NameSection(
                account_section.body, account_section.untouched, source[1] if source else "", names
            )
    return sections


def edit_sections(text: str, desired: Mapping[str, str], removed: Iterable[str], created: str) -> str:
    """Return the file with the desired sections (account -> body) and without the removed ones.

    Return an empty text if only the header is left. created: for a new file, the paths that must be created for it,
    separated by spaces.
    """
    new_text = text or HEADER + (f"{CREATED}{created}\n" if created else "")
    for account in removed:
        new_text = section.without(new_text, account)
    for account, body in desired.items():
        new_text = section.put(new_text, account, body)
    return "" if not desired and not HEAD.sub("", new_text).strip() else new_text


def read_created(text: str) -> tuple[str, ...]:
    """Return which of ~/.ssh and ~/.ssh/config were created for the file."""
    head = HEAD.match(text)
    return tuple((head[1] or "").split()) if head else ()
