# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections in which ssh asks nobody anything, at any hop: what it would have asked is noted, and nothing is sent.

BatchMode reaches neither the ssh of a jump host nor one that a ProxyCommand starts. The environment does.
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
from .._text.sanitise import flat
from . import askpass

HOST_KEY = re.compile(r"The authenticity of host '(?P<host>[^' ]+)")
TYPED = re.compile(r"\(?[^\s@]+@(?P<host>[^\s')]+)(?:\) |'s password)")
LARGEST = 10_000  # bytes of questions that are read


class Question(NamedTuple):
    """What ssh would have asked. hop: the host that it is about, as ssh names it; empty if ssh names none."""

    text: str
    hop: str

    @property
    def is_of_host_key(self) -> bool:
        """True if it is whether a host key is trusted."""
        return HOST_KEY.search(self.text) is not None

    @property
    def is_of_site(self) -> bool:
        """True if a host has asked it; ssh itself asks for passphrases, and whether a host key is trusted."""
        return askpass.LOCAL.match(self.text) is None


@contextmanager
def unattended() -> Iterator[list[Question]]:
    """Let whatever runs within start ssh, which finds nobody who answers; give what it would have asked, at the end.

    If no file can be written on this machine, ssh asks as it always does.
    """
    file, before, questions = folder() / f"unasked.{os.getpid()}", dict(os.environ), list[Question]()
    with suppress(OSError):
        os.environ.update({**leading_to(program()), askpass.UNASKED: str(file)})
    try:
        yield questions
    finally:
        os.environ.clear()
        os.environ.update(before)
        if file.exists():
            noted = file.read_text(encoding="utf-8", errors="replace")[:LARGEST].splitlines()
            questions += [_read(json.loads(line)) for line in noted if line.endswith('"')]
            file.unlink()


def leading_to(path: Path) -> dict[str, str]:
    """Return the variables by which ssh asks a program.

    Before OpenSSH 8.4 it does so if there is a display, and no terminal.
    """
    return {"SSH_ASKPASS": str(path), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": os.environ.get("DISPLAY") or ":"}


def folder() -> Path:
    """Return the folder of this machine in which logins are noted."""
    return state_folder() / "ssh"


def program() -> Path:
    """Return the program that ssh asks. It is written if it is not there, or another Python runs it. Raises OSError."""
    path = folder() / "askpass"
    text = f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-S", askpass.__file__])} "$@"\n'
    if not path.exists() or path.read_text(errors="replace") != text:
        make_private(folder())
        new = path.with_name(f"askpass.{os.getpid()}")
        new.write_text(text)
        new.chmod(0o700)
        new.replace(path)
    return path


def _read(question: str) -> Question:
    named = HOST_KEY.search(question) or TYPED.match(question)
    return Question(flat(question.strip()), named["host"] if named else "")
