# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's commands, run with a minimal environment, and the query for one job by its name or number."""

import os
import shlex
from typing import List, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.program import run_program
from .._core.search_path import find_program

FURTHER_PATH = "/usr/bin:/usr/local/bin:/opt/slurm/bin:/usr/local/slurm/bin:/opt/slurm/current/bin"
SECONDS = 30  # the time limit of a command
WAITING = (
    "PENDING",
    "CONFIGURING",
    "REQUEUED",
    "SUSPENDED",
    "STOPPED",
    "REQUEUE_HOLD",
    "SPECIAL_EXIT",
    "RESV_DEL_HOLD",
)
AT_WORK = ("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING")
ABSENT = "%s is not here: is this the login node of the cluster, and is Slurm's module loaded at login?"


class SlurmJobState(NamedTuple):
    """A job as Slurm reports it; number and state are empty if it knows none. code: Slurm's word for the reason."""

    number: str
    state: str
    code: str = ""


def query_job(name: str, number: str) -> Optional[SlurmJobState]:
    """Ask Slurm once for the job of this name, first for living ones. Return None if Slurm does not answer."""
    user = str(os.getuid())
    which = ["--jobs=" + number] if number else ["--name=" + name]
    listed = run_slurm(
        "squeue",
        ["--noheader", "--states=all", "--format=%i|%T|%r|%j"] + (["--user=" + user] if not number else []) + which,
    )
    for line in (listed or "").splitlines():
        parts = line.strip().split("|")
        if len(parts) == 4 and parts[3] == name:
            return SlurmJobState(parts[0], parts[1], parts[2])
    ended = run_slurm(
        "sacct", ["-n", "-X", "-P", "-S", "now-30days", "--name=" + name, "--user=" + user, "-o", "JobID,State"]
    )
    for line in (ended or "").splitlines():
        parts = line.strip().split("|")
        if len(parts) == 2 and parts[0].isdigit():
            return SlurmJobState(parts[0], parts[1])
    if listed is None and not (number and ended is not None):  # squeue fails, too, for a number that is long gone
        return None
    return SlurmJobState("", "")


def run_slurm(
    command_name: str, arguments: List[str], errors: bool = False, input_from: str = os.devnull
) -> Optional[str]:
    """Return the output of a command of Slurm's, or None if it fails.

    errors: return its error messages as well, with the word "error" if it failed. input_from: its standard input.
    Its environment is minimal, because sbatch copies the environment into the job.
    """
    program = find_program(command_name, "%s:%s" % (os.environ.get("PATH", ""), FURTHER_PATH))
    if program is None:
        if errors:
            raise AccountError(ABSENT % command_name)
        return None
    names = ("PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF", "LANG")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    quoted = " ".join(shlex.quote(word) for word in [program] + arguments) + " <" + shlex.quote(input_from)
    command = quoted + (" 2>&1 || echo error" if errors else " && echo .")
    answer = run_program(["/bin/sh", "-c", command], kept, SECONDS)
    text = answer.text
    if errors:
        return text + (" error: " + answer.why if answer.why else "")
    return text.rpartition(".")[0] if not answer.why and text.rstrip().endswith(".") else None
