# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits for the work that goes on by itself on an account, and brings what the account cannot fetch.

Each question is a command session of its own over the connection that is open, for no plan can wait for
minutes and be seen meanwhile. It ends when a step does, so there are few of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from ...module_utils._core.lock_file import LockBusy, LockFile
from ...module_utils._jobs.download import Said, fetch
from .._state.fingerprint_key import make_private

if TYPE_CHECKING:
    from .._documents.outcome import Outcome, Progress, UnderWay

    Ask = Callable[[list[int], float], list[Outcome]]
    Bring = Callable[[int, dict[str, str]], Outcome]
    Show = Callable[[UnderWay | None], None]

FIRST = 2.0  # seconds that the first question waits on the account for something new
LONGEST = 15.0
FETCHED_ELSEWHERE = 3600.0  # seconds that an account waits for what is fetched here for another one
LEFT = "{identity} is still at it ({step}) and goes on by itself: run again to wait for it"


def settled(outcomes: list[Outcome], seconds: float, ask: Ask, bring: Bring, show: Show) -> list[Outcome]:
    """The outcomes when nothing is under way any more, or the seconds are over.

    ask(positions, patience) looks again at the resources at these positions; bring(position, wants) takes a
    file to the account and starts the work anew; show is told how far it is.
    """
    done = list(outcomes)
    started = time.monotonic()
    patience = FIRST
    brought: set[int] = set()
    try:
        while pending := [position for position, one in enumerate(done) if one["progress"]]:
            for position in pending:
                done[position] = _advanced(position, done[position], bring, brought)
            waiting = [position for position in pending if under_way(done[position])]
            if not waiting:
                continue
            if time.monotonic() - started >= _longest(seconds, [done[position] for position in waiting]):
                return [_left(one) for one in done]
            show(under_way(done[waiting[0]]))
            for position, seen in zip(waiting, ask(waiting, patience), strict=True):
                done[position] = _after(done[position], seen)
            patience = min(LONGEST, patience * 1.5)
    finally:
        show(None)
    return done


def _longest(seconds: float, waiting: list[Outcome]) -> float:
    """How long is waited: no longer than any of what is under way is worth."""
    at_work = [progress for one in waiting if (progress := under_way(one))]
    return min(seconds, max(progress.get("patience", seconds) for progress in at_work))


def under_way(outcome: Outcome) -> UnderWay | None:
    """How far the work is that goes on; None where there is none, or none any more."""
    progress = outcome["progress"]
    return None if progress is None or "failed" in progress else progress


def _advanced(position: int, outcome: Outcome, bring: Bring, brought: set[int]) -> Outcome:
    """What failed is over, unless the file that it wants can be brought; that is tried once."""
    progress = outcome["progress"]
    if progress is None or "failed" not in progress:
        return outcome
    if progress["wants"] and position not in brought:
        brought.add(position)
        try:
            return _after(outcome, bring(position, progress["wants"]))
        except AccountError as error:
            return _failed(outcome, f"{progress['failed']}; and from here: {error}")
    return _failed(outcome, progress["failed"])


def _failed(outcome: Outcome, reason: str) -> Outcome:
    return {**outcome, "status": "failed", "reason": reason, "progress": None}


def _after(outcome: Outcome, seen: Outcome) -> Outcome:
    """What was found first, with what has come of it by now."""
    if seen["status"] in ("blocked", "failed", "unknown"):
        return {**outcome, "status": seen["status"], "reason": seen["reason"], "progress": None}
    if seen["progress"] is None and seen["fields"]:
        return _failed(outcome, "it ended, and is still not up to date: " + ", ".join(seen["fields"]))
    return {**outcome, "progress": _still(outcome["progress"], seen["progress"]), "remarks": seen["remarks"]}


def _still(before: Progress | None, now: Progress | None) -> Progress | None:
    """How far it is now. Why it has not begun was asked once, and holds for as long as it is at the same step."""
    if before is None or now is None or "failed" in before or "failed" in now or "why" not in before:
        return now
    return now if before["step"] != now["step"] else {"why": before["why"], **now}


def _left(outcome: Outcome) -> Outcome:
    """What time has run out for; what is not under way stays."""
    progress = under_way(outcome)
    if progress is None:
        return outcome
    why = f": {progress['why']}" if "why" in progress else ""
    reason = LEFT.format(identity=outcome["identity"], step=progress["step"] + why)
    return {**outcome, "status": "unknown", "reason": reason, "progress": None, "left": progress}


def fetched(url: str, sha256: str, said: Said) -> Path:
    """The file with this sum, fetched here once for all accounts that have no way out; kept by its sum.

    said is told the bytes. Raises AccountError.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hpc.onboard"
    make_private(folder)
    lock = LockFile(str(folder), f"{sha256}.lock")
    try:
        lock.acquire(FETCHED_ELSEWHERE)
    except LockBusy as error:
        raise AccountError(
            f"another process fetches {url} and does not end ({error}): end it, then run again"
        ) from None
    try:
        fetch(url, str(folder / sha256), sha256, {}, said)
    finally:
        lock.release()
    return folder / sha256
