# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts at the terminal of a run. Ansible passes a worker's question to the main process, which prompts."""

from __future__ import annotations

import os
import time

from ansible.errors import AnsibleError, AnsiblePromptNoninteractive
from ansible.utils.display import Display

from .._state.run_memory import BOARD, UNSEEN_TERMINAL, end_with_parent
from .file_errors import StoreLocked
from .passphrase import NO_TERMINAL

SETTLED = 0.3  # seconds until a status line that is being drawn has disappeared


class NoTerminal(Exception):
    """No terminal is available for a question."""


class NotAnswered(Exception):
    """The question was not answered."""


def ask(question: str, is_hidden: bool = False) -> str:
    """Return the user's input at the terminal. is_hidden: without echo. Raise NoTerminal, NotAnswered."""
    end_with_parent()  # without the main process, this worker would wait for an answer for ever
    try:
        with BOARD.hush():  # no process writes to the terminal in this block
            time.sleep(SETTLED)
            is_written = _write_to_terminal(question)
            answer = Display().prompt_until("" if is_written else question, private=is_hidden)
    except AnsiblePromptNoninteractive:
        raise NoTerminal from None
    except AnsibleError as error:
        raise NotAnswered(type(error).__name__) from None
    return bytes(answer).decode(errors="replace")


def _write_to_terminal(question: str) -> bool:
    """Write a question to the terminal if Ansible would write it to a redirected standard output.

    Return False if nothing was written: then Ansible writes the question.
    """
    if not UNSEEN_TERMINAL:
        return False
    try:
        with open(UNSEEN_TERMINAL, "w", encoding="utf-8") as terminal:
            terminal.write(f"{question}\n")
    except OSError:  # as after su, when the terminal belongs to another user
        return False
    return True


def ask_to_agree(question: str) -> str | None:
    """Return the user's answer to a question such as "Continue? [y/N] "; None without a terminal, and after Ctrl-C."""
    try:
        return ask(question).strip()
    except (NoTerminal, NotAnswered):
        return None


def is_at_terminal() -> bool:
    """Return True if this process is in the foreground of a terminal, by the same test as Ansible."""
    try:
        return os.isatty(0) and os.getpgrp() == os.tcgetpgrp(0)
    except OSError:
        return False


def show(text: str) -> None:
    """Show a line in the output of Ansible."""
    Display().display(text)


def show_error(text: str) -> None:
    """Show an error immediately, without wrapping its lines: it may contain a command to copy."""
    Display().error(text, wrap_text=False)


class AnsiblePrompter:
    """Prompts at the terminal of ansible-playbook. notes: texts for the caller to show."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def ask(self, question: str) -> str:
        """Return the hidden input. Raise StoreLocked."""
        try:
            return ask(f"{question}: ", is_hidden=True)
        except NoTerminal:
            raise StoreLocked(NO_TERMINAL) from None
        except NotAnswered as error:
            raise StoreLocked(f"the file is locked, and no passphrase was entered ({error})") from None

    def show_note(self, text: str) -> None:
        """Add a note for the caller to show."""
        self.notes.append(text)
