# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a job script by Slurm (sbatch --test-only), which submits nothing."""

import os
import re
from typing import List

from .._core.errors import printable
from .._core.program import run_program

SECONDS = 15.0
END = re.compile(r"hpc\.onboard exit (\d+)\s*\Z")
LINE = 'sbatch --test-only "$1" 2>&1 </dev/null; echo "hpc.onboard exit $?"'


def check_submission(path: str, shown: str) -> List[str]:
    """Return a sentence: Slurm would accept or reject the script at a path. Only sbatch's exit code decides."""
    output = run_program(["/bin/bash", "-c", LINE, "sbatch", path], os.environ, SECONDS)
    end = END.search(output.text)
    if not end:
        return ["Slurm did not check %s within %d s" % (shown, SECONDS)]
    if end.group(1) == "127":
        return ["Slurm did not check %s: sbatch was not found on PATH" % shown]
    message = printable(" ".join(output.text[: end.start()].replace("sbatch: ", "").split()), 200)
    verdict = "would accept" if end.group(1) == "0" else "would reject"
    return ["Slurm %s %s: %s" % (verdict, shown, message)]
