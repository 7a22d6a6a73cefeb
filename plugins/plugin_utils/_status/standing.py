# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of accounts, from the records of this machine alone: pure functions, without network and keyring.

Its format is docs/schemas/status.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple, NotRequired, TypedDict

from .._accounts.quick_look import AccountSummary
from .._delivery.manual_steps import Marks, Signs, describe_step, filter_open_steps
from .._documents.finding import BySeverity
from .._documents.record import RunRecord, SlurmRecord
from .._documents.result import ManualStep

SCHEMA = "hpc.onboard/status/1.0"
AUDIT_DAYS = 30  # after which an audit is due again
RUN_VERBS = ("onboard", "offboard", "audit")
URGENCY = ("rotate", "onboard", "preflight", "plan", "audit")
"""The subcommands that may come next, the most urgent first."""


class RunEnd(TypedDict):
    """When a run over the account ended, in UTC, and how."""

    at: str
    ended: str
    by_severity: NotRequired[BySeverity]


class AccountStatus(TypedDict):
    """One account. known: this machine created something there. rotations: names of keys with an open rotation there.

    steps: open manual steps; steps_done: the others. next: the next subcommand, or empty. slurm: the offers of Slurm
    when it was last asked.
    """

    name: str
    cluster: str
    sandbox: bool
    known: bool
    onboard: RunEnd | None
    offboard: RunEnd | None
    audit: RunEnd | None
    rotations: list[str]
    steps: list[ManualStep]
    steps_done: list[ManualStep]
    next: str
    slurm: NotRequired[SlurmRecord]


class KeyStatus(TypedDict):
    """One key that was ever rotated. since: the day it was issued; expires: its last day; empty where not known.

    open: whether a rotation of it is under way. days: its age; left: days until it ends. command: goes on with it.
    """

    name: str
    kind: str
    since: str
    days: int | None
    expires: str
    left: int | None
    open: bool
    command: str


class Reminded(TypedDict):
    """A sentence of _rotation/reminders.py, and the command that marks it as done."""

    text: str
    command: str


class Status(TypedDict):
    """The whole document. next: the words of the command to run now; empty if nothing is left to do."""

    schema: str
    made: str
    accounts_file: str
    accounts: list[AccountStatus]
    keys: list[KeyStatus]
    reminders: list[Reminded]
    next: list[str]


class Memory(NamedTuple):
    """The records of one account."""

    runs: Mapping[str, RunRecord]
    has_receipt: bool
    said: Marks
    rotations: Sequence[str]
    slurm: SlurmRecord | None = None


def account_status(account: AccountSummary, memory: Memory, now: datetime) -> AccountStatus:
    """Return the status of an account."""
    runs: dict[str, Any] = {verb: _ended(memory.runs.get(verb)) for verb in RUN_VERBS}
    steps, done = split_steps(account, memory, now.date())
    found: AccountStatus = {
        "name": account.name,
        "cluster": account.cluster,
        "sandbox": account.sandbox,
        "known": memory.has_receipt,
        "onboard": runs["onboard"],
        "offboard": runs["offboard"],
        "audit": runs["audit"],
        "rotations": list(memory.rotations),
        "steps": steps,
        "steps_done": done,
        "next": "",
    }
    if memory.slurm:
        found["slurm"] = memory.slurm
    return {**found, "next": next_subcommand(found, now.date())}


def split_steps(account: AccountSummary, memory: Memory, today: date) -> tuple[list[ManualStep], list[ManualStep]]:
    """Return the manual steps that are open, and those that are done; a sandbox has none.

    Before the first onboarding, steps that a key or a path proves are neither: nothing is known of them.
    """
    if account.sandbox:
        return [], []
    left = filter_open_steps(account.steps, _signs(memory), memory.said, today)
    is_known = "onboard" in memory.runs
    known = [one for one in account.steps if is_known or one["id"] in memory.said or one.get("done") == "reached"]
    done = [step for step in known if step not in left]
    return list(map(describe_step, left)), list(map(describe_step, done))


def _ended(run: RunRecord | None) -> RunEnd | None:
    if run is None:
        return None
    found: RunEnd = {"at": run["at"], "ended": run["ended"]}
    if "by_severity" in run:
        found["by_severity"] = run["by_severity"]
    return found


def _signs(memory: Memory) -> Signs:
    """Return what runs found out about the account."""
    reached = memory.has_receipt or any(run.get("reached") for run in memory.runs.values())
    last = memory.runs.get("onboard")
    if last is None:
        return Signs(reached)
    return Signs(reached, last.get("missing_keys", ()), last.get("unknown_areas", ()))


def next_subcommand(account: AccountStatus, today: date) -> str:
    """Return the subcommand to run for an account now, or empty."""
    onboard, offboard, audit = account["onboard"], account["offboard"], account["audit"]
    if account["rotations"]:
        return "rotate"
    if offboard and (onboard is None or onboard["at"] < offboard["at"]):
        return ""
    if onboard is None:
        return "audit" if account["known"] else "plan"
    if onboard["ended"] in ("failed", "unreachable"):
        return "preflight" if onboard["ended"] == "unreachable" else "onboard"
    if audit is None or audit["ended"] != "ok":
        return "audit"
    return "audit" if (today - date.fromisoformat(audit["at"][:10])).days >= AUDIT_DAYS else ""
