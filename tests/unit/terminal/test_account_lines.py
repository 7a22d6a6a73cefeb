# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of one account: in words, in any width, with no colour needed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.account import (
    AccountEnd,
    Detail,
    View,
    account_lines,
    choose_detail,
    load_renderer,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.difference import difference_lines
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Terminal, plain_text
from fabricated import looks, measured, outcome, result, results, text, words
from hypothesis import given
from hypothesis import strategies as st

ACCOUNT, DOCTOR, LEAD, REPORT = map(load_renderer, ("account", "doctor", "rotation_lead", "audit_report"))
views = st.builds(View, looks, st.booleans(), st.sampled_from(Detail))


@given(words, results, views, st.just("") | words)
def test_no_line_is_wider_than_the_terminal(name: str, said: dict[str, Any], view: View, like: str) -> None:
    unreachable = {"unreachable": True, "msg": name, **{key: said[key] for key in said if key != "outcomes"}}
    for lines in (account_lines(name, said, view), account_lines(name, unreachable, view._replace(same_as=like))):
        assert max(map(measured, lines)) <= view.terminal.width
        assert all(plain_text(line).isprintable() for line in lines)


def test_each_change_has_a_line_and_what_was_kept_is_counted() -> None:
    said = result(outcome("missing", "folder /a"), outcome("ok", "folder /b"), seconds=1.25)
    lines = [plain_text(line) for line in account_lines("a@b", said, View())]
    assert lines[0] == "✓ a@b  1 created, 1 unchanged".ljust(75) + "1.2 s"
    assert lines[1:] == ["  + created      folder /a"]


def test_what_went_wrong_is_said_with_its_reason() -> None:
    said = text(account_lines("a@b", result(outcome("blocked"), outcome("missing")), View()))
    assert "✗ a@b  1 blocked, 1 created" in said
    assert "  ! blocked      folder /a\n                 something is in the way" in said


@pytest.mark.parametrize(("check", "led"), [(True, "points"), (False, "pointed")])
def test_of_a_link_that_is_turned_the_old_target_is_said(check: bool, led: str) -> None:
    turned = {**outcome("different", "link ~/scratch"), "before": {"target": "/old"}, "after": {"target": "/new"}}
    said = text(account_lines("a@b", result(turned), View(check=check)))
    assert f"link ~/scratch -> /new\n                 the link {led} to /old; the files there are not moved" in said


def test_a_folder_that_a_link_replaces_had_no_target() -> None:
    replaced = {**outcome("different", "link ~/work"), "before": {"is": "folder"}, "after": {"target": "/work1"}}
    said = text(account_lines("a@b", result(replaced), View()))
    assert said == "✓ a@b  1 changed\n  ~ changed      link ~/work -> /work1"


@pytest.mark.parametrize("status", ["ok", "missing", "different", "extra", "blocked", "failed", "unknown"])
def test_in_ascii_everything_is_said(status: str) -> None:
    said = result(outcome(status), notes=[{"capability": "x", "code": "not_here", "text": "not here"}])
    assert text(account_lines("a@b", said, View(Terminal(60, True), detail=Detail.EVERYTHING))).isascii()


def test_steps_that_are_left_are_said_with_their_links_on_lines_of_their_own() -> None:
    steps = [{"text": "Ask Ann.", "url": "https://a.example/b"}, {"text": "Wait."}]
    missed = {"unreachable": True, "msg": "refused", "human_steps": steps}
    said = text(account_lines("a@b", missed, View()))
    assert said == (
        "✗ a@b  unreachable\n    refused\n    Manual steps before the first login:\n"
        "    - Ask Ann.\n      https://a.example/b\n    - Wait."
    )
    assert "Manual steps:\n    - Ask Ann." in text(account_lines("a@b", result(human_steps=steps), View()))


def test_a_reason_that_another_account_has_told_is_not_told_again() -> None:
    failed = {"failed": True, "msg": "role x: setting y must be z; got 1"}
    assert text(account_lines("a@b", failed, View(same_as="b@b"))) == "✗ a@b  failed, as b@b"


def test_among_many_accounts_only_exceptions_are_told() -> None:
    many = View(detail=choose_detail(60, 0, False))
    assert ACCOUNT.is_hidden(result(outcome("ok")), many)
    assert not ACCOUNT.is_hidden(result(outcome("ok")), View(detail=choose_detail(6, 0, False)))
    assert not ACCOUNT.is_hidden({"failed": True, "msg": "x"}, many)
    assert text(account_lines("a@b", result(outcome("missing")), many)) == "✓ a@b  1 created"
    assert "something is in the way" in text(account_lines("a@b", result(outcome("failed")), many))


@pytest.mark.parametrize(
    ("accounts", "verbosity", "diff", "detail"),
    [
        (1, 0, False, Detail.CHANGES),
        (10, 0, False, Detail.CHANGES),
        (11, 0, False, Detail.EXCEPTIONS),
        (60, 1, False, Detail.EVERYTHING),
        (60, 0, True, Detail.CHANGES),
    ],
)
def test_how_much_is_said(accounts: int, verbosity: int, diff: bool, detail: Detail) -> None:
    assert choose_detail(accounts, verbosity, diff) is detail


def test_a_difference_shows_what_changes_and_little_of_the_rest() -> None:
    before = {"content": "\n".join(f"line {number}" for number in range(20))}
    after = {"content": before["content"].replace("line 10", "line ten"), "mode": "0755"}
    lines = [plain_text(line).strip() for line in difference_lines(before, after, Terminal())]
    assert "-   line 10" in lines
    assert "+   line ten" in lines
    assert "+ mode: 0755" in lines
    assert not any("line 2" in line for line in lines)


ENVS = {f"~/.config/hpc.onboard/env.{word}": f"set A in {word}" for word in ("sh", "csh", "fish")}


@pytest.mark.parametrize(("start", "word"), [("~/.bashrc", "sh"), ("~/.tcshrc", "csh"), ("~/.config/fish/a", "fish")])
def test_an_environment_is_shown_in_the_words_of_the_login_shell(start: str, word: str) -> None:
    line = f'test -r "$HOME/.config/hpc.onboard/env.{word}"; # hpc.onboard'
    after = {**ENVS, start: line}
    said = "\n".join(plain_text(one) for one in difference_lines({}, after, Terminal()))
    assert [f"set A in {one}" in said for one in ("sh", "csh", "fish")] == [
        one == word for one in ("sh", "csh", "fish")
    ]
    assert "for other shells" in said
    every = "\n".join(plain_text(one) for one in difference_lines({}, after, Terminal(), every=True))
    assert all(text in every for text in ENVS.values())
    for field in ENVS:
        alone = "\n".join(plain_text(one) for one in difference_lines({**after, field: "edited"}, after, Terminal()))
        assert ENVS[field] in alone, "what changes alone is shown whoever reads it"


def test_what_is_still_under_way_says_how_far_it_is() -> None:
    progress = {"step": "environment demo", "done": 3, "total": 5, "unit": "steps"}
    said = text(account_lines("a@b", result(outcome("different", progress=progress)), View()))
    assert "in progress: environment demo, 3/5" in said


CHECKS = [
    {"name": "ssh", "status": "ok", "text": "reached in 0.4 s", "next": None},
    {"name": "keyring", "status": "warning", "text": "locked", "next": "keyring get hpc.onboard ngc"},
    {"name": "quota", "status": "failed", "text": "the home is full", "next": "du -sh ~"},
]


def test_work_that_failed_before_says_why() -> None:
    progress = {"failed": "the download ended early: run again", "wants": {}}
    said = text(account_lines("a@b", result(outcome("missing", progress=progress)), View(check=True)))
    assert "an earlier attempt failed: the download ended early: run again" in " ".join(said.split())


def test_a_doctors_checks_are_told_one_by_one_with_the_next_command() -> None:
    lines = [plain_text(line) for line in DOCTOR.lines("a@b", {"checks": CHECKS}, View())]
    assert lines == [
        "✗ a@b  1 failed, 1 warning, 1 ok",
        "  ✓ ok           ssh: reached in 0.4 s",
        "  ! warning      keyring: locked",
        "                 keyring get hpc.onboard ngc",
        "  ✗ failed       quota: the home is full",
        "                 du -sh ~",
    ]


def test_among_many_accounts_a_doctor_tells_what_is_not_well() -> None:
    many = View(detail=Detail.EXCEPTIONS)
    assert DOCTOR.is_hidden({"checks": CHECKS[:1]}, many)
    assert not DOCTOR.is_hidden({"checks": CHECKS}, many)
    assert "ssh" not in text(DOCTOR.lines("a@b", {"checks": CHECKS}, many))


@given(words, words, words, looks)
def test_a_doctors_lines_fit(name: str, said: str, then: str, terminal: Terminal) -> None:
    checks = [{"name": name, "status": status, "text": said, "next": then} for status in ("ok", "warning", "failed")]
    assert max(map(measured, DOCTOR.lines(name, {"checks": checks}, View(terminal)))) <= terminal.width


def test_an_unknown_kind_is_shown_as_an_account() -> None:
    said = result(outcome("missing"))
    assert load_renderer("of tomorrow").lines("a@b", said, View()) == ACCOUNT.lines("a@b", said, View())


def test_how_an_account_ended_follows_from_its_result() -> None:
    assert ACCOUNT.find_end(result(outcome("ok"))) == AccountEnd("ok")
    assert ACCOUNT.find_end(result(outcome("missing"))) == AccountEnd("changed")
    failed = result(outcome("missing"), outcome("failed"))
    assert ACCOUNT.find_end(failed) == AccountEnd("failed", "folder /a: something is in the way")
    assert ACCOUNT.find_end({"msg": "gone"}, unreachable=True) == AccountEnd("unreachable", "gone")
    assert ACCOUNT.find_end({"failed": True, "msg": "wrong"}) == AccountEnd("failed", "wrong")


def test_how_a_look_ended_follows_from_its_checks() -> None:
    assert DOCTOR.find_end({"checks": CHECKS}) == AccountEnd("failed", "quota: the home is full")
    assert DOCTOR.find_end({"checks": CHECKS[:2]}) == AccountEnd("ok", warned=True)
    assert DOCTOR.find_end({"checks": CHECKS[:1]}) == AccountEnd("ok")
    assert DOCTOR.find_end({"failed": True, "msg": "an error of Ansible's"}).reason == "an error of Ansible's"
    assert text(DOCTOR.lines("a@b", {"failed": True, "msg": "an error of Ansible's"}, View())).endswith("of Ansible's")


def test_a_lead_says_what_is_next_and_counts_as_no_account() -> None:
    checks = [{**one, "is_target": False} for one in CHECKS]
    said = {"title": "rotation of ngc", "checks": checks, "then": "ansible-playbook rotate_ngc.yml"}
    assert (LEAD.is_of_account, LEAD.next_command(said)) == (False, "ansible-playbook rotate_ngc.yml")
    assert text(LEAD.lines("a@b", said, View())).startswith("✗ rotation of ngc  1 failed")
    assert LEAD.is_hidden({**said, "checks": []}, View())
    assert (ACCOUNT.is_of_account, ACCOUNT.next_command(said)) == (True, None)


def test_of_an_audit_only_what_keeps_it_from_going_on_is_an_error() -> None:
    part = load_renderer("audit_settings")
    assert part.find_error({"failed": True, "msg": "no such format"}) == "no such format"
    assert part.find_error({}) == REPORT.find_error({"failed": True, "msg": "a finding", "report": {}}) == ""
    assert part.is_hidden({}, View())
    assert not REPORT.is_hidden({"report": {}}, View())


def test_a_long_new_text_is_shown_by_its_beginning_and_whole_with_v() -> None:
    after = {"content": "".join(f"line {number}\n" for number in range(100))}
    said = [plain_text(line).strip() for line in difference_lines({}, after, Terminal())]
    assert said[-1] == "and 93 more lines (shown with -v)"
    assert len(said) == 9
    every = [plain_text(line).strip() for line in difference_lines({}, after, Terminal(), every=True)]
    assert every[-1] == "+   line 99"
    edited = {"content": after["content"].replace("line 50\n", "mine\n")}
    assert "+   line 50" in [plain_text(line).strip() for line in difference_lines(edited, after, Terminal())]
