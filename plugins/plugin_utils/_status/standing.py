# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How accounts and keys stand, from what this machine remembers: no network, no keyring, no clock but the given one.

The shape of it is docs/schemas/status.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple, NotRequired, TypedDict

from .._accounts.quick_look import Named
from .._delivery.manual_steps import Marks, Signs, describe_step, open_steps
from .._documents.finding import BySeverity
from .._documents.record import RunRecord, SlurmRecord
from .._documents.result import ManualStep

SCHEMA = "hpc.onboard/status/1.0"
AUDIT_DAYS = 30  # after which an audit is due again
RUN_VERBS = ("onboard", "offboard", "audit")
URGENCY = ("rotate", "onboard", "preflight", "plan", "audit")
"""The verbs that may come next, the most urgent first."""


class Ended(TypedDict):
    """When a run over the account ended, in UTC, and how."""

    at: str
    ended: str
    by_severity: NotRequired[BySeverity]


class AccountStatus(TypedDict):
    """One account. known: whether anything was ever made there from here. rotations: names of keys under way there.

    next: the verb that is next, empty for none. slurm: what Slurm offered when it was last asked.
    """

    name: str
    cluster: str
    sandbox: bool
    known: bool
    onboard: Ended | None
    offboard: Ended | None
    audit: Ended | None
    rotations: list[str]
    steps: list[ManualStep]
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
    """A sentence of _rotation/reminders.py, and the command for when it is done."""

    text: str
    command: str


class Status(TypedDict):
    """All of it. next: the words of the one command to run now; none where nothing is left to do."""

    schema: str
    made: str
    accounts_file: str
    accounts: list[AccountStatus]
    keys: list[KeyStatus]
    reminders: list[Reminded]
    next: list[str]


class Memory(NamedTuple):
    """What is remembered of one account."""

    runs: Mapping[str, RunRecord]
    has_receipt: bool
    said: Marks
    rotations: Sequence[str]
    slurm: SlurmRecord | None = None


def of_account(account: Named, memory: Memory, now: datetime) -> AccountStatus:
    """How an account stands."""
    runs: dict[str, Any] = {verb: _ended(memory.runs.get(verb)) for verb in RUN_VERBS}
    signs = _signs(memory)
    steps = [] if account.sandbox else open_steps(account.steps, signs, memory.said, now.date())
    found: AccountStatus = {
        "name": account.name,
        "cluster": account.cluster,
        "sandbox": account.sandbox,
        "known": memory.has_receipt,
        "onboard": runs["onboard"],
        "offboard": runs["offboard"],
        "audit": runs["audit"],
        "rotations": list(memory.rotations),
        "steps": [describe_step(step) for step in steps],
        "next": "",
    }
    if memory.slurm:
        found["slurm"] = memory.slurm
    return {**found, "next": next_verb(found, now.date())}


def _ended(run: RunRecord | None) -> Ended | None:
    if run is None:
        return None
    found: Ended = {"at": run["at"], "ended": run["ended"]}
    if "by_severity" in run:
        found["by_severity"] = run["by_severity"]
    return found


def _signs(memory: Memory) -> Signs:
    """What runs have seen of the account."""
    reached = memory.has_receipt or any(run.get("reached") for run in memory.runs.values())
    last = memory.runs.get("onboard")
    if last is None:
        return Signs(reached)
    return Signs(reached, last.get("missing_keys", ()), last.get("unknown_areas", ()))


def next_verb(account: AccountStatus, today: date) -> str:
    """What to do about an account now; empty for nothing."""
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
