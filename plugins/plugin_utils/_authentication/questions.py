# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the user the questions of ssh at the terminal of the run, each line marked with the account."""

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

LONGEST = 2000  # characters of a question: it comes from the login node, and its end says what to type
NARROWEST = 20
OWN_NAMES = ("hpc.onboard", "hpc-onboard", "keyring")  # which no site has a reason to mention


def of_account(variables: Mapping[str, Any]) -> tuple[Callable[[str], str], Callable[[str], None]]:
    """Return two functions for an account: one asks the user a question, one shows a text. variables: Ansible's.

    The first raises NoTerminal, NotAnswered, and AccountError for a host key that the site does not publish.
    """
    name, cluster = str(variables.get("inventory_hostname", "it")), variables.get("cluster") or {}
    arguments = ssh_arguments(variables, name)

    def ask(question: str) -> str:
        text = clean(question)
        is_of_host_key = host_keys.HOST_KEY.search(text) is not None  # the answer is no secret
        if is_of_host_key:
            text = host_keys.add_published(text, cluster, arguments)
        elif any(word in text.lower() for word in OWN_NAMES):
            raise AccountError("the login node asked for a secret of hpc-onboard. No site needs it, so it was not sent")
        return prompt.ask(f"{mark_lines(name, text[-LONGEST:])} ", is_hidden=not is_of_host_key)

    def tell(text: str) -> None:
        prompt.show(mark_lines(name, text[-LONGEST:]))

    return ask, tell


def mark_lines(name: str, text: str) -> str:
    """Return the text in rows that start with the account: a login node could imitate questions of hpc-onboard."""
    width = max(NARROWEST, shutil.get_terminal_size().columns - len(name) - 3) // (1 if text.isascii() else 2)
    rows = [row for line in text.split("\n") for row in textwrap.wrap(" ".join(line.split()), width)] or [""]
    return "\n".join(f"{name}: {row}" for row in rows)
