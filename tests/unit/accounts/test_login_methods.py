# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each login method of the schema is handled: a new word that no code knows would be tried as a plain key."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import open_sessions, profiles
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.cheatsheet import LOGIN_METHODS

METHODS = profiles.schema("cluster")["properties"]["auth"]["properties"]["archetype"]["enum"]
UNASKED = {"key", "agent_certificate", *open_sessions.EXPIRING_METHODS, open_sessions.NO_AUTOMATION}


def test_each_login_method_either_asks_the_user_or_is_known_not_to() -> None:
    assert {*open_sessions.ASKING_METHODS} | UNASKED == {*METHODS}
    assert {*open_sessions.ASKING_METHODS} & UNASKED == set()
    assert LOGIN_METHODS.keys() >= {*METHODS} - {open_sessions.NO_AUTOMATION}


@pytest.mark.parametrize("method", [one for one in METHODS if "otp" in one or one in ("password", "session")])
def test_a_method_with_a_password_or_a_code_asks_the_user(method: str) -> None:
    assert open_sessions.asks_user({"account": {}, "cluster": {"auth": {"archetype": method}}})
    assert not open_sessions.asks_user({"account": {"auth": "key"}, "cluster": {"auth": {"archetype": method}}})


@pytest.mark.parametrize(("jump", "waits"), [("", False), ("-o ProxyJump=gate.site.org", True)])
def test_there_is_time_to_answer_a_jump_host_in_the_connection_of_the_work(jump: str, waits: bool) -> None:
    cluster = {"id": "x", "auth": {"archetype": "key_otp", "multiplexing": "forbidden"}}
    host = {"ansible_host": "x.site.org", "ansible_ssh_common_args": f"-F /dev/null {jump}"}
    added = open_sessions.session_variables({"cluster": cluster, "account": {}, **host})
    assert "asks_each_time" in added["account"]
    assert ("ConnectTimeout=" in added["ansible_ssh_args"]) == waits
