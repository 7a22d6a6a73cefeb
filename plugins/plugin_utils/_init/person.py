# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print paragraphs to the user and ask questions, in lines of the terminal's width."""

from __future__ import annotations

import getpass
import shutil
import textwrap
from collections.abc import Callable

from .._input.agreement import is_yes

WIDEST = 80


class Cancelled(Exception):
    """The user has ended the input with Ctrl-D, or declined to write the file."""


def print_paragraph(text: str, indent: int = 0) -> None:
    """Print a paragraph in lines of the terminal's width. indent: the number of spaces before each line."""
    width = min(WIDEST, shutil.get_terminal_size().columns) - 1
    margin = " " * indent
    lines = textwrap.wrap(text, width, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False)
    is_to_be_copied = text.startswith(" ")  # such as a command, which must stay on one line
    print(f"{margin}{text}" if is_to_be_copied else "\n".join(lines), flush=True)


def prompt(text: str, default: str, find_fault: Callable[[str], str]) -> str:
    """Ask a question until the answer is valid, and return the answer.

    text: the question. default: the answer for an empty input. find_fault: returns what is wrong with an answer, or "".
    Raise Cancelled after Ctrl-D.
    """
    while True:
        print_paragraph(f"{text}{f' [{default}]' if default else ''}")
        answer = _read_line("> ").strip() or default
        fault = find_fault(answer)
        if not fault:
            return answer
        print_paragraph(fault, indent=2)


def prompt_secret(prompt: str, find_fault: Callable[[str], str | None]) -> str:
    """Ask for a key, without showing the input, until the input has a valid form, and return the key.

    prompt: the text before the input. find_fault: returns what is wrong with an input, or None. Raise Cancelled after
    Ctrl-D.
    """
    while True:
        try:
            answer = getpass.getpass(prompt).strip()
        except EOFError:
            raise Cancelled from None
        fault = find_fault(answer) if answer else "the input is empty"
        if not fault:
            return answer
        print_paragraph(f"The key is not valid: {fault}.", indent=2)


def confirm(text: str, default: bool = True) -> bool:
    """Ask a yes-no question (text) and return True for yes. default: the answer for an empty input. Raise Cancelled."""
    print_paragraph(f"{text} [{'Y/n' if default else 'y/N'}]")
    answer = _read_line("> ").strip()
    return is_yes(answer) if answer else default


def _read_line(prompt: str) -> str:
    """Return a line of the user's input. Raise Cancelled after Ctrl-D."""
    try:
        return input(prompt)
    except EOFError:
        print()  # Ctrl-D leaves the cursor behind the prompt
        raise Cancelled from None
