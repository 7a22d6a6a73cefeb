# SPDX-License-Identifier: GPL-3.0-or-later
"""The live line: one line at any moment, and what wipes it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.run_memory import Board, Ticker
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Terminal, plain_text
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.live_line import (
    call_before_output,
    is_live,
    render_erasure,
    render_replacement,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.progress_line import Moment, render_moment
from fabricated import hostile, looks, measured, words
from hypothesis import given
from hypothesis import strategies as st

from tests.testbed.screen import Screen

WIDE = Terminal()
FETCH = {"step": "downloading Miniforge3 26.1.1-3", "done": 12_000_000, "total": 98_000_000, "unit": "bytes"}
STEPS = {"step": "environment demo", "done": 3, "total": 5, "unit": "steps"}
UNKNOWN = {"step": "unpacking", "done": None, "total": None, "unit": "steps"}


def line(progress: dict[str, Any], *names: str, screen: Terminal = WIDE, seconds: float = 12, total: int = 6) -> str:
    """The live line as text."""
    return plain_text(render_moment(Moment(names, 4, total, seconds), progress, screen))


def test_it_says_how_many_how_long_and_who() -> None:
    assert line({}, "a@b", "c@d") == "⠋ 4/6  12 s  a@b, c@d"
    assert line({}, "a@b", total=1) == "⠋ 12 s  a@b"


def test_names_that_do_not_fit_are_counted() -> None:
    names = [f"user{number}@cluster" for number in range(20)]
    assert line({}, *names, screen=Terminal(60)).endswith("user0@cluster, user1@cluster and 18 more")


def test_a_long_step_has_a_bar_and_amounts() -> None:
    said = line({"a@b": FETCH}, "a@b", "c@d")
    assert said.startswith("⠋ 4/6  12 s  a@b  downloading Miniforge3 26.1.1-3  ━")
    assert said.endswith("─  12/98 MB")
    assert line({"a@b": STEPS}, "a@b").endswith("━━━━━━━━━━━━────────  3/5")
    assert line({"a@b": UNKNOWN}, "a@b").endswith("a@b  unpacking")


def test_of_several_long_steps_each_has_its_turn() -> None:
    progress = {"a@b": FETCH, "c@d": STEPS}
    said = [line(progress, "a@b", "c@d", seconds=seconds) for seconds in (0, 3, 6)]
    assert ["Miniforge3" in one for one in said] == [True, False, True]


def test_in_ascii_the_bar_is_one_too() -> None:
    said = line({"a@b": STEPS}, "a@b", screen=Terminal(80, True))
    assert said.isascii()
    assert "############--------" in said


progresses = st.fixed_dictionaries(
    {
        "step": words,
        "done": st.none() | st.integers(0, 10**13),
        "total": st.none() | st.integers(0, 10**13),
        "unit": st.sampled_from(["bytes", "steps"]),
    }
)


@given(st.lists(hostile, max_size=8), st.data(), looks, st.floats(0, 1e6), st.integers(0, 999))
def test_it_is_one_line_that_leaves_the_last_cell_free(
    names: list[str], data: st.DataObject, screen: Terminal, seconds: float, total: int
) -> None:
    progress = data.draw(st.dictionaries(st.sampled_from([*names, "x"]), progresses))
    said = render_moment(Moment(names, 3, total, seconds), progress, screen)
    assert measured(said) < screen.width
    assert plain_text(said).isprintable()


def test_without_a_terminal_a_step_is_said_when_it_changes() -> None:
    board = Board()
    board.put("a@b", FETCH)
    assert board.find_new_steps({}) == {"a@b": FETCH["step"]}
    board.put("a@b", {**FETCH, "done": 5})
    board.put("c@d", STEPS)
    assert board.find_new_steps({"a@b": str(FETCH["step"])}) == {"c@d": STEPS["step"]}


@pytest.mark.parametrize(
    ("environment", "terminal", "verbosity", "wanted"),
    [
        ({"TERM": "xterm"}, True, 0, True),
        ({"TERM": "xterm"}, False, 0, False),
        ({"TERM": "dumb"}, True, 0, False),
        ({}, True, 0, False),
        ({"TERM": "xterm", "CI": "true"}, True, 0, False),
        ({"TERM": "xterm"}, True, 1, False),
    ],
)
def test_a_line_is_live_only_where_it_can_be_drawn_over(
    environment: dict[str, str], terminal: bool, verbosity: int, wanted: bool
) -> None:
    assert is_live(environment, terminal, verbosity) is wanted


@given(st.lists(st.integers(0, 77), min_size=1, max_size=5))
def test_a_shorter_line_leaves_nothing_of_a_longer_one(lengths: list[int]) -> None:
    screen, drawn = Screen(80), 0
    for length in lengths:
        screen.feed(render_replacement("x" * length, length, drawn))
        drawn = length
        assert screen.lines() == ["x" * length]
        assert screen.column == length
    screen.feed(f"^C{render_erasure(drawn, 80, False)}said")
    assert screen.lines() == ["said"]
    assert not screen.escapes


def test_a_terminal_that_became_narrower_is_wiped_in_all_its_rows() -> None:
    assert render_erasure(70, 40, True) == "\r\033[1A\033[J"
    assert "\033" not in render_erasure(70, 40, False)


def test_a_watch_ends_when_it_is_told_and_when_it_fails() -> None:
    calls: list[str] = []
    watch = Ticker(lambda: calls.append("tick"), lambda: calls.append("last"))
    watch.start()
    time.sleep(0.2)
    watch.stop()
    watch.stop()
    assert calls[0] == "tick"
    assert calls.count("last") == 1
    ended = len(calls)
    time.sleep(0.1)
    assert len(calls) == ended


def test_before_each_output_the_line_is_cleared() -> None:
    class Display:
        said: list[str] = []

        def display(self, text: str) -> None:
            self.said.append(text)

    import threading

    display = Display()
    call_before_output(display, threading.RLock(), lambda: display.said.append("cleared"))
    display.display("a")
    assert display.said == ["cleared", "a"]
