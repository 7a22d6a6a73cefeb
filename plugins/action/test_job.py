# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One small job for an account, which tries what it was set up for, and what came of it.

The documentation is in plugins/modules/test_job.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import result as _result
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import (
    AccountSession,
    Variables,
    prepare,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.offboarding import absent
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import test_job, test_job_report
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import Declared
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import Outcome
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import JobTestResult

ARGUMENTS = {"part": {"type": "str", "choices": ["settings", "account", "report"], "default": "account"}}
WAIT = 300  # seconds that a job is waited for; the next run goes on
SECONDS = 90

prepare()


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.test_job"""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Take the part: read the settings, let the job of one account try it, or report on all accounts."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        session = AccountSession(self, task_vars)
        try:
            if arguments["part"] == "settings":
                test_job_report.settings(session.variables, session.value)
                return {"kind": "test_job_settings", "changed": False}
            if arguments["part"] == "report":
                moment = datetime.now(UTC).isoformat(timespec="seconds")
                return test_job_report.reported(session.variables, session.value, moment, session.is_check_run)
            return _tried(session)
        except AnsibleConnectionFailure as error:
            return session.unreached(error)
        except (AccountError, NoAnswer) as error:
            kind = "test_job_account" if arguments["part"] == "account" else "test_job_settings"
            return {"kind": kind, "failed": True, "msg": str(error)}


def _tried(session: AccountSession) -> JobTestResult:
    """Submit the job, or find it again, and say what it has found."""
    cluster = session.variables.get("cluster") or {}
    given = test_job_report.settings(session.variables, session.value)
    if session.sandbox or cluster.get("scheduler", {}).get("kind") != "slurm":
        raise AccountError("no job can be tried: Slurm is not here" + (", this is practice" if session.sandbox else ""))
    settings = test_job.JobTestSettings(
        given.get("test_job_gpu", False),
        str(session.value("launchers_image") or ""),
        str(session.value("launchers_home_in_jobs") or ""),
    )
    declared = session.collect(list(ROLES), []).resources
    job_test = test_job.plan_checks(cluster, declared, settings)
    plan = Plan.of(test_job.entries(cluster, declared, job_test.checks, settings), session.key).entries
    wait = 0 if "asks_each_time" in (session.variables.get("account") or ()) else given.get("test_job_wait", WAIT)
    job = _asked(session, plan, session.work, wait)
    outcomes: list[Outcome] = []
    if not session.is_check_run and job["status"] != "unknown":
        looked = _asked(session, plan, "examine", 0)
        outcomes = test_job.results(job, looked) if looked["before"] else []
        _asked(session, [absent(plan[-1])], "reconcile", 0)
    skipped = Declared([], test_job.notes(job_test.skipped), {})
    result = _result.result(outcomes or [job], skipped, session.is_check_run)
    tried = test_job_report.tried(job, outcomes, job_test, session.is_check_run)
    return {
        "kind": "test_job_account",
        "changed": result["changed"],
        "failed": result["failed"],
        "msg": result["msg"],
        "outcomes": result["outcomes"],
        "notes": result["notes"],
        "remarks": result["remarks"],
        "tried": tried,
    }


def _asked(session: AccountSession, plan: list[PlanEntry], work: str, wait: int) -> Outcome:
    """What comes of the job, the last one of a plan."""
    wishes = {"work": work, "receipt": True, "seconds": SECONDS}
    return Conversation(session, plan, wishes).outcomes(wait)[-1]
