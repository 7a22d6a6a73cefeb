"""What Ansible's variables of ssh mean: who logs in where, and what a person types for it.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import (
    find_login,
    typed_arguments,
    variables_mention_proxy,
)

JUMPS = "-o ProxyJump=simone@jump.example.org"


@pytest.mark.parametrize(
    ("values", "who", "types"),
    [
        ({}, ("", "wilson"), "wilson"),
        ({"ansible_user": "simone", "ansible_host": "wc.example.org"}, ("simone", "wc.example.org"), None),
        ({"ansible_host": "simone@wc.example.org"}, ("simone", "wc.example.org"), "simone@wc.example.org"),
        ({"ansible_user": "simone", "ansible_host": "other@wc"}, ("simone", "wc"), "simone@wc"),
        ({"ansible_ssh_extra_args": "-l simone"}, ("simone", "wilson"), "simone@wilson"),
        ({"ansible_ssh_extra_args": "-l first", "ansible_user": "second"}, ("first", "wilson"), "first@wilson"),
        ({"ansible_ssh_common_args": JUMPS}, ("", "wilson"), "-J simone@jump.example.org wilson"),
        ({"ansible_port": "2222", "ansible_user": "simone"}, ("simone", "wilson"), "-p 2222 simone@wilson"),
    ],
)
def test_who_logs_in_where(values: dict[str, str], who: tuple[str, str], types: str | None) -> None:
    assert find_login(values, "wilson") == who
    assert typed_arguments(values, "wilson") == (types or "@".join(who))


@pytest.mark.parametrize(
    ("arguments", "is_mentioned"),
    [("-J gate", True), ("-Jgate", True), ("-o ProxyCommand=x", True), ("-p 22", False), ("'-J", False)],
)
def test_a_jump_host_is_found_in_any_form(
    arguments: str, is_mentioned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert variables_mention_proxy({"ansible_ssh_extra_args": arguments}) is is_mentioned
