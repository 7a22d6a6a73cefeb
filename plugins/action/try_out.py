# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One small job for an account, which tries what it was set up for, and what came of it.

The documentation is in plugins/modules/try_out.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.table import CAPABILITIES
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import result as _result
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import trial as _trial
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import (
    AccountSession,
    Variables,
    prepare,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.offboarding import absent
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._input import extra_vars

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import Outcome
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import AccountResult

SETTINGS: dict[str, extra_vars.Reader] = {"try_gpu": extra_vars.truth, "try_wait": extra_vars.number}
WAIT = 300  # seconds that a job is waited for; the next run goes on
SECONDS = 90

prepare()


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.try_out"""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Submit the job, or find it again, and say what it has found."""
        super().run(tmp, task_vars)
        session = AccountSession(self, task_vars)
        try:
            return _tried(session)
        except AnsibleConnectionFailure as error:
            return session.unreached(error)
        except (AccountError, NoAnswer) as error:
            return {"kind": "account", "failed": True, "msg": str(error)}


def _tried(session: AccountSession) -> AccountResult:
    cluster = session.variables.get("cluster") or {}
    given = extra_vars.read("try", SETTINGS, session.variables, session.value)
    if session.sandbox or cluster.get("scheduler", {}).get("kind") != "slurm":
        raise AccountError("no job can be tried: Slurm is not here" + (", this is practice" if session.sandbox else ""))
    wishes = _trial.Wishes(
        given.get("try_gpu", False),
        str(session.value("launchers_image") or ""),
        str(session.value("launchers_home_in_jobs") or ""),
    )
    declared = session.collect(list(CAPABILITIES), []).resources
    trial = _trial.trial(cluster, declared, wishes)
    plan = Plan.of(_trial.entries(cluster, declared, trial.checks, wishes), session.key).entries
    wait = 0 if "asks_each_time" in (session.variables.get("account") or ()) else given.get("try_wait", WAIT)
    job = _asked(session, plan, session.work, wait)
    told: list[Outcome] = [job]
    if not session.is_check_run and job["status"] != "not_measured":
        looked = _asked(session, plan, "examine", 0)
        told = _trial.results(job, looked) if looked["before"] else [job]
        _asked(session, [absent(plan[-1])], "reconcile", 0)
    return _result.result(told, _trial.notes(trial.untried), session.is_check_run)


def _asked(session: AccountSession, plan: list[PlanEntry], work: str, wait: int) -> Outcome:
    """What comes of the job, the last one of a plan."""
    wishes = {"work": work, "receipt": True, "seconds": SECONDS}
    return Conversation(session, plan, wishes).outcomes(wait)[-1]
