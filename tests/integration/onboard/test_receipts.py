# SPDX-License-Identifier: GPL-3.0-or-later
"""What is noted on an account: clusters that share a home let each other be, and damage stops what is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.onboard.test_offboard import tree
from tests.integration.runs import REPOSITORY, Ran, play

pytestmark = pytest.mark.testbed

RECEIPT = ".config/hpc.onboard/receipt.json"


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
        order = ("-i", str(self.inventory), "-l", ",".join(names or (self.first, self.second)))
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
    }  # fmt: skip
    again = home.run("onboard.yml")
    assert "2 accounts: 2 as wanted" in again.text
    audit = home.run("audit.yml")
    assert audit.code == 0, audit.text
    assert "ORP-001" not in audit.text
    left = home.run("offboard.yml", home.first)
    assert left.code == 0, left.text
    assert f"set up for {home.SECOND}, too: it stays" in " ".join(left.text.split())
    assert {"dss", ".config/hpc.onboard/env.sh"} <= home.names()
    assert "enroot/.credentials" not in home.names()
    other = home.run("audit.yml", home.second)
    assert other.code == 0, other.text
    assert "2 accounts" not in other.text
    assert home.run("offboard.yml", home.second).code == 0
    assert tree(home.account) == before


def test_a_damaged_receipt_stops_what_would_be_made_and_is_told(bed: Any) -> None:
    home = Home(bed)
    home.account.ssh(f"mkdir -p .config/hpc.onboard && echo '{{' > {RECEIPT}")
    before = tree(home.account)
    for playbook in ("onboard.yml", "offboard.yml", "audit.yml"):
        ran = home.run(playbook, home.first)
        assert ran.code == 2, ran.text
        said = " ".join(ran.text.split())
        assert "~/.config/hpc.onboard/receipt.json (what was made on this account) is damaged" in said
        assert ("RUN-003" in said) == (playbook == "audit.yml")
    assert tree(home.account) == before
