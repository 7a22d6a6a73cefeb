# SPDX-License-Identifier: GPL-3.0-or-later
"""What is noted on an account: clusters that share a home let each other be, and damage stops what is made."""

from __future__ import annotations

import binascii
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.onboard.test_offboard import tree
from tests.integration.runs import REPOSITORY, Ran, play

pytestmark = pytest.mark.testbed

RECEIPT = ".config/hpc.onboard/receipt.json"


TEE = """#!/bin/sh
for last; do :; done
[ "$last" = boot ] || exec {python} "$@"
tee {file} | {python} "$@"
"""


def test_no_account_is_sent_the_key_of_this_machine_nor_that_of_another(bed: Any, tmp_path: Path) -> None:
    names = ("ada@lrz", "bob@lrz")
    document: dict[str, Any] = {"plugin": "hpc.onboard.accounts", "sandbox": True, "accounts": {}}
    for name in names:
        program = tmp_path / f"python-{name[:3]}"
        program.write_text(TEE.format(python=sys.executable, file=tmp_path / name))
        program.chmod(0o755)
        document["accounts"][name] = {"vars": {"ansible_python_interpreter": str(program)}}
    (tmp_path / "accounts.yml").write_text(yaml.safe_dump(document))
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    ran = play(bed, "-i", str(tmp_path / "accounts.yml"), environment=state)
    assert ran.code == 0, ran.text
    own = (tmp_path / "state" / "hpc.onboard" / "fingerprint.key").read_text().strip()
    sent = [plan_in((tmp_path / name).read_bytes()) for name in names]
    keys = [json.loads(text)["plan"]["fingerprint_key"] for text in sent]
    assert len({own, *keys}) == 3
    for text, other in zip(sent, reversed(keys), strict=True):
        assert own not in text
        assert other not in text


def plan_in(content: bytes) -> str:
    """The last block of what an account was sent: its plan, as JSON."""
    return zlib.decompress(binascii.a2b_base64(content[content.rindex(b"#") + 1 :])).decode()


class Home:
    """One home that two clusters share, as LRZ's AI Systems and its Linux Cluster do; the second one's name ends so."""

    SECOND = "lrz_linux"

    def __init__(self, bed: Any) -> None:
        self.bed = bed
        self.account = bed.new_account("lrz")
        self.first, self.second = self.account.name, f"{self.account.user}@{self.SECOND}"
        self.inventory = Path(bed.accounts_file([self.account]))
        folder = self.inventory.parent / "profiles"
        folder.mkdir()
        profile = (
            (REPOSITORY / "inventory" / "clusters" / "lrz.yml").read_text().replace("id: lrz", f"id: {self.SECOND}")
        )
        (folder / f"{self.SECOND}.yml").write_text(profile)
        document = yaml.safe_load(self.inventory.read_text())
        entry = document["accounts"][self.first]
        environment = {
            "shell_environment": {"variables": {"OF_THE": "linux cluster"}},
            "without": ["enroot_credentials"],
        }
        document["accounts"][self.second] = {**entry, **environment}
        self.inventory.write_text(yaml.safe_dump({**document, "profiles": ["profiles"]}))

    def run(self, playbook: str, *names: str) -> Ran:
        """A run over these of the two accounts."""
        sure = ("-e", "offboard_sure=true")
        order = ("-i", str(self.inventory), "-l", ",".join(names or (self.first, self.second)), *sure)
        return play(self.bed, *order, playbook=playbook)

    def clusters(self) -> dict[str, list[str]]:
        """What is noted as declared, and for which clusters."""
        noted = json.loads(self.account.read(RECEIPT))["resources"].values()
        return {one["kind"]: one["clusters"] for one in noted if not one["for"]}

    def names(self) -> set[str]:
        """What lies in the home."""
        return {path.removeprefix(f"{self.account.home}/") for path in tree(self.account)}


def test_clusters_that_share_a_home_leave_each_others_things_alone(bed: Any) -> None:
    home = Home(bed)
    before = tree(home.account)
    assert home.run("onboard.yml").code == 0
    assert home.clusters() == {
        "storage_link": ["lrz", home.SECOND], "enroot_credential": ["lrz"], "shell_environment": [home.SECOND],
        "directory": ["lrz", home.SECOND], "path_script": ["lrz", home.SECOND],
    }  # fmt: skip
    again = home.run("onboard.yml")
    assert "2 accounts: 2 unchanged" in again.text
    audit = home.run("audit.yml")
    assert audit.code == 0, audit.text
    assert "ORP-001" not in audit.text
    left = home.run("offboard.yml", home.first)
    assert left.code == 0, left.text
    assert f"not removed, because this resource is also set up for {home.SECOND}" in " ".join(left.text.split())
    assert {"dss", ".config/hpc.onboard/env.sh"} <= home.names()
    assert "enroot/.credentials" not in home.names()
    other = home.run("audit.yml", home.second)
    assert other.code == 0, other.text
    assert "2 accounts" not in other.text
    assert home.run("offboard.yml", home.second).code == 0
    assert tree(home.account) == before


MOVED = f"mv -n ~/{RECEIPT} ~/receipt.json.damaged"


def test_a_damaged_receipt_stops_what_would_be_made_and_is_told(bed: Any) -> None:
    home = Home(bed)
    home.account.ssh(f"mkdir -p .config/hpc.onboard && echo '{{' > {RECEIPT}")
    before = tree(home.account)
    for playbook in ("onboard.yml", "offboard.yml", "audit.yml"):
        ran = home.run(playbook, home.first)
        assert ran.code == 2, ran.text
        said = " ".join(ran.text.split())
        assert (
            "~/.config/hpc.onboard/receipt.json, the record of what hpc-onboard created on this account, is damaged"
            in said
        )
        assert ("RUN-003" in said) == (playbook == "audit.yml")
        assert f"rename the file ({MOVED}), then run hpc-onboard again" in said
    assert tree(home.account) == before
    home.account.ssh(MOVED)
    assert home.run("onboard.yml", home.first).code == 0
