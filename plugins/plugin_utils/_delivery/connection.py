# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a command gets to an account, and what it means if it does not: login, jump hosts, dropped connections."""

from __future__ import annotations

import subprocess
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

from .._authentication.unattended import Question, unattended
from .._input.ssh_arguments import SSH_VARIABLES, login, mention_a_proxy, typed
from . import conversation, payload

Variables = Mapping[str, Any]  # Ansible's, of one account
Said = dict[str, Any]  # Ansible's: rc, stdout, stderr

NARROW = {"lapses", "asks_each_time", "by_hand"}  # marks of an account that may be shut (_accounts/open_sessions.py)
BEFORE = "hpc_onboard_login"  # the variable with what came of the login before the work
MANY = 3  # accounts of a run, from which on a login host may be asked for by more of them than it likes
SECONDS = 5  # for an ssh that has ended to say why


class Action(Protocol):
    """What Ansible's base class gives an action, as far as it is needed here: the names are Ansible's."""

    _task: Any
    _connection: Any
    _templar: Any
    _display: Any

    def _low_level_execute_command(self, cmd: str, sudoable: bool, in_data: bytes) -> Said: ...


class LineFailure(NamedTuple):
    """No way to the account, or none back. began: the command may have begun there. words: ssh's own, in one line."""

    text: str
    began: bool
    words: str = ""


class AccountConnection:
    """The connection to an account. shut: why nothing is tried. unasked: what ssh would have asked the user."""

    def __init__(self, action: Action, variables: Variables, name: str, become: bool) -> None:
        """variables: Ansible's, of the host that is reached. become: whether become is heeded."""
        self.shut = ""
        self.unasked: list[Question] = []
        self._action, self._reached, self._name, self._become = action, variables, name, become
        self._account: Variables = variables.get("account") or {}
        self._is_between = False  # a command has ended there, and another one goes on with its work
        self._may_ask = True

    def send(self, command: str, sent: bytes, document: Mapping[str, Any]) -> Said:
        """Run a command there and give what it prints. sent: its input. document: the plan in it. Raises NoAnswer."""
        self._is_between = False
        connection = self._action._connection
        execute = self._action._low_level_execute_command
        send = self._passing(partial(execute, command, sudoable=self._become, in_data=sent))
        if connection.transport == "ssh":
            connection.set_option("reconnection_retries", 0)  # Ansible would not tell what an attempt has begun
            send = self._unattended(send)
        start = conversation.start_limit(connection, document, self._account, lambda: self.typed)
        follows = document.get("follow_seconds", 0)
        with nullcontext() if follows else self._turn(), conversation.awaited(conversation.PATIENCE + follows, start):
            said = conversation.tried(send, conversation.PAUSES, self._was_dropped)
        self._is_between = True
        return said

    def _passing(self, send: Callable[[], Said]) -> Callable[[], Said]:
        """Return how the command is sent where a login may be impossible now; then ssh fails before it connects."""
        if NARROW.isdisjoint(self._account):
            return send
        from .._authentication import login_gate  # few are

        send, self.shut = login_gate.passing(send, self._action._connection, self.variables, self._may_ask)
        return send

    def _unattended(self, send: Callable[[], Said]) -> Callable[[], Said]:
        """Return how the command is sent so that ssh asks nothing, at any hop."""
        if mention_a_proxy(self.variables):  # else ssh keeps the words of its jump host to itself
            self._action._connection.set_option("verbosity", 1)

        def sent() -> Said:
            with unattended() as self.unasked:
                return send()

        return sent

    def _was_dropped(self, error: Exception) -> bool:
        """Return True if the connection was dropped before the command began, and may be tried again."""
        from .._text.ssh_words import may_knock_again  # rare

        self._action._connection.set_option("verbosity", 1)  # else ssh keeps to itself what a login node says there
        failure = self.failure(error)
        return not failure.began and not self.unasked and may_knock_again(failure.words)

    def _turn(self) -> AbstractContextManager[None]:
        """Return a place at the login host, where a run visits many accounts."""
        if len(self._reached.get("ansible_play_hosts_all") or ()) <= MANY:
            return nullcontext()
        from .._authentication import turns  # most have few

        return turns.turn(login(self.variables, self._name)[1])

    def failure(self, error: Exception) -> LineFailure:
        """Return what the connection's error means. The command may have begun unless ssh's words lack its mark.

        When ssh ends with 255, Ansible tells what came on standard error; over other connections it does not. Where the
        input could not be written (an OSError goes before), it did not arrive whole, and nothing begins without.
        """
        is_told = self._action._connection.transport == "ssh"
        is_cut = is_told and isinstance(error.__context__, OSError)
        words = f"{error}{_unread(error)}" if is_cut else str(error)
        began = self._is_between or (not is_cut and (not is_told or payload.BEGUN in words))
        return self._judged(words, began)

    def _judged(self, told: str, began: bool) -> LineFailure:
        from .._authentication import login_advice, login_diagnosis  # few fail
        from .._text import ssh_words
        from .._text.sanitise import harmless_lines

        lines = harmless_lines(ssh_words.without_asides(told), 2000).split("\n")
        words = " | ".join(line for line in lines if line and line != payload.BEGUN)
        if began:
            dropped = f"the line dropped ({words})" if words else "the line dropped"
            text = f"{dropped}. What was done is not known; run again: it reads back and decides"
        elif ssh_words.is_session_taken(words):
            text = "the session to the login node takes no second command (MaxSessions): log out of the shell that uses"
            text = f"{text} it, then run again ({words})"
        elif self.shut or self.session:
            before = (self._reached.get(BEFORE) or {}).get("msg")
            text, words = self.shut or before or login_advice.advice(self._name), ""
        elif ssh_words.is_dropped_at_the_door(words) and not self.unasked:
            text = "the login node dropped the connection before it asked who that is, as it does with too many at once"
            text = f"{text} ({words}). Run again later, or for fewer accounts at a time (-f 2)"
        else:
            shut = login_diagnosis.LoginDiagnosis(self._name, self.variables).judged(words, self.unasked)
            text = f"{shut.text}. {shut.next}"
        return LineFailure(text, began, words)

    @property
    def typed(self) -> str:
        """What a user types behind ssh to get to this account: the inventory's name is no host."""
        return typed(self.variables, self._name)

    @property
    def session(self) -> str | None:
        """The socket of the session by which the account is entered, which only a user can open; None if none is."""
        return self._account.get("session")

    @cached_property
    def variables(self) -> Variables:
        """The variables of this account, with those of ssh as they are used, as text."""
        of_ssh = {name: self._action._templar.template(self._reached.get(name)) for name in SSH_VARIABLES}
        return {**self._reached, **{name: str(one or "") for name, one in of_ssh.items()}}

    def ask_nobody(self) -> None:
        """Let ssh fail where it would ask a user."""
        self._may_ask, connection = False, self._action._connection
        if connection.transport == "ssh":
            given = connection.get_option("ssh_extra_args") or ""
            connection.set_option("ssh_extra_args", f"{given} -o BatchMode=yes".strip())


def _unread(error: Exception) -> str:
    """Return what ssh said before it took no more input, which Ansible has not read; empty if that is not to be had.

    Ansible's own words begin with "over ssh:" where they hold those of ssh.
    """
    frames = {frame.f_code.co_name: frame.f_locals for frame, _line in traceback.walk_tb(error.__traceback__)}
    process: Any = frames.get("_send_initial_data", {}).get("ssh_process")
    read = frames.get("_bare_run", {})
    try:
        return f" over ssh: {(read.get('b_stderr', b'') + process.communicate(timeout=SECONDS)[1]).decode()}"
    except (AttributeError, TypeError, ValueError, OSError, subprocess.TimeoutExpired):
        return ""
