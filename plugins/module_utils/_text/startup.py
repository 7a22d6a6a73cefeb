# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line of ours in a start-up file, above everything that could return early.

Texts are read as latin-1, so that every byte comes back as it was.
"""

from typing import Optional

from .lines import lines

MARK = "# hpc.onboard"


def our_line(text: str) -> Optional[str]:
    """The line that carries our mark, without its end, or None."""
    for line in lines(text):
        if line.rstrip().endswith(MARK):
            return line.rstrip("\r\n")
    return None


def has_conda_block(text: str) -> bool:
    """Whether 'conda init' has left its block here, in use."""
    return any(line.startswith("# >>> conda initialize >>>") for line in lines(text))


def reads(text: str, name: str) -> bool:
    """Whether a line that is no comment names another start-up file."""
    return any(name in line and not line.lstrip(" \t").startswith("#") for line in lines(text))


def insert(text: str, line: str) -> str:
    """The text with the line on top (behind a #! line), ended as the text ends its lines."""
    end = "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"
    head = ""
    if text.startswith("#!") and "\n" in text:
        head, text = text[: text.find("\n") + 1], text[text.find("\n") + 1 :]
    return head + line + end + text


def remove(text: str, line: str) -> str:
    """The exact inverse of insert."""
    for end in ("\r\n", "\n"):
        whole = line + end
        if text.startswith(whole):
            return text[len(whole) :]
        at = text.find("\n" + whole)
        if at >= 0:
            return text[: at + 1] + text[at + 1 + len(whole) :]
    return text
