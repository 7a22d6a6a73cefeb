# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of actions on one account: reads the arguments, opens the session, and turns errors into results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ..module_utils._core.errors import AccountError
from ._delivery import delivery
from ._delivery.account_session import AccountSession, load_before_fork
from ._delivery.answer import NoAnswer
from ._roles.table import PLACES

if TYPE_CHECKING:
    from ._delivery.connection import Variables
    from ._delivery.connection_failure import ConnectionFailure

Arguments = Mapping[str, Any]  # of the task, checked
Result = Mapping[str, object]

NO_BECOME = "hpc.onboard runs as the account's own user, never as root or another user: set become to false here"
NO_DELEGATION = (
    "delegate_to: {name} is this machine, and hpc.onboard runs on the account itself, as its own user:"
    " remove delegate_to, or name another account"
)

load_before_fork()  # Ansible imports an action before it forks


class AccountAction(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """An action on one account. An action of several parts has an argument part; see run_part."""

    TRANSFERS_FILES = False
    ARGUMENTS: Mapping[str, Any] = {}
    PLACES: Mapping[str, str] = PLACES
    """The places of the resource types that may be sent (see _delivery/plan.py, ResourceTypes)."""
    ERRORS: tuple[type[Exception], ...] = (AccountError, NoAnswer)
    """Exceptions that run_part may raise besides AnsibleConnectionFailure; every other exception is a bug."""

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Result:
        """Run the part that the task names, and return its result."""
        super().run(tmp, task_vars)
        arguments = self.read_arguments()
        session = self.open_session(task_vars, arguments)
        try:
            self._refuse_other_target(session)
            return self.run_part(session, arguments)
        except AnsibleConnectionFailure as error:
            return self.report_unreached(session, session.connection.explain_failure(error))
        except self.ERRORS as error:
            return self.report_error(session, arguments, str(error))

    def _refuse_other_target(self, session: AccountSession) -> None:
        """Raise AccountError if become or delegate_to name a user or a place that is not the account."""
        if getattr(self._connection, "become", None):
            raise AccountError(NO_BECOME)
        if self._task.delegate_to and self._connection.transport == "local" and not session.sandbox:
            raise AccountError(NO_DELEGATION.format(name=self._task.delegate_to))

    def read_arguments(self) -> Arguments:
        """Return the arguments of the task, checked by Ansible."""
        _validation, arguments = self.validate_argument_spec(self.ARGUMENTS)
        return arguments  # type: ignore[no-any-return]

    def open_session(self, variables: Variables | None, arguments: Arguments) -> AccountSession:
        """Return the session with the task's account. Nothing is sent before a plan is."""
        return AccountSession(self, variables, self.PLACES)

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Do what the task asks for, and return its result."""
        raise NotImplementedError

    def report_unreached(self, session: AccountSession, failure: ConnectionFailure) -> Result:
        """Return the result for an account that was not reached."""
        return delivery.report_unreached(session, failure)

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the result after one of ERRORS."""
        return {"kind": "account", "failed": True, "msg": message}
