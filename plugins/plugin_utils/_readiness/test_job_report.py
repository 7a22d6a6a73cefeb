# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What jobs said of all accounts together: a document for programs, and whether the run fails by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._input import extra_vars
from .._state import document_file

if TYPE_CHECKING:
    from .._documents.outcome import ResourceOutcome
    from .._documents.result import JobTestRecord, JobTestReport, JobTestState
    from .test_job import JobTest

SCHEMA = "hpc.onboard/test-job/1.0"
SETTINGS: dict[str, extra_vars.Reader] = {
    "test_job_gpu": extra_vars.truth,
    "test_job_wait": extra_vars.number,
    "test_job_output": extra_vars.text,
}
GOOD: tuple[JobTestState, ...] = ("works", "foreseen")


def settings(variables: Mapping[str, Any], value: extra_vars.Value) -> dict[str, Any]:
    """What a person wants of this run. Raises AccountError."""
    return extra_vars.read("test-job", SETTINGS, variables, value)


def tried(job: ResourceOutcome, checks: Sequence[ResourceOutcome], trial: JobTest, check_run: bool) -> JobTestRecord:
    """What came of one account. job: of the job itself. checks: of what it tried; empty where it has not ended."""
    ways = {one["what"]: one["way"] for one in trial.checks}
    return {
        "state": _state(job, checks, check_run),
        "text": "" if checks else str(job["reason"] or ""),
        "checks": [
            {
                "what": one["identity"],
                "way": ways[one["identity"]],
                "works": one["status"] == "ok",
                "why": one["reason"] or "",
            }
            for one in checks
        ],
        "skipped": [one._asdict() for one in trial.skipped],
    }


def _state(job: ResourceOutcome, checks: Sequence[ResourceOutcome], check_run: bool) -> JobTestState:
    if checks:
        return "works" if all(one["status"] == "ok" for one in checks) else "fails"
    if "left" in job:
        return "waiting"
    if job["status"] in ("blocked", "failed", "unknown"):
        return "no_job"
    return "foreseen" if check_run else "no_job"


def reported(variables: Mapping[str, Any], value: extra_vars.Value, moment: str, check_run: bool) -> JobTestReport:
    """The report over all accounts of the play. moment: of the end, ISO 8601. Raises AccountError."""
    wishes = settings(variables, value)
    names = sorted(variables.get("ansible_play_hosts_all") or [])
    rows = [{"name": name, **_row(variables["hostvars"][name].get("tried") or {})} for name in names]
    bad = sum(row["state"] not in GOOD for row in rows)
    if wishes.get("test_job_output"):
        document = {"schema": SCHEMA, "finished": moment, "check": check_run, "accounts": rows}
        document_file.write("test_job_output", Path(wishes["test_job_output"]), document)
    said = f"jobs fail on {bad} of {len(rows)} accounts" if bad else "jobs work on all accounts"
    return {"kind": "test_job_report", "changed": False, "failed": bool(bad), "msg": said, "accounts": rows}


def _row(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """What came of one account; one that was not reached, or an error, is one where nothing was tried."""
    found: Mapping[str, Any] = result.get("tried") or {
        "state": "not_tried",
        "text": str(result.get("msg") or "it was not looked at"),
        "checks": [],
        "skipped": [],
    }
    return found
