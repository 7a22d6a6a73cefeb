# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the status from the records of this machine: its memory of former runs, manual steps and keys."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from .._accounts.quick_look import AccountSummary
from .._input import command_line
from .._state import done_steps, last_runs, receipts, slurm_offers
from .._state.fingerprint_key import state_folder
from .standing import SCHEMA, URGENCY, AccountStatus, KeyReminder, KeyStatus, Memory, Status, build_account_status


def build_status(file: Path, selected: Sequence[AccountSummary], are_all: bool, now: datetime) -> Status:
    """Return the status of the selected accounts and of all keys. are_all: all accounts of the file are selected.

    file: the accounts file, which the status names. Raise StateError if the last runs, or the steps that are marked as
    done, cannot be read.
    """
    read_memory = prepare_memory_reader()
    keys, reminders, accounts_by_open_key = _read_keys(now.date())
    accounts = []
    for account in selected:
        open_keys = [key for key, names in accounts_by_open_key.items() if account.name in names]
        accounts.append(build_account_status(account, read_memory(account, open_keys), now))
    return {
        "schema": SCHEMA,
        "made": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "accounts_file": str(file),
        "accounts": accounts,
        "keys": keys,
        "reminders": reminders,
        "next": choose_next_command(accounts, keys, are_all),
    }


def prepare_memory_reader() -> Callable[[AccountSummary, Sequence[str]], Memory]:
    """Return a function that returns the records about one account (see read_memory). Raise StateError."""
    runs, marks = last_runs.read_last_runs(), done_steps.read_marks()  # files with the records of all accounts

    def read_memory(account: AccountSummary, rotations: Sequence[str]) -> Memory:
        """Return the records about one account. rotations: its keys with an open rotation."""
        key = (account.name, account.sandbox)  # a sandbox can have the name of a real account
        return Memory(
            runs=runs.get(key, {}),
            has_receipt=receipts.has_receipt(*key),
            marks=marks.get(account.name, {}),
            rotations=rotations,
            slurm=None if account.sandbox else slurm_offers.read_offers(account.name),
            has_resources="offboard" in runs.get(key, {}) and receipts.has_resources(*key),
        )

    return read_memory


def choose_next_command(accounts: Sequence[AccountStatus], keys: Sequence[KeyStatus], are_all: bool) -> list[str]:
    """Return the words of the most urgent command; [] if nothing is left to do.

    The command names its accounts, unless these are all accounts of the file (are_all: `accounts` are all of them).
    keys: the states of all keys, with the commands that continue their rotations.
    """
    unfinished = [account for account in accounts if account["next"]]
    if not unfinished:
        return []
    subcommand = min((account["next"] for account in unfinished), key=URGENCY.index)  # the most urgent one
    names = [account["name"] for account in unfinished if account["next"] == subcommand]
    if subcommand == "rotate":  # its command names a key, not accounts
        rotated = {name for account in accounts for name in account["rotations"]}
        return shlex.split(next(key["command"] for key in keys if key["name"] in rotated))
    return command_line.command_for(subcommand, [] if are_all and len(names) == len(accounts) else names)


def _read_keys(today: date) -> tuple[list[KeyStatus], list[KeyReminder], dict[str, set[str]]]:
    """Return the states of the keys that were ever rotated, as keys.read_key_states() does.

    The parts are the states, reminders, and for each key with an open rotation the accounts of the rotation.
    """
    if not (state_folder() / "secrets").is_dir():
        return [], [], {}
    from . import keys  # imported late: few users have rotated a key

    return keys.read_key_states(today)
