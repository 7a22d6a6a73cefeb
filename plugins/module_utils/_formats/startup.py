# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The line of hpc-onboard in a start-up file, before everything that could return early.

Texts are decoded as latin-1, so that every byte is preserved.
"""

from typing import List, NamedTuple, Optional

from .lines import split_lines

MARK = "# hpc.onboard"
FILES = (
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".tcshrc",
    ".cshrc",
    ".login",
    ".kshrc",
    ".config/fish/config.fish",
)
"""Start-up files of shells, relative to the home."""


class Block(NamedTuple):
    """A block that a program has written: the number of its first line, and the program."""

    line: int
    program: str


def our_line(text: str) -> Optional[str]:
    """Return the line with the mark, without its end, or None."""
    for line in split_lines(text):
        if line.rstrip().endswith(MARK):
            return line.rstrip("\r\n")
    return None


def has_conda_block(text: str) -> bool:
    """Return True if the text has a block of 'conda init'."""
    return any(block.program == "conda" for block in init_blocks(text))


def init_blocks(text: str) -> List[Block]:
    """Return the blocks that 'conda init' and 'mamba shell init' have written."""
    heads = {"# >>> %s initialize >>>" % program: program for program in ("conda", "mamba")}
    found = [(number, heads.get(line.strip())) for number, line in enumerate(split_lines(text), 1)]
    return [Block(number, program) for number, program in found if program]


def reads(text: str, name: str) -> bool:
    """Return True if a line that is no comment names another start-up file."""
    return any(name in line and not line.lstrip(" \t").startswith("#") for line in split_lines(text))


def insert(text: str, line: str) -> str:
    """Return the text with the line first (after #!), with the line ends of the text."""
    end = "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"
    head = ""
    if text.startswith("#!") and "\n" in text:
        head, text = text[: text.find("\n") + 1], text[text.find("\n") + 1 :]
    return head + line + end + text


def remove(text: str, line: str) -> str:
    """Return the text without the line: the exact inverse of insert()."""
    for end in ("\r\n", "\n"):
        whole = line + end
        if text.startswith(whole):
            return text[len(whole) :]
        at = text.find("\n" + whole)
        if at >= 0:
            return text[: at + 1] + text[at + 1 + len(whole) :]
    return text
