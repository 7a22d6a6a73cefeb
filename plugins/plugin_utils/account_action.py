# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of actions on one account: reads the arguments, opens the session, and turns errors into results.

An action is the part of a module that Ansible runs on this machine. A session gives access to one account.
"""

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

NO_BECOME = "hpc.onboard runs as the account's own user, never as another user. Set become: false for this task"
NO_DELEGATION = (
    "delegate_to names this machine ({name}), but hpc.onboard runs on an account. Remove delegate_to, or set"
    " delegate_to to another account"
)

load_before_fork()  # Ansible imports an action before it forks


class AccountAction(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """An action on one account. If the action has several parts, the argument "part" of the task names one of them."""

    TRANSFERS_FILES = False
    ARGUMENTS: Mapping[str, Any] = {}  # Ansible's specification of the arguments
    PLACES: Mapping[str, str] = PLACES
    """The import paths of the resource types that may be sent, by name (see ResourceTypes in _delivery/plan.py)."""
    ERRORS: tuple[type[Exception], ...] = (AccountError, NoAnswer)
    """Exceptions that run_part may raise besides AnsibleConnectionFailure; every other exception is a bug."""

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Result:
        """Run the action, or the part that the task names, and return the result of the task.

        tmp: of Ansible, not used. task_vars: Ansible's variables of the account.
        """
        super().run(tmp, task_vars)
        arguments = self.read_arguments()
        session = self.open_session(task_vars, arguments)
        try:
            self._refuse_become_and_delegation(session)
            return self.run_part(session, arguments)
        except AnsibleConnectionFailure as error:
            return self.report_unreached(session, session.connection.explain_failure(error))
        except self.ERRORS as error:
            return self.report_error(session, arguments, str(error))

    def _refuse_become_and_delegation(self, session: AccountSession) -> None:
        """Raise AccountError if the task runs as another user (become), or on this machine (delegate_to)."""
        if getattr(self._connection, "become", None):
            raise AccountError(NO_BECOME)
        if self._task.delegate_to and self._connection.transport == "local" and not session.sandbox:
            raise AccountError(NO_DELEGATION.format(name=self._task.delegate_to))

    def read_arguments(self) -> Arguments:
        """Return the arguments of the task, checked by Ansible."""
        _validation, arguments = self.validate_argument_spec(self.ARGUMENTS)
        return arguments  # type: ignore[no-any-return]

    def open_session(self, variables: Variables | None, arguments: Arguments) -> AccountSession:
        """Return the session of the task's account, which connects when a part sends a plan.

        variables: Ansible's, of the account. arguments: of the task; a subclass may use them.
        """
        return AccountSession(self, variables, self.PLACES)

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Do the work of the task, and return the result. session: of the account. arguments: of the task."""
        raise NotImplementedError

    def report_unreached(self, session: AccountSession, failure: ConnectionFailure) -> Result:
        """Return the result of the task for an account that was not reached. failure: of the connection."""
        return delivery.report_unreached(session, failure)

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the failed result of the task after one of ERRORS. message: of the error.

        session, arguments: a subclass may use them.
        """
        return {"kind": "account", "failed": True, "msg": message}
