# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small job that tries on a compute node what an account was set up for: what is seen there, written, started."""

import os
import re
import shlex
from typing import Any, Dict, List, Optional

from .._core.errors import AccountError, printable
from .._core.host import Host
from .._core.resource import Resource, State
from .._core.values import STATE, check_path
from .._options.file_options import fill_options
from .commands import run_slurm
from .slurm_job import JobOrder, JobStatus, SlurmJob, refusal

TRIED = "tried"
SEPARATOR = "\037"  # of lines in the file TRIED
NOISE = re.compile(r"srun: (?:launch/slurm: |job \d+ |error: (?:\S+: )?task |(?:Force )?Terminat)")
PREFIX = re.compile(r"^(?:slurmstepd|srun): (?:error: )?")
ENVIRONMENT = ".config/hpc.onboard/env."
SECONDS = 60  # for one of the things that are tried
CONTAINER_SECONDS = 180  # a large image is unpacked on the node
YES = "yes"
WAYS = {  # how a thing is tried: a command that says why it fails, and its last arguments, the words of the check
    "writes": """t=$(mktemp "$0/.hpc.onboard-test-job.XXXXXX") && echo x >"$t"; r=$?; rm -f "$t"; exit "$r" """,
    "reads": """[ -r "$0" ] || { [ -e "$0" ] && echo "the job may not read it" ||
echo "the job cannot see it"; exit 1; }""",
    "key": """[ -f "$0" ] || { echo "it is not there"; exit 1; }; m=$(stat -Lc %a "$0")
[ "$m" = 600 ] || [ "$m" = 400 ] || { echo "its mode is $m"; exit 1; }; [ -r "$0" ]""",
    "environment": """[ -r "$1" ] || { echo "it is not there"; exit 1; }
case $0 in *fish | *csh) "$0" -c "source '$1'" ;; *) . "$1" ;; esac""",
    "gpu": """[ -n "$CUDA_VISIBLE_DEVICES$ROCR_VISIBLE_DEVICES" ] || { echo "the job was given none"; exit 1; }
! command -v nvidia-smi >/dev/null || nvidia-smi -L""",
    "reach": """timeout 10 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$0" "$1" 2>/dev/null ||
{ echo "no answer in 10 s"; exit 1; }""",
    "proxy_module": """command -v module >/dev/null || . /etc/profile >/dev/null 2>&1
module load "$0" || exit 1
p=${https_proxy:-$http_proxy}; [ -n "$p" ] || { echo "it names no proxy"; exit 1; }
p=${p#*://}; p=${p%%/*}; case $p in *:*) ;; *) p=$p:80 ;; esac
timeout 10 bash -c 'exec 3<>"/dev/tcp/${0%:*}/${0##*:}"' "$p" 2>/dev/null || { echo "no answer in 10 s"; exit 1; }""",
    # An image without `true` has started, if that is all that is missing in it.
    "container": """words=$("$0" --gpus=0 --image="$1" true 2>&1) && exit
printf '%s\\n' "$words"
case $words in *'execve(): true: No such file'* | *'"true": executable file not found'*) ;; *) exit 1 ;; esac""",
}
FUNCTION = """\
try_it() { # WHAT COMMAND...
    what=$1 said=yes
    shift
    say "trying: $what"
    words=$(timeout "$limit" "$@" 2>&1 </dev/null) || said=no
    words=$(printf %s "$words" | tail -n 40 | tr '\\n' '\\037' | tr -c '[:print:]\\037' ' ')
    printf '%s\\t%s\\t%.4000s\\n' "$what" "$said" "$words" >>tried.new
}
rm -f tried.new
"""


class SlurmTestJob(Resource):
    """Test in a small Slurm job what an account was set up for.

    Submits one job, once, whose checks report what works on a compute node. Its result file shows when it is done.

    Used by C(test_job.yml), which chooses the checks, reads the result, and removes the job and its files
    (see M(hpc.onboard.test_job)).

    Options:
        folder: The job's own folder, which nodes can see, in one that no other user can change.
        checks: The checks, each with C(what) it is called, C(way), C(words) and how many of these are C(paths).
        options: Options of sbatch. C(@slurm_account@) becomes the Slurm account of jobs with GPUs,
            C(@slurm_cpu_account@) that of jobs without one.
        minutes: The time limit.
        state: Whether the job exists. C(absent) cancels it and removes its files.

    Example: Test whether a job can write in the home
        folder: ~/.hpc.onboard-test-job
        checks:
          - {what: the home, way: writes, words: ["~"], paths: 1}
    """

    KIND = "slurm_test_job"
    TITLE = "job that tries what was set up"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "folder": {"type": "path", "required": True},
        "checks": {"type": "list", "elements": "dict", "default": []},  # {what, way, words, paths: how many are paths}
        "options": {"type": "list", "elements": "str", "default": []},
        "minutes": {"type": "int", "default": 5},
        "state": STATE,
    }
    IS_KEPT = False
    is_foreseen = False

    def name(self) -> str:
        return self.TITLE

    def check(self) -> None:
        check_path("folder", self.options["folder"])
        for one in self.options.get("checks") or []:
            if one.get("way") not in WAYS or not str(one.get("what", "")).isprintable():
                raise AccountError("checks: %r is nothing that a job can try" % (one,))

    def touches(self, host: Host) -> List[str]:
        return [self.options["folder"]]

    def desired(self, host: Host) -> State:
        """Every check with a yes."""
        present = self.options["state"] == "present"
        return {one["what"]: YES for one in self.options["checks"]} if present else {}

    def inspect(self, host: Host) -> State:
        if self.options["state"] == "absent":
            return {"job": "ours"} if host.entry(self.options["folder"]) else {}
        if self.is_foreseen:
            return self.desired(host)
        return self._said(host) if self._standing(host).state == "done" else {}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        if self.options["state"] == "absent":
            return None
        if before:
            return "not all of it works in a job"
        why = fill_options(self.options["options"], host.account.found)[1]
        return why or host.why_blocked(os.path.dirname(self.options["folder"]))

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        if self.options["state"] == "absent" or self.is_foreseen:
            return None
        return SlurmJob(self.options["folder"]).progress(host)

    def apply(self, host: Host) -> None:
        job = SlurmJob(self.options["folder"])
        if self.options["state"] == "absent":
            if host.root:
                host.remove_folder(self.options["folder"])
            else:
                job.cancel(host)
            return
        wanted = JobOrder("try", self.work(host), self._sbatch(host), self.options["minutes"])
        host.start(self.options["folder"], lambda above: _submitted(job, above, wanted), self._foresee)

    def _standing(self, host: Host) -> JobStatus:
        return SlurmJob(self.options["folder"]).standing(host)

    def _said(self, host: Host) -> State:
        """Return what the job has said of each check."""
        text = host.read(os.path.join(self.options["folder"], TRIED)).decode("utf-8", "replace")
        rows = [line.split("\t") for line in text.splitlines()]
        found = {row[0]: (row[1], row[2].strip()) for row in rows if len(row) == 3}
        said = {}
        for one in self.options["checks"]:
            yes, words = found.get(one["what"], ("no", "the job has not come to it"))
            said[one["what"]] = YES if yes == YES else printable("no: %s" % (extract_cause(words) or "it failed"), 600)
        return said

    def work(self, host: Host) -> str:
        """The shell commands of the job."""
        lines = [FUNCTION]
        for one in self.options["checks"]:
            words = [str(word) for word in one["words"]]
            number = int(one.get("paths", 0))
            words = [host.expand(word) for word in words[:number]] + words[number:]
            if one["way"] == "environment":
                shell = host.account.shell
                dialect = "fish" if shell.endswith("fish") else "csh" if shell.endswith("csh") else "sh"
                words = [shell, os.path.join(host.home, ENVIRONMENT + dialect)]
            line = ["try_it", one["what"], "bash", "-c", WAYS[one["way"]]] + words
            limit = CONTAINER_SECONDS if one["way"] == "container" else SECONDS
            lines.append("limit=%d\n%s\n" % (limit, " ".join(shlex.quote(word) for word in line)))
        return "".join(lines) + "mv tried.new " + TRIED

    def _sbatch(self, host: Host) -> List[str]:
        return fill_options(self.options["options"], host.account.found)[0]

    def _foresee(self, host: Host) -> None:
        """Ask Slurm whether it would take the job, which it does not get."""
        if not host.root:
            line = ["--test-only", "--time=%d" % self.options["minutes"]] + self._sbatch(host)
            said = run_slurm("sbatch", line + ["--wrap=true"], errors=True) or ""
            if "error" in said:
                raise AccountError(refusal(said))
        self.is_foreseen = True


def extract_cause(output: str) -> str:
    r"""Return what a program printed in one line, without what Slurm adds to each failure.

    >>> extract_cause("slurmstepd: error: pyxis: no such image\037srun: error: n1: task 0: Exited with exit code 1")
    'pyxis: no such image'
    """
    lines = [line.strip() for line in output.split(SEPARATOR)]
    telling = [PREFIX.sub("", line) for line in lines if not NOISE.match(line)]
    return " | ".join(dict.fromkeys(line for line in telling if line)) or " | ".join(filter(None, lines))


def _submitted(job: SlurmJob, above: int, wanted: JobOrder) -> None:
    job.submit(above, wanted)
