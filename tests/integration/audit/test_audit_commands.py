# SPDX-License-Identifier: GPL-3.0-or-later
"""What an audit says to do: a command runs as it is printed, whatever the playbook is called; advice is no command."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import local_words

from tests.integration.runs import REPOSITORY
from tests.testbed.client import Client

from .audit_scene import Scene, by_root

AUDIT = "- import_playbook: hpc.onboard.audit\n"
PRACTISED = """plugin: hpc.onboard.accounts
sandbox: true
accounts:
  simone@wilson: {{project: deep_lgt, path_scripts: {{scripts: [{scripts}]}}}}
"""
SCRIPT = r'{name: hello, content: "#!/bin/sh\necho hello\n"}'
AWAY = """plugin: hpc.onboard.accounts
profiles: [clusters]
accounts:
  simone@old:
    project: deep_lgt
    vars: {ansible_host: 127.0.0.1, ansible_port: 1, ansible_ssh_common_args: ''}
"""


class Desk:
    """A folder of a person's own, away from the checkout: an accounts file and playbooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.accounts = folder / "my accounts.yml"
        self._client = Client(folder)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program in that folder."""
        own = {
            "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"),
            "ANSIBLE_INVENTORY_ENABLED": "hpc.onboard.accounts",
            "ANSIBLE_STDOUT_CALLBACK": "hpc.onboard.console",
            "XDG_STATE_HOME": str(self.folder / "state"),
        }
        return self._client.run(*words, cwd=self.folder, env=own)

    def audit(self, playbook: str) -> dict[str, Any]:
        """Run an audit by that playbook, and read its report."""
        done = self.run("ansible-playbook", "-i", self.accounts.name, playbook, "-e", "audit_output=report")
        assert done.returncode == 2, done.stdout + done.stderr
        report: dict[str, Any] = json.loads((self.folder / "report" / "audit.json").read_text())
        return report


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("playbook", ["my plays/weekly-audit.yml", "site.yml"])
def test_the_commands_of_a_report_run_as_they_are_printed(desk: Desk, playbook: str) -> None:
    (desk.folder / playbook).parent.mkdir(exist_ok=True)
    (desk.folder / playbook).write_text(AUDIT)
    desk.accounts.write_text(PRACTISED.format(scripts=SCRIPT))
    done = desk.run("ansible-playbook", "-i", desk.accounts.name, "hpc.onboard.onboard")
    assert done.returncode == 0, done.stdout + done.stderr
    desk.accounts.write_text(PRACTISED.format(scripts=""))
    (desk.folder / ".sandbox/simone@wilson/home/simone/work").unlink()
    found = {one["rule"]: one["fix"] for one in desk.audit(playbook)["findings"]}
    for rule, says in (("LNK-001", "~/work"), ("ORP-001", "~/bin/hello")):
        (words,) = map(local_words, found[rule])
        done = desk.run(*shlex.split(shlex.join([*(words or []), "--check"])))
        assert (done.returncode, says in done.stdout) == (0, True), (words, done.stdout + done.stderr)


def test_an_advice_is_told_and_a_command_alone_can_be_copied(desk: Desk) -> None:
    desk.accounts.write_text(AWAY)
    (desk.folder / "clusters").mkdir()
    wilson = (REPOSITORY / "inventory/clusters/wilson.yml").read_text()
    aged = re.sub(r"(?m)^verified_on: .*", "verified_on: 2020-01-01", wilson.replace("id: wilson", "id: old", 1))
    (desk.folder / "clusters/old.yml").write_text(aged)
    (desk.folder / "site.yml").write_text(AUDIT)
    found = {one["rule"]: one["fix"] for one in desk.audit("site.yml")["findings"]}
    (step,) = found["PRO-001"]
    assert (step["kind"], "update verified_on" in step["text"]) == ("advice", True)
    page = Copied()
    page.feed((desk.folder / "report" / "audit.html").read_text())
    steps = [step for fix in found.values() for step in fix]
    assert page.texts == [shlex.join(words) for words in map(local_words, steps) if words]
    assert "update verified_on" in "".join(page.advice)


QUOTA = """Disk quotas for user someuser (uid 12345):
     Filesystem   space   quota   limit   grace   files   quota   limit   grace
/dev/mapper/work    21G*    20G     30G   6days     12       0       0
/dev/mapper/more    95G    100G    105G             12       0       0
"""


@pytest.mark.testbed
def test_a_quota_is_as_bad_as_the_account_measured_it(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("wilson")
    scene = Scene(bed, tmp_path, [account])
    by_root(account, f"printf '%s' '{QUOTA}' > /var/tmp/quota-{account.user}")
    found = {one["place"]: one["severity"] for one in scene.audit().of(account) if one["rule"] == "USE-001"}
    assert found == {"/dev/mapper/work": "high", "/dev/mapper/more": "medium"}


class Copied(HTMLParser):
    """The fixes of a page: what has a button to copy it, and what is a sentence."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.advice: list[str] = []
        self._fix = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "p":
            self._fix = dict(attrs).get("class") or ""
        if tag == "code" and self._fix == "fix command":
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("p", "code"):
            self._fix = ""

    def handle_data(self, data: str) -> None:
        if self._fix == "fix command":
            self.texts[-1] += data
        elif self._fix == "fix":
            self.advice.append(data)
