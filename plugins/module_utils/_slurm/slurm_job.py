# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Slurm job of hpc-onboard, which is submitted once and reports its progress in files.

The files are in a private folder on a file system that compute nodes share. One is the mark, with a random job name,
written before the submission, so a run can find the job of a killed run. The job itself writes its progress and result.
Slurm is queried only if these files are missing, and not by a run that only follows a job, unless the job is late.
"""

import json
import os
import re
import shutil
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .._core.errors import AccountError, printable
from .._core.host import Host
from .._jobs.job import Progress, kill_programs, open_job_folder, path_of_handle, read_small_file, write_small_file
from .commands import ACTIVE, SlurmJobState, query_job, run_slurm
from .script import MARK, PROGRESS, RESULT, render_script

NUMBER, LOG, SCRIPT = "number", "log", "job.sh"
CLUSTER = "--clusters="  # the option of Slurm's commands for a job on another cluster than the login node's
SETTLING = 20  # seconds after a submission in which Slurm may not list the job yet
LATE = 600  # seconds after its time limit from which on a job without a result is late
PATIENCE = 120  # seconds that a run waits for a job to start
LOG_END, LAST = 4000, 400  # bytes that are read at the end of the log; characters of output in a message
SIGNALLED = 143  # the exit code of a job that Slurm ended with a signal
REASONS = {  # state of an ended job -> why it failed; %s: the job
    "TIMEOUT": "%s exceeded its time limit",
    "OUT_OF_MEMORY": "%s ran out of memory",
    "CANCELLED": "%s was cancelled",
    "NODE_FAIL": "%s failed because its compute node failed",
    "PREEMPTED": "%s was preempted by another job",
    "DEADLINE": "%s could not start before its deadline",
    "BOOT_FAIL": "%s failed because its compute node did not boot",
}
# Slurm's reason codes for a limit on the number of jobs, such as QOSMaxJobsPerUserLimit
LIMIT = re.compile(r"\b(?:Assoc|QOS)(?:Max|Grp)(?:Submit)?Jobs?(?:Per[A-Za-z]+)?Limit\b")
AT_LIMIT = "you have reached the site's limit on the number of jobs (%s)"
NO_QUERY = "squeue failed, so hpc-onboard cannot check whether an earlier job is running. Run hpc-onboard again later"


class JobOrder(NamedTuple):
    """A job to submit. Its commands report progress with 'say STEP DONE TOTAL UNIT'; their output goes to the log."""

    purpose: str  # a part of the job's name
    work: str  # shell commands, which run in the job's folder
    options: List[str]  # further options of sbatch
    minutes: int  # the time limit


class JobStatus(NamedTuple):
    """A job's status. state: none, queued, running, done, failed, gone (unknown to Slurm). reason: of a failure."""

    state: str
    reason: str = ""
    progress: Optional[Progress] = None


class SlurmJob:
    """The job that belongs to a folder, if one was submitted."""

    def __init__(self, folder: str) -> None:
        """folder: the job's own folder, created by submit() in a folder that no other user can change."""
        self.folder = folder

    def read_status(self, host: Host) -> JobStatus:
        """Return the status of the job from its files, or else from Slurm."""
        folder = _readable_path(host, self.folder)
        if folder is None:
            return JobStatus("none")
        result, mark, number = _read_document(folder, RESULT), _read_document(folder, MARK), _read_word(folder, NUMBER)
        if result is not None:  # without a code, the result counts as a failure
            return _describe_end(int(result.get("code", 1)), folder, number, mark or {})
        if mark is None:
            return JobStatus("none")
        progress = _read_document(folder, PROGRESS)
        is_late = time.time() > _read_progress_time(folder) + 60 * int(mark.get("minutes", 0)) + LATE
        if host.is_following and not is_late:  # an earlier poll of this run has queried Slurm
            return _describe_active(progress, number)
        job = _query_marked_job(mark, number)
        if _read_document(folder, RESULT) is not None or _readable_path(host, self.folder) is None:
            return self.read_status(host)  # the job has ended during the query
        if job is None or job.state in ACTIVE:  # None: Slurm did not answer
            return _describe_active(progress, number or (job.number if job else ""), job)
        if job.state:
            return _describe_end_without_result(job, folder)
        if number:  # the job was submitted
            why = "job %s left no result, and Slurm no longer lists it" % number
            return JobStatus("gone", _with_output(why, folder))
        return JobStatus("none")  # the run that wrote the mark was killed before it submitted the job

    def progress(self, host: Host) -> Optional[Progress]:
        """Return the progress of the job, or {failed: reason, wants: {}}; None without a job, or if the job is done."""
        status = self.read_status(host)
        if status.state in ("failed", "gone"):
            return {"failed": status.reason, "wants": {}}  # {}: no file from the user's machine would help
        return status.progress

    def read_details(self, host: Host) -> Dict[str, Any]:
        """Return the details that were recorded at submission; empty without a job, or if the job has ended."""
        folder = _readable_path(host, self.folder)
        if folder is None or _read_document(folder, RESULT) is not None:
            return {}
        details = (_read_document(folder, MARK) or {}).get("given")
        return dict(details) if isinstance(details, dict) else {}

    def submit(self, parent: int, order: JobOrder, details: Dict[str, Any]) -> str:
        """Submit the job, unless it is waiting or running already, and return its number.

        parent: the open folder that contains the job's folder. details: recorded for later runs. Files of an ended job
        are removed, but not the folders of its work. Raise AccountError if Slurm rejects the job, or may have done so.
        """
        handle = open_job_folder(parent, os.path.basename(self.folder), self.folder)
        folder = path_of_handle(handle)
        try:
            number = self._find_earlier_job(folder)
            if number:
                return number
            for name in (RESULT, PROGRESS, NUMBER, LOG):
                _remove_if_exists(folder, name)
            job_name = "hpc.onboard-%s-%s" % (order.purpose, os.urandom(6).hex())
            write_small_file(os.path.join(folder, SCRIPT), render_script(self.folder, job_name, order.work))
            mark = {"name": job_name, "at": int(time.time()), "minutes": order.minutes, "given": details}
            cluster = next((word[len(CLUSTER) :] for word in order.options if word.startswith(CLUSTER)), "")
            mark.update({"cluster": cluster} if cluster else {})
            write_small_file(os.path.join(folder, MARK), json.dumps(mark))  # before sbatch: a killed run is recognized
            number = self._run_sbatch(folder, mark, order)
            write_small_file(os.path.join(folder, NUMBER), number)
            return number
        finally:
            os.close(handle)

    def _find_earlier_job(self, folder: str) -> str:
        """Return the number of the job of an earlier run with this folder, if it is waiting or running; else ""."""
        mark = _read_document(folder, MARK)
        if mark is None or _read_document(folder, RESULT) is not None:
            return ""
        number = _read_word(folder, NUMBER)
        job = _query_marked_job(mark, number)
        is_unlisted = job is not None and not job.state
        remaining = int(mark.get("at", 0)) + SETTLING - time.time()
        if is_unlisted and not number and 0 < remaining <= SETTLING:
            time.sleep(remaining)  # the sbatch command of a killed run may still be submitting the job
            job = _query_marked_job(mark, number)
        if job is None:
            raise AccountError(NO_QUERY)
        if job.state not in ACTIVE:
            return ""
        write_small_file(os.path.join(folder, NUMBER), job.number)
        return job.number

    def _run_sbatch(self, folder: str, mark: Mapping[str, Any], order: JobOrder) -> str:
        """Submit the script in the job's folder, and return the job's number. Raise AccountError as submit() does."""
        options = ["--parsable", "--job-name=" + mark["name"], "--chdir=" + self.folder, "--output=/dev/null"]
        options += ["--no-requeue", "--time=%d" % order.minutes] + order.options
        output = run_slurm("sbatch", options, returns_errors=True, input_from=os.path.join(folder, SCRIPT)) or ""
        words = [word.split(";")[0] for word in reversed(output.split())]  # NUMBER or NUMBER;CLUSTER
        number = next((word for word in words if word.isdigit()), "")
        if number and "error" not in output:  # accepted
            return number
        job = _query_marked_job(mark, number="")  # Slurm may have accepted the job: perhaps only the answer was lost
        if job is not None and job.state:
            return job.number
        if job is None:
            text = "hpc-onboard cannot check whether Slurm accepted the job (%s). Run hpc-onboard again later"
            raise AccountError(text % _shorten(output))
        _remove_if_exists(folder, MARK)
        raise AccountError(explain_rejection(output or "sbatch printed nothing"))

    def cancel(self, host: Host) -> None:
        """End the job, in Slurm or on this login node, and remove its folder. Raise AccountError if squeue fails."""
        folder = _readable_path(host, self.folder)
        if folder is None:  # no job was submitted
            return
        kill_programs(folder)  # of a job on this login node
        mark = _read_document(folder, MARK)
        if mark is not None and _read_document(folder, RESULT) is None:
            job = _query_marked_job(mark, number="")
            if job is None:
                raise AccountError(NO_QUERY)
            if job.state in ACTIVE:
                run_slurm("scancel", [job.number] + ([CLUSTER + mark["cluster"]] if "cluster" in mark else []))
        for _attempt in range(50):  # for 10 seconds: a job that is being cancelled may still write files
            try:
                host.remove_folder(self.folder)
                return
            except AccountError:
                time.sleep(0.2)
        host.remove_folder(self.folder)


def _query_marked_job(mark: Mapping[str, Any], number: str) -> Optional[SlurmJobState]:
    """Return the job with this mark as Slurm lists it; None if Slurm's commands fail. number: of the job, or ""."""
    return query_job(str(mark.get("name")), number, str(mark.get("cluster", "")))


def _describe_end(code: int, folder: str, number: str, mark: Mapping[str, Any]) -> JobStatus:
    """Return the status of a job that left an exit code. For a signal, query Slurm for the cause by number or name."""
    if code == 0:
        return JobStatus("done")
    why = "the job ended with exit code %d" % code
    if code == SIGNALLED:
        job = _query_marked_job(mark, number)
        reason = REASONS.get(job.state.split(" ")[0] if job else "", "%s was cancelled or exceeded its time limit")
        why = reason % "the job"
    return JobStatus("failed", _with_output(why, folder))


def _describe_end_without_result(job: SlurmJobState, folder: str) -> JobStatus:
    """Return the status of a job that ended before it could write its result, from its state in Slurm."""
    subject, state = "job %s" % job.number, job.state.split(" ")[0]  # such as "CANCELLED by 1000"
    why = REASONS[state] % subject if state in REASONS else "%s ended in state %s" % (subject, printable(state, 40))
    return JobStatus("failed", _with_output(why, folder))


def _describe_active(progress: Optional[Progress], number: str, job: Optional[SlurmJobState] = None) -> JobStatus:
    """Return the status of a job that has not ended. number: "" if unknown. job: its state in Slurm, if queried."""
    if progress is not None:  # only a running job has written progress
        return JobStatus("running", progress=progress)
    code = printable(job.code, 60) if job and job.code not in ("", "None") else ""
    step = "job %s is queued" % number if number else "a job is queued"
    queued: Progress = {"step": step, "done": None, "total": None, "unit": "steps", "patience": PATIENCE}
    if code:
        queued["why"] = AT_LIMIT % code if LIMIT.match(code) else code
    return JobStatus("queued", progress=queued)


def _read_progress_time(folder: str) -> float:
    """Return the time of the last progress report, in seconds since 1970; infinity if the job has not started."""
    try:
        return os.stat(os.path.join(folder, PROGRESS)).st_mtime
    except OSError:
        return float("inf")


def explain_rejection(output: str) -> str:
    """Return why Slurm rejected a job, from the output of sbatch."""
    limit = LIMIT.search(output)
    if limit:
        text = "Slurm rejected the job: %s. Run hpc-onboard again when one of your jobs has ended"
        return text % (AT_LIMIT % limit.group(0))
    return "Slurm rejected the job: %s" % _shorten(output)


def _readable_path(host: Host, folder: str) -> Optional[str]:
    """Return the path by which to read the folder of a job; None without a private folder."""
    entry = host.entry(folder)
    return host.path_via_handle(folder) if entry is not None and entry.is_private else None


def _read_document(folder: str, file_name: str) -> Optional[Dict[str, Any]]:
    """Return the JSON object in a file of the job's folder; None if the file is missing or invalid."""
    try:
        document = json.loads(read_small_file(os.path.join(folder, file_name)))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _read_word(folder: str, file_name: str) -> str:
    """Return the word in a file of the job's folder; "" if the file cannot be read."""
    try:
        return printable(read_small_file(os.path.join(folder, file_name)).strip(), 40)
    except OSError:
        return ""


def _with_output(sentence: str, folder: str) -> str:
    """Return a sentence about a job with the end of the job's log, if there is a log."""
    try:
        with open(os.path.join(folder, LOG), "rb", opener=_open_without_links) as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - LOG_END))
            text = _shorten(stream.read().decode("utf-8", "replace"))
    except OSError:
        return sentence
    return "%s. Its output ends with: %s" % (sentence, text) if text else sentence


def _open_without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)  # O_NONBLOCK: do not wait for the writer of a pipe


def _shorten(text: str) -> str:
    """Return the end of a program's output in one line, without the word 'error' of run_slurm()."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip() and line.strip() != "error"]
    return printable(" | ".join(lines)[-LAST:])


def _remove_if_exists(folder: str, file_name: str) -> None:
    path = os.path.join(folder, file_name)
    try:
        if os.path.isdir(path) and not os.path.islink(path):  # a command of the job may have created a folder
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        pass
