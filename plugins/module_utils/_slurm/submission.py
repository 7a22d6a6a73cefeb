# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a job script by Slurm (sbatch --test-only); nothing is submitted."""

import os
import re
from typing import List

from .._core.errors import printable
from .._core.program import run_program

SECONDS = 15.0
END = re.compile(r"hpc\.onboard exit (\d+)\s*\Z")
LINE = 'sbatch --test-only "$1" 2>&1 </dev/null; echo "hpc.onboard exit $?"'


def check_submission(path: str, shown: str) -> List[str]:
    """Return a sentence on whether Slurm would accept the script at a path. Only sbatch's exit code decides."""
    answer = run_program(["/bin/bash", "-c", LINE, "sbatch", path], os.environ, SECONDS)
    end = END.search(answer.text)
    if not end:
        return ["Slurm did not say in %d s whether it would accept %s" % (SECONDS, shown)]
    if end.group(1) == "127":
        return ["Slurm was not asked about %s: sbatch is not on PATH" % shown]
    words = printable(" ".join(answer.text[: end.start()].replace("sbatch: ", "").split()), 200)
    verdict = "would accept" if end.group(1) == "0" else "would not accept"
    return ["Slurm %s %s: %s" % (verdict, shown, words)]
