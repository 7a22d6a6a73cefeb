# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what is wrong with --tags and --skip-tags: a word that is no capability, or that nothing is left to do.

A misspelt tag would select nothing, and a run that looked at nothing would end well. In playbooks of others tags are
their own, and so are not looked at.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from .._input.collection import COLLECTION
from .._input.diagnostics import nearest
from .._roles.collect import selected

ANSIBLES = {"all", "always", "never", "tagged", "untagged"}
CHOOSING = {  # playbooks whose tags choose among the capabilities, and what else each can be told to do
    "onboard": set[str](),
    "audit": {"watch"},
    "offboard": set[str](),
}


def our_playbook(called: str) -> str:
    """The name of the playbook, such as audit, when the one that was called is ours; else nothing."""
    if called.startswith("hpc.onboard."):
        return called.rpartition(".")[2]
    path = Path(called).resolve()
    ours = path.is_file() and path.parent in (COLLECTION, COLLECTION / "playbooks")
    return path.stem if ours else ""


def wrong_tags(playbook: str, run: Collection[str], skip: Collection[str], capabilities: Collection[str]) -> str:
    """Why these words of --tags and --skip-tags are wrong for that playbook of ours; nothing when they are not."""
    parts = {*capabilities, *CHOOSING[playbook]} if playbook in CHOOSING else set[str]()
    for option, words in (("--tags", run), ("--skip-tags", skip)):
        for word in words:
            if word not in parts | ANSIBLES:
                advice = nearest(word, parts) if parts else f"{playbook} has no parts to choose among."
                return f'{option}: there is no capability "{word}"; {advice}'
    left = selected(parts, run, skip) if parts else set(run) & {"all", "untagged"}
    none = not left or set(skip) & ({"all", "always", "tagged"} if parts else {"all", "untagged"})
    return f"--tags and --skip-tags leave nothing for {playbook} to do." if none else ""
