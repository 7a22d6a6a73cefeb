# SPDX-License-Identifier: GPL-3.0-or-later
"""How runs ended, as it is kept: whole, private, and without what is said to people."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import last_runs
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.last_runs import (
    RunRecorder,
    add_records,
    read_last_runs,
)

CONVERGE, OFFBOARD = "hpc.onboard.converge", "hpc.onboard.offboard"
NOTE = {"capability": "conda", "code": "refused", "text": "the site says no"}
OTHER = {"capability": "tokens", "code": "key_absent", "text": "no key"}


def result(*notes: dict[str, str], **more: Any) -> dict[str, Any]:
    """A result of converge."""
    return {"kind": "account", "outcomes": [], "notes": list(notes), **more}


def keep(found: dict[str, Any], ended: str = "ok", action: str = CONVERGE, **options: Any) -> None:
    """A run over a@lrz with that result."""
    recorder = RunRecorder()
    recorder.add_result(action, "a@lrz", found)
    assert recorder.write({"a@lrz": ended}, options) == ""


def test_the_last_run_of_each_verb_counts(state: Path) -> None:
    keep(result(), "changed")
    keep({"kind": "account", "unreachable": True, "msg": "away"}, "unreachable")
    keep(result(), "ok", OFFBOARD)
    found = read_last_runs()["a@lrz", False]
    assert {verb: (one["ended"], one["reached"]) for verb, one in found.items()} == {
        "onboard": ("unreachable", False),
        "offboard": ("ok", True),
    }


def test_a_practice_account_is_another_one_than_the_real_one(state: Path) -> None:
    keep(result(sandbox="/x"))
    assert set(read_last_runs()) == {("a@lrz", True)}


def test_what_was_missing_is_kept_by_name_and_no_sentence_is(state: Path) -> None:
    area = {"capability": "storage_links", "code": "path_unknown", "area": "dss", "text": "ask for the path"}
    keep(result(NOTE, area, outcomes=[{"missing_secret": "ngc"}]), "failed")
    (run,) = read_last_runs()["a@lrz", False].values()
    assert (run["missing_keys"], run["unknown_areas"]) == (["ngc"], ["dss"])
    text = (state / last_runs.FILE).read_text()
    assert "path" not in text.replace("path_unknown", "")
    assert "says no" not in text


def test_a_run_of_one_capability_forgets_no_key_that_is_still_found(state: Path) -> None:
    keep(result(found_keys=["ngc", "wandb"]))
    keep(result(outcomes=[{"missing_secret": "wandb"}], found_keys=["hf"]), tags=("tokens",))
    (run,) = read_last_runs()["a@lrz", False].values()
    assert run["found_keys"] == ["hf", "ngc"]
    keep(result())
    (run,) = read_last_runs()["a@lrz", False].values()
    assert run["found_keys"] == []


def test_what_was_left_out_is_said_once_and_again_when_it_changes(state: Path) -> None:
    assert RunRecorder().find_new_notes("a@lrz", result(NOTE)) == [NOTE]
    keep(result(NOTE, OTHER))
    changed = {**NOTE, "text": "the site says yes, if"}
    assert RunRecorder().find_new_notes("a@lrz", result(NOTE, OTHER)) == []
    assert RunRecorder().find_new_notes("a@lrz", result(changed, OTHER)) == [changed]
    assert RunRecorder().find_new_notes("b@lrz", result(NOTE)) == [NOTE]
    assert RunRecorder().find_new_notes("a@lrz", result(NOTE, sandbox="/x")) == [NOTE]


def test_a_run_of_one_capability_forgets_nothing_that_was_said_of_the_others(state: Path) -> None:
    keep(result(NOTE, OTHER))
    keep(result(OTHER), tags=("tokens",))
    assert RunRecorder().find_new_notes("a@lrz", result(NOTE, OTHER)) == []
    keep(result(OTHER), tags=("all",))
    assert RunRecorder().find_new_notes("a@lrz", result(NOTE, OTHER)) == [NOTE]


def test_an_audit_is_kept_for_each_account(state: Path) -> None:
    def finding(severity: str, waiver: Any = None) -> dict[str, Any]:
        return {"account": "a@lrz", "severity": severity, "waiver": waiver}

    accounts = [{"name": name, "state": "measured"} for name in ("a@lrz", "b@lrz")]
    report = {
        "accounts": [*accounts, {"name": "c@lrz", "state": "unknown"}],
        "findings": [finding("high"), finding("info"), finding("critical", {"by": "me"})],
    }
    recorder = RunRecorder()
    recorder.add_result("hpc.onboard.audit", "b@lrz", {"kind": "audit_account", "sandbox": "/x"})
    recorder.add_result("hpc.onboard.audit", "a@lrz", {"kind": "audit_report", "report": report})
    recorder.write({}, {})
    found = {name: verbs["audit"] for (name, _sandbox), verbs in read_last_runs().items()}
    assert {name: one["ended"] for name, one in found.items()} == {
        "a@lrz": "found",
        "b@lrz": "ok",
        "c@lrz": "unreachable",
    }
    assert found["a@lrz"]["by_severity"] == {"critical": 0, "high": 1, "medium": 0, "low": 0, "info": 1}
    assert [one["sandbox"] for one in found.values()] == [False, True, False]


def test_it_is_for_the_user_alone_whatever_the_umask(state: Path) -> None:
    before = os.umask(0)
    try:
        keep(result())
    finally:
        os.umask(before)
    assert stat.S_IMODE((state / last_runs.FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


@pytest.mark.parametrize("trick", ["link", "mode", "folder"])
def test_a_file_that_others_could_have_laid_there_is_neither_read_nor_written(state: Path, trick: str) -> None:
    keep(result())
    file, aside = state / last_runs.FILE, state / "aside"
    text = file.read_bytes()
    if trick == "mode":
        file.chmod(0o644)
    else:
        file.rename(aside)
        file.symlink_to(aside) if trick == "link" else file.mkdir()
    with pytest.raises(StateError):  # the status must not say that no account was ever set up
        read_last_runs()
    assert not last_runs.was_reached("a@lrz")
    assert RunRecorder().find_new_notes("a@lrz", result(NOTE)) == [NOTE]
    recorder = RunRecorder()
    recorder.add_result(CONVERGE, "a@lrz", result())
    assert str(file) in recorder.write({"a@lrz": "ok"}, {})
    assert (file if trick == "mode" else aside).read_bytes() == text


def test_lines_that_are_damaged_or_of_another_format_are_left_out(state: Path) -> None:
    keep(result())
    good = json.loads((state / last_runs.FILE).read_text())
    newer = {**good, "schema": "hpc.onboard/last-run/2.0", "account": "new@lrz"}
    with (state / last_runs.FILE).open("a") as file:
        for line in ('{"cut', "[]", "null", json.dumps(newer), json.dumps({**good, "at": 3})):
            file.write(line + "\n")
    assert {name for name, _sandbox in read_last_runs()} == {"a@lrz"}


def test_it_does_not_grow_for_ever(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_runs, "LARGEST", 2000)
    for _number in range(40):
        keep(result(NOTE))
    assert (state / last_runs.FILE).stat().st_size < 2500
    assert set(read_last_runs()) == {("a@lrz", False)}
    assert add_records([]) == ""


def test_a_run_after_an_incomplete_line_is_recorded(state: Path) -> None:
    keep(result(), "changed")
    file = state / last_runs.FILE
    file.write_bytes(file.read_bytes() + file.read_bytes()[:-20])
    keep(result(), "failed")
    assert read_last_runs()["a@lrz", False]["onboard"]["ended"] == "failed"
    assert len(file.read_bytes().splitlines()) == 3


@pytest.mark.parametrize("at", ["yesterday", "", "2026-11-22", "2026-11-22T10:00:00", "2026-19-22T10:00:00Z"])
def test_a_run_without_a_readable_time_counts_as_missing(at: str, state: Path) -> None:
    """The status counts how long ago a run was."""
    keep(result())
    (run,) = last_runs.export()
    broken: Any = {**run, "account": "b@lrz", "at": at}
    assert add_records([broken]) == ""
    assert list(read_last_runs()) == [("a@lrz", False)]
