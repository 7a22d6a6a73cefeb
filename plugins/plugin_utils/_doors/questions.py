# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The questions of ssh, as the person at the terminal of a run is asked them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._doors import first_contact
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.prompt import asked, show
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import clean

LONGEST = 1000  # characters of a question: it comes from the login node


def of_account(variables: Mapping[str, Any]) -> tuple[Callable[[str], str], Callable[[str], None]]:
    """What asks the person, and what tells them something, for one account. variables: Ansible's.

    What asks raises NoTerminal, NotAnswered, and AccountError for a host key that the site does not publish.
    """
    name, cluster = str(variables.get("inventory_hostname", "it")), variables.get("cluster") or {}

    def ask(question: str) -> str:
        is_seen = first_contact.FINGERPRINT.search(question) is not None  # yes or no is no secret
        text = first_contact.compared(clean(question)[:LONGEST], cluster)
        return asked(f"{in_its_name(name, text)} ", unseen=not is_seen)

    def tell(text: str) -> None:
        show(f"{name}: {text[:LONGEST]}")

    return ask, tell


def in_its_name(name: str, text: str) -> str:
    """A text each line of which says whose it is: a login node could ask for another secret in our words."""
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()] or [""]
    return "\n".join(f"{name}: {line}" for line in lines)
