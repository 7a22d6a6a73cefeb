# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of accounts, from the records of this machine alone: pure functions, without network and keyring.

Manual steps are done by the user at a site. A step is done if the user has marked it as done, or if a sign shows it:
the account was reached, the keyring has a key, or the path of a storage area is known. A sandbox is a folder on this
machine that simulates an account.

Its format is docs/schemas/status.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple, NotRequired, TypedDict

from .._accounts.quick_look import AccountSummary
from .._delivery.manual_steps import DEFAULT_KEY, Marks, Signs, describe_step, filter_open_steps
from .._documents.finding import BySeverity
from .._documents.record import RunRecord, SlurmRecord
from .._documents.result import ManualStep

SCHEMA = "hpc.onboard/status/1.0"
AUDIT_DAYS = 30  # until the next audit is due
RECORDED_RUNS = ("onboard", "offboard", "audit")
REMOVED = ("ok", "changed", "empty")  # ends of an offboarding that left nothing to remove
URGENCY = ("rotate", "offboard", "onboard", "preflight", "plan", "audit")
"""The subcommands that may come next, the most urgent first."""


class RunEnd(TypedDict):
    """The end of the last run of a subcommand for the account. at: time in UTC. ended: the result, such as "ok".

    After an offboarding that left resources of the account, as with --tags, ended is "partial".
    """

    at: str
    ended: str
    by_severity: NotRequired[BySeverity]


class AccountStatus(TypedDict):
    """The status of one account.

    known: this machine has set up the account. rotations: keys with an open rotation on the account. steps: open manual
    steps; steps_done: the others. next: the next subcommand, or empty. slurm: what Slurm offered in the last run that
    queried it.
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
    """The status of a key that was ever rotated. since: its date of issue; expires: its last day; empty if unknown.

    open: True during a rotation. days: age of the key; left: days until it expires. command: continues the rotation.
    """

    name: str
    kind: str
    since: str
    days: int | None
    expires: str
    left: int | None
    open: bool
    command: str


class KeyReminder(TypedDict):
    """A reminder about a key, and the command that settles it."""

    text: str
    command: str


class Status(TypedDict):
    """The whole document. next: the words of the command to run next; empty if nothing is left to do."""

    schema: str
    made: str
    accounts_file: str
    accounts: list[AccountStatus]
    keys: list[KeyStatus]
    reminders: list[KeyReminder]
    next: list[str]


class Memory(NamedTuple):
    """The records of this machine about one account.

    runs: the last run of each subcommand. has_receipt: True if this machine has set up the account. marks: manual steps
    that the user marked as done. rotations: keys with an open rotation on the account. slurm: what Slurm offered.
    has_resources: the copy of the receipt lists resources that hpc-onboard created and has not removed.
    """

    runs: Mapping[str, RunRecord]
    has_receipt: bool
    marks: Marks
    rotations: Sequence[str]
    slurm: SlurmRecord | None = None
    has_resources: bool = False


def build_account_status(account: AccountSummary, memory: Memory, now: datetime) -> AccountStatus:
    """Return the status of an account of the accounts file. memory: the records about it. now: decides what is due."""
    runs: dict[str, Any] = {subcommand: _read_run_end(memory.runs.get(subcommand)) for subcommand in RECORDED_RUNS}
    offboard = runs["offboard"]
    if offboard and offboard["ended"] in REMOVED and memory.has_resources:  # of some roles or resources only
        runs["offboard"] = {**offboard, "ended": "partial"}
    open_steps, done_steps = split_steps(account, memory, now.date())
    status: AccountStatus = {
        "name": account.name,
        "cluster": account.cluster,
        "sandbox": account.sandbox,
        "known": memory.has_receipt,
        "onboard": runs["onboard"],
        "offboard": runs["offboard"],
        "audit": runs["audit"],
        "rotations": list(memory.rotations),
        "steps": open_steps,
        "steps_done": done_steps,
        "next": "",
    }
    if memory.slurm:
        status["slurm"] = memory.slurm
    return {**status, "next": choose_next_subcommand(status, now.date())}


def split_steps(account: AccountSummary, memory: Memory, today: date) -> tuple[list[ManualStep], list[ManualStep]]:
    """Return the open manual steps, and the steps that are done; two empty lists for a sandbox.

    memory: the records about the account. A step that is recognised by a key or a path is in neither list if the last
    onboarding has not looked for it: the role that needs it is excluded, or the keyring or the account failed.
    """
    if account.sandbox:
        return [], []
    open_steps = filter_open_steps(account.steps, _find_signs(memory), memory.marks, today)
    done_steps = [step for step in account.steps if step not in open_steps and _is_decided(step, memory)]
    return list(map(describe_step, open_steps)), list(map(describe_step, done_steps))


def _is_decided(step: Mapping[str, Any], memory: Memory) -> bool:
    """Return True if a mark, the login, or the last onboarding shows whether a step is done."""
    sign, onboarding = step.get("done"), memory.runs.get("onboard")
    if step["id"] in memory.marks or sign == "reached":
        return True
    if onboarding is None:
        return False
    if sign == "key":
        return step.get("secret", DEFAULT_KEY) in onboarding.get("found_keys", ())
    return sign is None or onboarding["reached"]  # a run that has reached the account knows its areas


def _read_run_end(run: RunRecord | None) -> RunEnd | None:
    """Return the part of a run's record that the status shows; None without a run."""
    if run is None:
        return None
    end: RunEnd = {"at": run["at"], "ended": run["ended"]}
    if "by_severity" in run:
        end["by_severity"] = run["by_severity"]
    return end


def _find_signs(memory: Memory) -> Signs:
    """Return the signs that runs on an account have observed, by which steps are recognised as done.

    memory: the records about the account.
    """
    reached = memory.has_receipt or any(run.get("reached") for run in memory.runs.values())
    last_onboarding = memory.runs.get("onboard")
    if last_onboarding is None:  # no run has looked for keys and areas: none is known to be missing
        return Signs(reached)
    missing, unknown = last_onboarding.get("missing_keys", ()), last_onboarding.get("unknown_areas", ())
    return Signs(reached, missing=missing, unknown=unknown)


def choose_next_subcommand(account: AccountStatus, today: date) -> str:
    """Return the subcommand to run next for an account, one of URGENCY; empty if nothing is left to do."""
    onboard, offboard, audit = account["onboard"], account["offboard"], account["audit"]
    if account["rotations"]:
        return "rotate"
    is_partial = offboard and offboard["ended"] == "partial"  # the user keeps the rest
    if offboard and not is_partial and (onboard is None or onboard["at"] < offboard["at"]):
        return "" if offboard["ended"] in REMOVED else "offboard"  # resources, and maybe keys, are still there
    if onboard is None:
        return "audit" if account["known"] else "plan"  # known: set up, but the record of the run is lost
    if onboard["ended"] in ("failed", "unreachable"):  # preflight finds out why an account is unreachable
        return "preflight" if onboard["ended"] == "unreachable" else "onboard"
    if audit is None or audit["ended"] != "ok":  # never audited, or the last audit found problems
        return "audit"
    # up to date in the last audit, which is repeated after AUDIT_DAYS
    return "audit" if (today - date.fromisoformat(audit["at"][:10])).days >= AUDIT_DAYS else ""
