# SPDX-License-Identifier: GPL-3.0-or-later
"""What a login says that failed, with an ssh that fails in its own ways."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import ssh_login
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.login_diagnosis import FailedLogin

FORCED = """\
echo 'Authenticated to a.b ([10.0.0.1]:22) using "publickey".' >&2
echo 'only sftp here'
echo 'Transferred: sent 3516, received 3332 bytes, in 0.1 seconds' >&2
echo 'Bytes per second: sent 59138.8, received 56043.9' >&2
exit 1
"""
LOGIN = FailedLogin("ada@x", {"ansible_host": "a.b", "account": {}, "cluster": {}})


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that ssh is replaced with, to be written."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "ssh"


def write(ssh: Path, script: str) -> None:
    ssh.write_text(f"#!/bin/sh\n{script}")
    ssh.chmod(0o755)


def test_a_login_that_worked_is_told_from_one_that_failed(ssh: Path) -> None:
    write(ssh, FORCED)
    with pytest.raises(AccountError, match=r"^ssh logged in, but .*code 1:.*\(output: only sftp here\)$"):
        ssh_login.connect_unattended(["a.b"])
    with pytest.raises(AccountError, match=r"^ssh logged in, but .*code 1:"):
        ssh_login.connect(["a.b", "true"], str, print)
    write(ssh, "echo 'ada@a.b: Permission denied (publickey).' >&2; exit 255")
    assert ssh_login.connect_unattended(["a.b"]) == ("ada@a.b: Permission denied (publickey).", [])


def test_a_time_limit_of_the_user_takes_precedence(ssh: Path) -> None:
    write(ssh, 'echo "$*" >&2; exit 255')
    output, _questions = ssh_login.connect_unattended(["-o", "ConnectTimeout=60", "a.b"])
    assert output == "-v -o ConnectTimeout=60 -o ConnectTimeout=10 a.b true"


def test_an_agent_that_does_not_respond_is_thought_of(ssh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh_login, "SECONDS", 0.5)
    write(ssh, "exec sleep 20")
    with pytest.raises(AccountError, match="your ssh agent does not respond"):
        ssh_login.connect_unattended(["a.b"])


def test_the_messages_of_a_jump_host_are_asked_for_and_its_refusal_of_a_code_is_its_own(ssh: Path) -> None:
    write(
        ssh, 'case " $* " in *" -v "*) echo "ada@jump: Permission denied (keyboard-interactive)." >&2;; esac; exit 255'
    )
    output = ssh_login.connect(["-J", "jump", "a.b"], str, print)
    write(ssh, "echo hostname a.b")  # of ssh -G
    text = LOGIN.explain(output, ())
    assert text.startswith("the jump host jump did not accept your password or code. Check your password"), text


def test_a_certificate_of_another_signer_is_thought_of(ssh: Path) -> None:
    write(ssh, "echo hostname a.b")
    cluster = {"auth": {"archetype": "certificate", "renewer": "cscs-key"}, "login": {}}
    login = FailedLogin("ada@x", {"ansible_host": "a.b", "account": {}, "cluster": cluster})
    text = login.explain("ada@jump: Permission denied (publickey).", ())
    assert "Check that this site has signed your certificate. To get a new certificate, run: cscs-key sign." in text


def test_every_failure_comes_with_what_to_do(ssh: Path) -> None:
    write(ssh, "echo hostname a.b")
    text = LOGIN.explain("ssh: connect to host a.b port 22: Connection timed out", ())
    assert text.startswith("ssh: connect to host a.b port 22: Connection timed out. Check the network."), text
