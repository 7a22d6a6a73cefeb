# SPDX-License-Identifier: GPL-3.0-or-later
"""What Slurm lets an account do, found by the run that sets it up: judged by what a job is really counted for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.effort import exhaustive, turns
from tests.integration.command.desk import Desk
from tests.integration.runs import Ran, play

pytestmark = [pytest.mark.testbed, turns(6)]

COUNTING = b"""#!/bin/sh
echo "$(basename "$0")" >> "$HOME/asked"
exec "/usr/bin/$(basename "$0")" "$@"
"""
PROGRAMS = ("sacctmgr", "sinfo", "sshare")
REQUIRED: dict[str, Any] = {"vars": {"launchers_account_required": True}}  # as a profile says it
COUNTED = "usrun.sh --image=none --gpus=0 --time=5 sh -c 'echo $SLURM_JOB_ACCOUNT'"


class Person:
    """A person with an account on a cluster with a Slurm whose programs note that they were started."""

    def __init__(self, bed: Any, site: str) -> None:
        self.bed, self.slurm = bed, bed.slurm(site)
        files = {f"counting/{one}": COUNTING for one in PROGRAMS}
        self.account = bed.new_account(site, files={**files, ".bash_profile": b"PATH=$HOME/counting:$PATH\n"})
        self.account.ssh("chmod +x counting/*; touch asked")

    def runs(self, playbook: str = "onboard.yml", *words: str, **said: Any) -> Ran:
        """Run a playbook over the account. said: what the accounts file says of it."""
        file = self.bed.accounts_file([self.account], settings={self.account.name: said})
        return play(self.bed, "-i", str(file), *words, playbook=playbook)

    def findings(self, folder: Path, **said: Any) -> dict[str, Any]:
        """What an audit finds about Slurm: rule and place -> finding."""
        wishes = {"audit_output": str(folder), "audit_formats": "json", "audit_max_age": 100_000}
        ran = self.runs("audit.yml", "-e", json.dumps(wishes), **said)
        assert ran.code in (0, 2), ran.text
        every = json.loads((folder / "audit.json").read_text())["findings"]
        return {f"{one['rule']} {one['place']}".strip(): one for one in every if one["resource"] == "Slurm"}

    def asked(self) -> list[str]:
        """The programs of Slurm that were started since this was asked last."""
        said: str = self.account.ssh("cat asked; : > asked").stdout
        return sorted(said.split())

    def script(self) -> str:
        """The line of usrun.sh that says the account; empty where there is no script."""
        line: str = self.account.login_shell('grep -m1 ^gpu_account= "$(command -v usrun.sh)" </dev/null').stdout
        return line.strip().removeprefix("gpu_").replace("'", "")

    def counted_for(self) -> str:
        """The account of a real job."""
        ran = self.account.login_shell(f"cd /tmp && {COUNTED}", timeout=60)
        assert ran.returncode == 0, ran.stderr
        return str(ran.stdout.strip())

    def signal_database(self, name: str) -> None:
        """Send a signal to what answers for Slurm's database."""
        self.slurm.cluster.world.run("sh", "-c", f"kill -{name} $(cat /run/slurm/state/slurmdbd.pid)")


def test_one_account_is_used_and_asked_for_once_a_day(bed: Any) -> None:
    person = Person(bed, "daint")
    person.slurm.admit(person.account, ["lattice"])
    person.account.reset_sessions()
    first = person.runs()
    assert first.code == 0, first.text
    assert person.account.sessions() == 1, "in the same trip"
    assert person.script() == "account=lattice"
    assert person.counted_for() == "lattice"
    assert person.asked() == ["sacctmgr", "sinfo"]
    again = person.runs()
    assert "1 account: 1 unchanged" in again.text, again.text
    assert person.asked() == []
    told = Desk(bed, person.account).types("status").stdout
    assert "account lattice;" in told
    assert "GPUs gh200; as of" in " ".join(told.split())
    assert person.asked() == [], "from records alone"


def test_of_several_accounts_one_is_chosen(bed: Any, tmp_path: Path) -> None:
    person = Person(bed, "daint")
    person.slurm.admit(person.account, ["lattice", "optics"])
    waits = person.runs(**REQUIRED)
    assert waits.code == 2
    assert "you have several Slurm accounts (lattice, optics). Set" in " ".join(waits.text.split())
    assert person.script() == ""
    found = person.findings(tmp_path / "first", **REQUIRED)
    assert found["JOB-004 Slurm account"]["severity"] == "low"

    chosen: dict[str, Any] = {**REQUIRED, "scheduler": {"account": "optics"}}
    assert person.runs(**chosen).code == 0
    assert (person.script(), person.counted_for()) == ("account=optics", "optics")
    assert not [rule for rule in person.findings(tmp_path / "second", **chosen) if rule < "JOB-002" or rule > "JOB-003"]

    person.slurm.dismiss(person.account, "optics")
    gone = person.findings(tmp_path / "third", **chosen)["JOB-001 optics"]
    assert (gone["severity"], gone["cause"]) == ("high", "site")
    assert "lattice" in gone["text"]
    ended = person.runs(**chosen)
    assert ended.code == 2
    assert "'optics' is not one of your Slurm accounts (you have: lattice)" in " ".join(ended.text.split())
    assert person.runs().code == 0
    assert person.counted_for() == "lattice"


def test_who_has_no_account_is_told(bed: Any, tmp_path: Path) -> None:
    person = Person(bed, "daint")
    ran = person.runs(**REQUIRED)
    assert ran.code == 2
    assert "you have no Slurm account on this cluster" in " ".join(ran.text.split())
    assert person.findings(tmp_path, **REQUIRED)["JOB-001 Slurm account"]["severity"] == "high"


def test_what_the_profile_names_and_slurm_has_not_is_found(bed: Any, tmp_path: Path) -> None:
    person = Person(bed, "lrz")
    person.slurm.admit(person.account, ["pr12ab"], qos=["normal"])
    assert person.runs().code == 0
    found = person.findings(tmp_path)
    assert set(found) == {"JOB-002 the profile's other partitions", "JOB-003 cpu"}
    assert "lrz-dgx-1-p100x8" in found["JOB-002 the profile's other partitions"]["text"]
    assert found["JOB-003 cpu"]["severity"] == "medium"
    person.slurm.cluster.world.run("scontrol", "delete", "PartitionName=lrz-cpu")
    try:
        assert person.findings(tmp_path / "then")["JOB-002 lrz-cpu"]["severity"] == "medium"
    finally:
        person.slurm.cluster.world.run("scontrol", "reconfigure")


@pytest.mark.parametrize("trouble", [pytest.param("STOP", marks=exhaustive), "TERM"])
def test_a_database_that_does_not_answer_is_no_failure(bed: Any, trouble: str, tmp_path: Path) -> None:
    person = Person(bed, "wilson")
    person.slurm.admit(person.account, ["lattice"])
    assert person.runs().code == 0
    assert person.script() == "account=lattice"
    person.asked()
    person.signal_database(trouble)
    try:
        found = person.findings(tmp_path)
        assert person.asked() == list(PROGRAMS)
        assert "JOB-001 Slurm account" not in found
        assert "sacctmgr" in found["RUN-001"]["text"]
        assert person.runs().code == 0
        assert person.script() == "account=lattice"
        other = Person(bed, "wilson")
        ran = other.runs()
        assert ran.code == 0, ran.text
    finally:
        if trouble == "STOP":
            person.signal_database("CONT")
        else:
            person.slurm.cluster.world.run("slurmdbd")


def test_a_site_without_slurms_programs_is_set_up_all_the_same(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("daint", project="lattice", files={".bash_profile": b"PATH=$HOME/none\n"})
    ran = play(bed, "-i", str(bed.accounts_file([account])))
    assert ran.code == 0, ran.text
    assert account.ssh("grep -m1 ^gpu_account= bin/usrun.sh").stdout == "gpu_account='lattice'\n"
    wishes = {"audit_output": str(tmp_path), "audit_formats": "json", "audit_max_age": 100_000}
    play(bed, "-i", str(bed.accounts_file([account])), "-e", json.dumps(wishes), playbook="audit.yml")
    found = json.loads((tmp_path / "audit.json").read_text())["findings"]
    assert [one for one in found if one["resource"] == "Slurm"] == []
