# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of a preflight: the look whether one account can be entered, or what all of them came to.

The documentation is in plugins/modules/preflight.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import watch_places
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import login_advice, login_gate, ssh_login
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.login_diagnosis import LoginDiagnosis
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import (
    AccountSession,
    Variables,
    prepare,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import PreflightAccount
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import preflight, preflight_report

QUOTA = payload.places({"quota": watch_places.KINDS["quota"]})
ARGUMENTS = {"part": {"type": "str", "choices": ["settings", "account", "report"], "required": True}}

prepare()


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.preflight"""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Take the part."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        session = AccountSession(self, task_vars, QUOTA)
        if arguments["part"] == "account":
            return _looked(session)
        try:
            if arguments["part"] == "settings":
                preflight_report.settings(session.variables, session.value)
                return {"kind": "preflight_settings", "changed": False}
            moment = datetime.now(UTC).isoformat(timespec="seconds")
            return preflight_report.reported(session.variables, session.value, moment)
        except AccountError as error:
            return {"kind": "preflight_settings", "failed": True, "msg": str(error)}


def _looked(session: AccountSession) -> PreflightAccount:
    """Whether the account can be entered."""
    if session.connection.session and not ssh_login.is_open(session.connection.session):
        return preflight.seen("needs_person", "", login_advice.advice(session.name))
    why = login_gate.reason(session.connection.variables, may_ask=False)
    if why:
        return preflight.known(session.variables) or preflight.seen("needs_person", "", why)
    try:
        session.connection.ask_nobody()
        return preflight.asked(session)
    except AnsibleConnectionFailure as error:
        failure = session.connection.failure(error)
        if failure.began:
            return preflight.seen("not_ready", failure.text)
        return preflight.shut(
            failure.words, LoginDiagnosis(session.name, session.connection.variables), session.connection.unasked
        )
    except (AccountError, NoAnswer) as error:
        return preflight.seen("not_ready", str(error))
