# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a job script by Slurm (sbatch --test-only), which submits nothing."""

import os
import re

from .._core.errors import printable
from .._core.program import run_program
from .._core.search_path import find_with_login_shell

SECONDS = 15.0  # the time limit of the check
END = re.compile(r"hpc\.onboard exit (\d+)\s*\Z")  # the end of the output, with sbatch's exit code
COMMAND = 'printf %s "$1" | "$0" --test-only 2>&1; echo "hpc.onboard exit $?"'


def check_submission(script: str, display_path: str) -> str:
    """Return a sentence: whether Slurm would accept a script, or why that is unknown.

    Only sbatch's exit code decides. script: the text, because a dry run writes no file. display_path: the path of the
    script in the sentence.
    """
    program, environment = find_with_login_shell("sbatch", os.environ.get("PATH", ""))
    if program is None:
        return "Slurm did not check %s: sbatch was not found on PATH" % display_path
    output = run_program(["/bin/bash", "-c", COMMAND, program, script], environment, SECONDS)
    end = END.search(output.text)  # printed after sbatch has ended
    if not end:
        return "Slurm did not check %s within %d s" % (display_path, SECONDS)
    message = printable(" ".join(output.text[: end.start()].replace("sbatch: ", "").split()), 200)
    verdict = "Slurm would accept %s: %s" if end.group(1) == "0" else "Slurm would reject %s: %s"
    return verdict % (display_path, message)
