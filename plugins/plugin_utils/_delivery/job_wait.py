# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits for jobs on an account, and downloads what the account cannot fetch.

A job is work that continues on the account after the session, such as an installation. An outcome reports one resource
of a plan; its field `progress` is set while a job works on the resource, or has failed.
Each check is an SSH session of its own over the open connection, because a single session of several minutes could not
report progress. The account answers when a job reaches its next step, so few checks are needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError, as_account_error
from ...module_utils._core.lock_file import LockBusy, LockFile
from ...module_utils._jobs.download import ReportBytes, download_file
from .._state.fingerprint_key import make_private
from .engine_parts import cache_folder
from .result import FAILURES

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress, ResourceOutcome

    Check = Callable[[list[int], float], list[ResourceOutcome]]
    CopyFile = Callable[[int, dict[str, str]], ResourceOutcome]
    Show = Callable[[JobProgress | None], None]

FIRST_PATIENCE = 2.0  # seconds for which the account waits for progress in the first check
LONGEST_PATIENCE = 15.0  # the same, in later checks
OTHER_DOWNLOAD = 3600.0  # seconds to wait while another process downloads the same file
UNFINISHED = (
    "{identity} is still in progress ({step}) and continues on the account: run hpc-onboard again to wait for it"
)


def wait_for_jobs(
    outcomes: list[ResourceOutcome], seconds: float, check: Check, copy_file: CopyFile, show: Show
) -> list[ResourceOutcome]:
    """Return the outcomes once all jobs have ended, or the seconds are over. outcomes: of the plan, in its order.

    check(positions, patience): returns new outcomes of the resources at these positions; the account waits up to
    `patience` seconds for progress. copy_file(position, wants): copies a file to the account, restarts the job, and
    returns the job's new outcome. show: displays the progress of a job; None removes the display.
    """
    results = list(outcomes)
    started = time.monotonic()
    check_seconds = FIRST_PATIENCE
    copied: set[int] = set()  # positions for which copy_file was called
    try:
        while pending := [position for position, outcome in enumerate(results) if outcome["progress"]]:
            for position in pending:
                results[position] = _handle_failure(position, results[position], copy_file, copied)
            running = {position: job for position in pending if (job := running_job(results[position]))}
            if not running:
                continue  # all of these jobs had failed: some were restarted, or none is pending now
            # For a job that is still queued, the account sets a shorter time to wait ("patience")
            longest = min(seconds, max(job.get("patience", seconds) for job in running.values()))
            if time.monotonic() - started >= longest:
                return [_as_unfinished(outcome) for outcome in results]
            show(next(iter(running.values())))
            later_outcomes = check(list(running), check_seconds)
            for position, later_outcome in zip(running, later_outcomes, strict=True):
                results[position] = _add_progress(results[position], later_outcome)
            check_seconds = min(LONGEST_PATIENCE, check_seconds * 1.5)  # longer each time: fewer sessions
    finally:
        show(None)
    return results


def running_job(outcome: ResourceOutcome) -> JobProgress | None:
    """Return the progress of the outcome's job, or None if no job runs."""
    progress = outcome["progress"]
    return None if progress is None or "failed" in progress else progress


def _handle_failure(position: int, outcome: ResourceOutcome, copy_file: CopyFile, copied: set[int]) -> ResourceOutcome:
    """Return a failed outcome for a failed job, or restart the job once with the file that it could not fetch.

    The outcome of any other job is returned unchanged. copied: positions whose job was already restarted with a file;
    this position is added.
    """
    progress = outcome["progress"]
    if progress is None or "failed" not in progress:
        return outcome
    if not progress["wants"] or position in copied:  # no file would help, or the file did not help
        return _as_failed(outcome, progress["failed"])
    copied.add(position)
    try:
        return _add_progress(outcome, copy_file(position, progress["wants"]))
    except AccountError as error:
        return _as_failed(outcome, f"{progress['failed']}; this machine could not provide the file either: {error}")


def _as_failed(outcome: ResourceOutcome, reason: str) -> ResourceOutcome:
    """Return the outcome as failed for this reason, and without a job to wait for."""
    return {**outcome, "status": "failed", "reason": reason, "progress": None}


def _add_progress(outcome: ResourceOutcome, later: ResourceOutcome) -> ResourceOutcome:
    """Return the outcome with the state of its job in a later check: progress, failure, or the end of the job.

    later: the outcome that the later check returned.
    """
    if later["status"] in FAILURES:
        return {**outcome, "status": later["status"], "reason": later["reason"], "progress": None}
    progress = later["progress"]
    if progress is None and later["fields"]:
        return _as_failed(outcome, f"the job ended, but these fields still differ: {', '.join(later['fields'])}")
    before, after = running_job(outcome), running_job(later)
    if before and after and before["step"] == after["step"] and "why" in before:
        progress = {"why": before["why"], **after}  # the account reports only once why a job waits
    return {**outcome, "progress": progress, "remarks": later["remarks"]}


def _as_unfinished(outcome: ResourceOutcome) -> ResourceOutcome:
    """Return the outcome with the status "unknown", and its job's progress in `left`, if the job still runs.

    Other outcomes are returned unchanged.
    """
    job = running_job(outcome)
    if job is None:
        return outcome
    why = f": {job['why']}" if "why" in job else ""
    reason = UNFINISHED.format(identity=outcome["identity"], step=job["step"] + why)
    return {**outcome, "status": "unknown", "reason": reason, "progress": None, "left": job}


def fetch_installer(url: str, sha256: str, report: ReportBytes) -> Path:
    """Return the path of the file with this checksum in the cache. Download the file if the cache lacks it.

    report: called with the number of bytes downloaded so far, and the total. Raise AccountError.
    """
    folder = cache_folder()
    lock = LockFile(str(folder), f"{sha256}.lock")
    try:
        make_private(folder)
        lock.acquire(OTHER_DOWNLOAD)
        try:  # proxies={}: those of this machine's environment
            download_file(url, str(folder / sha256), sha256, proxies={}, report=report)
        finally:
            lock.release()
    except LockBusy as error:
        raise AccountError(
            f"another process is still downloading {url} ({error}): end that process, then run hpc-onboard again"
        ) from None
    except OSError as error:  # such as a full disk
        raise as_account_error(error, f"writing to {folder}") from None
    return folder / sha256
