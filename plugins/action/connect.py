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
from ansible_collections.hpc.onboard.plugins.plugin_utils._doors import closed_door, first_contact, opening
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.prompt import (
    NotAnswered,
    NoTerminal,
    asked,
    is_at_terminal,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import clean

UNMET = "needs a person: the host key of the login node is not known yet; run this at a terminal"
LONGEST = 1000  # characters of a question: it comes from the login node


AT_TERMINAL = is_at_terminal()  # the processes of the tasks have no terminal any more


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
        if session.door is None and first_contact.is_known(session.ssh_arguments()):
            return _result("unasked")
        if session.door and opening.is_open(session.door):
            return _result("open")
        if not AT_TERMINAL:
            return _result("closed", closed_door.advice(session.name) if session.door else UNMET)
        try:
            why = self._let_in(session)
        except (AccountError, NoTerminal) as error:
            why = str(error) or closed_door.advice(session.name)
        except NotAnswered:
            why = "the question was not answered"
        if why:
            return _result("refused", why)
        return _result("opened" if session.door else "met")

    def _let_in(self, session: AccountSession) -> str:
        """Ask whatever ssh asks for; what it said where it was not let in."""
        cluster = session.variables.get("cluster") or {}
        hours = int((cluster.get("auth") or {}).get("session_hours") or opening.HOURS)

        def ask(question: str) -> str:
            is_seen = first_contact.FINGERPRINT.search(question) is not None  # yes or no is no secret
            text = first_contact.compared(clean(question)[:LONGEST], cluster)
            return asked(f"{session.name}: {text} ", unseen=not is_seen)

        def tell(text: str) -> None:
            self._display.display(f"{session.name}: {text[:LONGEST]}")

        if session.door is None:
            return opening.connect([*session.ssh_arguments(), "true"], ask, tell)
        return opening.open_session(session.ssh_arguments(), session.door, hours, ask, tell)


def _result(state: Literal["unasked", "open", "opened", "met", "closed", "refused"], why: str = "") -> DoorResult:
    found: DoorResult = {"kind": "door", "changed": False, "state": state}
    return {**found, "msg": why} if why else found
