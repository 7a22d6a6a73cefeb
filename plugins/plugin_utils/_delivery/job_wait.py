# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits for jobs on an account, and downloads what the account cannot fetch.

Each check is an SSH session of its own over the open connection, because a single session of several minutes could not
report progress. The account answers when a job reaches its next step, so few checks are needed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from ...module_utils._core.lock_file import LockBusy, LockFile
from ...module_utils._jobs.download import ReportBytes, download_file
from .._state.fingerprint_key import make_private
from .result import FAILURES

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress, ResourceOutcome

    Check = Callable[[list[int], float], list[ResourceOutcome]]
    CopyFile = Callable[[int, dict[str, str]], ResourceOutcome]
    Show = Callable[[JobProgress | None], None]

FIRST_PATIENCE = 2.0  # seconds for which the account waits for progress in the first check
LONGEST_PATIENCE = 15.0
OTHER_DOWNLOAD = 3600.0  # seconds to wait while another process downloads the same file
UNFINISHED = "{identity} is still in progress ({step}) and continues on the account: run again to wait for it"


def wait_for_jobs(
    outcomes: list[ResourceOutcome], seconds: float, check: Check, copy_file: CopyFile, show: Show
) -> list[ResourceOutcome]:
    """Return the outcomes once all jobs have ended, or the seconds are over.

    check(positions, patience): checks the resources at these positions; the account waits for progress that long.
    copy_file(position, wants): copies a file to the account and restarts the job. show: displays the progress.
    """
    results = list(outcomes)
    started = time.monotonic()
    check_seconds = FIRST_PATIENCE
    copied: set[int] = set()
    try:
        while pending := [position for position, outcome in enumerate(results) if outcome["progress"]]:
            for position in pending:
                results[position] = _handle_failure(position, results[position], copy_file, copied)
            running = {position: job for position in pending if (job := running_job(results[position]))}
            if not running:
                continue  # each pending job had failed, and has ended or was restarted: look again
            # "patience": the most seconds to wait for a job that has not started
            wait_seconds = min(seconds, max(job.get("patience", seconds) for job in running.values()))
            if time.monotonic() - started >= wait_seconds:
                return [_as_unfinished(outcome) for outcome in results]
            show(next(iter(running.values())))
            for position, later_outcome in zip(running, check(list(running), check_seconds), strict=True):
                results[position] = _add_progress(results[position], later_outcome)
            check_seconds = min(LONGEST_PATIENCE, check_seconds * 1.5)
    finally:
        show(None)
    return results


def running_job(outcome: ResourceOutcome) -> JobProgress | None:
    """Return the progress of the outcome's job, or None if no job runs."""
    progress = outcome["progress"]
    return None if progress is None or "failed" in progress else progress


def _handle_failure(position: int, outcome: ResourceOutcome, copy_file: CopyFile, copied: set[int]) -> ResourceOutcome:
    """Return a failed outcome for a failed job, or restart it with the file that it could not fetch, once.

    copied: the positions for which a file was copied before.
    """
    progress = outcome["progress"]
    if progress is None or "failed" not in progress:
        return outcome
    if not progress["wants"] or position in copied:
        return _as_failed(outcome, progress["failed"])
    copied.add(position)
    try:
        return _add_progress(outcome, copy_file(position, progress["wants"]))
    except AccountError as error:
        return _as_failed(outcome, f"{progress['failed']}; this machine could not provide the file either: {error}")


def _as_failed(outcome: ResourceOutcome, reason: str) -> ResourceOutcome:
    return {**outcome, "status": "failed", "reason": reason, "progress": None}


def _add_progress(outcome: ResourceOutcome, later_outcome: ResourceOutcome) -> ResourceOutcome:
    """Return the outcome with the progress of its job from a later check."""
    if later_outcome["status"] in FAILURES:
        return {**outcome, "status": later_outcome["status"], "reason": later_outcome["reason"], "progress": None}
    progress = later_outcome["progress"]
    if progress is None and later_outcome["fields"]:
        return _as_failed(
            outcome, f"the job ended, but these fields still differ: {', '.join(later_outcome['fields'])}"
        )
    before, after = running_job(outcome), running_job(later_outcome)
    if before and after and before["step"] == after["step"] and "why" in before:
        progress = {"why": before["why"], **after}  # the account finds out only once why a job waits
    return {**outcome, "progress": progress, "remarks": later_outcome["remarks"]}


def _as_unfinished(outcome: ResourceOutcome) -> ResourceOutcome:
    """Return the outcome as unknown if its job still runs after the time to wait, else unchanged."""
    job = running_job(outcome)
    if job is None:
        return outcome
    why = f": {job['why']}" if "why" in job else ""
    reason = UNFINISHED.format(identity=outcome["identity"], step=job["step"] + why)
    return {**outcome, "status": "unknown", "reason": reason, "progress": None, "left": job}


def fetch_installer(url: str, sha256: str, report: ReportBytes) -> Path:
    """Return the path of the file with this checksum in the cache; download the file if it is not there.

    report: called with the bytes that are done, and the total. Raise AccountError.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hpc.onboard"
    make_private(folder)
    lock = LockFile(str(folder), f"{sha256}.lock")
    try:
        lock.acquire(OTHER_DOWNLOAD)
    except LockBusy as error:
        raise AccountError(
            f"another process is still downloading {url} ({error}): end that process, then run again"
        ) from None
    try:
        download_file(url, str(folder / sha256), sha256, {}, report)
    finally:
        lock.release()
    return folder / sha256
