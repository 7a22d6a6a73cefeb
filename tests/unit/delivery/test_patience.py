# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command that does not end is given up, and Ansible's own limit still holds afterwards."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.session_limits import (
    MOST_GROWTH,
    CommandEnded,
    StartLimit,
    limit_session,
)

WHOLE = f"{payload.BEGUN}\n{{}}\n{payload.FRAME}".encode()


@pytest.fixture(autouse=True)
def alarms() -> Iterator[list[int]]:
    """What Ansible's own alarm said."""
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: rung.append(number))
    yield rung
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_what_hangs_is_given_up_with_what_to_look_at() -> None:
    with pytest.raises(NoAnswer, match="a start-up file may wait for input"), limit_session(0.1):
        time.sleep(60)


def test_what_floods_is_cut_long_before_memory() -> None:
    begun, held = time.monotonic(), bytearray()

    def flood() -> None:
        while len(held) < 100 * MOST_GROWTH:
            held.extend(b"y" * 1_000_000)
            time.sleep(0.001)

    with (
        pytest.raises(NoAnswer, match="of output instead of an answer, so hpc-onboard ended the session"),
        limit_session(60),
    ):
        flood()
    assert len(held) < 20 * MOST_GROWTH
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    ("command", "printed", "is_ended"),
    [("true", WHOLE, True), ("true", WHOLE + b"\n", True), ("true", WHOLE[:-1], False), ("sleep 60", WHOLE, False)],
)
def test_an_answer_is_taken_when_its_command_has_ended_although_stderr_stays_open(
    command: str, printed: bytes, is_ended: bool
) -> None:
    def _bare_run() -> None:  # as Ansible's loop is called, with its names
        p, b_stdout, b_stderr = subprocess.Popen(command.split()), printed, b"said"
        try:
            time.sleep(1)
        finally:
            p.kill()
            p.wait()
        assert (b_stdout, b_stderr) == (printed, b"said")

    begun, ended = time.monotonic(), None
    try:
        with limit_session(60, StartLimit(30, lambda: "a@b")):
            _bare_run()
    except CommandEnded as early:
        ended = early.output
    assert ended == ({"rc": 0, "stdout": printed.decode(), "stderr": "said"} if is_ended else None)
    assert (time.monotonic() - begun < 1) == is_ended


def test_what_ends_in_time_leaves_no_alarm(alarms: list[int]) -> None:
    with limit_session(0.1):
        pass
    time.sleep(0.3)
    assert alarms == []


def test_a_limit_of_the_task_that_comes_first_is_heeded(alarms: list[int]) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(NoAnswer, match="no answer in 0 s: a start-up file may"), limit_session(60):
        time.sleep(60)
    time.sleep(0.3)
    assert alarms == [], "it has rung, in words of ours"


def test_the_alarm_of_the_task_goes_on(alarms: list[int]) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    with limit_session(0.2):
        time.sleep(0.1)
    time.sleep(0.5)
    assert alarms == [signal.SIGALRM]
