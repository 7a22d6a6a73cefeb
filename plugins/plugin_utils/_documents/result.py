# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of tasks, which Ansible passes to the console, to later tasks and to the user's own tasks."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, final

from .adoption import AdoptionOffer
from .declaration import Note
from .finding import AuditReport, AuditRow
from .outcome import ResourceOutcome

CheckStatus = Literal["ok", "warning", "failed"]


class AccountRemark(TypedDict):
    """A remark for the owner of an account, although nothing differs."""

    capability: str
    text: str


class ManualStep(TypedDict):
    """A step that only the user can take. due: the date in the accounts file, such as 2027-03-31."""

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
    """The fields of a result that Ansible itself reads."""

    changed: bool
    failed: bool
    msg: str


@final
class Introduction(TypedDict):
    """Hints that are shown once, after an account's first onboarding. places: links and scripts.

    command: shows the rules of the site. names: sets up short names for ssh, or empty. steps: manual steps; done: the
    command that lists them. next: the command to run next.
    """

    places: list[str]
    command: list[str]
    names: list[str]
    steps: list[ManualStep]
    done: list[str]
    next: list[str]


@final
class AccountResult(TaskResult):
    """Result of onboarding or offboarding an account, of its preview, or of an imported result.

    sandbox: the folder of a sandbox. keys: fingerprint -> name and age of each changed key. found_keys: names of the
    keys that the run has read. keyring: the keyring that they are from. introduction: only after the first onboarding
    from this machine.
    """

    kind: Literal["account", "offboard_shown", "result_imported"]
    outcomes: list[ResourceOutcome]
    notes: list[Note]
    remarks: list[AccountRemark]
    human_steps: NotRequired[list[ManualStep]]
    introduction: NotRequired[Introduction]
    keys: NotRequired[dict[str, str]]
    found_keys: NotRequired[list[str]]
    adoption: NotRequired[AdoptionOffer]
    keyring: NotRequired[str]
    sandbox: NotRequired[str]
    diff: NotRequired[list[AnsibleDiff]]


@final
class UnreachableResult(TypedDict):
    """Result of a task whose account is unreachable."""

    kind: Literal["account"]
    unreachable: Literal[True]
    msg: str
    human_steps: NotRequired[list[ManualStep]]


class RefusedResult(TypedDict):
    """Result of a task that could not start. msg: why."""

    kind: str
    failed: Literal[True]
    msg: str


class PartResult(TypedDict):
    """Result of a task without output, such as one that reads the settings of a run or asks the user to agree."""

    kind: Literal[
        "adopt_part",
        "audit_settings",
        "fix_asked",
        "offboard_part",
        "preflight_settings",
        "probe_part",
        "ssh_config_part",
        "test_job_settings",
    ]
    changed: Literal[False]
    cancelled: NotRequired[Literal[True]]


class AuditAccount(TypedDict):
    """Result of the audit of one account. sandbox: the folder of a sandbox."""

    kind: Literal["audit_account"]
    changed: Literal[False]
    audit: AuditRow
    sandbox: NotRequired[str]


class FixShown(TypedDict):
    """Result of the task of fix.yml that shows the fixes: account, rule, place, text and fix of each finding."""

    kind: Literal["fix_shown"]
    changed: Literal[False]
    offered: list[dict[str, Any]]


class FixAccount(TypedDict):
    """Result of the task of fix.yml that fixes one account. audit: of the account afterwards; None before."""

    kind: Literal["fix_account"]
    changed: bool
    audit: AuditRow | None
    outcomes: list[ResourceOutcome]
    sandbox: NotRequired[str]


class AuditReported(TaskResult):
    """Result of the task that creates the report of an audit. files: the written files."""

    kind: Literal["audit_report"]
    report: AuditReport
    files: NotRequired[list[str]]


class LoginResult(TypedDict):
    """Result of the task that opens the SSH session to an account. msg: why no session is open."""

    kind: Literal["login", "login_before"]
    changed: Literal[False]
    state: Literal["unasked", "each_time", "open", "opened", "entered", "renewed", "closed", "ended", "refused"]
    unreachable: NotRequired[Literal[True]]
    failed: NotRequired[Literal[True]]
    msg: NotRequired[str]


class SshName(TypedDict):
    """An account and its name for ssh. name: empty if it has none. text: why, or the host that it connects to."""

    account: str
    name: str
    text: str


class SshConfigResult(TaskResult):
    """Result of the task that writes names for ssh on this machine. previewed: True for a preview."""

    kind: Literal["ssh_config"]
    previewed: bool
    outcome: ResourceOutcome
    names: list[SshName]


class ScriptExported(TypedDict):
    """Result of export_script. ssh_target: for scp. typed: for ssh. questions: prompts of the script for keys."""

    kind: Literal["script_exported"]
    changed: Literal[True]
    file: str
    ssh_target: str
    typed: str
    questions: list[str]
    notes: list[Note]


class PreflightAccount(TypedDict):
    """Result of the preflight of one account. state: as in docs/schemas/preflight.schema.json."""

    kind: Literal["preflight_account"]
    changed: Literal[False]
    state: str
    text: str
    next: str


class PreflightReport(TaskResult):
    """Result of the task that reports all accounts of a preflight. accounts: {name, state, text, next}."""

    kind: Literal["preflight_report"]
    accounts: list[dict[str, str]]


JobTestState = Literal["works", "fails", "waiting", "no_job", "previewed", "not_tried"]


class JobCheckResult(TypedDict):
    """One check of a test job. why: the reason if it failed, else empty."""

    what: str
    way: str
    works: bool
    why: str


class JobTestRecord(TypedDict):
    """Result of an account's test job (docs/schemas/test-job.schema.json). text: why the job has no result."""

    state: JobTestState
    text: str
    checks: list[JobCheckResult]
    skipped: list[dict[str, str]]


@final
class JobTestResult(TypedDict):
    """Result of the task that runs an account's test job."""

    kind: Literal["test_job_account"]
    changed: bool
    failed: bool
    msg: str
    outcomes: list[ResourceOutcome]
    notes: list[Note]
    remarks: list[AccountRemark]
    tried: JobTestRecord


class JobTestReport(TaskResult):
    """Result of the task that reports all test jobs. accounts: as in docs/schemas/test-job.schema.json."""

    kind: Literal["test_job_report"]
    accounts: list[dict[str, Any]]


class ModuleResult(TypedDict):
    """Result of the module of a resource type. diff: if it changed anything. msg: if it failed."""

    outcome: ResourceOutcome
    changed: NotRequired[bool]
    failed: NotRequired[bool]
    msg: NotRequired[str]
    diff: NotRequired[list[AnsibleDiff]]


class CheckRow(TypedDict):
    """One line of a table of checks. next: what to do, or empty."""

    name: str
    status: CheckStatus
    text: str
    next: str


class DoctorResult(TaskResult):
    """Result of doctor."""

    kind: Literal["doctor"]
    checks: list[CheckRow]


class TargetCheck(CheckRow):
    """A line of a rotation's table. is_target: True if the check is about one file."""

    is_target: bool
