# SPDX-License-Identifier: GPL-3.0-or-later
"""Logins that fail for a reason on this machine: what is said names the reason, and what to do."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import ssh_login

from tests.integration.command.test_command import Desk
from tests.integration.onboard.test_code_login import ASKS
from tests.testbed.client import new_key
from tests.testbed.code_login import PORT, CodeLogin
from tests.testbed.further_sshd import FurtherSshd

pytestmark = pytest.mark.testbed

FEW = 2231


def test_an_agent_with_more_keys_than_a_site_takes_is_named_with_the_setting_for_it(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("narval")
    sshd = FurtherSshd(bed.cluster("narval"), "few", FEW, {"MaxAuthTries": "2"})
    started = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    agent = dict(re.findall(r"(SSH_\w+)=([^;]+);", started))
    try:
        for number in range(4):
            key = new_key(tmp_path / f"key{number}")
            subprocess.run(["ssh-add", "-q", str(key)], env={**os.environ, **agent}, check=True, capture_output=True)
        config = tmp_path / "config"
        usual = Path(bed.ssh_config).read_text(encoding="ascii")
        config.write_text(re.sub(r" *(IdentitiesOnly|IdentityAgent) .*\n", "", usual), encoding="ascii")
        way = {"ansible_port": FEW, "ansible_ssh_common_args": f"-F {config}"}
        desk = Desk(bed, account, settings={account.name: {"auth": "key", "vars": way}})
        for verb, exit_code in (("onboard", 4), ("preflight", 2), ("connect", 2)):
            ran = desk.types(verb, **agent)
            said = " ".join((ran.stdout + ran.stderr).split())
            assert ran.returncode == exit_code, said
            assert "refuses the login because ssh offers too many keys from your agent" in said, said
            assert "IdentitiesOnly yes" in said, said
        assert sshd.connections == 3, "each command tried once"
    finally:
        subprocess.run(["kill", agent["SSH_AGENT_PID"]], check=True)


def test_an_answer_that_comes_after_the_site_has_ended_is_called_too_late(
    bed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = bed.new_account("narval")
    door = CodeLogin(bed.cluster("narval"), LoginGraceTime="2")
    door.admit([account])
    monkeypatch.setattr(ssh_login, "SECONDS", 1)
    asked = []

    def ask(question: str) -> str:
        asked.append(question)
        time.sleep(3)
        return "000000"

    arguments = ["-F", str(bed.ssh_config), "-p", str(PORT), *ASKS.split(), "-l", account.user, account.host, "true"]
    with pytest.raises(AccountError, match=r"^your input came after 3 s, which was too late for the site"):
        ssh_login.connect(arguments, ask, asked.append)
    assert len(asked) == 1
    assert (door.connections, door.refused) == (1, 0)
