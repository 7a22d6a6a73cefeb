# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The questions of ssh, as the person at the terminal of a run is asked them."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from ...module_utils._core.errors import AccountError
from .._input.ssh_arguments import ssh_arguments
from .._secrets.prompt import asked, show
from .._text.sanitise import clean
from . import host_keys

LONGEST = 2000  # characters of a question: it comes from the login node, and its end says what to type
NARROWEST = 20
OURS = ("hpc.onboard", "hpc-onboard", "keyring")  # what no site has a reason to speak of


def of_account(variables: Mapping[str, Any]) -> tuple[Callable[[str], str], Callable[[str], None]]:
    """Return what asks the user, and what tells them something, for one account. variables: Ansible's.

    What asks raises NoTerminal, NotAnswered, and AccountError for a host key that the site does not publish.
    """
    name, cluster = str(variables.get("inventory_hostname", "it")), variables.get("cluster") or {}
    arguments = ssh_arguments(variables, name)

    def ask(question: str) -> str:
        text = clean(question)
        is_of_host_key = host_keys.HOST_KEY.search(text) is not None  # the answer is no secret
        if is_of_host_key:
            text = host_keys.compared(text, cluster, arguments)
        elif any(word in text.lower() for word in OURS):
            raise AccountError("the login node asks for something of hpc-onboard's, which no site needs: not answered")
        return asked(f"{in_its_name(name, text[-LONGEST:])} ", unseen=not is_of_host_key)

    def tell(text: str) -> None:
        show(in_its_name(name, text[-LONGEST:]))

    return ask, tell


def in_its_name(name: str, text: str) -> str:
    """Return the text in rows that each say whose it is: a login node could ask for another secret in our words."""
    width = max(NARROWEST, shutil.get_terminal_size().columns - len(name) - 3) // (1 if text.isascii() else 2)
    rows = [row for line in text.split("\n") for row in textwrap.wrap(" ".join(line.split()), width)] or [""]
    return "\n".join(f"{name}: {row}" for row in rows)
