# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of jobs that a profile names, in one form.

The schema lists them: an option that starts a program or loads a file is refused there, and so is a bare word, which
srun would take for the program of the job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LONG = {
    **{"A": "account", "C": "constraint", "G": "gpus", "L": "licenses", "N": "nodes", "c": "cpus-per-task"},
    **{"n": "ntasks", "p": "partition", "q": "qos", "t": "time"},
}
SHORT = re.compile(r"(?<!\S)-([A-Za-z]) ")


def in_long_form(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile whose jobs name their options in the long form, each one word.

    >>> in_long_form({"scheduler": {"kind": "slurm", "gpu": "-p gpu -G 1"}})["scheduler"]["gpu"]
    '--partition=gpu --gpus=1'
    """
    scheduler = dict(profile.get("scheduler", {}))
    for name in scheduler.keys() & {"gpu", "cpu", "test"}:
        scheduler[name] = SHORT.sub(lambda found: f"--{LONG[found[1]]}=", scheduler[name])
    return {**profile, "scheduler": scheduler} if scheduler else dict(profile)
