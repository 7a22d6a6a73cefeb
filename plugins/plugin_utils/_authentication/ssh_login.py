# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs in to an account by ssh, which asks the user through the run, and keeps the SSH session for later commands.

There is one attempt, and each question is asked once: sites count refusals. The session is a master connection of ssh,
which stays after the run and ends when it was not used for some time.
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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...module_utils._core.errors import AccountError
from .._input.programs import run_program as run
from .._state.fingerprint_key import make_private, state_folder
from .._text.sanitise import clean_line
from .._text.ssh_words import strip_debug_lines
from . import askpass
from .unattended import LoginQuestion, askpass_environment, unattended, write_askpass

Ask = Callable[[str], str]
HOURS = 4  # that a session stays after its last use, unless the profile has another number
LONGEST = 90  # bytes of a socket's path: ssh creates it under a longer name first, and 107 are allowed
REFUSED = "your input was not accepted"
MOST = 2000  # characters of the output of ssh
LONG = 60  # seconds; many sites wait at most two minutes for an answer (LoginGraceTime)
TOO_LATE = "your input came after {seconds:.0f} s, which was too late for the site ({said})"
SILENT = "ssh failed without a message"
INTERVAL = 0.2  # seconds between two checks if ssh has ended
NOTICE = "none"  # the prompt type of a text without an answer: a security key waits for a touch


def hours(auth: Mapping[str, Any]) -> int:
    """Return how many hours a session may stay unused. auth: of the cluster's profile."""
    return int(auth.get("session_hours") or HOURS)


def is_open(path: str) -> bool:
    """Return True if a session listens at the socket: one that crashed leaves its file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        try:
            line.connect(path)
        except OSError:
            return False
    return True


def open_session(arguments: Sequence[str], path: str, hours: int, ask: Ask, tell: Callable[[str], None]) -> str:
    """Open a session. Return the output of ssh if that failed, else an empty text.

    arguments: of ssh, the host last. path: of the socket. hours: that the session may stay unused. ask: returns the
    user's hidden input; what it raises ends the attempt. tell: shows a text. Raise AccountError for a path that is too
    long.
    """
    _make_folder(Path(path))
    options = ["-MNf", "-o", "ControlMaster=yes", "-o", f"ControlPath={path}", "-o", f"ControlPersist={hours * 3600}"]
    return connect([*options, *arguments], ask, tell)


def connect(arguments: Sequence[str], ask: Ask, tell: Callable[[str], None]) -> str:
    """Let ssh connect once, with the user's answers. Return its output if it failed, else an empty text."""
    command = ["ssh", "-o", "NumberOfPasswordPrompts=1", *arguments]
    with _question_socket() as (line, environment), tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        passphrases: dict[str, str] = {}
        longest = 0.0  # seconds that the user took for an answer
        try:
            while process.poll() is None:
                started = time.monotonic()
                _answer(line, ask, tell, passphrases)
                longest = max(longest, time.monotonic() - started)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # with what it started for a jump host
                process.wait()
        if process.returncode == 0:
            return ""
        errors.seek(0)
        output = _join_lines(errors.read(8192).decode(errors="replace")) or REFUSED
        return TOO_LATE.format(seconds=longest, said=output) if longest > LONG else output


def connect_unattended(arguments: Sequence[str]) -> tuple[str, list[LoginQuestion]]:
    """Let ssh connect once without asking. Return its output if it failed, else an empty text, and its questions."""
    with unattended() as questions:
        done = run(["ssh", "-v", "-o", "ConnectTimeout=10", *arguments, "true"], LONG)
    return "" if done.code == 0 else _join_lines(strip_debug_lines(done.errors)) or SILENT, questions


@contextmanager
def answer_questions(ask: Ask, tell: Callable[[str], None]) -> Iterator[None]:
    """Answer the questions of any ssh that the block starts; one block at a time on this machine.

    The environment leads ssh to this process. At the end, raise what ask raised.
    """
    with _only_one(), _question_socket() as (line, environment):
        before, ended = dict(os.environ), threading.Event()
        passphrases: dict[str, str] = {}
        faults: list[Exception] = []

        def answer() -> None:
            try:
                while not ended.is_set():
                    _answer(line, ask, tell, passphrases)
            except Exception as error:
                faults.append(error)
            finally:
                line.close()  # so that no further question waits for an answer

        helper = threading.Thread(target=answer, daemon=True)
        os.environ.update(environment)
        helper.start()
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            ended.set()
            helper.join()
            if faults:
                raise faults[0]


@contextmanager
def _only_one() -> Iterator[None]:
    """Wait until no other process of this machine asks questions of ssh."""
    path = state_folder() / "ssh" / "asking"
    make_private(path.parent)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_folder(path: Path) -> None:
    if len(os.fsencode(path)) > LONGEST:
        raise AccountError(
            f"the path of the socket {path} is too long for ssh: set XDG_STATE_HOME to a folder with a shorter path"
        )
    make_private(path.parent)
    path.parent.chmod(0o700)
    path.unlink(missing_ok=True)  # of a session that has ended


@contextmanager
def _question_socket() -> Iterator[tuple[socket.socket, Mapping[str, str]]]:
    """Provide the socket for the questions of ssh, and the variables that lead ssh to it."""
    with (
        tempfile.TemporaryDirectory(prefix="hpc.onboard-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line,
    ):
        line.bind(f"{folder}/questions")
        line.listen()
        yield line, {**askpass_environment(write_askpass()), askpass.SOCKET: f"{folder}/questions"}


def _answer(line: socket.socket, ask: Ask, tell: Callable[[str], None], passphrases: dict[str, str]) -> None:
    """Answer one question, if one comes soon.

    passphrases: answers by question, since a key may open a jump host and the host behind it.
    """
    if not select.select([line], [], [], INTERVAL)[0]:
        return
    client, _address = line.accept()
    with client, client.makefile("rw", encoding="utf-8") as stream:
        kind, question = json.loads(stream.readline())
        if kind == NOTICE:
            tell(clean_line(question))
            return
        answer = passphrases.get(question)
        if answer is None:
            answer = ask(question.strip())
            if askpass.PASSPHRASE.match(question):
                passphrases[question] = answer
        stream.write(f"{answer}\n")


def _join_lines(output: str) -> str:
    """Return the end of the output of ssh in one line."""
    return " | ".join(clean_line(line) for line in output.replace("\r", "").split("\n") if line.strip())[-MOST:]
