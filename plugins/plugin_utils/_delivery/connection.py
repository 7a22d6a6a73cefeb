# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection to one account: sends a plan in one SSH session, and reports why no answer came.

A plan lists resources that the account shall have. The engine is the program that carries out a plan on the account.
An account may keep the engine of an earlier session; then only the plan is sent.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .._authentication import turns
from .._authentication.unattended import LoginQuestion, record_questions
from .._input.ssh_arguments import SSH_VARIABLES, find_login, typed_arguments, variables_mention_proxy
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

LOGIN_MARKS = {"lapses", "asks_each_time", "by_hand"}
"""Keys of the variable `account` that show why a login may be blocked: its certificate or ticket expires, ssh asks the
user at every connection, or programs may not log in (_accounts/open_sessions.py)."""
FEW = 3  # accounts; in a larger run they take turns, so that a login node does not get too many sessions at once
PAUSES = (2.0, 6.0)
"""Seconds before each retry of a connection that was dropped before the login. Each is varied at random by half."""


class Action(Protocol):
    """The attributes of Ansible's ActionBase that are used here. The names are Ansible's."""

    _task: Any
    _connection: Any
    _templar: Any
    _display: Any

    def _low_level_execute_command(self, cmd: str, sudoable: bool, in_data: bytes) -> CommandOutput: ...


class AccountConnection:
    """The connection to an account.

    name: the account's name in the inventory. blocked: why the login is blocked; empty if the login is not blocked.
    unanswered: the questions that ssh could not ask the user in the last session. was_answered: True if the last
    session ended with an answer. host_variables: Ansible's, of the host to connect to.
    """

    def __init__(self, action: Action, variables: Variables, name: str, places: Mapping[str, str]) -> None:
        """action: Ansible's action plugin that runs the task. variables: Ansible's, of the host to connect to.

        places: import paths of the resource types that may be sent, by name.
        """
        self.name = name
        self.blocked = ""
        self.unanswered: list[LoginQuestion] = []
        self.was_answered = False
        self.host_variables = variables
        self._action, self._places = action, places
        self._account: Variables = variables.get("account") or {}
        self._may_ask = True

    def send_plan(self, plan: Message) -> EngineAnswer:
        """Send a plan in one SSH session and return the answer. Raise NoAnswer."""
        # the cluster's profile; a host without the variable `account` is not in an accounts file, and has no profile
        site = (self.host_variables.get("cluster") or {}) if self._account else {}
        is_real = not self._account.get("sandbox")  # a sandbox is a folder that simulates an account
        if is_real and (site.get("auth") or {}).get("delegate"):
            plan = {**plan, "ticket": True}  # a failure may come from a Kerberos ticket that was not delegated
        command = self._build_command(site)
        kept_engine = None
        if is_real and not self.asks_each_time:  # the kept engine may fail, and a second session would ask again
            kept_engine = KnownEngine(self.name, payload.load_engine()["sources"])
        output = self._send_with_engine(command, plan, kept_engine)
        answer = _answer.parse(output["stdout"], output["stderr"], output["rc"], self.ssh_arguments)
        if answer["error"]:
            raise _answer.NoAnswer(answer["error"])
        if kept_engine:
            kept_engine.note_answer(plan, answer)
        return answer

    def _build_command(self, site: Message) -> str:
        """Return the shell command that runs Python on the account. site: the cluster's profile, or {}."""
        interpreter = self.host_variables.get("ansible_python_interpreter")
        python = str(self._action._templar.template(interpreter) or "auto")
        preferred = None if python.startswith("auto") else python  # Ansible's "auto_legacy" also means any Python
        return payload.build_command(preferred, site.get("python", []))

    def _send_with_engine(self, command: str, plan: Message, kept_engine: KnownEngine | None) -> CommandOutput:
        """Send a plan, and the engine unless the account keeps one that starts. Return the output.

        kept_engine: the engine that the account keeps; None if a kept engine may not be used.
        """
        if kept_engine is None:
            # The field "engine" would request that the account keep or drop the engine
            without_request = {name: value for name, value in plan.items() if name != "engine"}
            return self._run_command(command, payload.build_payload(without_request, self._places), plan)
        needed_plan = kept_engine.drop_needless_request(plan)  # without "engine" if the account needs no request
        if kept_engine.digests:
            short = payload.build_short_payload(needed_plan, self._places, kept_engine.digests)
            output = self._run_command(command, short, plan)
            if output["rc"] not in (payload.NOT_KEPT, payload.BROKEN):  # the kept engine has started
                return output
            kept_engine.note_gone()  # so the whole engine is sent now
            needed_plan = kept_engine.drop_needless_request(plan)
        return self._run_command(command, payload.build_payload(needed_plan, self._places), plan)

    def put_file(self, local: str, remote: str) -> None:
        """Copy a file of this machine to the account."""
        self._action._connection.put_file(local, remote)

    def refuse_questions(self) -> None:
        """Make ssh fail instead of asking the user, in this session and later ones."""
        self._may_ask = False
        connection = self._action._connection
        if connection.transport == "ssh":
            arguments = connection.get_option("ssh_extra_args") or ""
            connection.set_option("ssh_extra_args", f"{arguments} -o BatchMode=yes".strip())

    def explain_failure(self, error: Exception) -> ConnectionFailure:
        """Return why the connection failed. error: raised by Ansible's connection plugin."""
        from . import connection_failure  # loaded only after a failure

        return connection_failure.explain_failure(self, error)

    @property
    def transport(self) -> str:
        """The name of Ansible's connection plugin."""
        return str(self._action._connection.transport)

    @property
    def ssh_arguments(self) -> str:
        """What a user types after "ssh" for this account. The account's name in the inventory is not a host name."""
        return typed_arguments(self.variables, self.name)

    @property
    def control_socket(self) -> str | None:
        """The path of the socket of the SSH session that the user opens; None if the login does not ask the user."""
        return self._account.get("session")

    @property
    def asks_each_time(self) -> bool:
        """True if the login asks the user in every SSH session."""
        return "asks_each_time" in self._account

    @cached_property
    def variables(self) -> Variables:
        """The variables of the host, with those of ssh as text and without templates."""
        values = {name: self._action._templar.template(self.host_variables.get(name)) for name in SSH_VARIABLES}
        return {**self.host_variables, **{name: str(value or "") for name, value in values.items()}}

    def _run_command(self, command: str, stdin: bytes, plan: Message) -> CommandOutput:
        """Run a command on the account and return its output. stdin: contains the plan, which sets the time limits."""
        self.was_answered = False
        connection = self._action._connection
        execute = self._action._low_level_execute_command
        send = self._prepare_login(partial(execute, command, sudoable=False, in_data=stdin))
        if connection.transport == "ssh":
            connection.set_option("reconnection_retries", 0)  # Ansible would hide what an attempt has begun
            send = self._record_unanswered(send)
        start_limit = session_limits.make_start_limit(connection, plan, self._account, lambda: self.ssh_arguments)
        seconds_for_jobs = plan.get("follow_seconds", 0)
        session_limit = session_limits.limit_session(session_limits.PATIENCE + seconds_for_jobs, start_limit)
        # A session that waits for jobs takes no turn, because the other accounts would wait for its end
        turn = nullcontext() if seconds_for_jobs else self._wait_for_turn()
        with turn, session_limit:
            try:
                output = retry_dropped(send, PAUSES, self._may_retry)
            except session_limits.CommandEnded as ended:
                output = ended.output
        self.was_answered = True
        return output

    def _prepare_login(self, send: Callable[[], CommandOutput]) -> Callable[[], CommandOutput]:
        """Return a function that calls send, and answers the questions of the login if needed.

        If the login is blocked now, ssh will fail before it connects, and self.blocked is the reason.
        """
        if LOGIN_MARKS.isdisjoint(self._account):
            return send  # nothing can block this login, and it asks nothing
        from .._authentication import login_check  # few accounts have such a login

        send, self.blocked = login_check.prepare_login(send, self._action._connection, self.variables, self._may_ask)
        return send

    def _record_unanswered(self, send: Callable[[], CommandOutput]) -> Callable[[], CommandOutput]:
        """Return a function that calls send and records the questions of ssh, because ssh cannot ask the user."""
        if variables_mention_proxy(self.variables):  # otherwise, ssh does not print the messages of its jump host
            self._action._connection.set_option("verbosity", 1)

        def send_recording() -> CommandOutput:
            with record_questions() as self.unanswered:
                return send()

        return send_recording

    def _may_retry(self, error: Exception) -> bool:
        """Return True if the connection was dropped before the login, so that a retry may help."""
        self._action._connection.set_option("verbosity", 1)  # for the retry: otherwise, ssh prints no greeting
        return self.explain_failure(error).may_retry

    def _wait_for_turn(self) -> AbstractContextManager[None]:
        """Return a context that waits for a free place at the login node, if the run has many accounts."""
        if len(self.host_variables.get("ansible_play_hosts_all") or ()) <= FEW:
            return nullcontext()
        _user, host = find_login(self.variables, self.name)
        return turns.hold_place(host)


def retry_dropped(
    send: Callable[[], Output], pauses: Iterable[float], may_retry: Callable[[Exception], bool]
) -> Output:
    """Return what send returns. If send fails, and may_retry allows it, call send again after each of the pauses.

    Login nodes drop connections if many come at once (MaxStartups). Because the pauses are random, the accounts of one
    run do not try again together. A login that was refused is never tried again: the site counts failures.
    """
    for pause in pauses:
        try:
            return send()
        except Exception as error:  # of Ansible, which this package does not import
            if not may_retry(error):
                raise
        time.sleep(pause * random.uniform(0.5, 1.5))
    return send()
