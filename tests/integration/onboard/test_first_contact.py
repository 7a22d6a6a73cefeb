# SPDX-License-Identifier: GPL-3.0-or-later
"""The host key of a login node that was never met: compared with what the site publishes, trusted by a person alone."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pexpect
import pytest
import yaml

from tests.integration.command.test_command import Desk
from tests.integration.onboard.test_code_login import ended
from tests.integration.runs import REPOSITORY

pytestmark = pytest.mark.testbed

OTHER = "SHA256:" + "A" * 43


class Stranger(Desk):
    """Somebody who never met the login node of their one account."""

    def __init__(self, bed: Any, folder: Path, published: str) -> None:
        self.account = bed.new_account("pegasus")
        self.known = folder / "known_hosts"
        profile = yaml.safe_load((REPOSITORY / "inventory/clusters/dfki_pegasus.yml").read_text(encoding="utf-8"))
        profile["login"]["host_keys"] = [published]
        (folder / "own").mkdir()
        (folder / "own" / "dfki_pegasus.yml").write_text(yaml.safe_dump(profile), encoding="utf-8")
        ask = f"-o StrictHostKeyChecking=ask -o UserKnownHostsFile={self.known} -o HashKnownHosts=no"
        super().__init__(bed, self.account, settings={self.account.name: {"vars": {"ansible_ssh_extra_args": ask}}})
        text = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        self.file.write_text(yaml.safe_dump({**text, "profiles": [str(folder / "own")]}), encoding="utf-8")


def shown_by(bed: Any) -> str:
    """The fingerprint of the login node's key, as ssh-keygen says it."""
    order = ["ssh-keygen", "-lf", f"{bed.folder}/pegasus.key.pub"]
    return subprocess.run(order, check=True, capture_output=True, text=True).stdout.split()[1]


def test_a_key_that_the_site_publishes_is_said_to_be_so_and_the_person_decides(bed: Any, tmp_path: Path) -> None:
    desk = Stranger(bed, tmp_path, shown_by(bed))
    assert desk.types("onboard").returncode == 4
    told = desk.types("preflight").stdout
    assert "host key unknown" in told
    assert f"connect -l {desk.account.name}" in told
    assert desk.types("connect").returncode == 2, "there is no terminal"
    assert not desk.known.exists()
    for answer, exit_code in (("no", 2), ("yes", 0)):
        run = desk.at_terminal("connect")
        run.expect("publishes this host")
        run.sendline(answer)
        code, said = ended(run)
        assert code == exit_code, said
    assert "pegasus" in desk.known.read_text(encoding="ascii")
    assert desk.types("onboard").returncode == 0


def test_a_key_that_the_site_does_not_publish_ends_the_attempt(bed: Any, tmp_path: Path) -> None:
    desk = Stranger(bed, tmp_path, OTHER)
    run = desk.at_terminal("connect")
    run.expect(pexpect.EOF)
    run.close()
    said = " ".join(str(run.before).split())
    assert run.exitstatus == 2, said
    assert shown_by(bed) in said.replace(" ", "")
    assert OTHER in said.replace(" ", "")
    assert not desk.known.exists() or desk.known.read_text() == ""
    assert desk.account.logins() == 0
