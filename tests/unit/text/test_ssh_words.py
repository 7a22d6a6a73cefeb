# SPDX-License-Identifier: GPL-3.0-or-later
"""What ssh's last words mean. The words are those of OpenSSH, from its sources."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.ssh_words import (
    find_login_state,
    is_dropped_before_greeting,
    is_worth_retrying,
    shorten_output,
    strip_debug_lines,
)


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("ssh: Could not resolve hostname nowhere: Name or service not known", "unresolved"),
        ("ssh: connect to host a.b port 22: Connection timed out", "unreachable"),
        ("ssh: connect to host a.b port 22: Network is unreachable", "unreachable"),
        ("channel 0: open failed: connect failed: No route to host | stdio forwarding failed", "unreachable"),
        ("ada@a.b: Permission denied (publickey,keyboard-interactive).", "refused"),
        ("Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures", "refused"),
        ("No ED25519 host key is known for a.b and you have requested strict checking.", "host_key_unknown"),
        ("Host key verification failed.", "host_key_unknown"),
        ("Host key for a.b has changed and you have requested strict checking. | Host key verification failed.",
         "host_key_changed"),
        ("kex_exchange_identification: Connection closed by remote host", "dropped"),
        ("kex_exchange_identification: read: Connection reset by peer", "dropped"),
        ("Connection reset by 10.0.0.1 port 22", "dropped"),
        ("Connection to a.b closed by remote host.", "dropped"),
        ("sh: nc: not found | banner exchange: Connection to UNKNOWN port 65535: Broken pipe", "unreachable"),
        ("", "unreachable"),
    ],
)  # fmt: skip
def test_each_is_told_apart(words: str, state: str) -> None:
    assert find_login_state(words) == state


VERBOSE = """OpenSSH_9.2p1 Debian-2+deb12u10, OpenSSL 3.0.19 27 Jan 2026
debug1: Reading configuration data /etc/ssh/ssh_config
debug1: Local version string SSH-2.0-OpenSSH_9.2p1
debug1: kex_exchange_identification: banner line 0: {said}
kex_exchange_identification: Connection closed by remote host
Connection closed by 127.0.0.1 port 22"""


@pytest.mark.parametrize(("said", "again"), [("Not allowed at this time", False), ("Exceeded MaxStartups", True)])
def test_who_is_told_to_stay_away_does_not_knock_again(said: str, again: bool) -> None:
    words = strip_debug_lines(VERBOSE.format(said=said))
    assert words.split("\n")[0] == said
    assert "debug1" not in words
    assert is_dropped_before_greeting(words)
    assert is_worth_retrying(words) is again


def test_a_long_banner_hides_no_reason() -> None:
    said = [*["Authorised users only."] * 90, "ada@a.b: Permission denied (publickey)."]
    assert shorten_output(" | ".join(said)) == said[-1]
    assert shorten_output(" | ".join(said[:-1])).count("Authorised") == 4, "nothing known: the last lines"
    assert shorten_output(" | ".join(said[-3:])) == " | ".join(said[-3:])
