# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A netrc file judged by Python's own reader and by curl's rules: one entry changes, every other byte stays."""

from __future__ import annotations

import netrc as pythons
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats import netrc
from hypothesis import given
from hypothesis import strategies as st

MACHINE = "api.wandb.ai"
ENTRY = "machine api.wandb.ai\n  login user\n  password new\n"
OTHERS = [
    "machine github.com login me password x\n",
    "machine gitlab.com\n\tlogin me\n\tpassword machine\n",
    "# a comment of machine api.wandb.ai\n",
    "machine a.b login machine password login\n",
    "macdef init\ncd /machine\nmachine api.wandb.ai\n\n",
    "\n\n",
    "machine c.d account q login r password s # end\n",
    'machine e.f login "a b" password "x \\" machine y"\n',
]
OLD = [
    "machine api.wandb.ai login user password old\n",
    "machine api.wandb.ai\r\n  password old\r\n  login somebody\r\n",
    "machine\napi.wandb.ai login user\npassword old\n",
]
other = st.sampled_from(OTHERS)


@given(st.lists(other, max_size=4), st.lists(other, max_size=4), st.sampled_from([*OLD, ""]))
def test_one_entry_is_written_and_every_other_byte_stays(above: list[str], below: list[str], old: str) -> None:
    text = "".join(above) + old + "".join(below)
    written = netrc.put(text, MACHINE, "user", "new")
    found = netrc.find_entries(written, MACHINE)
    assert [(one.login, one.password) for one in found] == [("user", "new")]
    assert written.replace(ENTRY, "", 1).replace("\n", "") in (
        text.replace(old, "", 1).replace("\n", "") if old else text.replace("\n", ""),
    )
    assert netrc.put(written, MACHINE, "user", "new") == written
    assert netrc.find_entries(netrc.without(written, MACHINE), MACHINE) == []


@pytest.mark.parametrize("old", [*OLD, ""])
def test_pythons_own_reader_finds_it(tmp_path: Path, old: str) -> None:
    file = tmp_path / "netrc"
    file.write_text(
        netrc.put("machine x login y password z\n" + old + "default login a password b\n", MACHINE, "u", "n")
    )
    if not old:
        file.write_text(netrc.put("machine x login y password z\n", MACHINE, "u", "n"))
    assert pythons.netrc(str(file)).authenticators(MACHINE) == ("u", "", "n")


def test_doubles_go_and_an_unterminated_file_is_ended() -> None:
    text = "machine x login y password z\n" + OLD[0] + OLD[0].rstrip()
    assert netrc.put(text, MACHINE, "user", "new") == "machine x login y password z\n" + ENTRY
    assert netrc.put("machine x login y password z", MACHINE, "user", "new").startswith(
        "machine x login y password z\nm"
    )


def test_an_entry_behind_a_default_is_brought_before_it() -> None:
    default = "default login a password b\n"
    assert not netrc.has_effective_entry(default + OLD[0], MACHINE)
    for text in (default + OLD[0], default):
        assert netrc.put(text, MACHINE, "user", "new") == ENTRY + default
    assert netrc.has_effective_entry(ENTRY + default, MACHINE)


@pytest.mark.parametrize("end", ["", "\n"])
def test_an_entry_behind_a_macro_without_an_end_is_no_part_of_it(tmp_path: Path, end: str) -> None:
    text = f"machine a.b login c password d\nmacdef init\ncd /x\nls{end}"
    written = netrc.put(text, MACHINE, "user", "new")
    file = tmp_path / "netrc"
    file.write_text(written)
    assert pythons.netrc(str(file)).authenticators(MACHINE) == ("user", "", "new")
    assert written.startswith(text)
    assert [(one.login, one.password) for one in netrc.find_entries(written, MACHINE)] == [("user", "new")]
