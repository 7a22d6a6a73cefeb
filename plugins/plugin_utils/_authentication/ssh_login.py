# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open the session by which an account is entered: ssh itself asks the person, through the run that they look at.

One attempt, each thing asked once: what a site refuses it counts. The session is a master connection of ssh, which
stays when the run has ended and goes when nobody has used it for some time.
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
from .._input.programs import ask as run
from .._state.fingerprint_key import make_private, state_folder
from .._text.sanitise import flat
from .._text.ssh_words import without_asides
from . import askpass
from .unattended import Question, leading_to, program, unattended

Ask = Callable[[str], str]
HOURS = 4  # that a session stays after its last use, where the site names no number
LONGEST = 90  # bytes of a socket's path: ssh makes it under a longer name first, and 107 fit
REFUSED = "the answer was not taken"
MOST = 2000  # characters of what ssh said
LONG = 60  # seconds; many sites wait no longer for an answer than two minutes (LoginGraceTime)
TOO_LATE = "the answer came after {seconds:.0f} s, and the site did not wait so long ({said})"
SILENT = "ssh ended without a word"
GLANCE = 0.2  # seconds between two looks whether ssh has ended
TELLS = "none"  # what ssh says of a text that wants no answer: that a security key waits to be touched


def hours(auth: Mapping[str, Any]) -> int:
    """How long a session may stay unused. auth: what the cluster's profile says of its door."""
    return int(auth.get("session_hours") or HOURS)


def is_open(path: str) -> bool:
    """Whether somebody listens at the socket: a session that ended by a crash leaves its file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        try:
            line.connect(path)
        except OSError:
            return False
    return True


def open_session(arguments: Sequence[str], path: str, hours: int, ask: Ask, tell: Callable[[str], None]) -> str:
    """Open the session; what ssh said where it was not let in, else nothing.

    arguments: of ssh, the host last. path: of the socket. hours: that the session stays unused. ask: gives what the
    person types, unseen. What ask raises ends the attempt. Raises AccountError where no socket can lie there.
    """
    _make_folder(Path(path))
    options = ["-MNf", "-o", "ControlMaster=yes", "-o", f"ControlPath={path}", "-o", f"ControlPersist={hours * 3600}"]
    return connect([*options, *arguments], ask, tell)


def connect(arguments: Sequence[str], ask: Ask, tell: Callable[[str], None]) -> str:
    """Let ssh connect once, asking through the run; what it said where it failed, else nothing."""
    command = ["ssh", "-o", "NumberOfPasswordPrompts=1", *arguments]
    with _asking() as (line, environment), tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        passphrases: dict[str, str] = {}
        took = 0.0  # seconds of the longest answer
        try:
            while process.poll() is None:
                began = time.monotonic()
                _answer(line, ask, tell, passphrases)
                took = max(took, time.monotonic() - began)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # and what it has started for a jump host
                process.wait()
        if process.returncode == 0:
            return ""
        errors.seek(0)
        said = _in_one_line(errors.read(8192).decode(errors="replace")) or REFUSED
        return TOO_LATE.format(seconds=took, said=said) if took > LONG else said


def tried(arguments: Sequence[str]) -> tuple[str, list[Question]]:
    """Let ssh connect once, asking nobody. Give what it said if it failed, and what it would have asked."""
    with unattended() as questions:
        said = run(["ssh", "-v", "-o", "ConnectTimeout=10", *arguments, "true"], LONG)
    return "" if said.code == 0 else _in_one_line(without_asides(said.errors)) or SILENT, questions


@contextmanager
def answered_meanwhile(ask: Ask, tell: Callable[[str], None]) -> Iterator[None]:
    """Let whatever runs within start ssh, and answer what that asks; one at a time on this machine.

    The processes that it starts are led here by their environment. What ask raises is raised in the end.
    """
    with _alone(), _asking() as (line, environment):
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
                line.close()  # no further question waits for an answer

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
def _alone() -> Iterator[None]:
    """Wait until no other process asks a person for ssh."""
    path = state_folder() / "ssh" / "asking"
    make_private(path.parent)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_folder(path: Path) -> None:
    if len(os.fsencode(path)) > LONGEST:
        raise AccountError(f"no session can lie at {path}: the path is too long; set XDG_STATE_HOME to a shorter one")
    make_private(path.parent)
    path.parent.chmod(0o700)
    path.unlink(missing_ok=True)  # nobody listens there any more


@contextmanager
def _asking() -> Iterator[tuple[socket.socket, Mapping[str, str]]]:
    """The socket at which ssh's questions come, and the variables that lead them there."""
    with (
        tempfile.TemporaryDirectory(prefix="hpc.onboard-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line,
    ):
        line.bind(f"{folder}/questions")
        line.listen()
        yield line, {**leading_to(program()), askpass.LINE: f"{folder}/questions"}


def _answer(line: socket.socket, ask: Ask, tell: Callable[[str], None], passphrases: dict[str, str]) -> None:
    """Answer one question, if one comes soon.

    passphrases: what was typed for which key, by question. A key may open a jump host and the host behind it.
    """
    if not select.select([line], [], [], GLANCE)[0]:
        return
    asked, _address = line.accept()
    with asked, asked.makefile("rw", encoding="utf-8") as stream:
        kind, question = json.loads(stream.readline())
        if kind == TELLS:
            tell(flat(question))
            return
        answer = passphrases.get(question)
        if answer is None:
            answer = ask(question.strip())
            if askpass.PASSPHRASE.match(question):
                passphrases[question] = answer
        stream.write(f"{answer}\n")


def _in_one_line(words: str) -> str:
    """Return the end of what ssh said."""
    return " | ".join(flat(line) for line in words.replace("\r", "").split("\n") if line.strip())[-MOST:]
