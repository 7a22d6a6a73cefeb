# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for what goes on by itself on an account, told by a script of what the account says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import job_wait

Outcome = dict[str, Any]
WANTS = {"url": "https://x", "sha256": "0", "path": "/data/x"}


def outcome(progress: dict[str, Any] | None = None, **more: Any) -> Outcome:
    """What the account says of a resource."""
    fields = ["conda"] if progress else []
    found = {"identity": "conda /data", "status": "missing", "fields": fields, "reason": None, "remarks": []}
    return {**found, "evidence": {}, "before": {}, "after": {}, "seconds": 0.1, "progress": progress, **more}


def at(step: str) -> dict[str, Any]:
    """Work at this step."""
    return {"step": step, "done": None, "total": None, "unit": "steps"}


FAILED = {"failed": "it was ended", "wants": {}}
UNREACHED = {"failed": "no way out", "wants": WANTS}
DONE = outcome(status="ok")


class Account:
    """Gives the answers of a script, one for each question, and keeps what was asked and shown."""

    def __init__(self, *answers: Outcome, brought: Outcome | None = None) -> None:
        self.answers = list(answers)
        self.brought = brought
        self.asked: list[tuple[list[int], float]] = []
        self.shown: list[Any] = []
        self.taken: list[dict[str, str]] = []

    def ask(self, positions: list[int], patience: float) -> list[Outcome]:
        """One answer for each position."""
        self.asked.append((positions, patience))
        return [self.answers.pop(0) for _position in positions]

    def bring(self, _position: int, wants: dict[str, str]) -> Outcome:
        """Take the file that is wanted."""
        self.taken.append(wants)
        assert self.brought is not None
        return self.brought

    def settled(self, outcomes: list[Outcome], seconds: float = 60) -> list[Outcome]:
        """Wait for the outcomes."""
        return job_wait.wait_for_jobs(outcomes, seconds, self.ask, self.bring, self.shown.append)


def test_with_nothing_under_way_nothing_is_asked() -> None:
    account = Account()
    assert account.settled([DONE]) == [DONE]
    assert (account.asked, account.shown) == ([], [None])


def test_it_waits_to_the_end_and_keeps_what_was_found_first() -> None:
    account = Account(outcome(at("two")), outcome(at("three")), DONE)
    found = account.settled([DONE, outcome(at("one"))])
    assert [one["status"] for one in found] == ["ok", "missing"]
    assert [one["progress"] for one in found] == [None, None]
    assert [positions for positions, _patience in account.asked] == [[1], [1], [1]]
    assert [shown and shown["step"] for shown in account.shown] == ["one", "two", "three", None]


def test_questions_become_fewer() -> None:
    account = Account(*[outcome(at("one")) for _number in range(8)], DONE)
    account.settled([outcome(at("one"))])
    waits = [patience for _positions, patience in account.asked]
    assert waits == sorted(waits)
    assert waits[-1] == job_wait.LONGEST_PATIENCE


@pytest.mark.parametrize("when", ["at once", "later"])
def test_what_failed_is_said(when: str) -> None:
    account = Account(outcome(FAILED))
    found = account.settled([outcome(FAILED if when == "at once" else at("one"))])[0]
    assert (found["status"], found["reason"]) == ("failed", "it was ended")


def test_what_the_account_cannot_fetch_is_brought_once() -> None:
    account = Account(DONE, brought=outcome(at("installing")))
    assert account.settled([outcome(UNREACHED)])[0]["status"] == "missing"
    assert account.taken == [WANTS]
    again = Account(outcome(UNREACHED), brought=outcome(at("downloading")))
    found = again.settled([outcome(UNREACHED)])[0]
    assert (found["status"], found["reason"], len(again.taken)) == ("failed", "no way out", 1)


def test_what_ended_and_is_not_as_wanted_is_a_failure() -> None:
    found = Account(outcome(None, fields=["environment demo"])).settled([outcome(at("one"))])[0]
    assert (found["status"], found["reason"]) == (
        "failed",
        "the job ended, but these fields still differ: environment demo",
    )


def test_a_file_system_that_hangs_meanwhile_is_said() -> None:
    found = Account(outcome(None, status="unknown", reason="hangs")).settled([outcome(at("one"))])[0]
    assert (found["status"], found["reason"]) == ("unknown", "hangs")


def test_why_a_job_has_not_begun_is_kept_while_it_waits_and_no_longer() -> None:
    queued = {**at("job 5 is queued"), "why": "QOSMaxJobsPerUserLimit"}
    many = 10_000  # more than there is time for
    waiting = Account(*[outcome(at("job 5 is queued"))] * many).settled([outcome(queued)], seconds=0.01)[0]
    assert "(job 5 is queued: QOSMaxJobsPerUserLimit)" in str(waiting["reason"])
    assert waiting["left"] == queued
    begun = Account(*[outcome(at("trying"))] * many).settled([outcome(queued)], seconds=0.01)[0]
    assert "(trying)" in str(begun["reason"])


def test_when_the_time_is_over_it_goes_on_and_is_not_said_to_be_done() -> None:
    found = Account().settled([outcome(at("installing"))], seconds=0)[0]
    assert found["status"] == "unknown"
    text = "conda /data is still in progress (installing) and continues on the account: run hpc-onboard again to wait"
    assert found["reason"].startswith(text)


def test_a_cache_that_cannot_be_written_fails_the_resource_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(AccountError, match=r"^writing to .*/cache/hpc.onboard failed \(ENOTDIR\)"):
        job_wait.fetch_installer("https://x", "0", lambda _done, _total: None)
