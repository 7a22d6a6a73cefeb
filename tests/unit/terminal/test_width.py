# SPDX-License-Identifier: GPL-3.0-or-later
"""Text in the cells of a terminal: nothing too wide, nothing lost."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import (
    Terminal,
    indented_lines,
    labelled_lines,
    plain_text,
    wrap_command,
    wrap_text,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.cells import count_cells, split_word, truncate
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import clean
from fabricated import looks, measured, text, widths, words
from hypothesis import given
from hypothesis import strategies as st

from tests.testbed.screen import Screen


@pytest.mark.parametrize(
    ("said", "wide"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 1),
        ("e\u0301", 1),
        ("日本", 4),
        ("\uff21", 2),
        ("👩", 2),
        ("한", 2),
        ("✓", 1),
        ("━", 1),
    ],
)
def test_cells_are_counted_as_a_terminal_does(said: str, wide: int) -> None:
    screen = Screen()
    screen.feed(said)
    assert count_cells(said) == screen.column == wide


@given(words.map(clean), st.integers(0, 30), st.sampled_from([0, 4, 6, 17]), widths)
def test_laid_text_fits_and_is_whole(said: str, first: int, indent: int, width: int) -> None:
    lines = wrap_text(said, first, indent, width)
    assert all(start + count_cells(line) <= width for start, line in lines)
    assert "".join(line for _start, line in lines).replace(" ", "") == said.replace(" ", "").replace("\n", "")


@given(words.map(clean), st.integers(2, 40))
def test_pieces_fit_and_make_the_word(said: str, room: int) -> None:
    word = said.replace("\n", "").replace(" ", "")
    assert "".join(split_word(word, room)) == word
    assert all(count_cells(piece) <= room for piece in split_word(word, room))


@given(words.map(clean), st.integers(0, 60), st.sampled_from(["…", "..."]))
def test_what_is_shortened_fits(said: str, room: int, ellipsis: str) -> None:
    assert count_cells(truncate(said, room, ellipsis)) <= room
    assert count_cells(said) > room or truncate(said, room, ellipsis) == said


def test_a_long_path_has_a_line_of_its_own_and_can_be_copied() -> None:
    path = "/dss/dssfs04/lwp-dss-0002/pr12ab/pr12ab-dss-0000/go42tum/a_long_name_too"
    lines = labelled_lines("+", "created", "changed", f"link ~/dss -> {path}", Terminal(80))
    assert [plain_text(line).strip() for line in lines] == ["+ created      link ~/dss ->", path]


def test_a_short_command_in_a_sentence_is_not_torn() -> None:
    lines = [
        plain_text(line)
        for line in indented_lines("refused. Does 'ssh go42tum@lrz' get there (as you)? Then on", 4, Terminal(40))
    ]
    assert lines == ["    refused. Does 'ssh go42tum@lrz' get", "    there (as you)? Then on"]
    lines = [
        plain_text(line)
        for line in indented_lines("It is yours: move it away (mv ~/a ~/a.mine), then", 0, Terminal(40))
    ]
    assert lines == ["It is yours: move it away", "(mv ~/a ~/a.mine), then"]


def test_only_a_path_wider_than_the_terminal_is_broken_and_that_behind_a_slash() -> None:
    path = "/dss/dssfs04/lwp-dss-0002/pr12ab/pr12ab-dss-0000/go42tum/a_long_name_too"
    lines = [plain_text(line) for line in indented_lines(path, 4, Terminal(40))]
    assert lines == ["    /dss/dssfs04/lwp-dss-0002/pr12ab/", "    pr12ab-dss-0000/go42tum/", "    a_long_name_too"]


@given(words, looks)
def test_a_word_and_its_text_fit(said: str, screen: Terminal) -> None:
    assert all(measured(line) <= screen.width for line in labelled_lines("?", "not measured", "error", said, screen))


def test_a_command_that_is_broken_can_still_be_copied() -> None:
    typed = "ansible-playbook -i somewhere/accounts.yml onboard.yml --check -l 'simone@wilson,ada@dfki'"
    said = text(wrap_command(typed, 2, Terminal(40)))
    assert said.replace("\\\n", " ").split() == typed.split()
    assert all(line.endswith(" \\") for line in said.splitlines()[:-1])
    assert text(wrap_command(typed, 2, Terminal(120))) == f"  {typed}"


@given(words, looks)
def test_any_command_fits(said: str, screen: Terminal) -> None:
    assert all(measured(line) <= screen.width for line in wrap_command(said, 4, screen))


def test_an_argument_wider_than_the_terminal_stands_alone() -> None:
    typed = f"ansible-playbook -i /{'long/' * 12}accounts.yml onboard.yml -l 'a@b'"
    assert text(wrap_command(typed, 2, Terminal(80))).split("\n") == [
        "  ansible-playbook -i \\",
        f"    /{'long/' * 12}accounts.yml \\",
        "    onboard.yml -l 'a@b'",
    ]


def test_a_command_is_not_broken_between_an_option_and_its_value() -> None:
    lines = text(wrap_command("ansible-playbook onboard.yml -l 'simone@wilson'", 2, Terminal(40))).splitlines()
    assert lines == ["  ansible-playbook onboard.yml \\", "    -l 'simone@wilson'"]
