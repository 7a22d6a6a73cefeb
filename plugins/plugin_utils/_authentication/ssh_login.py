# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs in to an account by ssh, which asks the user through this process, and keeps the SSH session for later commands.

Each login is tried once, and each question is asked once, because sites count failed logins. The session is a master
connection of ssh. It stays open after the run, and ends when it has not been used for some time.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...module_utils._core.errors import AccountError
from .._input.programs import run_program
from .._input.ssh_arguments import arguments_mention_proxy
from .._state.fingerprint_key import make_private, state_folder
from .._text.sanitise import clean_line
from .._text.ssh_words import shorten_output, strip_debug_lines
from . import askpass
from .unattended import LoginQuestion, askpass_environment, record_questions, write_askpass

Ask = Callable[[str], str]  # shows a question of ssh, and returns the user's input; an exception ends the login
Show = Callable[[str], None]  # shows a text of ssh that needs no answer
HOURS = 4  # that a session stays open after its last use, unless the profile sets another number
LONGEST_PATH = 90  # bytes of a socket's path: ssh creates it under a longer name first, and 107 are allowed
REFUSED = "your input was not accepted"  # reported if ssh fails without output
MAX_CHARACTERS = 2000  # of the output of ssh
SECONDS = 60  # for an answer or a login; many sites wait at most two minutes for an answer (LoginGraceTime)
TOO_LATE = "your input came after {seconds:.0f} s, which was too late for the site ({output})"
SILENT = "ssh failed without a message"
SLOW = (
    f"ssh did not end within {SECONDS} s: the login node, a start-up file on the account, or your ssh agent does not "
    "respond. To check the agent, run: ssh-add -l"
)
NOT_RUN = (
    "ssh logged in, but the command 'true' ended with exit code {code}: the site allows only certain commands, or a "
    "start-up file ended the session (output: {output})"
)
SSH_FAILED = 255  # exit code of ssh itself; other codes are those of the command on the account
INTERVAL = 0.2  # seconds for which a question is awaited, before the next check if ssh has ended
HASH = "sha256"  # of fingerprints: a profile contains them in this form
NOTICE = "none"  # the prompt type of a text without an answer: a security key waits for a touch


def read_session_hours(auth: Mapping[str, Any]) -> int:
    """Return how many hours a session may stay unused. auth: of the cluster's profile."""
    return int(auth.get("session_hours") or HOURS)


def is_session_open(path: str) -> bool:
    """Return True if a session listens at this path. A socket alone is no proof: a crashed session leaves one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(path)
        except OSError:
            return False
    return True


def open_session(arguments: Sequence[str], path: str, hours: int, ask: Ask, show: Show) -> str:
    """Open a session. Return the output of ssh if that failed, else an empty text.

    arguments: of ssh, the host last. path: of the session's socket. hours: how long the session may stay unused. ask,
    show: see connect(). Raise AccountError for a path that is too long.
    """
    _make_socket_folder(Path(path))
    # -MNf: a master connection, without a command, in the background
    options = ["-MNf", "-o", "ControlMaster=yes", "-o", f"ControlPath={path}", "-o", f"ControlPersist={hours * 3600}"]
    return connect([*options, *arguments], ask, show)


def connect(arguments: Sequence[str], ask: Ask, show: Show) -> str:
    """Let ssh connect once, with the user's answers. Return its output if it failed, else an empty text.

    arguments: of ssh, the host last. ask, show: called for each question and text of ssh. Raise AccountError if the
    user's input came too late or was not accepted, or if the account did not run the command.
    """
    # with -v, ssh also prints the messages of a jump host; a session that stays open would print more for hours
    verbose = ["-v"] if arguments_mention_proxy(arguments) else []
    command = ["ssh", *verbose, "-o", "NumberOfPasswordPrompts=1", "-o", f"FingerprintHash={HASH}", *arguments]
    with _question_socket() as (server, environment), tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        passphrases: dict[str, str] = {}  # entered by the user, by question of ssh: each is asked once
        longest = 0.0  # seconds: the longest time that the user took for an answer
        try:
            while process.poll() is None:
                started = time.monotonic()
                _answer_question(server, ask, show, passphrases)
                longest = max(longest, time.monotonic() - started)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # with the processes that it started for a jump host
                process.wait()
        if process.returncode == 0:
            return ""
        errors.seek(0)
        output = _join_lines(strip_debug_lines(errors.read().decode(errors="replace")))
        if longest > SECONDS:
            raise AccountError(TOO_LATE.format(seconds=longest, output=shorten_output(output) or REFUSED))
        _require_command_run(process.returncode, output)
        if not output:
            raise AccountError(REFUSED)
        return output


def connect_unattended(arguments: Sequence[str]) -> tuple[str, list[LoginQuestion]]:
    """Let ssh connect once without asking the user. Return its output if it failed, else "", and its questions.

    arguments: of ssh, the host last. Raise AccountError if ssh did not end, or the account did not run the command.
    """
    *options, host = arguments
    # with -v, ssh also prints the messages of a jump host; a ConnectTimeout of the user comes first, and so applies
    command = ["ssh", "-v", *options, "-o", "ConnectTimeout=10", host, "true"]  # true does nothing
    with record_questions() as questions:
        ssh = run_program(command, seconds=SECONDS)
    if ssh.code is None:  # a time-out; without ssh, Ansible's own connections fail, too
        raise AccountError(SLOW)
    errors = _join_lines(strip_debug_lines(ssh.errors))
    _require_command_run(ssh.code, f"{errors}\n{ssh.output}")
    return "" if ssh.code == 0 else errors or SILENT, questions


def _require_command_run(code: int, output: str) -> None:
    """Raise AccountError if ssh logged in, but the command on the account failed. code: of ssh."""
    if 0 < code < SSH_FAILED:
        raise AccountError(NOT_RUN.format(code=code, output=shorten_output(_join_lines(output)) or "none"))


@contextmanager
def answer_questions(ask: Ask, show: Show) -> Iterator[None]:
    """Answer the questions of any ssh that the block starts; one block at a time on this machine.

    Environment variables connect ssh to this process. ask, show: called for each question and text of ssh, in a thread.
    At the end, raise the exception that they raised.
    """
    with _lock_questions(), _question_socket() as (server, environment):
        former_environment, ended = dict(os.environ), threading.Event()
        passphrases: dict[str, str] = {}  # as in connect()
        errors: list[Exception] = []

        def answer_until_end() -> None:
            """Answer questions until the block has ended; an exception is kept for the main thread."""
            try:
                while not ended.is_set():
                    _answer_question(server, ask, show, passphrases)
            except Exception as error:
                errors.append(error)
            finally:
                server.close()  # so that no further question waits for an answer

        helper = threading.Thread(target=answer_until_end, daemon=True)
        os.environ.update(environment)
        helper.start()
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(former_environment)
            ended.set()
            helper.join()
            if errors:
                raise errors[0]


@contextmanager
def _lock_questions() -> Iterator[None]:
    """Wait until no other process of this machine asks questions of ssh, and keep others waiting during the block."""
    path = state_folder() / "ssh" / "asking"
    make_private(path.parent)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_socket_folder(path: Path) -> None:
    """Make the private folder for a new session's socket, and remove an old socket. path: of the socket.

    Raise AccountError for a path that is too long.
    """
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise AccountError(
            f"the path of the socket {path} is too long for ssh. Set XDG_STATE_HOME to a folder with a shorter path"
        )
    make_private(path.parent)
    path.parent.chmod(0o700)
    path.unlink(missing_ok=True)  # of a session that has ended


@contextmanager
def _question_socket() -> Iterator[tuple[socket.socket, Mapping[str, str]]]:
    """Provide a socket for the questions of ssh, and the environment variables that make ssh use the socket."""
    with (
        tempfile.TemporaryDirectory(prefix="hpc.onboard-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server,
    ):
        server.bind(f"{folder}/questions")
        server.listen()
        yield server, {**askpass_environment(write_askpass()), askpass.SOCKET: f"{folder}/questions"}


def _answer_question(server: socket.socket, ask: Ask, show: Show, passphrases: dict[str, str]) -> None:
    """Answer one question if it comes within INTERVAL. server: the socket to which the askpass program sends questions.

    ask, show: see connect(). passphrases: those entered so far, by question, to which a new one is added. The same key
    may be used for a jump host and the host behind it.
    """
    readable, _writable, _failed = select.select([server], [], [], INTERVAL)
    if not readable:  # no question came
        return
    client, _address = server.accept()
    with client, client.makefile("r", encoding="utf-8") as stream:
        request = stream.readline()
        if not request:  # the askpass program ended before it asked, because ssh was stopped
            return
        prompt_type, question = json.loads(request)
        if prompt_type == NOTICE:
            show(clean_line(question))
            return
        answer = passphrases.get(question)
        if answer is None:
            answer = ask(question.strip())
            if askpass.PASSPHRASE.match(question):
                passphrases[question] = answer
        with suppress(OSError):  # ssh has ended while the user typed
            client.sendall(f"{answer}\n".encode())


def _join_lines(output: str) -> str:
    """Return the last MAX_CHARACTERS characters of the output of ssh, in one line."""
    return " | ".join(clean_line(line) for line in output.replace("\r", "").split("\n") if line.strip())[
        -MAX_CHARACTERS:
    ]
