# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What our tasks give to Ansible, which hands it on to the console, to later tasks of the play and to users' own."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, final

from .adoption import AdoptionOffer
from .declaration import Note
from .finding import AuditReport, AuditRow
from .outcome import ResourceOutcome

CheckStatus = Literal["ok", "warning", "failed"]


class AccountRemark(TypedDict):
    """What the owner of an account should know though nothing differs."""

    capability: str
    text: str


class ManualStep(TypedDict):
    """What only a person can do, and where. id: its name. due: the day that the accounts file gives it, 2027-03-31."""

    id: str
    text: str
    url: NotRequired[str]
    due: NotRequired[str]


class AnsibleDiff(TypedDict):
    """A diff as Ansible shows it."""

    before_header: str
    after_header: str
    before: str
    after: str


class TaskResult(TypedDict):
    """What Ansible itself reads of a result."""

    changed: bool
    failed: bool
    msg: str


@final
class Introduction(TypedDict):
    """What is shown once of an account. places: links and scripts. command: shows the rules of the site.

    names: the command that lets ssh know accounts by short names, where that was not done yet.
    steps: what only the user can do and no program sees; done: the command that lists them. next: what to run now.
    """

    places: list[str]
    command: list[str]
    names: list[str]
    steps: list[ManualStep]
    done: list[str]
    next: list[str]


@final
class AccountResult(TaskResult):
    """Of a task that sets an account up, takes things out, or shows a person what it would take out.

    sandbox: its folder. keys: fingerprint -> name and age of each key that changes. keyring: where keys came from.
    introduction: where this machine has set the account up for the first time.
    """

    kind: Literal["account", "offboard_shown", "result_imported"]
    outcomes: list[ResourceOutcome]
    notes: list[Note]
    remarks: list[AccountRemark]
    human_steps: NotRequired[list[ManualStep]]
    introduction: NotRequired[Introduction]
    keys: NotRequired[dict[str, str]]
    adoption: NotRequired[AdoptionOffer]
    keyring: NotRequired[str]
    sandbox: NotRequired[str]
    diff: NotRequired[list[AnsibleDiff]]


@final
class UnreachableResult(TypedDict):
    """Of a task whose account was not reached."""

    kind: Literal["account"]
    unreachable: Literal[True]
    msg: str
    human_steps: NotRequired[list[ManualStep]]


class RefusedResult(TypedDict):
    """Of a task that could not begin, and why."""

    kind: str
    failed: Literal[True]
    msg: str


class OffboardPart(TypedDict):
    """Of the parts of an offboarding that are about no account: what a person wants of it, and whether they agree."""

    kind: Literal["offboard_part"]
    changed: Literal[False]
    cancelled: NotRequired[Literal[True]]


class AuditSettings(TypedDict):
    """Of the part of an audit, or of a test job, that reads the settings of the run."""

    kind: Literal["audit_settings", "test_job_settings"]
    changed: Literal[False]


class AuditAccount(TypedDict):
    """Of the part of an audit that looks at one account. sandbox: its folder."""

    kind: Literal["audit_account"]
    changed: Literal[False]
    audit: AuditRow
    sandbox: NotRequired[str]


class FixShown(TypedDict):
    """Of the part of fix.yml that shows the offers: account, rule, place, text and fix of each finding."""

    kind: Literal["fix_shown"]
    changed: Literal[False]
    offered: list[dict[str, Any]]


class FixAsked(TypedDict):
    """Of the part of fix.yml that asks the user to apply them."""

    kind: Literal["fix_asked"]
    changed: Literal[False]
    cancelled: NotRequired[Literal[True]]


class FixAccount(TypedDict):
    """Of the part of fix.yml that applies them to one account. audit: its report now; None for a moment."""

    kind: Literal["fix_account"]
    changed: bool
    audit: AuditRow | None
    outcomes: list[ResourceOutcome]
    sandbox: NotRequired[str]


class AuditReported(TaskResult):
    """Of the part of an audit that makes the report. files: where it was written."""

    kind: Literal["audit_report"]
    report: AuditReport
    files: NotRequired[list[str]]


class LoginResult(TypedDict):
    """Of the task that opens the session by which an account is entered. msg: why there is none; work may follow."""

    kind: Literal["login", "login_before"]
    changed: Literal[False]
    state: Literal["unasked", "each_time", "open", "opened", "entered", "renewed", "closed", "ended", "refused"]
    unreachable: NotRequired[Literal[True]]
    failed: NotRequired[Literal[True]]
    msg: NotRequired[str]


class SshName(TypedDict):
    """An account and its name for ssh. name: empty where it has none; text: why, or where it leads instead."""

    account: str
    name: str
    text: str


class SshConfigPart(TypedDict):
    """Of the parts that ask whether names for ssh are to be written, and of those with nothing to do."""

    kind: Literal["ssh_config_part"]
    changed: Literal[False]
    cancelled: NotRequired[Literal[True]]


class SshConfigResult(TaskResult):
    """Of the task that keeps names for ssh on this machine, or foresees it."""

    kind: Literal["ssh_config"]
    foreseen: bool
    outcome: ResourceOutcome
    names: list[SshName]


class ScriptExported(TypedDict):
    """The result of export_script. ssh_target: for scp. typed: for ssh. questions: for the keys that it asks for."""

    kind: Literal["script_exported"]
    changed: Literal[True]
    file: str
    ssh_target: str
    typed: str
    questions: list[str]
    notes: list[Note]


class PreflightAccount(TypedDict):
    """Of the look whether an account can be entered. state: a word of docs/schemas/preflight.schema.json."""

    kind: Literal["preflight_account"]
    changed: Literal[False]
    state: str
    text: str
    next: str


class PreflightReport(TaskResult):
    """Of the part of a preflight that tells all accounts together. accounts: {name, state, text, next}."""

    kind: Literal["preflight_report"]
    accounts: list[dict[str, str]]


JobTestState = Literal["works", "fails", "waiting", "no_job", "foreseen", "not_tried"]


class JobCheckResult(TypedDict):
    """One thing that a job tried. why: the reason where it does not work, else empty."""

    what: str
    way: str
    works: bool
    why: str


class JobTestRecord(TypedDict):
    """What a job said of one account: docs/schemas/test-job.schema.json. text: why there is nothing that it said."""

    state: JobTestState
    text: str
    checks: list[JobCheckResult]
    skipped: list[dict[str, str]]


@final
class JobTestResult(TypedDict):
    """Of a job that tries what an account was set up for."""

    kind: Literal["test_job_account"]
    changed: bool
    failed: bool
    msg: str
    outcomes: list[ResourceOutcome]
    notes: list[Note]
    remarks: list[AccountRemark]
    tried: JobTestRecord


class JobTestReport(TaskResult):
    """Of the part of a try that tells all accounts together. accounts: those of the document."""

    kind: Literal["test_job_report"]
    accounts: list[dict[str, Any]]


class ModuleResult(TypedDict):
    """Of the module of a kind. diff: where it changed something; msg: where it failed."""

    outcome: ResourceOutcome
    changed: NotRequired[bool]
    failed: NotRequired[bool]
    msg: NotRequired[str]
    diff: NotRequired[list[AnsibleDiff]]


class CheckRow(TypedDict):
    """One line of a table. next: what to do about it, or nothing."""

    name: str
    status: CheckStatus
    text: str
    next: str


class DoctorResult(TaskResult):
    """Of a look at this machine."""

    kind: Literal["doctor"]
    checks: list[CheckRow]


class TargetCheck(CheckRow):
    """A line of a rotation's table. is_target: whether it is about one file, and stands in the column of those."""

    is_target: bool
