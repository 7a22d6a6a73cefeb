# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Slurm job of ours: submitted once, and known by the files that it leaves in a folder of its own.

The folder is for its owner alone, on a file system that the nodes see. Its name of the job is drawn by lot and noted
there before anything is submitted: so a run that was killed in between finds its job again by one look. Afterwards
Slurm is not asked how far it is: the job says that itself, in files. It is asked only where these say nothing and a new
run wants to know whether the job waits or is gone.
"""

import json
import os
import re
import shutil
import time
from typing import Any, Dict, List, NamedTuple, Optional

from .._core.errors import AccountError, printable
from .._core.host import Host
from .._jobs.job import (
    Progress,
    kill_marked_processes,
    open_job_folder,
    path_of_handle,
    read_small_file,
    write_small_file,
)
from .commands import AT_WORK, WAITING, SlurmJobState, query_job, run_slurm
from .script import MARK, PROGRESS, RESULT, render_script

NUMBER, LOG, SCRIPT = "number", "log", "job.sh"
SETTLING = 20  # seconds in which what a killed run had sent may still arrive
LATE = 600  # seconds behind its time limit at which Slurm is asked what became of a job that said nothing
PATIENCE = 120  # seconds that a run waits for a job to begin
LAST = 400
SIGNALLED = 143  # the exit code of a job that Slurm ended with a signal
REASONS = {
    "TIMEOUT": "it ran out of its time limit",
    "OUT_OF_MEMORY": "it ran out of memory",
    "CANCELLED": "it was cancelled",
    "NODE_FAIL": "its node failed",
    "PREEMPTED": "another job took its place",
    "DEADLINE": "it could not start in time",
    "BOOT_FAIL": "its node did not start",
}
LIMIT = re.compile(r"\b(?:Assoc|QOS)(?:Max|Grp)(?:Submit)?Jobs?(?:Per[A-Za-z]+)?Limit\b")  # words of Slurm's
AT_LIMIT = "you have as many jobs as the site allows at a time (%s)"
GONE = "Slurm does not know job %s any more, and it has left no word"


class JobOrder(NamedTuple):
    """A job that is to be submitted.

    purpose: a word of its name. work: shell commands, run in its folder, where say STEP DONE TOTAL UNIT tells how far
    they are; what they print goes to the file log. options: those of sbatch beside name, folder, output and time.
    """

    purpose: str
    work: str
    options: List[str]
    minutes: int


class JobStatus(NamedTuple):
    """What is known of a job. state: none, queued, running, done, failed or gone; reason: why it failed."""

    state: str
    reason: str = ""
    progress: Optional[Progress] = None
    number: str = ""


class SlurmJob:
    """The job that a folder belongs to, if there is one."""

    def __init__(self, folder: str) -> None:
        """folder: its path; it is made when the job is submitted, in one that nobody else may change."""
        self.folder = folder

    # -- looked at -----------------------------------------------------------------------------

    def standing(self, host: Host) -> JobStatus:
        """How it stands, by its files; Slurm is asked once, unless one only goes on following what was seen already."""
        held = _held(host, self.folder)
        if held is None:
            return JobStatus("none")
        result, mark = _document(held, RESULT), _document(held, MARK)
        number = _text(held, NUMBER)
        if result is not None:
            return _ended(int(result.get("code", 1)), held, number, str((mark or {}).get("name")))
        if mark is None:
            return JobStatus("none")
        progress = _document(held, PROGRESS)
        late = time.time() > _began(held, mark) + 60 * int(mark.get("minutes", 0)) + LATE
        if progress is not None and host.is_following and not late:
            return JobStatus("running", "", progress, number)
        if host.is_following and not late:
            return JobStatus("queued", "", _queued(number), number)
        seen = query_job(str(mark.get("name")), number)
        if _document(held, RESULT) is not None or _held(host, self.folder) is None:
            return self.standing(host)  # it ended meanwhile
        if seen is None or seen.state in AT_WORK + WAITING:
            if progress is not None:
                return JobStatus("running", "", progress, number)
            return JobStatus("queued", "", _queued(number or seen.number if seen else number, seen), number)
        if seen.state:
            word = seen.state.split(" ")[0]
            why = REASONS.get(word, "it ended as %s" % printable(word, 40))
            return JobStatus("failed", "job %s: %s%s" % (seen.number, why, _said_last(held)), None, seen.number)
        if number:
            return JobStatus("gone", GONE % number + _said_last(held), None, number)
        return JobStatus("none")

    def progress(self, host: Host) -> Optional[Progress]:
        """The same, as a resource tells it: how far it is, why it failed, or None."""
        standing = self.standing(host)
        if standing.state in ("failed", "gone"):
            return {"failed": standing.reason, "wants": {}}
        return standing.progress if standing.state in ("queued", "running") else None

    def given(self, host: Host) -> Dict[str, Any]:
        """Return what was noted with the job when it was submitted; empty where there is none, or it has ended."""
        held = _held(host, self.folder)
        mark = _document(held, MARK) if held and _document(held, RESULT) is None else None
        noted = mark.get("given") if mark else None
        return dict(noted) if isinstance(noted, dict) else {}

    def log(self, host: Host) -> str:
        """The last words of its work."""
        held = _held(host, self.folder)
        return _said_last(held) if held else ""

    # -- changed -------------------------------------------------------------------------------

    def submit(self, above: int, wanted: JobOrder, given: Optional[Dict[str, Any]] = None) -> str:
        """Submit it, unless it has been; gives Slurm's number. above: the open folder that its folder is made in.

        What an ended job had left is done away with, but for what its work keeps in folders of its own. given: noted
        with the job, for later runs. Raises AccountError: nothing was submitted, or it says that this is not known.
        """
        handle = open_job_folder(above, os.path.basename(self.folder), self.folder)
        held = path_of_handle(handle)
        try:
            found_again = self._left_by_a_killed_run(held)
            if found_again:
                return found_again
            for name in (RESULT, PROGRESS, NUMBER, LOG):
                _forget(held, name)
            name = "hpc.onboard-%s-%s" % (wanted.purpose, os.urandom(6).hex())
            write_small_file(os.path.join(held, SCRIPT), render_script(self.folder, name, wanted.work))
            mark = {"name": name, "at": int(time.time()), "minutes": wanted.minutes, "given": given or {}}
            write_small_file(os.path.join(held, MARK), json.dumps(mark))
            number = self._sent(held, name, wanted)
            write_small_file(os.path.join(held, NUMBER), number)
            return number
        finally:
            os.close(handle)

    def _left_by_a_killed_run(self, held: str) -> str:
        """The number of the job that this mark was made for, where it waits or runs; else empty."""
        mark = _document(held, MARK)
        if mark is None or _document(held, RESULT) is not None:
            return ""
        number = _text(held, NUMBER)
        seen = query_job(str(mark.get("name")), number)
        left = int(mark.get("at", 0)) + SETTLING - time.time()
        if seen is not None and not seen.state and not number and 0 < left <= SETTLING:
            time.sleep(left)
            seen = query_job(str(mark.get("name")), number)
        if seen is None:
            raise AccountError("whether an earlier job is still there cannot be asked (squeue): run again later")
        if seen.state not in AT_WORK + WAITING:
            return ""
        write_small_file(os.path.join(held, NUMBER), seen.number)
        return seen.number

    def _sent(self, held: str, name: str, wanted: JobOrder) -> str:
        line = ["--parsable", "--job-name=" + name, "--chdir=" + self.folder, "--output=/dev/null", "--no-requeue"]
        line += ["--time=%d" % wanted.minutes] + wanted.options
        words = run_slurm("sbatch", line, errors=True, input_from=os.path.join(held, SCRIPT))
        number = next((one.split(";")[0] for one in reversed((words or "").split()) if one.split(";")[0].isdigit()), "")
        if number and "error" not in (words or ""):
            return number
        seen = query_job(name, "")  # an error may also mean that the answer was lost
        if seen is not None and seen.state:
            return seen.number
        if seen is None:
            raise AccountError("whether Slurm has taken the job is not known: run again later (%s)" % _short(words))
        _forget(held, MARK)
        raise AccountError(refusal(words or "sbatch said nothing"))

    def cancel(self, host: Host) -> None:
        """End it, or what is at work on this login node in its place, and remove its folder."""
        held = _held(host, self.folder)
        if held is None:
            return
        if os.path.exists(os.path.join(held, "mark")):
            kill_marked_processes(read_small_file(os.path.join(held, "mark"))[:100])
        mark = _document(held, MARK)
        if mark is not None and _document(held, RESULT) is None:
            seen = query_job(str(mark.get("name")), "")
            if seen is None:
                raise AccountError("its job cannot be asked for (squeue): run again later")
            if seen.state in AT_WORK + WAITING:
                run_slurm("scancel", [seen.number])
        self.forget(host)

    def forget(self, host: Host) -> None:
        """Remove its folder, in which a job that is being ended may still write."""
        for attempt in range(50):
            try:
                host.remove_folder(self.folder)
                return
            except AccountError:
                if attempt == 49:
                    raise
                time.sleep(0.2)


def _ended(code: int, held: str, number: str, name: str) -> JobStatus:
    if code == 0:
        return JobStatus("done", "", None, number)
    how = "it ended with exit code %d" % code
    if code == SIGNALLED:
        seen = query_job(name, number)
        how = REASONS.get(seen.state.split(" ")[0] if seen else "", "it was cancelled, or ran out of its time limit")
    return JobStatus("failed", how + _said_last(held), None, number)


def _queued(number: str, seen: Optional[SlurmJobState] = None) -> Progress:
    code = printable(seen.code, 60) if seen and seen.code not in ("", "None") else ""
    step = "job %s is queued" % number if number else "a job is queued"
    why = {"why": AT_LIMIT % code if LIMIT.match(code) else code} if code else {}
    return dict({"step": step, "done": None, "total": None, "unit": "steps", "patience": PATIENCE}, **why)


def _began(held: str, mark: Dict[str, Any]) -> float:
    """When the job began to run, by its first word; a far time where it has said none."""
    try:
        return os.stat(os.path.join(held, PROGRESS)).st_mtime
    except OSError:
        return float("inf")


def refusal(said: str) -> str:
    """Return why Slurm takes no job, by what sbatch said."""
    limit = LIMIT.search(said)
    if limit:
        return "Slurm took no job: %s. Run again when one has ended" % (AT_LIMIT % limit.group(0))
    return "Slurm did not take the job: %s" % _short(said)


def _held(host: Host, folder: str) -> Optional[str]:
    """The path through which the folder of a job is read; None where there is none of ours."""
    there = host.entry(folder)
    return host.path_via_handle(folder) if there is not None and there.is_private else None


def _document(held: str, name: str) -> Optional[Dict[str, Any]]:
    try:
        document = json.loads(read_small_file(os.path.join(held, name)))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _text(held: str, name: str) -> str:
    try:
        return printable(read_small_file(os.path.join(held, name)).strip(), 40)
    except OSError:
        return ""


def _said_last(held: str) -> str:
    """The end of what the work said, as the end of a sentence."""
    try:
        with open(os.path.join(held, LOG), "rb", opener=_unlinked) as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - 4000))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
    words = _short(text)
    return ". It said: " + words if words else ""


def _unlinked(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _short(text: Optional[str]) -> str:
    lines = [" ".join(line.split()) for line in (text or "").splitlines() if line.strip() and line.strip() != "error"]
    return printable(" | ".join(lines)[-LAST:])


def _forget(held: str, name: str) -> None:
    try:
        path = os.path.join(held, name)
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    except FileNotFoundError:
        pass
