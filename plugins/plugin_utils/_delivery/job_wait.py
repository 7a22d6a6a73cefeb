# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits for jobs on an account, and downloads what the account cannot fetch.

Each check is an SSH session of its own over the open connection, because a plan that waits for minutes could not report
progress. The account answers when a job reaches its next step, so there are few checks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from ...module_utils._core.lock_file import LockBusy, LockFile
from ...module_utils._jobs.download import ReportBytes, fetch
from .._state.fingerprint_key import make_private
from .result import FAILURES

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress, ResourceOutcome

    Ask = Callable[[list[int], float], list[ResourceOutcome]]
    Bring = Callable[[int, dict[str, str]], ResourceOutcome]
    Show = Callable[[JobProgress | None], None]

FIRST = 2.0  # seconds for which the account waits for news in the first check
LONGEST = 15.0
OTHER_DOWNLOAD = 3600.0  # seconds to wait while another process downloads the same file
UNFINISHED = "{identity} is still in progress ({step}) and continues on the account: run again to wait for it"


def wait_for_jobs(
    outcomes: list[ResourceOutcome], seconds: float, ask: Ask, bring: Bring, show: Show
) -> list[ResourceOutcome]:
    """Return the outcomes once no job runs any more, or the seconds are over.

    ask(positions, patience): checks the resources at these positions. bring(position, wants): copies a file to the
    account and restarts the job. show: displays the progress.
    """
    results = list(outcomes)
    started = time.monotonic()
    patience = FIRST
    brought: set[int] = set()
    try:
        while pending := [position for position, outcome in enumerate(results) if outcome["progress"]]:
            for position in pending:
                results[position] = _handle_failure(position, results[position], bring, brought)
            running = {position: job for position in pending if (job := running_job(results[position]))}
            if not running:
                continue
            longest = min(seconds, max(job.get("patience", seconds) for job in running.values()))
            if time.monotonic() - started >= longest:
                return [_as_unfinished(outcome) for outcome in results]
            show(next(iter(running.values())))
            for position, checked in zip(running, ask(list(running), patience), strict=True):
                results[position] = _update(results[position], checked)
            patience = min(LONGEST, patience * 1.5)
    finally:
        show(None)
    return results


def running_job(outcome: ResourceOutcome) -> JobProgress | None:
    """Return the progress of the outcome's job, or None if no job runs."""
    progress = outcome["progress"]
    return None if progress is None or "failed" in progress else progress


def _handle_failure(position: int, outcome: ResourceOutcome, bring: Bring, brought: set[int]) -> ResourceOutcome:
    """Return a failed outcome for a failed job, or restart it with the file that it could not fetch, once."""
    progress = outcome["progress"]
    if progress is None or "failed" not in progress:
        return outcome
    if not progress["wants"] or position in brought:
        return _as_failed(outcome, progress["failed"])
    brought.add(position)
    try:
        return _update(outcome, bring(position, progress["wants"]))
    except AccountError as error:
        return _as_failed(outcome, f"{progress['failed']}; this machine could not provide the file either: {error}")


def _as_failed(outcome: ResourceOutcome, reason: str) -> ResourceOutcome:
    return {**outcome, "status": "failed", "reason": reason, "progress": None}


def _update(outcome: ResourceOutcome, checked: ResourceOutcome) -> ResourceOutcome:
    """Return the first outcome with what the job has done since."""
    if checked["status"] in FAILURES:
        return {**outcome, "status": checked["status"], "reason": checked["reason"], "progress": None}
    before, now = outcome["progress"], checked["progress"]
    if now is None and checked["fields"]:
        return _as_failed(outcome, "the work ended, but the result is not up to date: " + ", ".join(checked["fields"]))
    if before and now and "failed" not in before and "failed" not in now and before["step"] == now["step"]:
        now = {"why": before["why"], **now} if "why" in before else now  # why it waits is asked only once
    return {**outcome, "progress": now, "remarks": checked["remarks"]}


def _as_unfinished(outcome: ResourceOutcome) -> ResourceOutcome:
    """Return the outcome of a job that runs on after the time to wait; others as they are."""
    job = running_job(outcome)
    if job is None:
        return outcome
    why = f": {job['why']}" if "why" in job else ""
    reason = UNFINISHED.format(identity=outcome["identity"], step=job["step"] + why)
    return {**outcome, "status": "unknown", "reason": reason, "progress": None, "left": job}


def fetch_installer(url: str, sha256: str, report: ReportBytes) -> Path:
    """Return the file with this checksum from the cache, downloaded once for all accounts that cannot fetch it.

    report: gets the bytes that are done, and the total. Raise AccountError.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hpc.onboard"
    make_private(folder)
    lock = LockFile(str(folder), f"{sha256}.lock")
    try:
        lock.acquire(OTHER_DOWNLOAD)
    except LockBusy as error:
        raise AccountError(
            f"another process is downloading {url} and does not finish ({error}): end that process, then run again"
        ) from None
    try:
        fetch(url, str(folder / sha256), sha256, {}, report)
    finally:
        lock.release()
    return folder / sha256
