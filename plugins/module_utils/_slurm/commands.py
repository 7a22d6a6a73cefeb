# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs Slurm's commands with a minimal environment, and queries one job by its name or number."""

import os
import shlex
from typing import List, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.program import run_program
from .._core.search_path import find_with_login_shell

DEFAULT_PATH = "/usr/bin:/usr/local/bin:/opt/slurm/bin:/usr/local/slurm/bin:/opt/slurm/current/bin"
SECONDS = 30  # the time limit of a command
ACTIVE = (  # Slurm's states of a job that has not ended: those of a running job, and those of a waiting one
    *("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING"),
    *("PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED", "STOPPED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"),
)
NOT_FOUND = "%s was not found. Check that this is the cluster's login node and that your login loads the Slurm module"


class SlurmJobState(NamedTuple):
    """A job in Slurm's output. number and state (such as RUNNING) are empty if Slurm does not list the job."""

    number: str
    state: str
    code: str = ""  # Slurm's reason code, which says why the job waits


def query_job(name: str, number: str, cluster: str = "") -> Optional[SlurmJobState]:
    """Return the job with a name, from squeue or else from sacct; None if the commands fail.

    number: the job's number, or "" if unknown; squeue searches faster by number than by name. cluster: Slurm's name of
    the job's cluster, or "" for the cluster of this login node.
    """
    user, of_cluster = str(os.getuid()), ["--clusters=" + cluster] if cluster else []
    selection = (["--jobs=" + number] if number else ["--user=" + user, "--name=" + name]) + of_cluster
    listed = run_slurm("squeue", ["--noheader", "--states=all", "--format=%i|%T|%r|%j"] + selection)
    for line in (listed or "").splitlines():
        parts = line.strip().split("|")  # number, state, reason, name
        if len(parts) == 4 and parts[3] == name:  # a cluster may reuse a number for a job of another user
            return SlurmJobState(parts[0], parts[1], parts[2])
    recorded = run_slurm(  # also lists jobs that have ended
        "sacct",
        ["-n", "-X", "-P", "-S", "now-30days", "--name=" + name, "--user=" + user, "-o", "JobID,State", *of_cluster],
    )
    for line in (recorded or "").splitlines():
        parts = line.strip().split("|")  # number, state
        if len(parts) == 2 and parts[0].isdigit():
            return SlurmJobState(parts[0], parts[1])
    is_old_job = bool(number) and recorded is not None  # squeue also fails for the number of a job that ended long ago
    if listed is None and not is_old_job:
        return None
    return SlurmJobState("", "")  # Slurm does not list the job


def run_slurm(
    command_name: str, arguments: List[str], returns_errors: bool = False, input_from: str = os.devnull
) -> Optional[str]:
    """Return the output of a Slurm command, or None if the command fails.

    returns_errors: if True, return the output of a command that fails as well, with error messages and the word "error"
    at the end; raise AccountError if the command is not found. input_from: the file that the command reads as its
    standard input. The environment is minimal, because sbatch copies it into the job.
    """
    search_path = "%s:%s" % (os.environ.get("PATH", ""), DEFAULT_PATH)
    program, variables = find_with_login_shell(command_name, search_path)
    if program is None:
        if returns_errors:
            raise AccountError(NOT_FOUND % command_name)
        return None
    names = ("PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF", "LANG")
    environment = {name: variables[name] for name in names if name in variables}
    quoted = " ".join(shlex.quote(word) for word in [program] + arguments) + " <" + shlex.quote(input_from)
    # a dot at the end of the output means that the command succeeded
    command = quoted + (" 2>&1 || echo error" if returns_errors else " && echo .")
    output = run_program(["/bin/sh", "-c", command], environment, SECONDS)
    if returns_errors:
        return output.text + (" error: " + output.why if output.why else "")
    if output.why or not output.text.rstrip().endswith("."):
        return None
    return output.text.rpartition(".")[0]
