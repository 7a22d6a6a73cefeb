# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of jobs on a real Slurm: it takes every one of them, and they do on its nodes what they are for."""

from __future__ import annotations

import io
import tarfile
import time
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import onboard

pytestmark = pytest.mark.testbed

ONLY = ("--tags", "job_scripts")
SITES = ("lrz", "dfki", "pegasus", "wilson", "narval", "daint")
FOLDERS = {"wilson": "/work1/{project}/{user}/jobs"}  # elsewhere in the home
NODES = {"daint": 2, "dfki": 2, "narval": 2}  # with GPUs, which the other stand-ins have one of
NUMBERED = ("batch", "gpus", "nodes")
STEP = b"""#!/bin/bash
IFS=, read -ra gpus <<<"${CUDA_VISIBLE_DEVICES:-}"
echo "step on $SLURMD_NODENAME with ${#gpus[@]} GPUs for $SLURM_JOB_ACCOUNT"
if [ -n "${MASTER_PORT:-}" ]; then echo "master $MASTER_ADDR"; fi
if [ -n "${CHECKPOINT+x}" ]; then sleep 1; touch "checkpoints/$SLURM_ARRAY_TASK_ID.pt"; fi
if [ -n "${RESULTS:-}" ]; then cp "$DATA/one" "$RESULTS/two"; fi
"""


def archive() -> bytes:
    """Data of one file, as an archive."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as made:
        one = tarfile.TarInfo("one")
        one.size = 4
        made.addfile(one, io.BytesIO(b"data"))
    return content.getvalue()


def submitted(account: Any, folder: str, line: str) -> str:
    """Submit a script as the user does; its number."""
    node = "export SLURM_TMPDIR=/tmp/$USER"  # the site's Slurm sets it in its jobs
    done = account.login_shell(f"{node} && cd {folder} && sbatch --parsable {line}", timeout=60)
    assert done.returncode == 0, done.stderr
    return str(done.stdout.strip())


def outputs(account: Any, folder: str, pattern: str, number: int = 1) -> list[str]:
    """What so many jobs printed, when Slurm says that none is left."""
    deadline = time.monotonic() + 60
    while account.login_shell("squeue -h -u $USER").stdout.strip():
        assert time.monotonic() < deadline, account.login_shell("squeue -u $USER").stdout
        time.sleep(0.5)
    files = sorted(account.path(f"{folder}/output").glob(pattern))
    assert len(files) == number, pattern
    return [file.read_text() for file in files]


@pytest.mark.parametrize("site", [pytest.param(site, marks=turns(len(SITES))) for site in SITES])
def test_slurm_takes_every_script_and_each_does_what_it_is_for(bed: Any, site: str) -> None:
    slurm = bed.slurm(site)
    account = bed.new_account(site, files={"step": STEP})
    account.ssh("chmod 755 . step")
    slurm.admit(account)
    folder = FOLDERS.get(site, "{home}/jobs").format(user=account.user, project=account.project, home=account.home)
    nodes = NODES.get(site, 1)
    wishes = {"templates": ["all"], "command": f"{account.home}/step", "nodes": nodes, "links": 2, "ask_slurm": True}
    said = {account.name: {"job_scripts": {**wishes, "account": account.project}}}
    before = account.tree()
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 0, ran.text
    remarks = [one for outcome in ran.outcomes(account.name) for one in outcome["remarks"]]
    assert len(remarks) >= 5
    assert [one for one in remarks if not one.startswith("Slurm would accept ")] == []
    assert not onboard(bed, account, more=ONLY, settings=said).of(account.name)["changed"]

    account.path(f"{folder}/data.tar").write_bytes(archive())
    for name in NUMBERED:
        submitted(account, folder, f"{name}.sh")
    submitted(account, folder, "staging.sh data.tar")
    submitted(account, folder, "chain.sh")
    batch = outputs(account, folder, "batch-*.out")[0]
    assert batch.endswith(f"with 1 GPUs for {account.project}\n")
    assert "with 2 GPUs for" in outputs(account, folder, "gpus-*.out")[0]
    several = outputs(account, folder, "nodes-*.out")[0]
    assert several.count("with 2 GPUs for") == nodes
    assert len({line.split()[2] for line in several.splitlines() if line.startswith("step on")}) == nodes
    first, second = outputs(account, folder, "chain-*.out", 2)
    assert first.startswith("link 1 begins with nothing\n")
    assert second.startswith("link 2 begins with checkpoints/1.pt\n")
    outputs(account, folder, "staging-*.out")
    (results,) = account.path(f"{folder}/output").glob("results-*.tar")
    with tarfile.open(results) as made:
        assert "./two" in made.getnames()

    shell = account.login_shell(f"{folder}/interactive.sh {account.home}/step", timeout=60)
    assert "with 1 GPUs for" in shell.stdout, shell.stderr
    assert set(before) <= set(account.tree())


@turns(3)
def test_who_names_no_account_has_scripts_that_name_the_one_that_slurm_knows(bed: Any) -> None:
    slurm = bed.slurm("daint")
    account = bed.new_account("daint", files={"step": STEP})
    account.ssh("chmod 755 . step")
    slurm.admit(account, ["lattice"])
    said = {account.name: {"job_scripts": {"templates": ["batch", "interactive"], "command": f"{account.home}/step"}}}
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 0, ran.text
    assert b"#SBATCH --account=lattice\n" in account.read("jobs/batch.sh")
    submitted(account, "jobs", "batch.sh")
    assert outputs(account, "jobs", "batch-*.out")[0].endswith("for lattice\n")
    assert "for lattice" in account.login_shell(f"jobs/interactive.sh {account.home}/step", timeout=60).stdout

    other = bed.new_account("daint")
    slurm.admit(other, ["lattice", "optics"])
    said = {other.name: {"job_scripts": {"templates": ["batch"]}}}
    waits = onboard(bed, other, more=ONLY, settings=said)
    assert waits.code == 2
    assert "you have several Slurm accounts (lattice, optics). Choose one" in " ".join(waits.text.split())
    assert not other.exists("jobs/batch.sh")
    said[other.name]["scheduler"] = {"account": "optics"}
    assert onboard(bed, other, more=ONLY, settings=said).code == 0
    assert b"#SBATCH --account=optics\n" in other.read("jobs/batch.sh")


@turns(3)
def test_a_script_that_slurm_would_not_take_is_said_in_words(bed: Any) -> None:
    slurm = bed.slurm("narval")
    account = bed.new_account("narval")
    slurm.admit(account)
    wishes = {"templates": ["batch"], "ask_slurm": True, "account": account.project, "partition": "nosuch"}
    ran = onboard(bed, account, more=ONLY, settings={account.name: {"job_scripts": wishes}})
    assert ran.code == 0, ran.text
    words = " ".join(ran.text.split())
    assert "Slurm would not accept ~/jobs/batch.sh: error: invalid partition specified: nosuch" in words
    assert slurm.jobs(account) == []


@turns(3)
def test_a_script_that_was_changed_there_is_the_persons_and_stays(bed: Any) -> None:
    account = bed.new_account("narval")
    said = {account.name: {"job_scripts": {"templates": ["batch", "chain"]}}}
    assert onboard(bed, account, more=ONLY, settings=said).code == 0
    account.ssh("sed -i s/hostname/mine/ jobs/batch.sh")
    mine = account.read("jobs/batch.sh")
    said[account.name]["job_scripts"]["minutes"] = 90
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 2
    assert "jobs/batch.sh was changed by hand since we wrote it" in " ".join(ran.text.split())
    assert account.read("jobs/batch.sh") == mine
    assert b"--time=90" in account.read("jobs/chain.sh")
