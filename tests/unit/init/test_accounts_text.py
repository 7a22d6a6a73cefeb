# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of an accounts file: whole, with comments that are true, and one entry more in any that a person wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import build_hosts
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import Catalogue
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.accounts_text import (
    HEAD,
    NotAdded,
    add_entries,
    render_file,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.desired_account import DesiredAccount
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.ssh_world import SshTraces
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.yaml_loader import Loader
from hypothesis import given
from hypothesis import strategies as st

FILE = Path("accounts.yml")
CATALOGUE = Catalogue()


def wish(name: str, **entry: object) -> DesiredAccount:
    """An account."""
    user, _at, cluster = name.partition("@")
    profile = CATALOGUE.profile(cluster)
    assert profile
    return DesiredAccount(profile, SshTraces(), user, dict(entry))


def names(text: str) -> list[str]:
    """The accounts of a file, by the loader that every run uses."""
    return [host.name for host in build_hosts(AccountsFile.parse(FILE, text))]


WISHES = [
    wish("go42tum@lrz", storage={"dss": "/dss/x, y: z"}, without=["conda"]),
    wish("simone@wilson", project="123"),
    wish("ada@dfki"),
    wish("0x1@narval", ssh="on", auth="key"),
]


def test_a_new_file_is_one_that_every_run_takes() -> None:
    text = render_file(WISHES)
    assert names(text) == [one.name for one in WISHES]
    assert yaml.load(text, Loader=Loader)["accounts"] == {one.name: one.entry or None for one in WISHES}
    assert max(map(len, text.splitlines())) <= 120


def test_what_its_comments_teach_is_taken_too() -> None:
    taught = [line[4:30].split("   ")[0] + line[30:] for line in HEAD.splitlines() if line.startswith("#   ")]
    examples = [re.match(r"\w+: (\{.*?\}|\[.*?\]|\S+)", line) for line in taught]
    assert len(examples) >= 6
    for one in examples:
        assert one, taught
        document = yaml.load(one[0], Loader=Loader)
        assert names(render_file([wish("ada@dfki", **document)])) == ["ada@dfki"], one[0]
    assert "profiles: [FOLDER]" in HEAD
    shared = "defaults: {without: [conda]}"
    assert shared in HEAD
    assert names(render_file(WISHES).replace("accounts:\n  ", f"{shared}\naccounts:\n  ")) == [
        one.name for one in WISHES
    ]


OWN = [
    "plugin: hpc.onboard.accounts\naccounts:\n  a@dfki:\n",
    "plugin: hpc.onboard.accounts\naccounts:\n  a@dfki:",
    "plugin: hpc.onboard.accounts\naccounts:\n    a@dfki:   # mine\n    # more to come\n\n# the end\n",
    "accounts:\n  a@dfki:\n    vars: {x: 1}\n\n  b@dfki:\n    vars:\n      x: |\n        two\n        lines\n"
    "plugin: hpc.onboard.accounts\n",
    "accounts:\n  a@dfki:\n    without:\n    - conda\n\nplugin: hpc.onboard.accounts\nprofiles: [.]\n",
    "---\nplugin: hpc.onboard.accounts\naccounts:\n  a@dfki: {vars: {x: [1,\n    2]}}\n...\n",
    render_file(WISHES[:1]),
]


@pytest.mark.parametrize("text", OWN)
def test_every_line_of_a_file_stays_when_an_account_is_added(text: str) -> None:
    made = add_entries(FILE, text, WISHES[1:])
    before, after = text.splitlines(), made.splitlines()
    assert [line for line in after if line in before][: len(before)] or before == []
    kept = iter(after)
    assert all(line in kept for line in before)
    assert names(made) == [*names(text), *(one.name for one in WISHES[1:])]
    assert add_entries(FILE, made, [wish("z@dfki")]).count("z@dfki") == 1


@pytest.mark.parametrize(
    "text",
    [
        "plugin: hpc.onboard.accounts\naccounts: {a@dfki: }\n",
        '{"plugin": "hpc.onboard.accounts", "accounts": {"a@dfki": {}}}\n',
    ],
)
def test_what_is_written_in_another_way_is_left_to_the_person(text: str) -> None:
    with pytest.raises(NotAdded):
        add_entries(FILE, text, WISHES[1:2])


@given(value=st.from_regex(r"(/|\$[A-Za-z_])[A-Za-z0-9_./~$@%+=:, -]*", fullmatch=True))
def test_every_path_is_read_back_as_it_was_said(value: str) -> None:
    one = wish("go42tum@lrz", storage={"dss": value})
    assert yaml.load(render_file([one]), Loader=Loader)["accounts"][one.name] == {"storage": {"dss": value}}


def test_a_file_with_line_ends_of_windows_keeps_them() -> None:
    text = "plugin: hpc.onboard.accounts\r\naccounts:\r\n  ada@dfki:\r\n"
    made = add_entries(FILE, text, [wish("0x1@narval", ssh="on")])
    assert made.startswith(text)
    assert made.count("\n") == made.count("\r\n")
