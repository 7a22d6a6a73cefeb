# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What jobs said of all accounts together: a document for programs, and whether the run fails by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._input import extra_vars
from .._state import document_file

if TYPE_CHECKING:
    from .._documents.outcome import Outcome
    from .._documents.result import Tried, TryReport, TryState
    from .trial import Trial

SCHEMA = "hpc.onboard/try/1.0"
SETTINGS: dict[str, extra_vars.Reader] = {
    "try_gpu": extra_vars.truth,
    "try_wait": extra_vars.number,
    "try_output": extra_vars.text,
}
GOOD: tuple[TryState, ...] = ("works", "foreseen")


def settings(variables: Mapping[str, Any], value: extra_vars.Value) -> dict[str, Any]:
    """What a person wants of this run. Raises AccountError."""
    return extra_vars.read("try", SETTINGS, variables, value)


def tried(job: Outcome, checks: Sequence[Outcome], trial: Trial, check_run: bool) -> Tried:
    """What came of one account. job: of the job itself. checks: of what it tried; empty where it has not ended."""
    ways = {one["what"]: one["way"] for one in trial.checks}
    return {
        "state": _state(job, checks, check_run),
        "text": "" if checks else str(job["reason"] or ""),
        "checks": [
            {
                "what": one["identity"],
                "way": ways[one["identity"]],
                "works": one["status"] == "in_place",
                "why": one["reason"] or "",
            }
            for one in checks
        ],
        "untried": [one._asdict() for one in trial.untried],
    }


def _state(job: Outcome, checks: Sequence[Outcome], check_run: bool) -> TryState:
    if checks:
        return "works" if all(one["status"] == "in_place" for one in checks) else "fails"
    if "left" in job:
        return "waiting"
    if job["status"] in ("blocked", "failed", "not_measured"):
        return "no_job"
    return "foreseen" if check_run else "no_job"


def reported(variables: Mapping[str, Any], value: extra_vars.Value, moment: str, check_run: bool) -> TryReport:
    """The report over all accounts of the play. moment: of the end, ISO 8601. Raises AccountError."""
    wishes = settings(variables, value)
    names = sorted(variables.get("ansible_play_hosts_all") or [])
    rows = [{"name": name, **_row(variables["hostvars"][name].get("tried") or {})} for name in names]
    bad = sum(row["state"] not in GOOD for row in rows)
    if wishes.get("try_output"):
        document = {"schema": SCHEMA, "finished": moment, "check": check_run, "accounts": rows}
        document_file.write("try_output", Path(wishes["try_output"]), document)
    said = f"{bad} of {len(rows)} accounts are not as wanted in jobs" if bad else "jobs work on all accounts"
    return {"kind": "try_report", "changed": False, "failed": bool(bad), "msg": said, "accounts": rows}


def _row(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """What came of one account; one that was not reached, or an error, is one where nothing was tried."""
    found: Mapping[str, Any] = result.get("tried") or {
        "state": "not_tried",
        "text": str(result.get("msg") or "it was not looked at"),
        "checks": [],
        "untried": [],
    }
    return found
