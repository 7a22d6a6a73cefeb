# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb done: a person says that they did what no program can see, or that it is not done after all."""

from __future__ import annotations

import argparse
import getpass
import shutil
import socket
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.quick_look import Named
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.refused import Refused
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.manual_steps import until
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.record import StepMark
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import nearest
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import said_done
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError
from ansible_collections.hpc.onboard.plugins.plugin_utils._status import choice
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Look, indented, plain, width_of


def main(arguments: Sequence[str], program: str) -> int:
    """Run the verb. 0 noted, 2 where there is no such account or step, with the nearest one."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Say that you have done what only you can do at a site; without STEP, list an account's steps.",
    )
    parser.add_argument("account", metavar="ACCOUNT", help="simone@wilson")
    parser.add_argument("step", nargs="?", metavar="STEP", help="its short name, as status shows it")
    parser.add_argument("--not", dest="undone", action="store_true", help="it is not done after all")
    parser.add_argument("-i", "--inventory", action="append", default=[], metavar="FILE", help="the accounts file")
    wish = parser.parse_args(arguments)
    try:
        account = _account(wish.account, choice.accounts_file(wish.inventory))
        said = _said(account, wish.step, wish.undone) if wish.step else _listed(account)
    except (Refused, StateError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    look = Look(width_of(shutil.get_terminal_size().columns))
    for text, indent in said:
        for line in indented(text, indent, look):
            print(plain(line))
    return 0


def _account(name: str, file: Path | None) -> Named:
    if file is None:
        raise Refused("no accounts file, so there is no account whose steps are known: name one by -i FILE")
    every = choice.known(file)
    found = next((one for one in every if one.name == name), None)
    if found is None:
        raise Refused(f'"{name}" is not an account in {file}; {nearest(name, [one.name for one in every])}')
    if found.sandbox:
        raise Refused(f"{name} is a practice account: nothing is to be done at a site for it")
    if not found.steps:
        raise Refused(f"the profile of {found.cluster} names no steps")
    return found


def _said(account: Named, name: str, undone: bool) -> list[tuple[str, int]]:
    """Keep it, and say so."""
    step = next((one for one in account.steps if one["id"] == name), None)
    if step is None:
        raise Refused(f'"{name}" is not a step of {account.name}; {nearest(name, [s["id"] for s in account.steps])}')
    mark: StepMark = {"at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "by": _me()}
    is_new = said_done.say(account.name, name, None if undone else mark)
    if undone:
        return [(f"{name} of {account.name} is open again: {step['text']}" if is_new else f"{name} was not done.", 0)]
    ended = until(step, mark)
    return [(f"{name} of {account.name} is done{f', until {ended}' if ended else ''}. --not takes that back.", 0)]


def _me() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"


def _listed(account: Named) -> list[tuple[str, int]]:
    """All steps of an account, and what was said of each."""
    said = said_done.marks().get(account.name, {})
    out = []
    for step in account.steps:
        mark = said.get(step["id"])
        word = f"said done on {mark['at'][:10]} by {mark['by']}" if mark else _sign(step.get("done"))
        ended = until(step, mark) if mark else None
        word += f", until {ended}" if ended and ended >= date.today() else ", and due again" if ended else ""
        out += [(f"{step['id']}  {step['text']}", 0), *([(step["url"], 4)] if "url" in step else []), (word, 4)]
    return out


def _sign(sign: str | None) -> str:
    words = {"reached": "seen done once the account is reached", "key": "seen done once the keyring has the key"}
    return words.get(sign or "", "seen done once the path is known" if sign else "open until you say that it is done")
