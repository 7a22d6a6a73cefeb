# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's commands: run with no environment but what finds them, and asked once for a job by its name or number."""

import os
import shlex
from typing import List, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.program import find_program, run_program

PLACES = "/usr/bin:/usr/local/bin:/opt/slurm/bin:/usr/local/slurm/bin:/opt/slurm/current/bin"
SECONDS = 30  # for a command
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


class Seen(NamedTuple):
    """What Slurm says of a job: its number and state, both empty where it knows none. code: its word for why."""

    number: str
    state: str
    code: str = ""


def look(name: str, number: str) -> Optional[Seen]:
    """Ask Slurm once for the job of this name, the living first; None where it does not answer."""
    user = str(os.getuid())
    which = ["--jobs=" + number] if number else ["--name=" + name]
    listed = told(
        "squeue",
        ["--noheader", "--states=all", "--format=%i|%T|%r|%j"] + (["--user=" + user] if not number else []) + which,
    )
    for line in (listed or "").splitlines():
        parts = line.strip().split("|")
        if len(parts) == 4 and parts[3] == name:
            return Seen(parts[0], parts[1], parts[2])
    ended = told(
        "sacct", ["-n", "-X", "-P", "-S", "now-30days", "--name=" + name, "--user=" + user, "-o", "JobID,State"]
    )
    for line in (ended or "").splitlines():
        parts = line.strip().split("|")
        if len(parts) == 2 and parts[0].isdigit():
            return Seen(parts[0], parts[1])
    if listed is None and not (number and ended is not None):  # squeue fails, too, for a number that is long gone
        return None
    return Seen("", "")


def told(name: str, arguments: List[str], errors: bool = False, input_from: str = os.devnull) -> Optional[str]:
    """What a command of Slurm's prints; None where it fails. errors: what it complains of, too, and that it failed.

    It is given no environment but what finds it: what lies in ours would go into the job. input_from: the file that it
    reads as standard input.
    """
    program = find_program(name, os.environ.get("PATH", "")) or find_program(name, PLACES)
    if program is None:
        if errors:
            raise AccountError(ABSENT % name)
        return None
    kept = {
        one: os.environ[one] for one in ("PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF", "LANG") if one in os.environ
    }
    quoted = " ".join(shlex.quote(one) for one in [program] + arguments) + " <" + shlex.quote(input_from)
    command = quoted + (" 2>&1 || echo error" if errors else " && echo .")
    answer = run_program(["/bin/sh", "-c", command], kept, SECONDS)
    text = answer.text
    if errors:
        return text + (" error: " + answer.why if answer.why else "")
    return text.rpartition(".")[0] if not answer.why and text.rstrip().endswith(".") else None
