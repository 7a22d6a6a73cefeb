# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check --tags and --limit: with a misspelt value Ansible would select nothing, do nothing and report success.

Only playbooks of this collection are checked, because others have tags of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from .._input.collection import COLLECTION
from .._input.diagnostics import nearest
from .._roles.collect import select_roles

TAGS_OF_ANSIBLE = {"all", "always", "never", "tagged", "untagged"}
FURTHER_TAGS = {  # playbook whose tags select roles -> its tags that are not roles
    "onboard": set[str](),
    "audit": {"watch"},  # selects the audit checks
    "offboard": set[str](),
}
ALWAYS_VALID = {"all", "localhost", "ungrouped", "127.0.0.1", "::1"}
PATTERN_CHARACTERS = re.compile(r"[*?\[\]~@{}]")  # of wildcards, slices, regular expressions, files and templates


def shipped_playbook(argument: str) -> str:
    """Return the name of a playbook of this collection, such as audit; empty for any other playbook.

    argument: the playbook as given to ansible-playbook, a path or hpc.onboard.NAME.
    """
    if argument.startswith("hpc.onboard."):
        return argument.rpartition(".")[2]
    path = Path(argument).resolve()
    is_shipped = path.is_file() and path.parent in (COLLECTION, COLLECTION / "playbooks")
    return path.stem if is_shipped else ""


def describe_wrong_tags(playbook: str, run: Collection[str], skip: Collection[str], roles: Collection[str]) -> str:
    """Return the mistake in the tags for a playbook of this collection; empty if the tags are valid.

    run, skip: the values of --tags and --skip-tags. roles: the names of all roles.
    """
    has_role_tags = playbook in FURTHER_TAGS
    tags = {*roles, *FURTHER_TAGS[playbook]} if has_role_tags else set[str]()
    for option, values in (("--tags", run), ("--skip-tags", skip)):
        for value in values:
            if value not in tags | TAGS_OF_ANSIBLE:
                advice = nearest(value, tags) if tags else f"{playbook} has no roles to choose from."
                return f'{option}: unknown role "{value}"; {advice}'
    if has_role_tags:  # every task of these playbooks has the tag always
        is_empty = not select_roles(tags, run, skip) or set(skip) & {"all", "always", "tagged"}
    else:  # the tasks of this playbook have no tags
        is_empty = not set(run) & {"all", "untagged"} or set(skip) & {"all", "untagged"}
    return f"--tags and --skip-tags exclude everything that {playbook} does." if is_empty else ""


def find_unknown_host(limit: str, known_names: Collection[str]) -> str | None:
    """Return the first unknown name in limit, the value of --limit; None if there is none.

    known_names: all hosts and groups. Wildcards, slices and files are skipped.
    """
    for term in re.split(r"[,:]", limit):
        name = term.strip().lstrip("!&")
        if not name or name in known_names or name in ALWAYS_VALID:
            continue
        without_at = name if name[0] == "@" else name.replace("@", "", 1)  # @FILE is a file, USER@CLUSTER an account
        if not PATTERN_CHARACTERS.search(without_at):
            return name
    return None
