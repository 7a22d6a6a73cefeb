# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts get the Slurm account and the partition of their jobs; judged by what a real Slurm does with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.effort import turns
from tests.integration.runs import play

pytestmark = [pytest.mark.testbed, turns(3)]

SUFFIXES = {"cpu": "_cpu", "gpu": "_gpu"}
PAIR = ["def-pi_cpu", "def-pi_gpu"]
GPU, CPU = "slurm_account", "slurm_cpu_account"


def script(name: str, found: str, *options: str) -> dict[str, Any]:
    """A job script that prints the account that its job is charged to."""
    lines = [f"#SBATCH {option}" for option in (*options, "--output=%x.out", f"--account=@{found}@")]
    content = "\n".join(["#!/bin/bash", *lines, "echo $SLURM_JOB_ACCOUNT", ""])
    return {"kind": "path_script", "path": f"~/{name}.sh", "content": content, "found": [found]}


def converge(
    bed: Any, there: Any, folder: Path, scripts: list[dict[str, Any]], **scheduler: Any
) -> dict[str, tuple[str, str]]:
    """Write these scripts to an account: name -> status and reason."""
    resources = [{"kind": "scheduler", **scheduler}, *scripts]
    playbook = folder / "mine.yml"
    tasks = [{"hpc.onboard.converge": {"resources": resources}}]
    playbook.write_text(yaml.safe_dump([{"hosts": there.name, "gather_facts": False, "tasks": tasks}]))
    ran = play(bed, "-i", str(bed.accounts_file([there])), playbook=str(playbook))
    outcomes = ran.of(there.name)["outcomes"]
    names = {f"script ~/{name}.sh": name for name in ("gpu", "cpu")}
    return {
        names[one["identity"]]: (one["status"], one["reason"] or "") for one in outcomes if one["identity"] in names
    }


def charged(account: Any, name: str) -> str:
    """The account that Slurm charges a script's job to."""
    ran = account.login_shell(f"cd && sbatch --wait {name}.sh", timeout=90)
    assert ran.returncode == 0, ran.stderr
    return str(account.ssh(f"cat {name}.sh.out").stdout.strip())


BOTH = [script("gpu", GPU, "--gpus-per-node=a100:1", "--time=5"), script("cpu", CPU, "--time=5")]


def test_each_script_is_charged_to_the_account_of_its_jobs(bed: Any, tmp_path: Path) -> None:
    slurm = bed.slurm("narval")
    account = bed.new_account("narval")
    slurm.admit(account, PAIR)
    written = converge(bed, account, tmp_path, BOTH, account="def-pi", suffixes=SUFFIXES)
    assert {name: status for name, (status, _reason) in written.items()} == {"gpu": "missing", "cpu": "missing"}
    assert (charged(account, "gpu"), charged(account, "cpu")) == ("def-pi_gpu", "def-pi_cpu")
    chosen = converge(bed, account, tmp_path, BOTH, account="def-pi_gpu", suffixes=SUFFIXES)
    assert chosen == {"gpu": ("ok", ""), "cpu": ("ok", "")}  # each purpose has an account of that project


@pytest.mark.parametrize(
    ("accounts", "setting", "gpu", "cpu"),
    [
        (PAIR, "gone", "'gone' is not one of your Slurm accounts (you have: def-pi_cpu, def-pi_gpu)", None),
        (
            [*PAIR, "rrg-b_cpu", "rrg-b_gpu"],
            "",
            "Set 'scheduler: {account: def-pi}' in the accounts file",
            None,
        ),
        (
            PAIR[:1],
            "def-pi",
            "project 'def-pi' has no Slurm account for jobs with GPUs (you have: def-pi_cpu)",
            "def-pi_cpu",
        ),
        ([], "", "you have no Slurm account on this cluster", None),
    ],
)
def test_scripts_without_an_account_wait_with_what_to_write(
    bed: Any, tmp_path: Path, accounts: list[str], setting: str, gpu: str, cpu: str | None
) -> None:
    slurm = bed.slurm("narval")
    account = bed.new_account("narval")
    if accounts:
        slurm.admit(account, accounts)
    written = converge(bed, account, tmp_path, BOTH, account=setting, suffixes=SUFFIXES)
    assert written["gpu"][0] == "blocked"
    assert gpu in written["gpu"][1]
    assert not account.exists("gpu.sh")
    assert written["cpu"][0] == ("missing" if cpu else "blocked")
    if cpu:
        assert charged(account, "cpu") == cpu


def test_scripts_that_slurm_has_no_partition_for_are_not_written(bed: Any, tmp_path: Path) -> None:
    slurm = bed.slurm("lrz")
    account = bed.new_account("lrz")
    slurm.admit(account)
    usual = [script("gpu", GPU, "--gres=gpu:1", "--time=5"), script("cpu", CPU, "--partition=nonsense", "--time=5")]
    written = converge(bed, account, tmp_path, usual)
    assert written["gpu"] == ("missing", "")
    assert written["cpu"][0] == "blocked"
    assert "Slurm does not list the partition 'nonsense' (available to you: lrz-cpu, lrz-" in written["cpu"][1]
    slurm.cluster.world.run("scontrol", "update", "PartitionName=lrz-v100x2", "Default=NO", "MaxTime=60")
    try:
        other = bed.new_account("lrz")
        slurm.admit(other)
        named = [usual[0], script("cpu", CPU, "--partition=lrz-v100x2", "--time=90")]
        written = converge(bed, other, tmp_path, named)
        assert [status for status, _reason in written.values()] == ["blocked", "blocked"]
        assert "Slurm has no default partition on this cluster, so the job must name one" in written["gpu"][1]
        assert "allows at most 60 minutes, but the job requests 90" in written["cpu"][1]
        said = other.login_shell("sbatch --test-only --gres=gpu:1 --wrap=true").stderr
        assert "No partition specified" in said, "Slurm says the same"
    finally:
        slurm.cluster.world.run("scontrol", "reconfigure")
