# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of a command line, told apart without Ansible."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.cli.playbook import PlaybookCLI
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.playbook_options import (
    FLAGS,
    VALUED,
    TypedOption,
    read_options,
)

SHAPES = [
    (["wilson"], [("", "wilson")]),
    (["-l", "wilson", "lrz"], [("--limit", "wilson"), ("", "lrz")]),
    (["-lwilson"], [("--limit", "wilson")]),
    (["-vvCl", "wilson"], [("--verbose", None), ("--verbose", None), ("--check", None), ("--limit", "wilson")]),
    (["--limit=wilson", "--skip", "conda"], [("--limit", "wilson"), ("--skip-tags", "conda")]),
    (["--inv", "a.yml"], [("--inventory", "a.yml")]),
    (["-e", "-i", "-"], [("--extra-vars", "-i"), ("", "-")]),
    (["--", "-l", "x"], [("", "-l"), ("", "x")]),
    (["-l"], [("--limit", None)]),
    (["--tags"], [("--tags", None)]),
    (["--new-thing", "x"], [("--new-thing", None), ("", "x")]),
    (["--ssh", "x"], [("--ssh", None), ("", "x")]),  # the beginning of two
    (["-e", "a=b=c"], [("--extra-vars", "a=b=c")]),
    (["--extra-vars=a=b"], [("--extra-vars", "a=b")]),
]


@pytest.mark.parametrize(("words", "found"), SHAPES)
def test_each_word_finds_its_option(words: list[str], found: list[tuple[str, str | None]]) -> None:
    assert [(one.name, one.value) for one in read_options(words)] == found


def test_nothing_that_was_typed_is_lost() -> None:
    words = ["-vv", "-i", "a.yml", "--check", "wilson", "--limit=x", "-e", "@file", "--unheard-of"]
    typed = [word for one in read_options(words) for word in one.typed_words]
    assert typed == ["-v", "-v", *words[1:]]
    assert list(read_options([])) == []
    assert list(read_options(["-tconda"])) == [TypedOption("--tags", "conda", ("-t", "conda"))]


def test_the_options_are_those_of_the_ansible_playbook_at_hand() -> None:
    """A release of Ansible that has more of them fails here, and not where a value is taken for an account."""
    program = PlaybookCLI(["ansible-playbook", str(Path("x.yml"))])
    program.init_parser()
    theirs: dict[bool, set[str]] = {True: set(), False: set()}
    for action in program.parser._actions:
        theirs[action.nargs != 0] |= set(action.option_strings)
    for takes_value, table in ((True, VALUED), (False, FLAGS)):
        ours = {alias for name, others in table.items() for alias in (name, *others)}
        assert theirs[takes_value] - ours == set()
        assert ours & theirs[not takes_value] == set()
