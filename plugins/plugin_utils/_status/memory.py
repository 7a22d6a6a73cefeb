# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the status from the records of this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from .._accounts.quick_look import AccountSummary
from .._input import command_line
from .._state import done_steps, last_runs, receipts, slurm_offers
from .._state.fingerprint_key import state_folder
from .standing import SCHEMA, URGENCY, AccountStatus, KeyStatus, Memory, Reminded, Status, account_status


def status(file: Path, chosen: Sequence[AccountSummary], whole: bool, now: datetime) -> Status:
    """Return the status of the chosen accounts and of all keys. whole: they are all accounts of the file.

    Raise StateError if the steps that are marked as done cannot be read.
    """
    recall = read_memories()
    keys, reminded, rotations = _keys(now.date())
    accounts = []
    for one in chosen:
        mine = [name for name, names in rotations.items() if one.name in names]
        accounts.append(account_status(one, recall(one, mine), now))
    return {
        "schema": SCHEMA,
        "made": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "accounts_file": str(file),
        "accounts": accounts,
        "keys": keys,
        "reminders": reminded,
        "next": next_command(accounts, keys, whole),
    }


def read_memories() -> Callable[[AccountSummary, Sequence[str]], Memory]:
    """Return a function from an account, and its keys with an open rotation, to its records. Raise StateError."""
    runs, said = last_runs.read_last_runs(), done_steps.read_marks()

    def recall(one: AccountSummary, rotations: Sequence[str]) -> Memory:
        place = (one.name, one.sandbox)
        slurm = None if one.sandbox else slurm_offers.read_offers(one.name)
        return Memory(runs.get(place, {}), receipts.has_receipt(*place), said.get(one.name, {}), rotations, slurm)

    return recall


def next_command(accounts: Sequence[AccountStatus], keys: Sequence[KeyStatus], whole: bool) -> list[str]:
    """Return the words of the command to run next; it names accounts unless it is next for all of them."""
    waiting = [one for one in accounts if one["next"]]
    if not waiting:
        return []
    verb = min((one["next"] for one in waiting), key=URGENCY.index)
    names = [one["name"] for one in waiting if one["next"] == verb]
    if verb == "rotate":
        return next(one["command"] for one in keys if one["open"]).split()
    return command_line.command_for(verb, [] if whole and len(names) == len(accounts) else names)


def _keys(today: date) -> tuple[list[KeyStatus], list[Reminded], dict[str, set[str]]]:
    """Return the keys that were ever rotated, reminders, and key -> accounts of its open rotation."""
    files = sorted((state_folder() / "secrets").glob("*.json"))
    if not files:
        return [], [], {}
    from . import keys  # few have rotated any

    return keys.look([file.stem for file in files], today)
