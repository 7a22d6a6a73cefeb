# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits the block at the end of ~/.ssh/config, and the file that it includes, with a section for each account.

A section contains the entries ("Host NAME" with options) of one account, between two marker lines; the first has a hash
of the section, which shows changes by hand. Texts are read as latin-1, so that no byte changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...module_utils._formats import section

FOLDER, CONFIG, FILE = "~/.ssh", "~/.ssh/config", "~/.ssh/hpc.onboard.conf"
INCLUDE = f"Match all\nInclude {FILE}\n"
COMMENT = "# hpc.onboard: names of my accounts. Keep this at the end: settings above take precedence."
BLOCK = f"{COMMENT}\n{INCLUDE}"
NO_LINE_END = " (The line above had no line end.)"  # after COMMENT, so that remove_block can restore this
WHOLE_BLOCK = re.compile(f"^{re.escape(COMMENT)}({re.escape(NO_LINE_END)})?\n{re.escape(INCLUDE)}", re.MULTILINE)
LINE_OF_BLOCK = re.compile(r"^[ \t]*(?:# hpc\.onboard:|include\b.*hpc\.onboard\.conf).*$", re.MULTILINE | re.IGNORECASE)

HEADER = "# Written by hpc-onboard ssh-config. Put your own settings into ~/.ssh/config: they take precedence.\n"
CREATED = "# Created for this file: "
HEADER_LINES = re.compile(rf"\A{re.escape(HEADER)}(?:{re.escape(CREATED)}([^\n]*)\n)?")
NAME = re.compile(r"^# >>> (\S+) \(hpc\.onboard [0-9a-f]{12}\) >>>$", re.MULTILINE)
SOURCE = "# of "  # begins the line of a section that names its accounts file


class NameSection(NamedTuple):
    """The section of an account. body: its lines between the markers. source: the accounts file; empty if unknown.

    names: of the hosts in its entries. untouched: not changed by hand.
    """

    body: str
    untouched: bool
    source: str
    names: tuple[str, ...]


# ~/.ssh/config: text is its content


def add_block(text: str) -> str:
    """Return the user's text with the block at its end. The block notes if the last line had no line end."""
    return text + BLOCK if text.endswith("\n") or not text else f"{text}\n{COMMENT}{NO_LINE_END}\n{INCLUDE}"


def remove_block(text: str) -> str:
    """Return the text without the block, wherever the block is, exactly as it was before add_block()."""
    block = WHOLE_BLOCK.search(text)
    if block is None:
        return text
    # add_block() may have added a line end before the block, which is needed if text follows the block
    has_added_line_end = block[1] and block.start() > 0 and block.end() == len(text)
    return text[: block.start() - 1 if has_added_line_end else block.start()] + text[block.end() :]


def has_block(text: str) -> bool:
    """Return True if the block is in the text."""
    return WHOLE_BLOCK.search(text) is not None


def is_block_last(text: str) -> bool:
    """Return True if only comments and empty lines follow the block."""
    block = WHOLE_BLOCK.search(text)
    if block is None:
        return False
    return all(not line.strip() or line.lstrip()[0] == "#" for line in text[block.end() :].split("\n"))


def find_changed_line(text: str) -> str:
    """Return the first line of a block that was changed by hand; empty if the text contains no changed block."""
    match = LINE_OF_BLOCK.search(remove_block(text))  # remove_block() finds only an unchanged block
    return match[0].strip() if match else ""


# The included file: text is its content


def read_sections(text: str) -> dict[str, NameSection]:
    """Return the sections of the file, by account; the first one if an account has several."""
    sections: dict[str, NameSection] = {}
    for account in NAME.findall(text):
        found = section.find(text, account)
        if found and account not in sections:
            source = re.search(f"^{SOURCE}(.*)$", found.body, re.MULTILINE)
            hosts = re.findall(r"^Host (.*)$", found.body, re.MULTILINE)
            names = tuple(name for line in hosts for name in line.split())
            sections[account] = NameSection(found.body, found.untouched, source[1] if source else "", names)
    return sections


def edit_sections(text: str, desired: Mapping[str, str], removed: Iterable[str], created: str) -> str:
    """Return the text of the file with the desired sections (account -> body) and without those of removed accounts.

    text: the present one. Return an empty text if only the header is left. created: for a new file, the paths that must
    be created for it, separated by spaces.
    """
    new_text = text or HEADER + (f"{CREATED}{created}\n" if created else "")
    for account in removed:
        new_text = section.without(new_text, account)
    for account, body in desired.items():
        new_text = section.put(new_text, account, body)
    is_empty = not desired and not HEADER_LINES.sub("", new_text).strip()
    return "" if is_empty else new_text


def read_created(text: str) -> tuple[str, ...]:
    """Return the paths that were created for the file: ~/.ssh, ~/.ssh/config or both; empty for neither."""
    match = HEADER_LINES.match(text)
    return tuple((match[1] or "").split()) if match else ()
