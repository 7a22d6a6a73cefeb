# SPDX-License-Identifier: GPL-3.0-or-later
"""fail2ban judges what whole runs leave in the log of a login node: no run gets an address banned."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.command.test_command import Desk
from tests.integration.onboard.test_code_login import ASKS, ended
from tests.testbed.banning import failures, most
from tests.testbed.client import new_key
from tests.testbed.code_login import PORT, CodeLogin, code
from tests.testbed.further_sshd import FurtherSshd

pytestmark = [pytest.mark.testbed, turns(3)]

JUDGED = 2228
TEN = 10


def test_ten_accounts_whose_keys_are_refused(bed: Any, tmp_path: Path) -> None:
    door = FurtherSshd(bed.cluster("pegasus"), "judged", JUDGED, {})
    accounts = [bed.new_account("pegasus") for _ in range(TEN)]
    stranger, config = new_key(tmp_path / "stranger"), tmp_path / "ssh_config"
    usual = Path(bed.ssh_config).read_text(encoding="ascii")
    config.write_text(usual.replace(str(bed.key), str(stranger)), encoding="ascii")
    way = {"ansible_port": JUDGED, "ansible_ssh_private_key_file": str(stranger)}
    entry = {"vars": {**way, "ansible_ssh_common_args": f"-F {config}"}}
    desk = Desk(bed, *accounts, settings={account.name: entry for account in accounts})
    for verb in ("onboard", "preflight", "audit"):
        assert desk.types(verb).returncode in (2, 4)
    assert (door.connections, door.accepted) == (3 * TEN, 0), "one attempt each"
    assert max(failures(door.said, tmp_path).values(), default=0) < most()


def test_ten_accounts_where_codes_are_asked_for_and_some_are_mistyped(bed: Any, tmp_path: Path) -> None:
    door = CodeLogin(bed.cluster("narval"))
    accounts = [bed.new_account("narval") for _ in range(TEN)]
    door.admit(accounts)
    entry = {"auth": "ask", "vars": {"ansible_port": PORT, "ansible_ssh_extra_args": ASKS}}
    desk = Desk(bed, *accounts, settings={account.name: entry for account in accounts})
    for verb in ("onboard", "preflight", "audit"):
        assert desk.types(verb).returncode in (2, 4)
    run = desk.at_terminal("onboard", "--tags", "container_caches")
    for number in range(TEN):
        run.expect("One-time password")
        run.sendline("000000" if number in (3, 7) else code())
    exit_code, said = ended(run)
    assert exit_code == 4, said
    for verb in ("onboard", "preflight", "audit"):
        assert desk.types(verb, "--tags", "container_caches").returncode in (2, 4)
    assert (door.connections, door.refused) == (TEN, 2)
    assert max(failures(door.said, tmp_path).values()) < most()


def test_the_judge_bans_whoever_tries_names(bed: Any, tmp_path: Path) -> None:
    door = FurtherSshd(bed.cluster("pegasus"), "judged", JUDGED, {})
    order = ["ssh", "-F", str(bed.ssh_config), "-p", str(JUDGED), bed.cluster("pegasus").host]
    for number in range(6):
        subprocess.run([*order, "-l", f"nobody{number}", "true"], check=False, capture_output=True, timeout=30)
    assert max(failures(door.said, tmp_path).values()) >= most()
