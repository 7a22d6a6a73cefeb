# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of test_job.yml: runs one small job that tests the account's setup, or reports on all accounts.

The plan of the job is sent to the account, which answers with an outcome for each entry. A session gives access to one
account: its variables and its connection. The documentation is in plugins/modules/test_job.py.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import result as _result
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.offboarding import as_absent
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import test_job, test_job_report
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import DeclaredResources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES, why_no_slurm
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import ResourceOutcome
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import JobTestResult

WAIT = 300  # seconds to wait for the job; the next run continues
SECONDS = 90  # for one resource of the plan


class ActionModule(AccountAction):
    """hpc.onboard.test_job"""

    ARGUMENTS = {"part": {"type": "str", "choices": ["settings", "account", "report"], "default": "account"}}

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Check the settings, test one account with a job, or report on all accounts.

        session: the task's account; session.value returns the value of an Ansible variable. arguments: of the task.
        """
        if arguments["part"] == "settings":
            test_job_report.read_settings(session.variables, session.value)  # only for its errors
            return {"kind": "test_job_settings", "changed": False}
        if arguments["part"] == "report":
            report_time = datetime.now(UTC).isoformat(timespec="seconds")
            return test_job_report.report_accounts(session.variables, session.value, report_time, session.is_check_run)
        return run_test_job(session)  # the part account

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the failed result of a part. The parts settings and report fail only because of a setting.

        message: of the error. session: not used.
        """
        kind = "test_job_account" if arguments["part"] == "account" else "test_job_settings"
        return {"kind": kind, "failed": True, "msg": message}


def run_test_job(session: AccountSession) -> JobTestResult:
    """Submit the test job, or find the job of an earlier run, and return the results of its checks.

    Without results, as in check mode or if the job has not ended, return the outcome of the job itself. Raise
    AccountError for an account that cannot run the job.
    """
    cluster = session.variables.get("cluster") or {}
    options = test_job_report.read_settings(session.variables, session.value)
    if session.sandbox:
        raise AccountError("the account is a sandbox, which has no Slurm, so hpc-onboard cannot submit a test job")
    scheduler = str(cluster.get("scheduler", {}).get("kind", "none"))
    if scheduler != "slurm":
        raise AccountError(f"a test job needs Slurm, {why_no_slurm(scheduler)}")
    settings = test_job.JobTestSettings(
        gpu=options.get("test_job_gpu", False),
        image=str(session.value("launchers_image") or ""),
        home=str(session.value("launchers_home_in_jobs") or ""),
    )
    all_roles = session.collect(list(ROLES), resources=[], tolerated=(AccountError,))
    declared = all_roles.resources
    job_test = test_job.plan_checks(cluster, declared, settings)
    plan = Plan.of(test_job.plan_job(cluster, declared, job_test.checks, settings), session.key).entries
    job_entry = plan[-1]  # the entry before it queries the user's Slurm accounts
    # Each query of the job's progress would ask the user if the login asks in every session
    wait = 0 if session.connection.asks_each_time else options.get("test_job_wait", WAIT)
    job = _run_job_plan(session, plan, session.work, wait)
    outcomes: list[ResourceOutcome] = []
    if not session.is_check_run and job["status"] != "unknown":  # the job has ended: read its results, then remove it
        ended_job = _run_job_plan(session, plan, work="examine", wait=0)
        outcomes = test_job.split_outcome(job, ended_job) if ended_job["before"] else []  # before: the results, if any
        _run_job_plan(session, [as_absent(job_entry)], work="reconcile", wait=0)
    # a role with invalid settings fails the test, because its part of the account was not tested
    notes = test_job.describe_skipped(job_test.skipped)
    skipped = DeclaredResources(resources=[], notes=notes, refused=all_roles.refused)
    # without results of its checks, the job itself is the result
    result = _result.build_result(outcomes or [job], skipped, session.is_check_run)
    record = test_job_report.record_result(job, outcomes, job_test, all_roles.refused, session.is_check_run)
    return {
        "kind": "test_job_account",
        "changed": result["changed"],
        "failed": result["failed"],
        "msg": result["msg"],
        "outcomes": result["outcomes"],
        "notes": result["notes"],
        "remarks": result["remarks"],
        "tried": record,
    }


def _run_job_plan(session: AccountSession, plan: list[PlanEntry], work: str, wait: int) -> ResourceOutcome:
    """Send the plan, and return the outcome of its last entry, the job. wait: seconds to wait for the job.

    work: "reconcile" submits or removes the job, "preview" reports what that would change, "examine" only reads.
    """
    settings = {"work": work, "receipt": True, "seconds": SECONDS}
    return Conversation(session, plan, settings).fetch_outcomes(wait)[-1]
