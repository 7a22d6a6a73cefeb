# SPDX-License-Identifier: GPL-3.0-or-later
"""usrun.sh on a real Slurm, set up over real ssh: judged by what the step on the node was given."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.effort import turns
from tests.integration.runs import REPOSITORY, keyring_environment

pytestmark = pytest.mark.testbed

IMAGE = "/images/a.sqsh"
STEP = b"""#!/bin/bash
printf '%s\\0' "$#" "$@" "$PWD"
env -0
"""
WORDS = ["a b", "q'q", '"', "", "$HOME", "*", "two\nlines", "\u00e4", "--gpus=9"]
SITES = {  # where it is run, and what the step finds in its environment there
    "lrz": ("~/dss", {"STANDIN_IMAGE": IMAGE, "SLURM_JOB_PARTITION": "lrz-v100x2"}),
    "dfki": ("/data/{user}", {"STANDIN_IMAGE": IMAGE, "STANDIN_MOUNTS": "/data:/data,{home}:{home}"}),
    "pegasus": ("/netscratch/{user}", {"STANDIN_IMAGE": IMAGE, "SLURM_JOB_PARTITION": "RTX3090"}),
    "wilson": (
        "~/work",
        {
            "STANDIN_IMAGE": IMAGE,
            "STANDIN_GPU": "yes",
            "STANDIN_HOME": "/work1/{project}/{user}",
            "SLURM_JOB_PARTITION": "gpu_gce",
            "SLURM_JOB_QOS": "opp",
        },
    ),
    "narval": ("/scratch/{user}", {"STANDIN_IMAGE": IMAGE, "STANDIN_GPU": "yes"}),
    "daint": ("/capstor/scratch/cscs/{user}", {"STANDIN_ENVIRONMENT": IMAGE}),
}


PARTITIONS = {  # with two GPUs in a node; Slurm's default of the testbed has them, too
    "lrz": {"partition": "lrz-v100x2"},
    "pegasus": {"partition": "RTX3090", "cpu_partition": "RTX3090"},
}


class Step(NamedTuple):
    """What a step was given."""

    words: list[str]
    folder: str
    environment: dict[str, str]


def run(account: Any, folder: str, *options: str, words: list[str]) -> Step:
    """Run the step in a folder, as the user does who has just logged in."""
    command = shlex.join(["usrun.sh", *options, f"{account.home}/step", *words])
    ran = account.login_shell(f"cd {folder} && {command}", timeout=60)
    assert ran.returncode == 0, ran.stderr
    number, *rest = ran.stdout.rstrip("\0").split("\0")
    end = int(number)
    return Step(rest[:end], rest[end], dict(one.split("=", 1) for one in rest[end + 1 :]))


@pytest.mark.parametrize("site", [pytest.param(site, marks=turns(len(SITES))) for site in SITES])
def test_the_same_words_run_a_command_on_a_gpu_of_every_site(bed: Any, site: str) -> None:
    slurm = bed.slurm(site)
    account = bed.new_account(site, files={"step": STEP})
    account.ssh("chmod +x step")
    slurm.admit(account)
    settings = {account.name: {"launchers": PARTITIONS.get(site, {})}}
    ran = bed.ansible(
        "onboard.yml", "-i", str(bed.accounts_file([account], settings=settings)),
        cwd=REPOSITORY, env=keyring_environment(Path(bed.folder)),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    names = {"user": account.user, "home": account.home, "project": account.project}
    folder = SITES[site][0].format_map(names)
    wanted = {name: value.format_map(names) for name, value in SITES[site][1].items()}

    step = run(account, folder, f"--image={IMAGE}", words=WORDS)
    assert step.words == WORDS
    real = account.login_shell(f"cd {folder} && pwd -P && cd {step.folder} && pwd -P").stdout.split()
    assert real[0] == real[1]  # where jobs cannot read a link in the home, the job's folder has its real path
    assert {name: step.environment.get(name) for name in wanted} == wanted
    assert step.environment["SLURM_JOB_ACCOUNT"] == account.project
    assert step.environment["CUDA_VISIBLE_DEVICES"] == "0"

    bare = run(account, folder, "--image=none", "--gpus=2", "--time=5", words=["x"])
    assert bare.environment["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert not [name for name in bare.environment if name.startswith("STANDIN_")]

    named = run(account, folder, "-J", "hostname", "-n", "1", f"--image={IMAGE}", "--time", "5", words=["x"])
    assert (named.words, named.environment["SLURM_JOB_NAME"]) == (["x"], "hostname")
    assert set(wanted) <= set(named.environment), "the command runs in the container, and none of the values does"

    without = run(account, folder, "--image=none", "--gpus", "0", words=[])
    assert "CUDA_VISIBLE_DEVICES" not in without.environment

    batch = f"sbatch --wait -Q --account={account.project} --output=job.out"
    work = f"usrun.sh --image=none {account.home}/step in"
    assert account.login_shell(f"cd {folder} && {batch} --wrap '{work}'", timeout=60).returncode == 0
    nested = account.login_shell(f"cat {folder}/job.out").stdout.split("\0")
    assert nested[:2] == ["1", "in"]
    assert "SLURM_STEP_ID=0" in nested
