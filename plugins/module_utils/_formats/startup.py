# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The line of hpc-onboard in a start-up file: the first one, because a later line might not be reached.

The line sources the file with the variables that hpc-onboard sets for the account, and ends with MARK. Texts are
decoded as latin-1, so that every byte is preserved.
"""

import re
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
    """A block of lines that a program has written."""

    line: int  # number of the first line, from 1
    program: str


def find_our_line(text: str) -> Optional[str]:
    """Return the line that ends with hpc-onboard's MARK, without the line end, or None."""
    for line in split_lines(text):
        if line.rstrip().endswith(MARK):
            return line.rstrip("\r\n")
    return None


def has_conda_block(text: str) -> bool:
    """Return True if the text has a block of 'conda init'."""
    return any(block.program == "conda" for block in find_init_blocks(text))


def find_init_blocks(text: str) -> List[Block]:
    """Return the blocks that 'conda init' and 'mamba shell init' have written."""
    heads = {"# >>> %s initialize >>>" % program: program for program in ("conda", "mamba")}
    numbered = enumerate(split_lines(text), 1)
    return [Block(number, heads[line.strip()]) for number, line in numbered if line.strip() in heads]


def refers_to(text: str, name: str) -> bool:
    """Return True if a line contains the name, such as that of another start-up file, and may read that file.

    A comment and an alias read no file, and ~/.bashrc.local, ~/.bashrc_x and ~/.bashrc~ are other files than ~/.bashrc.
    """
    line_with_name = r"^(?![ \t]*(?:#|alias[ \t])).*%s(?![\w~-]|\.\w)" % re.escape(name)
    return re.search(line_with_name, text, re.MULTILINE) is not None


def insert(text: str, line: str) -> str:
    """Return the text with the line at the top, or below #!, and with the line end that the text uses."""
    first_line = text[: text.find("\n") + 1]
    end = "\r\n" if "\r\n" in first_line else "\n"
    head = first_line if text.startswith("#!") else ""
    return head + line + end + text[len(head) :]


def remove(text: str, line: str) -> str:
    """Return the text without the line, which the user may have copied or moved to the end: the inverse of insert()."""
    return re.sub(r"^%s(?:\r?\n|\Z)" % re.escape(line), "", text, flags=re.MULTILINE)
