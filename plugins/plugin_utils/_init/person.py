# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A person at the terminal: what is told, and what is asked, in lines of the terminal's width."""

from __future__ import annotations

import getpass
import shutil
import textwrap
from collections.abc import Callable

WIDEST = 80


class Cancelled(Exception):
    """The person has ended the conversation."""


def print_paragraph(text: str, indent: int = 0) -> None:
    """Print a paragraph; one that begins with blanks is a line to be copied, and stays whole."""
    width = min(WIDEST, shutil.get_terminal_size().columns) - 1
    blank = " " * indent
    whole = text.startswith(" ")
    made = textwrap.wrap(text, width, initial_indent=blank, subsequent_indent=blank, break_on_hyphens=False)
    print(f"{blank}{text}" if whole else "\n".join(made), flush=True)


def prompt(text: str, usual: str, fault: Callable[[str], str]) -> str:
    """The answer to a question, with the usual one for Enter; asked again until nothing is wrong with it."""
    while True:
        print_paragraph(f"{text}{f' [{usual}]' if usual else ''}")
        answer = _read_line("> ").strip() or usual
        why = fault(answer)
        if not why:
            return answer
        print_paragraph(why, 2)


def prompt_secret(prompt: str, fault: Callable[[str], str | None]) -> str:
    """A secret, which is not shown; asked again until nothing is wrong with its form."""
    while True:
        try:
            answer = getpass.getpass(prompt).strip()
        except EOFError:
            raise Cancelled from None
        why = fault(answer) if answer else "nothing was typed"
        if not why:
            return answer
        print_paragraph(f"That is not a valid key: {why}.", 2)


def confirm(text: str, usual: bool = True) -> bool:
    """Return True if the person says yes."""
    print_paragraph(f"{text} [{'Y/n' if usual else 'y/N'}]")
    answer = _read_line("> ").strip().lower()
    return usual if not answer else answer in ("y", "yes")


def _read_line(prompt: str) -> str:
    try:
        return input(prompt)
    except EOFError:
        print()
        raise Cancelled from None
