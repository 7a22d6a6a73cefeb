# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is ended while it asks for the passphrase: the terminal is as it was, and nothing goes on or was kept."""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
import uuid
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.effort import turns
from tests.integration.runs import REPOSITORY, FileRing

pytestmark = pytest.mark.testbed

BIN = Path(sys.executable).parent
RUNS = {
    "ansible-playbook": [str(BIN / "ansible-playbook"), "onboard.yml"],
    "hpc-onboard": [str(BIN / "hpc-onboard"), "onboard"],
}


def settings_of(terminal: int) -> list[Any]:
    """How the terminal is set, but for the speed."""
    return termios.tcgetattr(terminal)[:4]


def processes(mark: str) -> dict[int, str]:
    """The processes with this mark in their environment, by their number, and what they are."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path("/proc", entry, "environ").read_bytes():
                found[int(entry)] = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found


def heeds_signals() -> None:
    """Set back what tests that run in the background have inherited."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@turns(3)
@pytest.mark.parametrize("program", RUNS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_a_prompt_leaves_the_terminal_as_it_was(
    bed: Any, tmp_path: Path, program: str, number: signal.Signals
) -> None:
    ring = FileRing(tmp_path)
    account = bed.new_account("lrz")
    mark = uuid.uuid4().hex
    env = {**bed.client.environment(), **ring.env, "TERM": "dumb", "MARK": mark}
    order = " ".join([*RUNS[program], "-i", str(bed.accounts_file([account]))])
    line = f"{order}; echo; echo at-the-prompt; sleep 5; read x"  # this shell, unlike others, sets nothing back itself
    shell = pexpect.spawn(
        "/bin/dash", ["-c", line], cwd=str(REPOSITORY), env=env, encoding="utf-8", timeout=30, dimensions=(24, 200),
        preexec_fn=heeds_signals,
    )  # fmt: skip
    before = settings_of(shell.child_fd)
    shell.expect("Passphrase of .*: ")
    time.sleep(0.3)
    assert settings_of(shell.child_fd) != before
    ansible = [
        pid for pid, what in sorted(processes(mark).items()) if "/ansible-playbook " in what and pid != shell.pid
    ]
    os.kill(ansible[0], number)
    shell.expect("at-the-prompt", timeout=10)
    assert settings_of(shell.child_fd) == before
    time.sleep(0.5)
    left = {pid: what for pid, what in processes(mark).items() if "-playbook" in what and pid != shell.pid}
    assert left == {}
    shell.close(force=True)
    assert not account.exists("enroot/.credentials")
