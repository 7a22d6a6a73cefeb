# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our lines in ~/.ssh/config go in and come out again, and no byte of the person's changes."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config import texts
from hypothesis import given
from hypothesis import strategies as st

PIECES = st.sampled_from(
    ["Host a\n", "  User b\r\n", "\n", "# é\x85 c", "Match all\n", "Include other\n", "\t", "\r", "x"]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@given(TEXTS)
def test_what_is_taken_out_is_what_was_put_in(text: str) -> None:
    put = texts.add_block(text)
    assert put.startswith(text)
    assert texts.has_block(put)
    assert texts.is_block_last(put)
    assert texts.remove_block(put) == text


@given(TEXTS, TEXTS)
def test_what_was_added_behind_our_lines_stays(text: str, more: str) -> None:
    there = texts.add_block(text) + more
    left = texts.remove_block(there)
    assert left == (text if text.endswith("\n") or not text or not more else text + "\n") + more
    assert texts.is_block_last(texts.add_block(left))


@given(TEXTS)
def test_a_text_without_our_lines_is_left_alone(text: str) -> None:
    assert texts.remove_block(text) == text
    assert not texts.has_block(text)
    assert texts.find_changed_line(text) == ""


@pytest.mark.parametrize(
    ("behind", "last"),
    [("", True), ("\n\n", True), ("# a remark\n", True), ("Host late\n", False), ("  User late", False)],
)
def test_only_settings_stand_behind_our_lines(behind: str, last: bool) -> None:
    for before in ("", "Host a\n", "Host a"):
        assert texts.is_block_last(texts.add_block(before) + behind) is last


def test_lines_that_a_hand_has_changed_are_found() -> None:
    whole = texts.add_block("Host a\n")
    assert texts.find_changed_line(whole) == ""
    assert texts.find_changed_line(whole.replace("Match all\n", "")).startswith("# hpc.onboard:")
    assert texts.find_changed_line("Host a\n  include ~/.ssh/hpc.onboard.conf\n") == "include ~/.ssh/hpc.onboard.conf"


@given(st.dictionaries(st.sampled_from(["a@x", "b@x", "a@y"]), st.sampled_from(["Host q\n", "Host q\n    User u\n"])))
def test_the_sections_of_others_stay(wanted: dict[str, str]) -> None:
    others = texts.edit_sections("", {"other@z": "# of /home/else\nHost z\n"}, [], "")
    both = texts.edit_sections(others, wanted, [], "")
    assert {name: one.body for name, one in texts.read_sections(both).items() if name in wanted} == wanted
    assert texts.read_sections(both)["other@z"] == texts.NameSection(
        "# of /home/else\nHost z\n", True, "/home/else", ("z",)
    )
    assert texts.edit_sections(both, {}, wanted, "") == others
    assert texts.edit_sections(others, {}, ["other@z"], "") == ""


def test_what_was_made_for_the_file_is_kept_until_it_goes() -> None:
    first = texts.edit_sections("", {"a@x": "Host x\n"}, [], "~/.ssh ~/.ssh/config")
    more = texts.edit_sections(first, {"b@x": "Host b-x\n"}, ["a@x"], "")
    assert texts.read_created(more) == ("~/.ssh", "~/.ssh/config")
    assert texts.edit_sections(more, {}, ["b@x"], "") == ""
    assert texts.edit_sections(f"{more}Host mine\n", {}, ["b@x"], "").endswith("Host mine\n")
