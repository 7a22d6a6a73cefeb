# SPDX-License-Identifier: GPL-3.0-or-later
"""Daint and Clariden have one home: what the run of one makes there is not changed by the run of the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.audit.audit_scene import by_root
from tests.integration.onboard.test_offboard import tree
from tests.integration.runs import Ran, play

pytestmark = pytest.mark.testbed

SCRATCH = {"daint": "/capstor/scratch/cscs/{user}", "clariden": "/iopsstor/scratch/cscs/{user}"}
SITE = "/etc/profile.d/zz-of-this-cluster.sh"


class Home:
    """One home, which is entered as that of either cluster; a login shell there says which one it is."""

    def __init__(self, bed: Any) -> None:
        self.bed = bed
        self.account = bed.new_account("daint", project="swissproject")
        user = self.account.user
        self.names = {cluster: f"{user}@{cluster}" for cluster in SCRATCH}
        self.inventory = Path(bed.accounts_file([self.account]))
        document = yaml.safe_load(self.inventory.read_text())
        document["accounts"][self.names["clariden"]] = document["accounts"][self.account.name]
        self.inventory.write_text(yaml.safe_dump(document))
        store = f"/capstor/store/cscs/swissai/{self.account.project}"
        for folder in (SCRATCH["clariden"].format(user=user), store):
            by_root(self.account, f"mkdir -p {folder} && chown {user} {folder}")

    def run(self, playbook: str, cluster: str) -> Ran:
        """A run over the account as that of this cluster."""
        by_root(self.account, f"echo 'export SCRATCH={SCRATCH[cluster].format(user=self.account.user)}' >{SITE}")
        order = ("-i", str(self.inventory), "-l", self.names[cluster], "-e", "offboard_sure=true")
        return play(self.bed, *order, playbook=playbook)

    def end(self) -> None:
        by_root(self.account, f"rm -f {SITE}")


def test_two_clusters_with_one_home_do_not_change_each_others_things(bed: Any) -> None:
    home = Home(bed)
    before = tree(home.account)
    try:
        for cluster in SCRATCH:
            ran = home.run("onboard.yml", cluster)
            assert ran.code == 0, ran.text
        both = tree(home.account)
        for cluster in SCRATCH:
            ran = home.run("onboard.yml", cluster)
            assert "1 account: 1 unchanged" in ran.text, ran.text
            ran = home.run("audit.yml", cluster)
            assert ran.code == 0, ran.text
        assert tree(home.account) == both
        assert home.run("offboard.yml", "clariden").code == 0
        ran = home.run("onboard.yml", "daint")
        assert "1 account: 1 unchanged" in ran.text, ran.text
        assert home.run("offboard.yml", "daint").code == 0
        assert tree(home.account) == before
    finally:
        home.end()
