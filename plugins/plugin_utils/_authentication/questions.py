# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the user the questions of ssh at the terminal of the run. Each line starts with the account."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from ...module_utils._core.errors import AccountError
from .._input.ssh_arguments import ssh_arguments
from .._secrets import prompt
from .._text.sanitise import clean
from . import host_keys

LONGEST = 2000  # characters; a longer question from the login node is cut at its start, since its end asks for input
NARROWEST = 20  # columns for text
OWN_NAMES = ("hpc.onboard", "hpc-onboard", "keyring")  # in a question of a site, they could mislead the user


def make_prompts(variables: Mapping[str, Any]) -> tuple[Callable[[str], str], Callable[[str], None]]:
    """Return two functions for an account: one asks the user a question, one shows a text. variables: Ansible's.

    The first raises NoTerminal, NotAnswered, and AccountError for a host key that the site does not publish.
    """
    account, cluster = str(variables.get("inventory_hostname", "account")), variables.get("cluster") or {}
    arguments = ssh_arguments(variables, account)

    def ask(question: str) -> str:
        """Ask the user a question of ssh, and return the answer."""
        text = clean(question)
        is_of_host_key = host_keys.HOST_KEY.search(text) is not None  # such an answer is not secret
        if is_of_host_key:
            text = host_keys.add_published_keys(text, cluster, arguments)
        elif any(name in text.lower() for name in OWN_NAMES):
            raise AccountError(
                "the login node asked for the passphrase of hpc-onboard or of your keyring. No site needs such a "
                "passphrase, so hpc-onboard sent nothing"
            )
        return prompt.ask(f"{mark_lines(account, text[-LONGEST:])} ", is_hidden=not is_of_host_key)

    def show(text: str) -> None:
        """Show a text of ssh that needs no answer."""
        prompt.show(mark_lines(account, text[-LONGEST:]))

    return ask, show


def mark_lines(account: str, text: str) -> str:
    """Return the text in rows that start with the account: a login node could imitate questions of hpc-onboard."""
    added = len(f"{account}: ") + 1  # 1: for the space after a question
    columns = max(NARROWEST, shutil.get_terminal_size().columns - added)
    width = columns if text.isascii() else columns // 2  # other characters may be two columns wide
    rows = [row for line in text.split("\n") for row in textwrap.wrap(" ".join(line.split()), width)] or [""]
    return "\n".join(f"{account}: {row}" for row in rows)
