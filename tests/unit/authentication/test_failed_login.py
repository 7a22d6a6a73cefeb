# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a login that failed: the host that is meant, and the file in which its name is set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import login_check
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.login_diagnosis import FailedLogin

CLUSTER: dict[str, Any] = {"login": {"host": "daint.site.org", "jump": {"host": "gate.site.org"}}}


def diagnose(output: str, host: str = "daint.site.org") -> tuple[str, str]:
    """Text and advice, for an account of this host."""
    found = FailedLogin("ada@daint", {"ansible_host": host, "account": {}, "cluster": CLUSTER}).diagnose(output, ())
    return found.text, found.next


@pytest.mark.parametrize(
    ("named", "host", "source"),
    [
        ("daint.site.org", "daint.site.org", "the cluster's profile"),
        ("gate.site.org", "daint.site.org", "the cluster's profile"),
        ("other.site.org", "other.site.org", "the entry of ada@daint in your accounts file"),
        ("real.site.org", "alias", "your ssh settings"),
    ],
)
def test_the_host_that_cannot_be_resolved_is_named(named: str, host: str, source: str) -> None:
    text, advice = diagnose(f"ssh: Could not resolve hostname {named}: Name or service not known", host)
    assert text == f"the host name {named} cannot be resolved"
    assert advice.endswith(f"the host name in {source}")


def test_a_host_that_takes_tickets_only_asks_for_no_ssh_key() -> None:
    text, advice = diagnose("ada@daint.site.org: Permission denied (gssapi-keyex,gssapi-with-mic).")
    assert text.startswith("daint.site.org accepts only a Kerberos ticket")
    assert "klist" in advice
    assert "ssh-keygen" not in advice


def test_a_full_or_locked_disk_is_named_before_a_login_that_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    account = {"asks_each_time": {"at_terminal": True}}
    variables = {"inventory_hostname": "ada@daint", "account": account, "cluster": CLUSTER}
    send, _blocked = login_check.prepare_login(lambda: None, None, variables, may_ask=True)
    with pytest.raises(login_check.AccountError, match=r"Not a directory\), so it did not connect"):
        send()


REFUSED = "ada@daint.site.org: Permission denied (publickey)."


@pytest.mark.parametrize(
    ("lines", "text", "advice"),
    [
        (
            [*["@@@@@@"] * 4, "This private key will be ignored.", 'Load key "/home/ada/my key": bad permissions'],
            "ssh ignores the key /home/ada/my key, because",
            "Run: chmod 600 '/home/ada/my key'",
        ),
        (['Load key "/k.pub": bad permissions'], "/k.pub is a public key", "private key instead, such as /k"),
        (['Load key "/k": error in libcrypto'], "ssh cannot read the key /k (error in libcrypto)", "complete"),
        (
            ["Warning: Identity file /k not accessible: No such file."],
            "the key file /k does not exist",
            "accounts file",
        ),
        (
            ['sign_and_send_pubkey: signing failed for ED25519 "ada" from agent: agent refused operation'],
            "your ssh agent refused to use the key",
            "Unlock the agent",
        ),
    ],
)
def test_a_key_that_ssh_cannot_use_is_named(lines: list[str], text: str, advice: str) -> None:
    found = diagnose(" | ".join([*lines, REFUSED]))
    assert found[0].startswith(text)
    assert advice in found[1]


def test_a_password_is_not_mistaken_for_a_key() -> None:
    refused = "ada@gate.site.org: Permission denied (keyboard-interactive,password)."
    text, _advice = diagnose(f'Load key "/k": bad permissions | {refused}')
    assert text == "the jump host gate.site.org did not accept your password or code"


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("/c: line 2: Bad configuration option: foo | /c: terminating, 1 bad configuration options", "/c: line 2: Bad"),
        ("command-line line 0: Bad SSH2 cipher spec 'foo'.", "command-line line 0: Bad SSH2 cipher spec 'foo'"),
        ("unknown option -- Z | usage: ssh [-46A] | [-B x] | [-b y] | destination", "unknown option -- Z"),
        ("Bad owner or permissions on /home/ada/.ssh/config", "Bad owner or permissions on /home/ada/.ssh/config"),
    ],
)
def test_settings_that_ssh_refuses_are_not_taken_for_the_network(output: str, error: str) -> None:
    text, advice = diagnose(output)
    assert text.startswith(f"ssh refuses its settings: {error}")
    assert not text.endswith(".")
    assert advice == "Correct your ssh settings, or the ssh options in the entry of ada@daint in accounts.yml"


def test_a_connection_that_is_refused_is_one_of_the_network() -> None:
    text, advice = diagnose("ssh: connect to host a.b port 22: Connection refused.")
    assert text == "ssh: connect to host a.b port 22: Connection refused"
    assert advice.startswith("Check the network")


def test_an_old_host_is_named_with_the_option_that_it_needs() -> None:
    clash = "no matching host key type found. Their offer: ssh-rsa,ssh-dss"
    text, advice = diagnose(f"Unable to negotiate with 10.0.0.1 port 22: {clash}")
    assert text == "10.0.0.1 has no host key type that your ssh allows, only ssh-rsa,ssh-dss"
    assert advice == "In ~/.ssh/config, add to the entry of this host: HostKeyAlgorithms +ssh-rsa"
