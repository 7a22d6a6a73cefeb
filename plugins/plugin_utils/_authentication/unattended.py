# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records the questions of ssh instead of asking the user, for the login node and the jump hosts before it.

The program askpass.py, which ssh starts for each question, writes the questions to a file. The option BatchMode does
not reach the ssh of a jump host or of a ProxyCommand. Environment variables do.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .._state.fingerprint_key import make_private, state_folder
from .._text.sanitise import clean_line
from . import askpass

HOST_KEY = re.compile(r"The authenticity of host '(?P<host>[^' ]+)")
PASSWORD = re.compile(r"\(?[^\s@]+@(?P<host>[^\s')]+)(?:\) |'s password)")
LARGEST = 10_000  # characters of all questions


class LoginQuestion(NamedTuple):
    """A question of ssh. hop: the host for which ssh asks, as ssh names it, or empty."""

    text: str
    hop: str

    @property
    def is_of_host_key(self) -> bool:
        """True if ssh asks whether to trust a host key."""
        return HOST_KEY.search(self.text) is not None

    @property
    def is_of_site(self) -> bool:
        """True if the site asks. ssh itself asks only for passphrases, and whether to trust a host key."""
        return askpass.LOCAL.match(self.text) is None


@contextmanager
def record_questions() -> Iterator[list[LoginQuestion]]:
    """Let no ssh that the block starts ask the user. At the end of the block, the yielded list contains the questions.

    If this machine cannot write files, ssh asks as usual.
    """
    file, questions = session_folder() / f"unasked.{os.getpid()}", list[LoginQuestion]()
    former_environment = dict(os.environ)
    with suppress(OSError):
        file.unlink(missing_ok=True)  # of a run that was killed, and whose process had the same number
        os.environ.update({**askpass_environment(write_askpass()), askpass.FILE: str(file)})
    try:
        yield questions
    finally:
        os.environ.clear()
        os.environ.update(former_environment)
        if file.exists():
            for line in file.read_text(encoding="utf-8", errors="replace")[:LARGEST].splitlines():
                with suppress(ValueError):  # LARGEST has cut the last question, or a full disk has
                    questions.append(_parse_question(json.loads(line)))
            file.unlink()


def askpass_environment(path: Path) -> dict[str, str]:
    """Return the variables that make ssh ask through the program. Before OpenSSH 8.4, ssh does so only with DISPLAY."""
    return {"SSH_ASKPASS": str(path), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": os.environ.get("DISPLAY") or ":"}


def session_folder() -> Path:
    """Return the folder for sockets of SSH sessions and for questions."""
    return state_folder() / "ssh"


def write_askpass() -> Path:
    """Write the program through which ssh asks, unless it is up to date. Return its path. Raise OSError."""
    path = session_folder() / "askpass"
    # -I -S: the user's Python settings and packages do not matter
    text = f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-S", askpass.__file__])} "$@"\n'
    if not path.exists() or path.read_text(errors="replace") != text:
        make_private(session_folder())
        draft = path.with_name(f"askpass.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o700)
        draft.replace(path)
    return path


def _parse_question(question: str) -> LoginQuestion:
    """Return the LoginQuestion for the text of a question, with the host that the text names."""
    match = HOST_KEY.search(question) or PASSWORD.match(question)
    return LoginQuestion(clean_line(question.strip()), match["host"] if match else "")
