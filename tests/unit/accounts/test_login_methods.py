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
