# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report part of an audit: what all accounts came to, what was remembered, and what is written where."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...module_utils._core.errors import AccountError
from .._input import command_line, extra_vars
from .._input.collection import version
from .._input.diagnostics import Mistakes, YamlText
from .._input.extra_vars import Reader, Value
from .._roles.collect import refuse_unknown
from .._state import audit_history
from .._state.durable_files import StateError
from . import accepted, offered_fixes
from . import report as _audit
from .account import unmeasured
from .fixes import Commands
from .formats.files import FORMATS, ReportError, opened, write
from .rules import SEVERITIES

if TYPE_CHECKING:
    from .._documents.finding import AuditReport, AuditRow, AuditRun, FormerAudit, SourceLine
    from .._documents.result import AuditReported, AuditSettings, RefusedResult

    Result = TypeVar("Result", AuditSettings, AuditReported)

Variables = Mapping[str, Any]  # Ansible's, of the host that the part is run for
Wishes = Mapping[str, Any]  # of a user, as checked() reads them
SETTINGS: dict[str, Reader] = {
    "audit_fail_on": extra_vars.one_of(*SEVERITIES, "never"),
    "audit_incomplete": extra_vars.one_of("fail", "ignore"),
    "audit_output": extra_vars.whole,
    "audit_formats": extra_vars.some_of(*FORMATS),
    "audit_waivers": extra_vars.whole,
    "audit_baseline": extra_vars.whole,
    "audit_baseline_write": extra_vars.truth,
    "audit_max_age": extra_vars.number,
    "audit_seconds": extra_vars.number,
    "audit_patience": extra_vars.number,
}
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(SETTINGS),
    "audit_fail_on": "high",
    "audit_incomplete": "fail",
    "audit_formats": tuple(FORMATS),
}


class Called(NamedTuple):
    """How the audit was called: Ansible's options of the command line, and its version."""

    options: Mapping[str, Any]
    ansible: str


def checked(variables: Iterable[object], value: Value) -> dict[str, Any]:
    """All wishes, those that nobody gave as they are then; a misspelt word is an error. Raises AccountError."""
    given = extra_vars.read("the audit", SETTINGS, variables, lambda name: value(name) or None)
    wishes = {**DEFAULTS, **given}
    if wishes["audit_baseline_write"] and not wishes["audit_baseline"]:
        raise AccountError("audit_baseline_write needs to know where: -e audit_baseline=FILE")
    return wishes


def prepared(variables: Variables, value: Value) -> AuditSettings | RefusedResult:
    """The result of the settings part: what nobody would heed, read or could write is refused, and nobody visited."""

    def work() -> AuditSettings:
        wishes = checked(variables, value)
        refuse_unknown(variables)
        accepted.read(variables, wishes, datetime.now(UTC).date())
        if wishes["audit_output"]:
            os.close(opened(_output(wishes)))
        return {"kind": "audit_settings", "changed": False}

    return _said("audit_settings", work)


def reported(
    variables: Variables, value: Value, called: Called, warn: Callable[[str], None], begun: float
) -> AuditReported | RefusedResult:
    """The result of the report part: the report, and whether the run fails by it. begun: of time.monotonic()."""

    def work() -> AuditReported:
        wishes = checked(variables, value)
        result = _report(variables, wishes, called, warn, begun)
        reasons = result["summary"]["reasons"]
        said = "; ".join(reasons) or "nothing to hold against"
        files = _written(result, wishes)
        whole: AuditReported = {
            "kind": "audit_report", "changed": False, "failed": bool(reasons), "msg": said, "report": result
        }  # fmt: skip
        return {**whole, "files": files} if files else whole

    return _said("audit_report", work)


def _said(kind: str, work: Callable[[], Result]) -> Result | RefusedResult:
    """What the work gives, or the one sentence that says why it cannot be done."""
    try:
        return work()
    except (Mistakes, AccountError, StateError, ReportError) as error:
        return {"kind": kind, "failed": True, "msg": str(error)}
    except OSError as error:
        return {
            "kind": kind,
            "failed": True,
            "msg": f"{error.filename}: {error.strerror}: put that right, then run again",
        }


def _report(
    variables: Variables,
    wishes: Wishes,
    called: Called,
    warn: Callable[[str], None],
    begun: float,
) -> AuditReport:
    now = datetime.now(UTC)
    run = _run(now, wishes, called, begun)
    sources = offered_fixes.sources(called.options)
    place, name = audit_history.hash_series(*sources), audit_history.hash_series(*sources, run["limit"], *run["tags"])
    known, history, newer = _remembered(place, name)
    past = _audit.Past(known, history, *accepted.read(variables, wishes, now.date()))
    rows = list(_rows(variables))
    report: AuditReport = _audit.report(run, rows, past, _commands(variables), now.date())
    summary = report["summary"]
    entry: FormerAudit = {
        "started": run["started"],
        "accounts": summary["accounts"],
        "unknown": summary["unknown"],
        "by_severity": summary["by_severity"],
        "new": summary["new"],
        "resolved": summary["resolved"],
    }
    for said in [newer] if newer else _remember(_audit.known_now(known, report, rows), place, name, entry):
        warn(said)
    return report


def _written(report: AuditReport, wishes: Wishes) -> list[str]:
    """Write what is to be written; gives the report's files, as a person names them from here."""
    files = write(report, _output(wishes), wishes["audit_formats"]) if wishes["audit_output"] else []
    if wishes["audit_baseline_write"]:
        accepted.write(wishes, report)
    return [command_line.near(str(Path(file).absolute())) for file in files]


def _remembered(place: str, name: str) -> tuple[audit_history.Known, list[FormerAudit], str]:
    """What audits before this one left, and why it can neither be read nor added to."""
    try:
        known, runs = audit_history.read(place, name)
        uncounted: Any = {"new": None, "resolved": None}  # of runs of older versions
        return known, [{**uncounted, **run} for run in runs], ""
    except StateError as error:
        return {}, [], f"nothing here is compared with earlier audits, and this one is not remembered: {error}"


def _remember(known: audit_history.Known, place: str, name: str, entry: FormerAudit) -> list[str]:
    """Keep what this audit came to; gives what is to be said of that."""
    try:
        return audit_history.keep(known, place, name, entry)
    except StateError as error:
        return [f"what this audit found will not be remembered: {error}"]


def _output(wishes: Wishes) -> str:
    return str(Path(str(wishes["audit_output"])).expanduser())


def _run(now: datetime, wishes: Wishes, called: Called, begun: float) -> AuditRun:
    tags = [str(tag) for tag in called.options.get("tags") or () if tag != "all"]
    return {
        "id": now.strftime("%Y%m%dT%H%M%S%fZ"),
        "started": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(time.monotonic() - begun, 1),
        "tool": version(),
        "ansible": called.ansible,
        "playbook": "audit.yml",
        "limit": str(called.options.get("subset") or ""),
        "tags": tags,
        "fail_on": wishes["audit_fail_on"],
        "incomplete": wishes["audit_incomplete"],
    }


def _rows(variables: Variables) -> Iterator[AuditRow]:
    """What each account of the play came to; one whose look ended in an error of its own is not measured."""
    lines = _Declarations()
    for host in variables["ansible_play_hosts_all"]:
        own = variables["hostvars"][host]
        result = own.get("audited") or {}
        row: AuditRow = result.get("audit") or unmeasured(own, str(result.get("msg") or "it was not looked at"))
        yield {**row, "declared": lines.of(str(host), own)}


class _Declarations:
    """Where each account stands in its accounts file."""

    def __init__(self) -> None:
        self._files: dict[str, YamlText | None] = {}

    def of(self, name: str, variables: Variables) -> SourceLine | None:
        """File and line, or None where it cannot be said."""
        file = str(variables.get("inventory_file") or "")
        if not file.endswith((".yml", ".yaml")):
            return None
        if file not in self._files:
            try:
                self._files[file] = YamlText(Path(file), Path(file).read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError):
                self._files[file] = None
        lines = self._files[file]
        return {"file": command_line.near(file), "line": lines.of(("accounts", name), at_key=True)} if lines else None


def _commands(variables: Variables) -> Commands:
    """The commands for somebody who started this run as it was started."""
    hosts = variables["ansible_play_hosts_all"]
    practised = {str(host) for host in hosts if (variables["hostvars"][host].get("account") or {}).get("sandbox")}
    return Commands(command_line.started(), practised)
