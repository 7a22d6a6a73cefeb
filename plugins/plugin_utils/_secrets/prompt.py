# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts at the terminal of a run. A worker's question goes through Ansible, which asks in the main process."""

from __future__ import annotations

import os
import time

from ansible.errors import AnsibleError, AnsiblePromptNoninteractive
from ansible.utils.display import Display

from .._state.run_memory import BOARD, end_with_parent
from .file_errors import StoreLocked
from .passphrase import NO_TERMINAL

SETTLED = 0.3  # seconds until a status line that was being drawn is gone
HIDDEN_OUTPUT_TERMINAL = "" if os.isatty(1) or not os.isatty(0) else os.ttyname(0)
"""The terminal of a user who types there and does not see the output; empty if they see it, or without a terminal."""


class NoTerminal(Exception):
    """There is no terminal to ask at."""


class NotAnswered(Exception):
    """The question was not answered."""


def ask(question: str, is_hidden: bool = False) -> str:
    """Return what is typed at the terminal. is_hidden: without echo. Raises NoTerminal, NotAnswered."""
    end_with_parent()  # which passes the question on, and the answer back
    try:
        with BOARD.hush():
            time.sleep(SETTLED)
            if HIDDEN_OUTPUT_TERMINAL:
                with open(HIDDEN_OUTPUT_TERMINAL, "w", encoding="utf-8") as terminal:
                    terminal.write(f"{question}\n")
            typed = Display().prompt_until("" if HIDDEN_OUTPUT_TERMINAL else question, private=is_hidden)
    except AnsiblePromptNoninteractive:
        raise NoTerminal from None
    except AnsibleError as error:
        raise NotAnswered(type(error).__name__) from None
    return bytes(typed).decode(errors="replace")


def ask_to_agree(question: str) -> str | None:
    """Return what is typed; None without a terminal, and after Ctrl-C."""
    try:
        return ask(question).strip()
    except (NoTerminal, NotAnswered):
        return None


def is_at_terminal() -> bool:
    """Return True if the user can be asked, as Ansible decides it: only its main process has the terminal."""
    try:
        return os.isatty(0) and os.getpgrp() == os.tcgetpgrp(0)
    except OSError:
        return False


def show(text: str) -> None:
    """Show a line at the terminal."""
    Display().display(text)


def show_error(text: str) -> None:
    """Show an error at once, without wrapping its lines: it may hold a command to copy."""
    Display().error(text, wrap_text=False)


class AnsiblePrompter:
    """Asks for a passphrase at the terminal of ansible-playbook. notes: for the caller to show."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def ask(self, question: str) -> str:
        """Return what is typed, unseen."""
        try:
            return ask(f"{question}: ", is_hidden=True)
        except NoTerminal:
            raise StoreLocked(NO_TERMINAL) from None
        except NotAnswered as error:
            raise StoreLocked(f"the file is locked, and no passphrase was entered ({error})") from None

    def tell(self, text: str) -> None:
        """Keep a note until the answer is shown."""
        self.notes.append(text)
