# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The person at the terminal of a run, asked or told from a worker: Ansible hands it to the main process."""

from __future__ import annotations

import os
import time

from ansible.errors import AnsibleError, AnsiblePromptNoninteractive
from ansible.utils.display import Display

from ...module_utils._core.errors import AccountError
from .._state.run_memory import BOARD, end_with_parent
from .file_errors import StoreLocked
from .passphrase import NOBODY

SETTLED = 0.3  # seconds until a status line that was being drawn is gone
UNSEEN = "" if os.isatty(1) or not os.isatty(0) else os.ttyname(0)
"""The terminal at which somebody types and does not see the output; empty if they see it, or nobody is there."""


class NoTerminal(Exception):
    """There is nobody to ask."""


class NotAnswered(Exception):
    """They were asked and did not answer."""


def asked(question: str, unseen: bool = False) -> str:
    """What the person at the terminal types. Raises NoTerminal, NotAnswered."""
    end_with_parent()  # which hands the question on, and the answer back
    try:
        with BOARD.hushed():
            time.sleep(SETTLED)
            typed = Display().prompt_until(_shown(question), private=unseen)
    except AnsiblePromptNoninteractive:
        raise NoTerminal from None
    except AnsibleError as error:
        raise NotAnswered(type(error).__name__) from None
    return bytes(typed).decode(errors="replace")


def _shown(question: str) -> str:
    """Show the question at the terminal itself where the output goes elsewhere; return what is left to be shown."""
    if not UNSEEN:
        return question
    with open(UNSEEN, "w", encoding="utf-8") as terminal:
        terminal.write(f"{question}\n")
    return ""


def answered(question: str, nothing: str) -> str:
    """What the person at the terminal says; empty where there is none. Raises AccountError where they end it.

    nothing: what did not happen then.
    """
    try:
        return asked(question).strip()
    except NoTerminal:
        return ""
    except NotAnswered:
        raise AccountError(f"{nothing}: the question was not answered") from None


def is_at_terminal() -> bool:
    """Whether somebody is there to be asked, as Ansible finds it: only its main process has the terminal."""
    try:
        return os.isatty(0) and os.getpgrp() == os.tcgetpgrp(0)
    except OSError:
        return False


def show(text: str) -> None:
    """Show a line to the person at the terminal."""
    Display().display(text)


def show_error(text: str) -> None:
    """Show an error at once, in lines as they are: it may hold a command to copy."""
    Display().error(text, wrap_text=False)


class ThroughAnsible:
    """Somebody at the terminal of ansible-playbook. told: what they should know, for the caller to show."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def ask(self, question: str) -> str:
        """What they type, unseen."""
        try:
            return asked(f"{question}: ", unseen=True)
        except NoTerminal:
            raise StoreLocked(NOBODY) from None
        except NotAnswered as error:
            raise StoreLocked(f"it is locked, and its passphrase was not given ({error})") from None

    def tell(self, text: str) -> None:
        """Keep it until the answer is shown."""
        self.told.append(text)
