# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines: readable with 1, 6 and 60 accounts, the exceptions first, and what to run next."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.account import (
    AccountEnd,
    View,
    choose_detail,
    load_renderer,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Terminal, limit_option
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.summary import (
    Story,
    describe_totals,
    group_failures,
    summary_lines,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.failure_reasons import first_sentence
from fabricated import looks, measured, text, words
from hypothesis import given
from hypothesis import strategies as st

WIDE = Terminal()
PLAY = "ansible-playbook onboard.yml"
REFUSED = "ssh: connect to host x port 22: Connection refused. Does 'ssh {}' get there? Then run again"


def story(accounts: dict[str, AccountEnd], **facts: Any) -> Story:
    """The story of a run over these accounts."""
    told = Story()
    vars(told).update(accounts=accounts, **facts)
    return told


def said(accounts: dict[str, AccountEnd], terminal: Terminal = WIDE, **facts: Any) -> str:
    """The recap as text."""
    view = View(terminal, detail=choose_detail(len(accounts), 0, False))
    return text(summary_lines(story(accounts, **facts), view, PLAY, run_limit="")).strip("\n")


def test_of_one_account_nothing_is_said_twice() -> None:
    assert said({"a@b": AccountEnd("changed")}) == "1 account: 1 changed\nLog in again for the changes to take effect."
    assert said({"a@b": AccountEnd("ok")}) == "1 account: 1 unchanged"
    failed = "1 account: 1 not up to date (1 failed)\nFix the problems above, then run:\n  "
    assert said({"a@b": AccountEnd("failed", "why")}) == f"{failed}{PLAY} -l 'a@b'"


@pytest.mark.parametrize(("kind", "word"), [("script_exported", "exported"), ("test_job_account", "pending")])
def test_nobody_needs_to_log_in_again_if_the_account_is_unchanged(kind: str, word: str) -> None:
    told, renderer = Story(), load_renderer(kind)
    told.add("a@b", {"changed": True}, AccountEnd("changed"), renderer)
    told.add("c@b", {"failed": True}, AccountEnd("failed", "why"), load_renderer("account"))
    shown = text(summary_lines(told, View(), PLAY, run_limit="")).strip("\n").split("\n")
    assert shown[0] == f"2 accounts: 1 {word}, 1 not up to date (1 failed)"
    assert "Log in again" not in " ".join(shown)


def test_what_was_said_of_an_account_is_not_said_again_and_several_of_one_cause_are_one() -> None:
    accounts = {
        "a@w": AccountEnd("ok"),
        "b@w": AccountEnd("failed", "link ~/x: it is yours"),
        "c@w": AccountEnd("unreachable", REFUSED.format("c@w")),
        "d@w": AccountEnd("unreachable", REFUSED.format("d@w")),
    }
    assert said(accounts) == (
        "✗ unreachable  c@w, d@w\n    ssh: connect to host x port 22: Connection refused\n\n"
        "4 accounts: 1 unchanged, 3 not up to date (2 unreachable, 1 failed)\n"
        f"Fix the problems above, then run:\n  {PLAY} -l 'b@w,c@w,d@w'"
    )


def test_an_account_with_nothing_declared_is_counted_apart_and_is_not_green() -> None:
    empty = AccountEnd("empty", "no resources declared")
    assert said({"a@b": empty}) == "1 account: 1 with no resources declared"
    shown = summary_lines(story({"a@b": empty}), View(WIDE), PLAY, run_limit="")
    assert {span.style for line in shown for span in line} == {"note"}
    both = {"a@b": AccountEnd("ok"), "c@d": empty, "e@f": AccountEnd("failed", "why")}
    totals_of_all = "3 accounts: 1 unchanged, 1 with no resources declared, 1 not up to date (1 failed)"
    assert totals_of_all in " ".join(said(both).split())
    many = {f"u{number}@d": AccountEnd("ok") for number in range(12)} | {"c@d": empty}
    lines = said(many).splitlines()
    assert lines[0].startswith("✓ 12 unchanged  u0@d")
    assert lines[1] == "- 1 with no resources declared  c@d"


def sixty() -> dict[str, AccountEnd]:
    """60 accounts: the cluster w does not answer, one has a folder in the way, some were changed."""
    accounts = {f"u{number:02}@d": AccountEnd("ok") for number in range(40)}
    accounts |= {
        f"v{number:02}@w": AccountEnd("unreachable", REFUSED.format(f"v{number:02}@w")) for number in range(15)
    }
    return (
        accounts | {f"c{number}@d": AccountEnd("changed") for number in range(4)} | {"f@d": AccountEnd("failed", "why")}
    )


def test_with_sixty_accounts_the_exceptions_fit_on_one_screen() -> None:
    lines = said(sixty()).splitlines()
    assert len(lines) <= 24
    assert sum("Connection refused" in line for line in lines) == 1
    assert sum("unchanged  u00@d, u01@d" in line for line in lines) == 1
    assert lines[0].startswith("✗ unreachable  v00@w, v01@w")
    words = " ".join(" ".join(lines).split())
    assert "60 accounts: 4 changed, 40 unchanged, 16 not up to date (15 unreachable, 1 failed)" in words


def test_with_many_accounts_a_step_is_said_once_with_the_number_of_accounts() -> None:
    step = {"id": "vpn", "text": "Set up the VPN.", "url": "https://vpn.example"}
    accounts = {f"u{number}@w": AccountEnd("unreachable", "x", (step,)) for number in range(12)}
    assert said(accounts).count("Set up the VPN. (12 accounts)\n  https://vpn.example") == 1


ends = st.builds(
    AccountEnd, st.sampled_from(["empty", "ok", "changed", "failed", "unreachable"]), words, st.just(()), st.booleans()
)


@given(st.dictionaries(words, ends, min_size=1, max_size=14), looks, st.booleans(), words, st.booleans())
def test_no_line_is_wider_than_the_terminal(
    accounts: dict[str, AccountEnd], terminal: Terminal, check: bool, typed: str, doctor: bool
) -> None:
    view = View(terminal, check, choose_detail(len(accounts), 0, False))
    run = story(accounts, sandboxes=(typed,), keyrings=(typed, typed), is_inspection=doctor)
    lines = summary_lines(run, view, typed, "", 3.0)
    assert max(map(measured, lines)) <= terminal.width


def test_in_ascii_everything_is_said() -> None:
    assert said(sixty(), Terminal(60, True), keyrings=("GNOME Keyring",)).isascii()


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ([AccountEnd("ok"), AccountEnd("ok")], "2 accounts: 2 ready"),
        ([AccountEnd("ok", warned=True), AccountEnd("ok")], "2 accounts: 1 ready, 1 ready, with warnings"),
        ([AccountEnd("failed"), AccountEnd("changed")], "2 accounts: 1 ready, 1 not ready (1 failed)"),
    ],
)
def test_a_doctors_last_line_says_who_is_ready(ended: list[AccountEnd], words: str) -> None:
    accounts = {f"u{number}@b": end for number, end in enumerate(ended)}
    assert describe_totals(accounts, False, True) == words
    assert describe_totals(accounts, False, True, "machine") == words.replace("accounts", "machines")


@pytest.mark.parametrize(
    ("reason", "first"),
    [
        ("it hangs. Run again", "it hangs"),
        ("~/.bashrc is a folder: mv it, then run again", "~/.bashrc is a folder: mv it, then run again"),
        ("one\ntwo", "one"),
        ("setting x must be y; got z", "setting x must be y; got z"),
        ("host a.example.org port 22: refused. Does 'ssh' work?", "host a.example.org port 22: refused"),
    ],
)
def test_the_first_sentence_of_a_reason_is_enough(reason: str, first: str) -> None:
    assert first_sentence(reason) == first


def test_the_same_reason_is_the_same_whatever_the_name_in_it() -> None:
    accounts = {name: AccountEnd("failed", f"look at 'ssh {name}'") for name in ("a@w", "b@d")}
    assert [group.names for group in group_failures(accounts)] == [["a@w", "b@d"]]


@pytest.mark.parametrize(
    ("names", "run_limit", "option"),
    [
        (["a@w"], "", " -l 'a@w'"),
        (["a@w", "b@d"], "w:d", " -l 'a@w,b@d'"),
        (["localhost"], "w", ""),
        ([f"user{number}@w" for number in range(20)], "", " -l w"),
        ([f"user{number}@w" for number in range(20)], "user*@w", " -l 'user*@w'"),
        ([f"user{number}@{cluster}" for number in range(9) for cluster in "wd"], "", ""),
        ([f"user{number}@{cluster}" for number in range(9) for cluster in "wd"], "w,d", " -l w,d"),
    ],
)
def test_a_limit_can_be_read_and_selects_no_account_outside_the_run(
    names: list[str], run_limit: str, option: str
) -> None:
    assert limit_option(names, run_limit) == option


def test_the_worst_of_several_tasks_counts() -> None:
    merge_ends = load_renderer("account").merge_ends
    order = [AccountEnd("ok"), AccountEnd("changed"), AccountEnd("failed"), AccountEnd("unreachable")]
    for number, end in enumerate(order):
        for other in order[: number + 1]:
            assert merge_ends(other, end) == merge_ends(end, other) == end


def test_a_story_keeps_what_the_last_lines_need() -> None:
    told, refused = Story(), AccountEnd("unreachable", REFUSED.format("a@b"))
    told.add("a@b", {"sandbox": "/s", "keyring": "a keyring"}, refused, load_renderer("account"))
    told.add("lead", {"then": "", "checks": []}, AccountEnd("ok"), load_renderer("rotation_lead"))
    assert (list(told.accounts), list(told.sandboxes), list(told.keyrings)) == (["a@b"], ["/s"], ["a keyring"])
    assert (told.next_command, told.is_inspection, told.has_failures()) == ("", False, True)
    assert told.find_same_failure("a@b", refused) == ""
    assert told.find_same_failure("c@d", AccountEnd("unreachable", REFUSED.format("c@d"))) == "a@b"


def test_a_share_that_went_well_later_counts() -> None:
    told = Story()
    for state in ("failed", "changed", "ok"):
        told.add("a@b", {}, AccountEnd(state), load_renderer("rotation_share"))
    assert told.accounts == {"a@b": AccountEnd("changed")}


def test_after_offboarding_nothing_is_said_to_be_there() -> None:
    assert said({"a@b": AccountEnd("changed")}, statuses={"extra", "ok"}).endswith(
        "Open shells still have the old settings. Log in again."
    )
