# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of an audit that run on this machine: checking the settings first, and reporting at the end.

A row is the result of the audit of one account; the report is made from all rows. The history has the results of
earlier audits on this machine. Two files of the user list findings that do not fail an audit: waivers, each until a
given day, and the baseline, which an earlier audit wrote with all its findings.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...module_utils._core.errors import AccountError
from .._input import command_line, extra_vars
from .._input.collection import read_version
from .._input.diagnostics import Mistakes, YamlText
from .._input.extra_vars import Reader, ReadVariable
from .._roles.collect import refuse_unknown_settings
from .._state import audit_history
from .._state.durable_files import StateError
from . import accepted, offered_fixes
from .account import unmeasured_account
from .fixes import FixCommands
from .formats.files import FORMATS, ReportError, open_folder, write_files
from .report import EarlierResults, build_report, merge_known
from .rules.catalogue import SEVERITIES

if TYPE_CHECKING:
    from .._documents.finding import AuditReport, AuditRow, AuditRun, FormerAudit, SourceLine
    from .._documents.result import AuditReported, PartResult, RefusedResult

    Result = TypeVar("Result", PartResult, AuditReported)

Variables = Mapping[str, Any]  # Ansible's, of the host that the part is run for
Settings = Mapping[str, Any]  # of the user, as read_settings() returns them
SETTINGS: dict[str, Reader] = {
    "audit_fail_on": extra_vars.read_choice(*SEVERITIES, "never"),
    "audit_incomplete": extra_vars.read_choice("fail", "ignore"),
    "audit_output": extra_vars.read_any,
    "audit_formats": extra_vars.read_choices(*FORMATS),
    "audit_since": extra_vars.read_choice("last"),
    "audit_waivers": extra_vars.read_any,
    "audit_baseline": extra_vars.read_any,
    "audit_baseline_write": extra_vars.read_bool,
    "audit_max_age": extra_vars.read_number,
    "audit_no_shells": extra_vars.read_bool,
    "audit_seconds": extra_vars.read_number,
    "audit_patience": extra_vars.read_number,
}
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(SETTINGS),
    "audit_fail_on": "high",
    "audit_incomplete": "fail",
    "audit_formats": tuple(FORMATS),
}
REQUIREMENTS = (  # setting, its option, the setting without which it has no effect, and the option of that setting
    ("audit_baseline_write", ("--baseline-write",), "audit_baseline", ("--baseline", "FILE")),
    ("audit_formats", ("--format", "FORMAT"), "audit_output", ("--output", "DIR")),
)


class AnsibleCall(NamedTuple):
    """The options of the command line with which the user called Ansible, and Ansible's version."""

    options: Mapping[str, Any]
    version: str


def read_settings(variables: Iterable[object], read_variable: ReadVariable) -> dict[str, Any]:
    """Return all settings by name, with defaults. Raises AccountError for an unknown setting or value.

    variables: the names of all variables, of which those that begin with audit_ must be settings.
    """
    # An empty value, as in -e audit_output=, counts as not set.
    given = extra_vars.read_settings(
        owner="the audit",  # for error messages
        readers=SETTINGS,
        variables=variables,
        read_variable=lambda name: read_variable(name) or None,
    )
    settings = {**DEFAULTS, **given}
    for name, options, required_name, required_options in REQUIREMENTS:
        if given.get(name) and not settings[required_name]:
            required_text = command_line.describe_options("audit", *required_options)
            raise AccountError(f"{command_line.describe_options('audit', *options)} requires {required_text}")
    return settings


def check_settings(variables: Variables, read_variable: ReadVariable) -> PartResult | RefusedResult:
    """Return the result of the settings part. It fails for unknown settings and unusable files, before any login.

    read_variable: returns the value of a variable of Ansible.
    """

    def work() -> PartResult:
        """Read all settings and files; any error ends the run before a login."""
        settings = read_settings(variables, read_variable)
        refuse_unknown_settings(variables)  # of roles
        accepted.read_accepted(variables, settings, datetime.now(UTC).date())  # only for its errors
        if settings["audit_output"]:
            os.close(open_folder(_output_folder(settings)))  # creates the folder if missing, or raises ReportError
        return {"kind": "audit_settings", "changed": False}

    return _run_part("audit_settings", work)


def report_audit(
    variables: Variables, read_variable: ReadVariable, call: AnsibleCall, warn: Callable[[str], None], started_at: float
) -> AuditReported | RefusedResult:
    """Return the result of the report part, which fails if the report contains reasons to fail.

    call: how the user called Ansible. warn: shows a warning. started_at: the time.monotonic() at the start of the run.
    """

    def work() -> AuditReported:
        """Build the report, and write its files and the baseline."""
        settings = read_settings(variables, read_variable)
        report = _build_report(variables, settings, call, warn, started_at)
        reasons = report["summary"]["reasons"]
        text = "; ".join(reasons) or "The audit passed."
        files = _write_files(report, settings)
        result: AuditReported = {
            "kind": "audit_report", "changed": False, "failed": bool(reasons), "msg": text, "report": report
        }  # fmt: skip
        return {**result, "files": files} if files else result

    return _run_part("audit_report", work)


def _run_part(kind: str, work: Callable[[], Result]) -> Result | RefusedResult:
    """Return the result of the work, or a failed result of this kind with the message of the error."""
    try:
        return work()
    except (Mistakes, AccountError, StateError, ReportError) as error:
        return {"kind": kind, "failed": True, "msg": str(error)}
    except OSError as error:
        return {
            "kind": kind,
            "failed": True,
            "msg": f"could not read or write {error.filename or 'a file'} ({error.strerror}). Check the path and its"
            " permissions, then run the command again.",
        }


def _build_report(
    variables: Variables,
    settings: Settings,
    call: AnsibleCall,
    warn: Callable[[str], None],
    started_at: float,
) -> AuditReport:
    """Return the report on all accounts, and record its results for later audits.

    call, warn, started_at: as for report_audit.
    """
    now = datetime.now(UTC)
    run = _describe_run(now, settings, call, started_at)
    sources = offered_fixes.accounts_files(call.options)
    # Findings are kept for the accounts files; runs only for the same accounts and roles, to be comparable.
    findings_id = audit_history.hash_series(*sources)
    runs_id = audit_history.hash_series(*sources, run["limit"], *run["tags"])
    known, history, history_problem = _read_history(findings_id, runs_id)
    waivers, baseline = accepted.read_accepted(variables, settings, now.date())
    earlier = EarlierResults(known, history, waivers, baseline)
    rows = list(_list_rows(variables))
    report: AuditReport = build_report(run, rows, earlier, _fix_commands(variables), now.date())
    summary = report["summary"]
    this_audit: FormerAudit = {
        "started": run["started"],
        "accounts": summary["accounts"],
        "unknown": summary["unknown"],
        "by_severity": summary["by_severity"],
        "new": summary["new"],
        "resolved": summary["resolved"],
    }
    if history_problem:
        warn(history_problem)
        return report  # a history that cannot be read must not be overwritten
    for warning in _record_history(merge_known(known, report, rows), findings_id, runs_id, this_audit):
        warn(warning)
    return report


def _write_files(report: AuditReport, settings: Settings) -> list[str]:
    """Write the report and the baseline, if the settings request them. Return the paths of the report's files."""
    files = write_files(report, _output_folder(settings), settings["audit_formats"]) if settings["audit_output"] else []
    if settings["audit_baseline_write"]:
        accepted.write_baseline(settings, report)
    return [command_line.relative_path(str(Path(file).absolute())) for file in files]


def _read_history(findings_id: str, runs_id: str) -> tuple[audit_history.Known, list[FormerAudit], str]:
    """Return the known findings, the former runs, and a warning: "", unless the history cannot be read.

    findings_id, runs_id: ids of the parts of the history, from audit_history.hash_series().
    """
    try:
        known, runs = audit_history.read(findings_id, runs_id)
        defaults: Any = {"new": None, "resolved": None}  # older versions did not record these numbers
        return known, [{**defaults, **run} for run in runs], ""
    except StateError as error:
        return {}, [], f"this audit was neither recorded nor compared with earlier audits: {error}"


def _record_history(known: audit_history.Known, findings_id: str, runs_id: str, this_audit: FormerAudit) -> list[str]:
    """Record the results of this audit, in the parts of the history with these ids; return warnings for the user.

    known: all findings to remember, by fingerprint. this_audit: the numbers of this audit.
    """
    try:
        return audit_history.keep(known, findings_id, runs_id, this_audit)
    except StateError as error:
        return [f"the results of this audit were not recorded: {error}"]


def _output_folder(settings: Settings) -> str:
    return command_line.expand_home(str(settings["audit_output"]))


def _describe_run(now: datetime, settings: Settings, call: AnsibleCall, started_at: float) -> AuditRun:
    """Return the facts about this run for the report. now: the time in UTC. started_at: as for report_audit."""
    tags = [str(tag) for tag in call.options.get("tags") or () if tag != "all"]  # "all": Ansible's default
    return {
        "id": now.strftime("%Y%m%dT%H%M%S%fZ"),
        "started": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(time.monotonic() - started_at, 1),
        "tool": read_version(),
        "ansible": call.version,
        "playbook": "audit.yml",
        "limit": str(call.options.get("subset") or ""),
        "tags": tags,
        "fail_on": settings["audit_fail_on"],
        "incomplete": settings["audit_incomplete"],
        "since": settings["audit_since"] or "",
    }


def _list_rows(variables: Variables) -> Iterator[AuditRow]:
    """Yield the row of each account. An account whose task failed is unmeasured."""
    lines = _AccountLines()
    for host in variables["ansible_play_hosts_all"]:
        host_variables = variables["hostvars"][host]
        result = host_variables.get("audited") or {}  # the variable in which audit.yml registers the result
        reason = str(result.get("msg") or "the account was not checked")
        row: AuditRow = result.get("audit") or unmeasured_account(host_variables, reason)
        yield {**row, "declared": lines.find(str(host), host_variables)}


class _AccountLines:
    """The line of each account in its accounts file. Each file is read once."""

    def __init__(self) -> None:
        self._files: dict[str, YamlText | None] = {}

    def find(self, name: str, variables: Variables) -> SourceLine | None:
        """Return file and line of an account; None for a file that is not readable YAML, such as a script.

        name: of the account. variables: Ansible's, of the account.
        """
        file = str(variables.get("inventory_file") or "")
        if not file.endswith((".yml", ".yaml")):
            return None
        if file not in self._files:
            try:
                self._files[file] = YamlText(Path(file), Path(file).read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError):
                self._files[file] = None
        lines = self._files[file]
        if lines is None:
            return None
        return {"file": command_line.relative_path(file), "line": lines.line_of(("accounts", name), at_key=True)}


def _fix_commands(variables: Variables) -> FixCommands:
    """Return an object that finds the commands for findings, in the form in which the user started this run.

    Sandboxes, folders that simulate accounts, get no command that needs a login.
    """
    hosts = map(str, variables["ansible_play_hosts_all"])
    sandboxes = {host for host in hosts if offered_fixes.is_sandbox(variables, host)}
    return FixCommands(command_line.read_invocation(), sandboxes)
