# SPDX-License-Identifier: GPL-3.0-or-later
"""Which job scripts Slurm has no partition for, and what is said of it."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._slurm.directives import check_directives

LISTED = [
    {"name": "cpu", "gpus": [], "minutes": 60},
    {"name": "gpu", "gpus": ["a100"], "minutes": 1440},
    {"name": "long", "gpus": [], "minutes": None},
]


@pytest.mark.parametrize(
    ("lines", "default", "why"),
    [
        (["--partition=gpu", "--time=60"], "cpu", None),
        (["--time=60"], "cpu", None),
        (["--time=61"], "cpu", "partition cpu allows at most 60 minutes, but the job requests 61"),
        (
            ["-p gpu -t 2-00:00:00"],
            "cpu",
            "allows at most 1440 minutes, but the job requests 2880 minutes. Set 'job_scripts",
        ),
        (["-pgpu", "-t61"], "", None),
        (['--partition="gpu" -t 61'], "", None),
        (["-p cpu # --time=61", "-t 60  # not -t 61"], "", None),
        (["-t61"], "cpu", "partition cpu allows at most 60 minutes"),
        (["--time=9000", "--partition=long"], "cpu", None),
        (["--time=9000", "--partition=cpu,gpu"], "cpu", "partition cpu or gpu allows at most 1440 minutes"),
        (["--time=9000", "--qos=long"], "cpu", None),
        (
            ["--time=60"],
            "",
            "no default partition on this cluster, so the job must name one (available to you: cpu, gpu, long). Set",
        ),
        (["--time=60"], None, None),  # the site may choose it
        (
            ["--partition=lrz"],
            "cpu",
            "Slurm does not list the partition 'lrz' (available to you: cpu, gpu, long). Set 'job_",
        ),
        (["--partition=gpu,lrz"], "cpu", "the partition 'lrz'"),
        (["--partition=lrz", "--clusters=serial"], "cpu", None),  # Slurm lists those of this cluster
        ([], "", None),
    ],
)
def test_a_script_that_slurm_has_no_partition_for_is_refused(
    lines: list[str], default: str | None, why: str | None
) -> None:
    script = "#!/bin/bash\n" + "".join(f"#SBATCH {line}\n" for line in lines) + "srun hostname\n"
    reason = check_directives({"partitions": LISTED, "default_partition": default}, script)
    assert (reason is None) == (why is None)
    assert (why or "") in (reason or "")
    assert check_directives({"partitions": None}, script) is None
