# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of an account, and which answers are refused."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import Catalogue
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.desired_account import (
    DesiredAccount,
    describe_fault,
    list_questions,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.ssh_world import SshTraces

CATALOGUE = Catalogue()


def wish(cluster: str, user: str = "ada", found: SshTraces | None = None, **entry: object) -> DesiredAccount:
    """An account of that cluster."""
    profile = CATALOGUE.profile(cluster)
    assert profile
    return DesiredAccount(profile, found or SshTraces(), user, dict(entry))


def asked(one: DesiredAccount) -> dict[str, bool]:
    """The words that are asked for, and whether each is needed."""
    return {question.setting: question.is_required for question in list_questions(one, "me")}


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (wish("dfki"), {}),
        (wish("dfki", ""), {"user": True}),
        (wish("wilson"), {"project": True}),
        (wish("wilson", project="lgt"), {}),
        (wish("lrz"), {"storage:dss": False}),
        (wish("lrz", storage={"dss": "/dss/x"}), {}),
        (wish("dfki_pegasus"), {"jump_user": False}),
        (wish("dfki_pegasus", jump_user="ada01"), {}),
        (wish("dfki_pegasus", ssh="pegasus"), {}),
    ],
)
def test_only_what_only_the_person_knows_is_asked(one: DesiredAccount, words: dict[str, bool]) -> None:
    assert asked(one) == words


def test_the_hint_is_the_profiles_own() -> None:
    (question,) = list_questions(wish("lrz"), "me")
    assert 'Run "dssusrinfo all" on a login node' in question.text
    (question,) = list_questions(wish("wilson"), "me")
    assert "/work1/{project}/{user}" in question.text
    (question,) = list_questions(wish("dfki", ""), "me")
    assert question.default == "me"
    (question,) = list_questions(wish("dfki_pegasus", found=SshTraces(jump_user="ada01")), "me")
    assert question.default == "ada01"


@pytest.mark.parametrize(
    ("word", "good", "bad"),
    [
        ("user", ["ada", "go42tum", "a.b-c_d"], ["", "a b", "a@b", "-a", "ada\n"]),
        ("project", ["deep_lgt", "def-ada", "123"], ["", "deep lgt", "/x", "-x", "{x}"]),
        ("storage:dss", ["/dss/x", "$WORK/x", "/with blank"], ["", "dss", "~/x", "/a\nb", '/a"b', "/a;b", "/a#b"]),
        ("storage:Dss", [], ["/dss/x"]),
        ("jump_user", ["ada01", "a@b"], ["", "a b"]),
        ("ssh", ["wilson"], ["", "wil*", "-F"]),
        ("auth", ["key", "ask"], ["", "open"]),
    ],
)
def test_answers_have_the_form_that_the_file_needs(word: str, good: list[str], bad: list[str]) -> None:
    assert [value for value in good if describe_fault(word, value)] == []
    assert [value for value in bad if not describe_fault(word, value)] == []
    assert all(len(describe_fault(word, value)) < 440 for value in bad)


def test_the_values_of_a_choice_are_listed() -> None:
    assert describe_fault("auth", "maybe") == '"maybe" is invalid. Expected: key, ask, none.'
