# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a typed line means."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.refused import Refused
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.typed import parse

LINES = [
    ("wilson", "", ["-l", "wilson"]),
    ("onboard", "onboard", []),
    ("onboard wilson simone@*", "onboard", ["-l", "wilson,simone@*"]),
    ("wilson lrz --check", "", ["--check", "-l", "wilson,lrz"]),
    ("audit -l wilson !a@wilson", "audit", ["-l", "wilson,!a@wilson"]),
    ("audit --limit=wilson", "audit", ["-l", "wilson"]),
    ("-f 3 audit -vv wilson", "audit", ["-f", "3", "-v", "-v", "-l", "wilson"]),
    ("plan -e a=1 -e b=2 --tags conda", "plan", ["-e", "a=1", "-e", "b=2", "--tags", "conda"]),
    ("rotate --secret wandb -e rotate_resume=true", "rotate", ["--secret", "wandb", "-e", "rotate_resume=true"]),
    ("-e x=1 rotate --secret=wandb", "rotate", ["--secret", "wandb", "-e", "x=1"]),
    ("offboard audit", "offboard", ["-l", "audit"]),  # the first word alone is the verb
    ("-i x.yml doctor", "doctor", []),
    ("onboard --some-new-option", "onboard", ["--some-new-option"]),
    ("plan --yes wilson", "plan", ["-l", "wilson"]),
    ("fix --yes", "fix", ["-e", "fix_sure=true"]),
    ("offboard wilson --yes --tags conda", "offboard", ["-e", "offboard_sure=true", "--tags", "conda", "-l", "wilson"]),
]


@pytest.mark.parametrize(("line", "verb", "options"), LINES)
def test_a_line_is_a_verb_names_and_options_in_any_order(line: str, verb: str, options: list[str]) -> None:
    typed = parse(line.split())
    assert (typed.verb, list(typed.options)) == (verb, options)


def test_accounts_files_and_questions_are_found() -> None:
    assert parse(["-i", "a.yml", "audit", "--inventory=b,"]).inventory == ("a.yml", "b,")
    assert parse(["audit", "-h"]).wants == "--help"
    assert parse(["--version"]).wants == "--version"
    assert parse(["audit"]).wants == ""


def test_who_is_sure_and_who_only_looks() -> None:
    assert [parse(["plan", *more]).is_sure for more in ([], ["--yes"])] == [False, True]
    assert [parse(["plan", *more]).is_check for more in ([], ["-C"], ["--check"], ["-DC"])] == [False, True, True, True]


REFUSED = [
    ("-v", "no verb and no name"),
    ("onboard -l", "-l needs a value"),
    ("onboard --tags", "--tags needs a value"),
    ("onboard --limti wilson", '--limti; did you mean "--limit"?'),
    ("rotate --secret", "--secret needs the name of a key"),
    ("rotate --secret -v", "--secret needs the name of a key"),
    ("onboard --secret wandb", "--secret is an option of rotate"),
    ("-v ledger verify", "ledger comes first"),
    ("onboard --yes", "--yes is an option of plan, fix, offboard, ssh-config; onboard asks nothing"),
    ("wilson --yes", "--yes is an option of plan"),
    ("plan --yess", '--yess; did you mean "--yes"?'),
]


@pytest.mark.parametrize(("line", "text"), REFUSED)
def test_what_cannot_be_meant_is_refused(line: str, text: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(line.split())
    assert text in str(refused.value)
