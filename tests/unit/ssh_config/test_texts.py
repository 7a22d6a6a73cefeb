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
    put = texts.insert(text)
    assert put.startswith(text)
    assert texts.is_read(put)
    assert texts.is_last(put)
    assert texts.remove(put) == text


@given(TEXTS, TEXTS)
def test_what_was_added_behind_our_lines_stays(text: str, more: str) -> None:
    there = texts.insert(text) + more
    left = texts.remove(there)
    assert left == (text if text.endswith("\n") or not text or not more else text + "\n") + more
    assert texts.is_last(texts.insert(left))


@given(TEXTS)
def test_a_text_without_our_lines_is_left_alone(text: str) -> None:
    assert texts.remove(text) == text
    assert not texts.is_read(text)
    assert texts.trace(text) == ""


@pytest.mark.parametrize(
    ("behind", "last"),
    [("", True), ("\n\n", True), ("# a remark\n", True), ("Host late\n", False), ("  User late", False)],
)
def test_only_settings_stand_behind_our_lines(behind: str, last: bool) -> None:
    for before in ("", "Host a\n", "Host a"):
        assert texts.is_last(texts.insert(before) + behind) is last


def test_lines_that_a_hand_has_changed_are_found() -> None:
    whole = texts.insert("Host a\n")
    assert texts.trace(whole) == ""
    assert texts.trace(whole.replace("Match all\n", "")).startswith("# hpc.onboard:")
    assert texts.trace("Host a\n  include ~/.ssh/hpc.onboard.conf\n") == "include ~/.ssh/hpc.onboard.conf"


@given(st.dictionaries(st.sampled_from(["a@x", "b@x", "a@y"]), st.sampled_from(["Host q\n", "Host q\n    User u\n"])))
def test_the_sections_of_others_stay(wanted: dict[str, str]) -> None:
    others = texts.edited("", {"other@z": "# of /home/else\nHost z\n"}, [], "")
    both = texts.edited(others, wanted, [], "")
    assert {name: one.body for name, one in texts.sections(both).items() if name in wanted} == wanted
    assert texts.sections(both)["other@z"] == texts.Found("# of /home/else\nHost z\n", True, "/home/else", ("z",))
    assert texts.edited(both, {}, wanted, "") == others
    assert texts.edited(others, {}, ["other@z"], "") == ""


def test_what_was_made_for_the_file_is_kept_until_it_goes() -> None:
    first = texts.edited("", {"a@x": "Host x\n"}, [], "~/.ssh ~/.ssh/config")
    more = texts.edited(first, {"b@x": "Host b-x\n"}, ["a@x"], "")
    assert texts.made_for(more) == ("~/.ssh", "~/.ssh/config")
    assert texts.edited(more, {}, ["b@x"], "") == ""
    assert texts.edited(f"{more}Host mine\n", {}, ["b@x"], "").endswith("Host mine\n")
