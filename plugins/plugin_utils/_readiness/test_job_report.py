# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a test job on one account, and the report on all accounts, which other programs can read.

A test job makes checks on a compute node. The outcome of the job or of a check has an identity (the title), a status
such as ok or failed, and a reason. The way of a check is its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._input import extra_vars
from .._text.amounts import count
from .account_reports import read_results, write_report

if TYPE_CHECKING:
    from .._documents.outcome import ResourceOutcome
    from .._documents.result import JobTestRecord, JobTestReport, JobTestState
    from .test_job import JobTest

RESULT_VARIABLE = "hpc_onboard_test_job"  # in which playbooks/test_job.yml registers the result of each account
SCHEMA = "hpc.onboard/test-job/1.0"
SETTINGS: dict[str, extra_vars.Reader] = {
    "test_job_gpu": extra_vars.read_bool,
    "test_job_wait": extra_vars.read_number,
    "test_job_output": extra_vars.read_text,
}
SUCCESSFUL: tuple[JobTestState, ...] = ("works", "previewed")  # previewed: a job can be submitted (check mode)


def read_settings(variables: Mapping[str, Any], read_variable: extra_vars.ReadVariable) -> dict[str, Any]:
    """Return the settings of this run by name. Raise AccountError for an unknown or invalid setting.

    variables: of Ansible. read_variable: returns the value of a variable; None if it is not set.
    """
    return extra_vars.read_settings("test-job", SETTINGS, variables, read_variable)  # "test-job": for error messages


def record_result(
    job: ResourceOutcome,
    checks: Sequence[ResourceOutcome],
    job_test: JobTest,
    refused: Mapping[str, str],
    is_check_run: bool,
) -> JobTestRecord:
    """Return the result for one account. job: the outcome of submitting the job.

    checks: the outcomes of the job's checks; empty until the job has ended. job_test: the planned and the skipped
    checks. refused: role -> why its settings are invalid; its part of the account was not tested. is_check_run: Ansible
    runs in check mode, in which no job is submitted.
    """
    state = _choose_state(job, checks, is_check_run)
    untested = [{"what": f"role {role}", "why": f"its settings are invalid: {why}"} for role, why in refused.items()]
    ways = {check["what"]: check["way"] for check in job_test.checks}
    return {
        "state": "fails" if refused and state == "works" else state,
        "text": "" if checks else str(job["reason"] or ""),
        "checks": [
            {
                "what": check["identity"],
                "way": ways[check["identity"]],
                "works": check["status"] == "ok",
                "why": check["reason"] or "",
            }
            for check in checks
        ],
        "skipped": [*(check._asdict() for check in job_test.skipped), *untested],
    }


def _choose_state(job: ResourceOutcome, checks: Sequence[ResourceOutcome], is_check_run: bool) -> JobTestState:
    """Return the state of an account's test job. The parameters are those of record_result()."""
    if checks:  # the job has ended
        return "works" if all(check["status"] == "ok" for check in checks) else "fails"
    if "left" in job:  # the job was submitted, and continues after the run (left: its progress)
        return "waiting"
    is_refused = job["status"] in ("blocked", "failed", "unknown")
    return "previewed" if is_check_run and not is_refused else "no_job"  # no_job: it could not be submitted


def report_accounts(
    variables: Mapping[str, Any], read_variable: extra_vars.ReadVariable, moment: str, is_check_run: bool
) -> JobTestReport:
    """Return the report on all accounts of the play, and write it to a file if the settings name one.

    variables: of Ansible. read_variable: see read_settings(). moment: the end of the run, ISO 8601. is_check_run:
    Ansible runs in check mode. Raise AccountError.
    """
    settings = read_settings(variables, read_variable)
    rows = [{"name": name, **_build_row(result)} for name, result in read_results(variables, RESULT_VARIABLE).items()]
    failed_count = sum(row["state"] not in SUCCESSFUL for row in rows)
    if settings.get("test_job_output"):
        document = {"schema": SCHEMA, "finished": moment, "check": is_check_run, "accounts": rows}
        write_report("test_job_output", Path(settings["test_job_output"]), document)
    success = "test jobs can be submitted on all accounts" if is_check_run else "test jobs succeeded on all accounts"
    failure = f"the test job did not succeed on {failed_count} of {count(len(rows), 'account')}"
    text = failure if failed_count else success
    return {"kind": "test_job_report", "changed": False, "failed": bool(failed_count), "msg": text, "accounts": rows}


def _build_row(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row of an account for the report. result: of its task; empty if the account has none."""
    # "tried": the record of record_result(); without it, the account was not reached
    record: Mapping[str, Any] = result.get("tried") or {
        "state": "not_tried",
        "text": str(result.get("msg") or "the account was not checked"),
        "checks": [],
        "skipped": [],
    }
    return record
