# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that ssh asks: without an answer it stops ssh, and never another process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import askpass, ssh_login, unattended

PROGRAM = f"{sys.executable} -I -S {askpass.__file__} 'ada@login password: '"
# the next process to which an orphan belongs, as a service manager is; it ends with 9 if it is stopped
REAPER = f"""\
import ctypes, os, signal, subprocess
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
signal.signal(signal.SIGTERM, lambda *_args: os._exit(9))
subprocess.run(["sh", "-c", "{PROGRAM} & sleep 1"])
print("ssh has ended", flush=True)
os.wait()
"""


def ask_as_ssh(**environment: str) -> int:
    """The exit code of a shell that asks once in place of ssh, and that lives on unless it is stopped."""
    return subprocess.run(["sh", "-c", f"{PROGRAM}; exit 0"], env={**os.environ, **environment}, check=False).returncode


def test_ssh_is_stopped_if_the_run_has_ended(tmp_path: Path) -> None:
    assert ask_as_ssh(**{askpass.SOCKET: str(tmp_path / "gone")}) == -signal.SIGTERM


def test_ssh_is_stopped_if_the_question_cannot_be_recorded(tmp_path: Path) -> None:
    assert ask_as_ssh(**{askpass.FILE: str(tmp_path / "missing" / "file")}) == -signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no subreapers")
def test_the_service_manager_is_not_stopped_in_place_of_an_ssh_that_has_ended(tmp_path: Path) -> None:
    path = str(tmp_path / "questions")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        server.listen()
        reaper = subprocess.Popen(
            [sys.executable, "-c", REAPER], stdout=subprocess.PIPE, env={**os.environ, askpass.SOCKET: path}
        )
        client, _address = server.accept()
        assert reaper.stdout
        reaper.stdout.readline()
        client.recv(1000)
        client.close()  # the user gave no answer
        assert reaper.wait(timeout=20) == 0


def test_an_answer_for_an_ssh_that_has_ended_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    asked: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:

        def type_slowly(question: str) -> str:
            asked.append(question)
            client.close()
            return "246810" * 100_000

        with ssh_login.answer_questions(type_slowly, asked.append):
            client.connect(os.environ[askpass.SOCKET])
            client.sendall(b'["", "Code: "]\n')
            while client.fileno() >= 0:
                time.sleep(0.01)
    assert asked == ["Code:"]


def test_a_question_that_is_cut_in_an_escape_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    lines = [json.dumps("Password: "), json.dumps('"' * unattended.LARGEST)]
    for blank in ("", " "):  # the text is cut before and after a backslash
        with unattended.record_questions() as questions:
            Path(os.environ[askpass.FILE]).write_text(blank + "\n".join(lines) + "\n")
        assert [question.text for question in questions] == ["Password:"]


def test_questions_of_a_killed_run_are_not_taken_for_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with unattended.record_questions():
        left = Path(os.environ[askpass.FILE])
    left.write_text('"Password: "\n')
    with unattended.record_questions() as questions:
        pass
    assert questions == []
