# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection to one account: sends a plan in one SSH session, and reports why no answer came."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .._authentication import turns
from .._authentication.unattended import LoginQuestion, unattended
from .._input.ssh_arguments import SSH_VARIABLES, find_login, mentions_proxy, typed_arguments
from .._state.kept_engines import KnownEngine
from . import answer as _answer
from . import payload, session_limits
from .session_limits import CommandOutput

if TYPE_CHECKING:
    from .._documents.answer import EngineAnswer
    from .connection_failure import ConnectionFailure

Variables = Mapping[str, Any]  # Ansible's, of one account
Message = Mapping[str, Any]  # a plan as it is sent, or parts of it: docs/schemas/plan.schema.json
Output = TypeVar("Output")

LOGIN_MARKS = {"lapses", "asks_each_time", "by_hand"}  # of an account that may be blocked (_accounts/open_sessions.py)
MANY = 3  # accounts of a run, from which on a login node could get more sessions at once than it likes
PAUSES = (2.0, 6.0)
"""Seconds before a connection that was dropped before the login is tried again, plus or minus half, at random."""


class Action(Protocol):
    """The attributes of Ansible's ActionBase that are used here. The names are Ansible's."""

    _task: Any
    _connection: Any
    _templar: Any
    _display: Any

    def _low_level_execute_command(self, cmd: str, sudoable: bool, in_data: bytes) -> CommandOutput: ...


class AccountConnection:
    """The connection to an account.

    blocked: why no login is tried, or empty. unanswered: what ssh would have asked the user in the last session.
    """

    def __init__(self, action: Action, variables: Variables, name: str, places: Mapping[str, str]) -> None:
        """variables: Ansible's for the host to connect to. places: see AccountSession."""
        self.blocked = ""
        self.unanswered: list[LoginQuestion] = []
        self.host_variables = variables
        self._action, self._name, self._places = action, name, places
        self._account: Variables = variables.get("account") or {}
        self._was_answered = False  # earlier in this run: work that goes on between two sessions has begun
        self._may_ask = True

    def ask(self, document: Message) -> EngineAnswer:
        """Send a plan in one SSH session and return the answer. Raise NoAnswer."""
        python = str(self._action._templar.template(self.host_variables.get("ansible_python_interpreter")) or "auto")
        site = (self.host_variables.get("cluster") or {}) if self._account else {}
        is_real = not self._account.get("sandbox")
        ticket = {"ticket": True} if is_real and (site.get("auth") or {}).get("delegate") else {}
        command = payload.build_command(None if python.startswith("auto") else python, site.get("python", []))
        plan = {**document, **ticket}
        kept = None
        if is_real and not self.asks_each_time:  # where a second session would ask the user again, all is sent at once
            kept = KnownEngine(self._name, payload.load_engine()["sources"])
        output = self._send_plan(command, plan, kept)
        answer = _answer.parse(output["stdout"], output["stderr"], output["rc"], self.typed)
        if answer["error"]:
            raise _answer.NoAnswer(answer["error"])
        if kept:
            kept.note_answer(plan, answer)
        return answer

    def _send_plan(self, command: str, plan: Message, kept: KnownEngine | None) -> CommandOutput:
        """Send a plan alone to the engine that the account keeps; if that is gone or does not start, send it, too."""
        if kept is None:
            rest = {name: value for name, value in plan.items() if name != "engine"}
            return self._send(command, payload.build_payload(rest, self._places), plan)
        if kept.digests:
            short = payload.build_short_payload(kept.drop_needless_request(plan), self._places, kept.digests)
            output = self._send(command, short, plan)
            if output["rc"] not in (payload.NOT_KEPT, payload.BROKEN):
                return output
            kept.note_gone()
        return self._send(command, payload.build_payload(kept.drop_needless_request(plan), self._places), plan)

    def put_file(self, local: str, remote: str) -> None:
        """Copy a file of this machine to the account."""
        self._action._connection.put_file(local, remote)

    def refuse_questions(self) -> None:
        """Let ssh fail where it would ask the user."""
        self._may_ask, connection = False, self._action._connection
        if connection.transport == "ssh":
            given = connection.get_option("ssh_extra_args") or ""
            connection.set_option("ssh_extra_args", f"{given} -o BatchMode=yes".strip())

    def explain_failure(self, error: Exception) -> ConnectionFailure:
        """Return what an error of Ansible's connection means."""
        from . import connection_failure

        return connection_failure.explain(self, error)

    @property
    def transport(self) -> str:
        """The name of Ansible's connection plugin."""
        return str(self._action._connection.transport)

    @property
    def was_answered(self) -> bool:
        """True if an earlier session got its answer and none was opened since."""
        return self._was_answered

    @property
    def typed(self) -> str:
        """Return what a user types after "ssh" to log in to this account: its name in the inventory is not a host."""
        return typed_arguments(self.variables, self._name)

    @property
    def name(self) -> str:
        """The account's name in the inventory."""
        return self._name

    @property
    def control_socket(self) -> str | None:
        """The socket of the shared SSH session that only the user can open; None if the login asks nothing."""
        return self._account.get("session")

    @property
    def asks_each_time(self) -> bool:
        """True if the login asks the user in every SSH session."""
        return "asks_each_time" in self._account

    @cached_property
    def variables(self) -> Variables:
        """The variables of the host, with those of ssh as text and without templates."""
        of_ssh = {name: self._action._templar.template(self.host_variables.get(name)) for name in SSH_VARIABLES}
        return {**self.host_variables, **{name: str(value or "") for name, value in of_ssh.items()}}

    def _send(self, command: str, sent: bytes, document: Message) -> CommandOutput:
        """Run a command on the account and return its output. sent: its standard input."""
        self._was_answered = False
        connection = self._action._connection
        execute = self._action._low_level_execute_command
        send = self._check_login(partial(execute, command, sudoable=False, in_data=sent))
        if connection.transport == "ssh":
            connection.set_option("reconnection_retries", 0)  # Ansible would hide what an attempt has begun
            send = self._noting_questions(send)
        start = session_limits.start_limit(connection, document, self._account, lambda: self.typed)
        follow = document.get("follow_seconds", 0)
        with nullcontext() if follow else self._turn(), session_limits.limited(session_limits.PATIENCE + follow, start):
            try:
                output = retry_dropped(send, PAUSES, self._may_retry)
            except session_limits.Ended as ended:
                output = ended.output
        self._was_answered = True
        return output

    def _check_login(self, send: Callable[[], CommandOutput]) -> Callable[[], CommandOutput]:
        """Return how to send where a login may be blocked now; then ssh fails before it connects."""
        if LOGIN_MARKS.isdisjoint(self._account):
            return send
        from .._authentication import login_check

        send, self.blocked = login_check.check_login(send, self._action._connection, self.variables, self._may_ask)
        return send

    def _noting_questions(self, send: Callable[[], CommandOutput]) -> Callable[[], CommandOutput]:
        """Return how to send so that ssh asks nothing, on any host on the path."""
        if mentions_proxy(self.variables):  # without it, ssh does not print what its jump host said
            self._action._connection.set_option("verbosity", 1)

        def send_unattended() -> CommandOutput:
            with unattended() as self.unanswered:
                return send()

        return send_unattended

    def _may_retry(self, error: Exception) -> bool:
        """Return True if the connection was dropped before the login, and may be tried again."""
        self._action._connection.set_option("verbosity", 1)  # only then ssh prints what the login node says first
        return self.explain_failure(error).may_retry

    def _turn(self) -> AbstractContextManager[None]:
        """Return a wait for a free place at the login node, in a run of many accounts."""
        if len(self.host_variables.get("ansible_play_hosts_all") or ()) <= MANY:
            return nullcontext()
        return turns.turn(find_login(self.variables, self._name)[1])


def retry_dropped(
    send: Callable[[], Output], pauses: Iterable[float], may_retry: Callable[[Exception], bool]
) -> Output:
    """Return what send returns. Call it again after each pause if may_retry says so.

    Login nodes drop connections if many come at once (MaxStartups). Random pauses keep the accounts of one run from
    coming back together. A refusal is never repeated: the site counts it.
    """
    for pause in pauses:
        try:
            return send()
        except Exception as error:  # of Ansible, which this package does not import
            if not may_retry(error):
                raise
        time.sleep(pause * random.uniform(0.5, 1.5))
    return send()
