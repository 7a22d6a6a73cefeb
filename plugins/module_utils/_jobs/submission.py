# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether Slurm would take a script of a job: it is asked, and nothing is submitted."""

import os
import re
from typing import List

from .._core.errors import printable
from .._core.program import find_program, run_program

SECONDS = 15.0
END = re.compile(r"hpc\.onboard exit (\d+)\s*\Z")
LINE = 'sbatch --test-only "$1" 2>&1 </dev/null; echo "hpc.onboard exit $?"'


def asked_of(path: str, shown: str) -> List[str]:
    """What Slurm says of the script at a path, in a sentence; by its exit code, not by its words."""
    if not find_program("sbatch", os.environ.get("PATH", "")):
        return ["Slurm was not asked about %s: sbatch is not on PATH" % shown]
    answer = run_program(["/bin/bash", "-c", LINE, "sbatch", path], os.environ, SECONDS)
    end = END.search(answer.text)
    if not end:
        return ["Slurm did not say in %d s whether it would take %s" % (SECONDS, shown)]
    words = printable(" ".join(answer.text[: end.start()].replace("sbatch: ", "").split()), 200)
    verdict = "would take" if end.group(1) == "0" else "would not take"
    return ["Slurm %s %s: %s" % (verdict, shown, words)]
