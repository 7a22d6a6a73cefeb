# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of adopt.yml on this machine: ask about what is different, and write the accounts file."""

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
    from .._documents.adoption import AccountSettings, AdoptChosen, AdoptPart, AdoptWritten, ExistingUse

Variables = Mapping[str, Any]  # Ansible's, of the host that the part is run for
Ask = Callable[[str], str | None]  # None: no answer
LOOKED, CHOSEN = "hpc_onboard_existing", "hpc_onboard_chosen"
"""The variables in which playbooks/adopt.yml registers the looks and the choices."""
AGREEMENT = Agreement(
    "adopt",
    {"adopt_sure": extra_vars.read_bool},
    "adopt_sure",
    "Write this to your accounts file? The accounts are not changed. [y/N] ",
    "nothing was written",
)
NOTHING: AdoptPart = {"kind": "adopt_part", "changed": False}
NOES = ("n", "no")
PRACTICE = COLLECTION / "inventory" / "practice.yml"


def choose(variables: Variables, value: extra_vars.Value, ask: Ask | None) -> AdoptChosen | AdoptPart:
    """Return the changed accounts file, after a question for each different thing. Raise AccountError.

    ask: prompts and returns the answer; None without a terminal. Then what is different is left, unless the user wants
    no questions: then everything of theirs is kept.
    """
    things = _list_things(variables)
    is_asked = AGREEMENT.is_needed(variables, value)
    settings: dict[str, AccountSettings] = {}
    left = 0
    for account, thing in things:
        chosen = thing["keep"]
        if thing["replace"] is not None and is_asked:
            chosen = _ask_about(account, thing, ask) if ask else {}
            left += not ask
        if chosen:
            settings[account] = merge(settings.get(account), chosen)
    if not things:
        return NOTHING
    file = _find_file(variables)
    before = _read(file)
    after = _edit(file, before, settings)
    return {
        "kind": "adopt_chosen",
        "changed": before != after,
        "file": abbreviate_home(file),
        "before": before,
        "after": after,
        "left": left,
    }


def write(
    variables: Variables, value: extra_vars.Value, options: Mapping[str, Any], ask: Ask
) -> AdoptWritten | AdoptPart:
    """Write the accounts file that was shown, once the user agrees. Raise AccountError."""
    chosen = variables.get(CHOSEN) or {}
    if not chosen.get("changed") or variables.get("ansible_check_mode"):
        return NOTHING
    is_needed = AGREEMENT.is_needed(variables, value)
    if is_needed and not AGREEMENT.is_given(ask(AGREEMENT.question), variables, value, options):
        return {**NOTHING, "cancelled": True}
    write_file(_find_file(variables), chosen["after"], chosen["before"])
    limit = ["-l", str(options["subset"])] if options.get("subset") else []
    command = command_line.command_for("plan", limit)
    return {"kind": "adopt_written", "changed": True, "file": chosen["file"], "next": command}


def _list_things(variables: Variables) -> list[tuple[str, ExistingUse]]:
    """Return account and thing, of all accounts that were looked at."""
    looks = ((host, variables["hostvars"][host].get(LOOKED) or {}) for host in variables["ansible_play_hosts_all"])
    return [(host, thing) for host, look in looks for thing in look.get("things", ())]


def _ask_about(account: str, thing: ExistingUse, ask: Ask) -> AccountSettings:
    answer = ask(f"{account}, {thing['thing']}. Keep yours? [Y/n] ")  # the list says the rest
    if answer is None:
        raise AccountError(
            describe_no_answer(AGREEMENT.not_done, shlex.join(command_line.command_for("adopt", ["--yes"])))
        )
    return (thing["replace"] or {}) if answer.lower() in NOES else thing["keep"]


def _find_file(variables: Variables) -> Path:
    """Return the accounts file. Raise AccountError if there is not one."""
    files = {variables["hostvars"][host].get("inventory_file") for host in variables["ansible_play_hosts_all"]}
    paths = [Path(str(file)) for file in files if file]
    if len(paths) != 1 or not paths[0].is_file():
        raise AccountError("the accounts are not in one file; name one by -i FILE")
    return paths[0]


def _read(file: Path) -> str:
    try:
        return read_text(file)
    except Mistakes as error:
        raise AccountError(str(error)) from None


def _edit(file: Path, text: str, settings: Mapping[str, AccountSettings]) -> str:
    """Return the changed text, checked as every run does. Raise AccountError with the lines to add by hand."""
    try:
        if settings and PRACTICE.exists() and os.path.samefile(file, PRACTICE):
            raise NotAdded("it is the practice file of this checkout")
        made = add_settings(file, text, settings)
        build_hosts(AccountsFile.parse(file, made))
    except NotAdded as error:
        lines = "\n".join(_lines_to_add(settings))
        raise AccountError(f"{abbreviate_home(file)}: {error}. Add this to your accounts by hand:\n{lines}") from None
    except Mistakes as error:
        raise AccountError(f"{error}\nNothing was written.") from None
    return made


def _lines_to_add(settings: Mapping[str, AccountSettings]) -> Iterator[str]:
    for account, one in settings.items():
        yield f"  {account}:"
        yield from (f"    {line}" for line in render_lines(one))
