# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens the session of an account at whose door a person is asked for something, by asking them; meets login nodes.

The documentation is in plugins/modules/connect.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession, Variables
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import DoorResult
from ansible_collections.hpc.onboard.plugins.plugin_utils._doors import closed_door, first_contact, opening, questions
from ansible_collections.hpc.onboard.plugins.plugin_utils._doors.terminal import name_of_terminal
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import ssh_arguments
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.prompt import NotAnswered, NoTerminal, asked

UNMET = "needs a person: the host key of the login node is not known yet; run this at a terminal"
TERMINAL = name_of_terminal()  # the processes of the tasks have none any more
State = Literal["unasked", "each_time", "open", "opened", "met", "renewed", "closed", "ended", "refused"]


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.connect"""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Open the session, if the account has a door that asks and nobody has opened it yet."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec({"ahead": {"type": "bool", "default": False}})
        found = self._connected(task_vars)
        if arguments["ahead"]:
            found["kind"] = "door_ahead"
        if "msg" in found:
            found["unreachable" if arguments["ahead"] else "failed"] = True
        return found

    def _connected(self, task_vars: Variables | None) -> DoorResult:
        session = AccountSession(self, task_vars)
        if session.sandbox or self._connection.transport != "ssh":
            return _result("unasked")
        try:
            return _entered(session)
        except NoTerminal:
            return _result("refused", closed_door.advice(session.name))
        except NotAnswered:
            return _result("refused", "the question was not answered")
        except AccountError as error:
            return _result("refused", str(error))


def _entered(session: AccountSession) -> DoorResult:
    """What came of the account's certificate or ticket, session and host key. Raises what a question raises."""
    variables = session.door_variables
    state: State = "unasked"
    if "by_hand" in variables["account"]:
        return _result("closed", closed_door.by_hand(session.name))
    if "lapses" in variables["account"]:
        from ansible_collections.hpc.onboard.plugins.plugin_utils._doors import renewing  # few end just now

        found, why = renewing.renewed(variables, TERMINAL, asked)
        if found == "ended":
            return _result("ended", why)
        state = "renewed" if found == "renewed" else state
    arguments = ssh_arguments(variables, session.name)
    if "asks_each_time" in variables["account"]:
        return _result("each_time")
    if session.door is None and first_contact.is_known(arguments):
        return _result(state)
    if session.door and opening.is_open(session.door):
        return _result("open")
    if not TERMINAL:
        return _result("closed", closed_door.advice(session.name) if session.door else UNMET)
    ask, tell = questions.of_account(variables)
    if session.door is None:
        why = opening.connect([*arguments, "true"], ask, tell)
        return _refused(session, why) if why else _result("met")
    hours = opening.hours(variables["cluster"].get("auth") or {})
    why = opening.open_session(arguments, session.door, hours, ask, tell)
    return _refused(session, why) if why else _result("opened")


def _refused(session: AccountSession, why: str) -> DoorResult:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._doors import shut_door  # few fail

    return _result("refused", shut_door.ShutDoor(session.name, session.door_variables).told(why))


def _result(state: State, why: str = "") -> DoorResult:
    found: DoorResult = {"kind": "door", "changed": False, "state": state}
    return {**found, "msg": why} if why else found
