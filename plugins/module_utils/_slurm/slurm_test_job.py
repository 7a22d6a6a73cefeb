# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small Slurm job that checks an account's setup on a compute node: files, network, GPUs and containers.

A run compares the states from inspect() and desired(); an empty state means that the resource is absent. If the states
differ and obstacle() returns None, the run calls apply(). before is the state from inspect(). A Host reads and changes
the account's files.
"""

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
from .slurm_job import JobOrder, SlurmJob, explain_rejection

RESULTS = "tried"  # the file in the job's folder with a line for each check: its name, yes or no, and its output
SEPARATOR = "\037"  # in place of newlines in RESULTS
NOISE = re.compile(r"srun: (?:launch/slurm: |job \d+ |error: (?:\S+: )?task |(?:Force )?Terminat)")  # of any failure
PREFIX = re.compile(r"^(?:slurmstepd|srun): (?:error: )?")  # of a message from Slurm
ENVIRONMENT = ".config/hpc.onboard/env."  # the settings file for shells, without the shell's dialect
SECONDS = 60  # for one check
CONTAINER_SECONDS = 180  # a large image is unpacked on the node
YES = "yes"
CHECKS = {  # kind of check -> a command that prints why it fails; the check's "words" are its arguments, from $0 on
    "writes": """t=$(mktemp "$0/.hpc.onboard-test-job.XXXXXX") && echo x >"$t"; r=$?; rm -f "$t"; exit "$r" """,
    "reads": """[ -r "$0" ] || { [ -e "$0" ] && echo "the job has no permission to read it" ||
echo "the path does not exist in the job"; exit 1; }""",
    "key": """[ -f "$0" ] || { echo "the file does not exist in the job"; exit 1; }; m=$(stat -Lc %a "$0")
[ "$m" = 600 ] || [ "$m" = 400 ] || { echo "the mode is $m, not 600 or 400"; exit 1; }; [ -r "$0" ]""",
    "environment": """[ -r "$1" ] || { echo "the file does not exist in the job"; exit 1; }
case $0 in *fish | *csh) "$0" -c "source '$1'" ;; *) . "$1" ;; esac""",
    "gpu": """[ -n "$CUDA_VISIBLE_DEVICES$ROCR_VISIBLE_DEVICES" ] || { echo "the job has no GPU"; exit 1; }
! command -v nvidia-smi >/dev/null || nvidia-smi -L""",
    "reach": """timeout 10 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$0" "$1" 2>/dev/null ||
{ echo "could not connect within 10 s"; exit 1; }""",
    "proxy_module": """command -v module >/dev/null || . /etc/profile >/dev/null 2>&1
module load "$0" || exit 1
p=${https_proxy:-$http_proxy}; [ -n "$p" ] || { echo "the module sets no proxy"; exit 1; }
p=${p#*://}; p=${p%%/*}; case $p in *:*) ;; *) p=$p:80 ;; esac
timeout 10 bash -c 'exec 3<>"/dev/tcp/${0%:*}/${0##*:}"' "$p" 2>/dev/null ||
{ echo "could not connect within 10 s"; exit 1; }""",
    # If the only error is that the image has no `true`, the container has started.
    "container": """words=$("$0" --gpus=0 --image="$1" true 2>&1) && exit
printf '%s\\n' "$words"
case $words in *'execve(): true: No such file'* | *'"true": executable file not found'*) ;; *) exit 1 ;; esac""",
}
FUNCTION = """\
run_check() { # NAME COMMAND...
    name=$1 passed=yes
    shift
    say "checking: $name"
    output=$(timeout "$limit" "$@" 2>&1 </dev/null) || passed=no
    output=$(printf %s "$output" | tail -n 40 | tr '\\n' '\\037' | tr -c '[:print:]\\037' ' ')
    printf '%s\\t%s\\t%.4000s\\n' "$name" "$passed" "$output" >>tried.new
}
rm -f tried.new
"""


class SlurmTestJob(Resource):
    """Check an account's setup in a small Slurm job.

    Submits a single job. The checks in the job record in a file what works on a compute node. The file is complete when
    the job ends.

    Used by C(test_job.yml), which chooses the checks, reads the results, and removes the job and its files
    (see M(hpc.onboard.test_job)).

    Options:
        folder: The job's own folder, which compute nodes can access, in a folder that no other user can change.
        checks: The checks, each with its name (C(what)), kind (C(way)) and arguments (C(words)). C(paths) is the number
            of leading arguments that are paths.
        options: Options for sbatch. C(@slurm_account@) is replaced by your Slurm account for jobs with GPUs,
            C(@slurm_cpu_account@) by your Slurm account for jobs without GPUs.
        minutes: The time limit of the job.
        state: Whether the job exists. C(absent) cancels it and removes its files.

    Example: Test whether a job can write to the home directory
        folder: ~/.hpc.onboard-test-job
        checks:
          - {what: the home, way: writes, words: ["~"], paths: 1}
    """

    KIND = "slurm_test_job"
    TITLE = "test job"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "folder": {"type": "path", "required": True},
        "checks": {"type": "list", "elements": "dict", "default": []},  # {what, way, words, paths: how many are paths}
        "options": {"type": "list", "elements": "str", "default": []},
        "minutes": {"type": "int", "default": 5},
        "state": STATE,
    }
    IS_KEPT = False
    is_simulated = False  # _simulate() ran instead of a job

    def name(self) -> str:
        return self.TITLE

    def check(self) -> None:
        """Raise AccountError for an invalid folder, and for a check of an unknown kind or with an unprintable name."""
        check_path("folder", self.options["folder"])
        for check in self.options.get("checks") or []:
            is_complete = isinstance(check.get("words"), list) and check.get("what")
            if not is_complete or check.get("way") not in CHECKS or not str(check["what"]).isprintable():
                raise AccountError("checks: %r is not a valid check; expected the keys what, way and words" % (check,))

    def touches(self, host: Host) -> List[str]:
        """Return the only path that this resource depends on."""
        return [self.options["folder"]]

    def desired(self, host: Host) -> State:
        """Return {name of the check: YES} for all checks, or {} if no job is to exist."""
        is_to_exist = self.options["state"] == "present"
        return {check["what"]: YES for check in self.options["checks"]} if is_to_exist else {}

    def inspect(self, host: Host) -> State:
        """Return the result of each check of a job that is done, or {}.

        Before a removal, return {"job": "ours"} if the job's folder exists, so that the folder is removed.
        """
        if self.options["state"] == "absent":
            return {"job": "ours"} if host.entry(self.options["folder"]) else {}
        if self.is_simulated:
            return self.desired(host)
        is_done = SlurmJob(self.options["folder"]).read_status(host).state == "done"
        return self._read_results(host) if is_done else {}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why no job is submitted, or None.

        Checks have failed, no Slurm account was found, or the job's folder cannot be created.
        """
        if self.options["state"] == "absent":
            return None
        if before:  # a done job is not repeated; a run shows this reason only if a result is not YES
            return "some checks failed in the job"
        _options, why_missing = fill_options(self.options["options"], host.account.facts)
        return why_missing or host.why_blocked(os.path.dirname(self.options["folder"]))

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        """Return the progress of the job; None if no job is expected."""
        if self.options["state"] == "absent" or self.is_simulated:
            return None
        return SlurmJob(self.options["folder"]).progress(host)

    def apply(self, host: Host) -> None:
        """Submit the job, or cancel it and remove its files."""
        job = SlurmJob(self.options["folder"])
        if self.options["state"] == "absent":
            if host.root:  # a sandbox, which simulates an account, has no Slurm
                host.remove_folder(self.options["folder"])
            else:
                job.cancel(host)
            return
        minutes, options = self.options["minutes"], self._sbatch_options(host)
        order = JobOrder(purpose="try", work=self.render_work(host), options=options, minutes=minutes)

        def submit(parent: int) -> None:  # parent: the open folder that contains the job's folder
            job.submit(parent, order, details={})

        host.start_job(self.options["folder"], detach=submit, pretend=self._simulate)

    def _read_results(self, host: Host) -> State:
        """Return {name of the check: YES, or "no: " and the reason} for all checks."""
        text = host.read(os.path.join(self.options["folder"], RESULTS)).decode("utf-8", "replace")
        rows = [line.split("\t") for line in text.splitlines()]
        outputs = {row[0]: (row[1], row[2].strip()) for row in rows if len(row) == 3}
        results = {}
        for check in self.options["checks"]:
            # passed: YES or "no"
            passed, output = outputs.get(check["what"], ("no", "the job ended before this check"))
            failure = "no: %s" % (extract_cause(output) or "the check failed")
            results[check["what"]] = YES if passed == YES else printable(failure, 600)
        return results

    def render_work(self, host: Host) -> str:
        """Return the shell commands of the job: each check runs as run_check NAME bash -c COMMAND ARGUMENT..."""
        lines = [FUNCTION]
        for check in self.options["checks"]:
            words = [str(word) for word in check["words"]]
            path_count = int(check.get("paths", 0))  # the number of leading words that are paths
            words = [host.expand(word) for word in words[:path_count]] + words[path_count:]
            if check["way"] == "environment":
                shell = host.account.shell
                dialect = next((name for name in ("fish", "csh") if shell.endswith(name)), "sh")
                words = [shell, os.path.join(host.home, ENVIRONMENT + dialect)]  # in place of the plan's arguments
            line = ["run_check", check["what"], "bash", "-c", CHECKS[check["way"]]] + words
            limit = CONTAINER_SECONDS if check["way"] == "container" else SECONDS
            lines.append("limit=%d\n%s\n" % (limit, " ".join(shlex.quote(word) for word in line)))
        return "".join(lines) + "mv tried.new " + RESULTS

    def _sbatch_options(self, host: Host) -> List[str]:
        """Return the options of sbatch with the user's Slurm account in place of a placeholder."""
        options, _why_missing = fill_options(self.options["options"], host.account.facts)  # obstacle() reports it
        return options

    def _simulate(self, host: Host) -> None:
        """Check that Slurm would accept the job, without submitting the job. Raise AccountError if not.

        In a sandbox, which simulates an account, check nothing.
        """
        if not host.root:
            options = ["--test-only", "--time=%d" % self.options["minutes"]] + self._sbatch_options(host)
            output = run_slurm("sbatch", options + ["--wrap=true"], returns_errors=True) or ""
            if "error" in output:
                raise AccountError(explain_rejection(output))
        self.is_simulated = True


def extract_cause(output: str) -> str:
    r"""Return the output of a failed program in one line, without the messages that Slurm adds to every failure.

    >>> extract_cause("slurmstepd: error: pyxis: no such image\037srun: error: n1: task 0: Exited with exit code 1")
    'pyxis: no such image'
    """
    lines = [line.strip() for line in output.split(SEPARATOR)]
    causes = [PREFIX.sub("", line) for line in lines if not NOISE.match(line)]
    distinct_causes = dict.fromkeys(line for line in causes if line)
    return " | ".join(distinct_causes) or " | ".join(filter(None, lines))  # only noise: better than nothing
