# SPDX-License-Identifier: GPL-3.0-or-later
"""A login that asks in the connection of the work, and whose jump host asks first."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import open_sessions


@pytest.mark.parametrize(("jump", "waits"), [("", False), ("-o ProxyJump=gate.site.org", True)])
def test_there_is_time_to_answer_a_jump_host_in_the_connection_of_the_work(jump: str, waits: bool) -> None:
    cluster = {"id": "x", "auth": {"archetype": "key_otp", "multiplexing": "forbidden"}}
    host = {"ansible_host": "x.site.org", "ansible_ssh_common_args": f"-F /dev/null {jump}"}
    added = open_sessions.session_variables({"cluster": cluster, "account": {}, **host})
    assert "asks_each_time" in added["account"]
    assert ("ConnectTimeout=" in added["ansible_ssh_args"]) == waits
