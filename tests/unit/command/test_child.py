# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The child: its exit code, its signals, and what it tells beside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.child import to_exit_code
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.verdict import (
    HANDLE,
    RunTotals,
    receive_totals,
    send_totals,
)

SOME, NONE = RunTotals(2, 0, 0), RunTotals(0, 0, 0)
AWAY, BOTH = RunTotals(2, 0, 1), RunTotals(3, 1, 1)
CODES = [
    (0, SOME, 0),
    (0, None, 0),  # --list-hosts and the like
    (0, NONE, 2),  # nothing was looked at
    (2, RunTotals(2, 1, 0), 2),
    (4, AWAY, 4),
    (4, BOTH, 2),
    (4, None, 2),  # a file that Ansible cannot read has the same number
    (1, None, 2),
    (5, None, 2),
    (250, SOME, 2),
    (8, AWAY, 2),
]


@pytest.mark.parametrize(("code", "verdict", "ours"), CODES)
def test_four_means_unreachable_and_nothing_else(code: int, verdict: RunTotals | None, ours: int) -> None:
    assert to_exit_code(code, verdict) == ours


def test_what_is_told_is_heard_and_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    hears, tells = os.pipe()
    assert receive_totals(hears) is None  # the pipe is open still
    monkeypatch.setenv(HANDLE, str(tells))
    send_totals(AWAY)
    assert receive_totals(hears) == AWAY
    os.close(tells)
    send_totals(AWAY)  # somebody between us closed it
    assert receive_totals(hears) is None
    monkeypatch.delenv(HANDLE)
    send_totals(AWAY)


RUN = """
import os, signal, sys
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.child import end_by_signal, run
if sys.argv[2:] != ["as it is"]:
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(one, signal.SIG_DFL)  # tests may run in the background, where some are ignored
code, verdict = run(["/bin/sh", "-c", sys.argv[1]], os.environ)
print("code", code, verdict, flush=True)
if code < 0: end_by_signal(-code)
"""


@contextmanager
def start(script: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs a script as its child, as the leader of a group of its own; gone afterwards."""
    program = [sys.executable, "-c", RUN, script]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(file: Path) -> None:
    """Wait until the script is so far."""
    deadline = time.monotonic() + 20
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_command_reaches_the_child(number: signal.Signals, tmp_path: Path) -> None:
    script = f"trap 'echo got; exit 7' {number.name[3:]}; touch {tmp_path}/on; while :; do sleep 0.05; done"
    with start(script) as process:
        wait_for(tmp_path / "on")
        process.send_signal(number)
        said, _error = process.communicate(timeout=20)
    assert said == "got\ncode 7 None\n"


def test_ctrl_c_is_the_childs_to_answer(tmp_path: Path) -> None:
    script = f"trap 'echo ending; sleep 0.2; echo ended; exit 99' INT; touch {tmp_path}/on; while :; do sleep 0.1; done"
    with start(script) as process:
        wait_for(tmp_path / "on")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        said, _error = process.communicate(timeout=20)
    assert said == "ending\nended\ncode 99 None\n"


def test_a_child_that_a_signal_ended_is_told_as_that(tmp_path: Path) -> None:
    with start("kill -TERM $$") as process:
        assert process.communicate(timeout=20)[0] == "code -15 None\n"
    assert process.returncode == -signal.SIGTERM


def test_the_child_has_the_signals_that_a_shell_would_give_it() -> None:
    """Python ignores SIGPIPE for itself, and blocked signals outlive an exec."""
    with start("grep -E 'Sig(Blk|Ign)' /proc/$$/status | tr -s '\\t\\n' ' '") as process:
        said = process.communicate(timeout=20)[0]
    assert "SigBlk: 0000000000000000" in said
    assert int(said.split("SigIgn: ")[1].split()[0], 16) & (1 << (signal.SIGPIPE - 1)) == 0


def test_a_handle_of_the_callers_goes_along(tmp_path: Path) -> None:
    """A passphrase may come from one."""
    file = tmp_path / "secret"
    file.write_text("correct horse")
    order = f'exec 7<{file}; exec "$0" -c "$1" "cat <&7; echo"'
    said = subprocess.run(["bash", "-c", order, sys.executable, RUN], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("correct horse\ncode 0")


def test_a_job_in_the_background_is_not_ended_by_a_ctrl_c_for_others() -> None:
    """A shell without job control starts it with SIGINT ignored, and the child is to stay so."""
    order = f'trap "" INT; exec {sys.executable} -c "$1" "kill -INT $$; kill -INT \\$PPID; echo alive" "as it is"'
    said = subprocess.run(["bash", "-c", order, "bash", RUN], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout == "alive\ncode 0 None\n"


def test_a_program_without_its_interpreter_is_one_error(tmp_path: Path) -> None:
    program = tmp_path / "ansible-playbook"
    program.write_text("#!/no/such/python\n")
    program.chmod(0o755)
    text = f"""
import os, sys
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.child import CommandError, run
try:
    run([{str(program)!r}], os.environ)
except CommandError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(f"{program} cannot be started (No such file or directory). To install")
