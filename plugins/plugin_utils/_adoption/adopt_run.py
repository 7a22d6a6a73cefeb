# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of adopt.yml on this machine: ask about existing resources that differ, and write the accounts file.

A use is a proposal for an existing resource. use["keep"] and use["replace"] are the settings for the accounts file, for
each answer of the user; use["replace"] is None if there is nothing to choose. read_variable returns the value of a
variable of the run, or None.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from .._accounts.accounts_file import AccountsFile
from .._accounts.host_variables import build_hosts
from .._init.accounts_text import NotAdded, render_lines
from .._init.place import write_file
from .._input import command_line, extra_vars
from .._input.agreement import Agreement, describe_no_answer
from .._input.collection import COLLECTION
from .._input.diagnostics import Mistakes, read_text
from .._input.writers import abbreviate_home
from .accounts_edit import add_settings, merge

if TYPE_CHECKING:
    from .._documents.adoption import AccountSettings, AdoptChosen, AdoptWritten, ExistingUse
    from .._documents.result import PartResult

Variables = Mapping[str, Any]  # Ansible's variables of a host
Ask = Callable[[str], str | None]  # prompts with a question, and returns the answer; None without an answer
INSPECTION, CHOICES = "hpc_onboard_existing", "hpc_onboard_chosen"
"""The variables in which playbooks/adopt.yml registers the results of the parts account and ask."""
AGREEMENT = Agreement(
    owner="adopt",
    readers={"adopt_sure": extra_vars.read_bool},
    sure="adopt_sure",
    question="Write these settings to your accounts file? Your accounts stay unchanged. [y/N] ",
    not_done="nothing was written",
)
NOTHING: PartResult = {"kind": "adopt_part", "changed": False}  # the result of a task that has nothing to do
NO = ("n", "no")
PRACTICE = COLLECTION / "inventory" / "practice.yml"


def ask_what_to_keep(
    variables: Variables, read_variable: extra_vars.ReadVariable, ask: Ask | None
) -> AdoptChosen | PartResult:
    """Ask about each existing resource that differs, and return the changed accounts file. Raise AccountError.

    ask: None without a terminal. Such resources are then skipped, and counted in "left". With --yes and in check mode,
    all existing resources are kept without a question.
    """
    uses = _list_uses(variables)
    is_asking = AGREEMENT.is_needed(variables, read_variable)  # neither --yes nor check mode
    if not uses:
        return NOTHING
    settings: dict[str, AccountSettings] = {}
    skipped_count = 0
    for account, use in uses:
        is_choice = use["replace"] is not None and is_asking
        if is_choice and ask is None:
            skipped_count += 1
            continue
        additions = _ask_settings(account, use, ask) if is_choice and ask else use["keep"]
        if additions:
            settings[account] = merge(settings.get(account), additions)
    file = _find_file(variables)
    before = _read_accounts_file(file)
    after = _edit_accounts_file(file, before, settings)
    return {
        "kind": "adopt_chosen",
        "changed": before != after,
        "file": abbreviate_home(file),
        "before": before,
        "after": after,
        "left": skipped_count,
    }


def write_accounts_file(
    variables: Variables, read_variable: extra_vars.ReadVariable, options: Mapping[str, Any], ask: Ask
) -> AdoptWritten | PartResult:
    """Write the changed accounts file that was shown, if the user agrees. Raise AccountError.

    options: of Ansible's command line.
    """
    choices = variables.get(CHOICES) or {}  # the result of ask_what_to_keep
    if not choices.get("changed") or variables.get("ansible_check_mode"):
        return NOTHING
    is_needed = AGREEMENT.is_needed(variables, read_variable)
    if is_needed and not AGREEMENT.is_given(ask(AGREEMENT.question), variables, read_variable, options):
        return {**NOTHING, "cancelled": True}
    write_file(_find_file(variables), choices["after"], before=choices["before"])
    limit = ["-l", str(options["subset"])] if options.get("subset") else []  # "subset" is Ansible's name of --limit
    command = command_line.command_for("plan", limit)
    return {"kind": "adopt_written", "changed": True, "file": choices["file"], "next": command}


def _list_uses(variables: Variables) -> list[tuple[str, ExistingUse]]:
    """Return the existing resources of all accounts that were inspected, each with its account."""
    hosts = variables["ansible_play_hosts_all"]
    results = {host: variables["hostvars"][host].get(INSPECTION) or {} for host in hosts}
    return [(host, use) for host, result in results.items() for use in result.get("things", ())]


def _ask_settings(account: str, use: ExistingUse, ask: Ask) -> AccountSettings:
    """Ask whether to keep a resource, and return the settings for the answer. Raise AccountError without an answer."""
    answer = ask(f"{account}, {use['thing']}. Keep your version? [Y/n] ")  # the difference was shown before
    if answer is None:
        raise AccountError(
            describe_no_answer(AGREEMENT.not_done, shlex.join(command_line.command_for("adopt", ["--yes"])))
        )
    return (use["replace"] or {}) if answer.lower() in NO else use["keep"]


def _find_file(variables: Variables) -> Path:
    """Return the accounts file. Raise AccountError unless all accounts are in the same file."""
    files = {variables["hostvars"][host].get("inventory_file") for host in variables["ansible_play_hosts_all"]}
    paths = [Path(str(file)) for file in files if file]
    if len(paths) != 1 or not paths[0].is_file():
        raise AccountError("the accounts of this run are not in a single file; set the accounts file with -i FILE")
    return paths[0]


def _read_accounts_file(file: Path) -> str:
    """Return the text of the accounts file. Raise AccountError if it is not UTF-8 or cannot be read."""
    try:
        return read_text(file)
    except Mistakes as error:
        raise AccountError(str(error)) from None


def _edit_accounts_file(file: Path, text: str, settings: Mapping[str, AccountSettings]) -> str:
    """Return the text with the settings, checked as at every run. settings: by account.

    Raise AccountError if the result is invalid, or with the lines to add by hand if the text cannot be edited.
    """
    try:
        if settings and PRACTICE.exists() and os.path.samefile(file, PRACTICE):
            raise NotAdded("hpc-onboard does not edit the practice file")
        edited = add_settings(file, text, settings)
        build_hosts(AccountsFile.parse(file, edited))  # raises Mistakes
    except NotAdded as error:
        lines = "\n".join(_render_settings(settings))
        raise AccountError(
            f"{abbreviate_home(file)}: {error}. Add these settings to your accounts by hand:\n{lines}"
        ) from None
    except Mistakes as error:
        raise AccountError(f"{error}\nNothing was written.") from None
    return edited


def _render_settings(settings: Mapping[str, AccountSettings]) -> Iterator[str]:
    """Yield the settings, by account, as lines of an accounts file, for the user to add."""
    for account, additions in settings.items():
        yield f"  {account}:"
        yield from (f"    {line}" for line in render_lines(additions))
