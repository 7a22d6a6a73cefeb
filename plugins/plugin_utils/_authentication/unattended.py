# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs ssh so that it asks nothing, on any host on the path: its questions are recorded and not answered.

BatchMode does not reach the ssh of a jump host or of a ProxyCommand. Environment variables do.
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
TYPED = re.compile(r"\(?[^\s@]+@(?P<host>[^\s')]+)(?:\) |'s password)")
LARGEST = 10_000  # characters of questions


class LoginQuestion(NamedTuple):
    """A question of ssh. hop: the host that it is about, as ssh names it, or empty."""

    text: str
    hop: str

    @property
    def is_of_host_key(self) -> bool:
        """True if ssh asks whether to trust a host key."""
        return HOST_KEY.search(self.text) is not None

    @property
    def is_of_site(self) -> bool:
        """True if a host asks, not ssh itself, which asks for passphrases and whether to trust a host key."""
        return askpass.LOCAL.match(self.text) is None


@contextmanager
def unattended() -> Iterator[list[LoginQuestion]]:
    """Let no ssh that the block starts ask the user. At its end, the list has the questions.

    If this machine cannot write files, ssh asks as usual.
    """
    file, before, questions = session_folder() / f"unasked.{os.getpid()}", dict(os.environ), list[LoginQuestion]()
    with suppress(OSError):
        os.environ.update({**askpass_environment(write_askpass()), askpass.NOTES: str(file)})
    try:
        yield questions
    finally:
        os.environ.clear()
        os.environ.update(before)
        if file.exists():
            noted = file.read_text(encoding="utf-8", errors="replace")[:LARGEST].splitlines()
            questions += [_read_question(json.loads(line)) for line in noted if line.endswith('"')]
            file.unlink()


def askpass_environment(path: Path) -> dict[str, str]:
    """Return the variables that make ssh ask through a program. Before OpenSSH 8.4, that needs a display."""
    return {"SSH_ASKPASS": str(path), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": os.environ.get("DISPLAY") or ":"}


def session_folder() -> Path:
    """Return the folder for sockets of SSH sessions and for questions."""
    return state_folder() / "ssh"


def write_askpass() -> Path:
    """Return the path of the program that ssh asks through, which is written if it has changed. Raise OSError."""
    path = session_folder() / "askpass"
    text = f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-S", askpass.__file__])} "$@"\n'
    if not path.exists() or path.read_text(errors="replace") != text:
        make_private(session_folder())
        new = path.with_name(f"askpass.{os.getpid()}")
        new.write_text(text)
        new.chmod(0o700)
        new.replace(path)
    return path


def _read_question(question: str) -> LoginQuestion:
    named = HOST_KEY.search(question) or TYPED.match(question)
    return LoginQuestion(clean_line(question.strip()), named["host"] if named else "")
