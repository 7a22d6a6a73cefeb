# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a Slurm job stands, by its files and by what Slurm says once. The real Slurm is in tests/integration/jobs."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core import search_path
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._slurm import commands
from ansible_collections.hpc.onboard.plugins.module_utils._slurm.slurm_job import LATE, JobOrder, SlurmJob

from tests.effort import turns

pytestmark = turns(3)

NAME = "hpc.onboard-import-0123456789ab"
MARK = {"mark.json": {"name": NAME, "at": 0, "minutes": 10, "given": {"digest": "sha256:1"}}}
NUMBERED: dict[str, Any] = {**MARK, "number": "7"}
PROGRESS = {"step": "importing", "done": 1, "total": 2, "unit": "bytes"}
AT_WORK = {**NUMBERED, "progress.json": PROGRESS}
ENDED = {**AT_WORK, "result.json": {"code": 143}}  # by a signal


class Place:
    """A folder of a job, and stand-ins for Slurm's commands that print what is said, or fail."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.bin = folder / "job", folder / "bin"
        self.bin.mkdir()
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        self.host = Host(Account(str(folder), "/bin/bash", {}), b"k" * 32)
        self.job = SlurmJob(str(self.folder))
        for name in ("squeue", "sacct", "sbatch", "scancel"):
            self.say(name, "")

    def say(self, name: str, text: str | None, code: int = 0) -> None:
        """What a command prints from now on; None: it fails."""
        line = "exit 1" if text is None else f"printf '%s' '{text}'; exit {code}"
        (self.bin / name).write_text(f'#!/bin/sh\necho "$@" >>{self.bin}/{name}.asked\n{line}\n')
        (self.bin / name).chmod(0o755)

    def asked(self, name: str) -> int:
        """How often a command was run."""
        file = self.bin / f"{name}.asked"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def put(self, files: dict[str, Any], log: str = "") -> None:
        """What lies in the job's folder."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        for name, content in files.items():
            (self.folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
        (self.folder / "log").write_text(log)


def test_a_command_may_be_on_the_path_of_login_shells_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "squeue").write_text('#!/bin/sh\necho "$PATH"\n')
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(commands, "DEFAULT_PATH", "/nowhere")
    login_path = f"{tmp_path}:/nowhere"  # not /usr/bin, where a machine with Slurm has sbatch
    monkeypatch.setattr(search_path, "_query_login_environment", lambda: {"PATH": login_path})
    assert commands.run_slurm("squeue", []) == f"{login_path}\n"  # also in the environment, which jobs inherit
    with pytest.raises(AccountError, match=r"sbatch was not found\. Check that this is the cluster's login node"):
        commands.run_slurm("sbatch", [], returns_errors=True)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("files", "squeue", "sacct", "state", "reason"),
    [
        ({}, "", "", "none", ""),
        (MARK, "", "", "none", ""),
        (NUMBERED, f"7|PENDING|Priority|{NAME}", "", "queued", ""),
        (MARK, f"7|PENDING|Priority|{NAME}", "", "queued", ""),
        (NUMBERED, f"7|RUNNING|None|{NAME}", "", "queued", ""),
        (AT_WORK, f"7|RUNNING|None|{NAME}", "", "running", ""),
        (AT_WORK, None, None, "running", ""),
        (NUMBERED, None, None, "queued", ""),
        (NUMBERED, "", "7|TIMEOUT", "failed", "job 7 exceeded its time limit. Its output ends with: the last word"),
        (AT_WORK, "", "7|CANCELLED by 0", "failed", "job 7 was cancelled. Its output ends with: the last word"),
        (
            AT_WORK,
            "",
            "7|SOMETHING",
            "failed",
            "job 7 ended in state SOMETHING. Its output ends with: the last word",
        ),
        (
            AT_WORK,
            "",
            "",
            "gone",
            "job 7 left no result, and Slurm no longer lists it. Its output ends with: the last word",
        ),
        (NUMBERED, "7|RUNNING|None|the job of another", "", "gone", "job 7 left no result"),
        ({**AT_WORK, "result.json": {"code": 0}}, "", "", "done", ""),
        (
            {**AT_WORK, "result.json": {"code": 3}},
            "",
            "",
            "failed",
            "the job ended with exit code 3. Its output ends with: the last word",
        ),
        (ENDED, "", "", "failed", "the job was cancelled or exceeded its time limit. Its output"),
        (ENDED, f"7|CANCELLED|None|{NAME}", "", "failed", "the job was cancelled. Its output"),
        (ENDED, "", "7|CANCELLED by 20001", "failed", "the job was cancelled. Its output"),
        (ENDED, None, "7|TIMEOUT", "failed", "the job exceeded its time limit. Its output"),
        ({**NUMBERED, "mark.json": "{"}, "", "", "none", ""),
    ],
)
def test_how_it_stands(
    place: Place, files: dict[str, Any], squeue: str | None, sacct: str | None, state: str, reason: str
) -> None:
    place.put(files, "the last word\n")
    place.say("squeue", squeue)
    place.say("sacct", sacct)
    standing = place.job.read_status(place.host)
    assert standing.state == state
    assert standing.reason.startswith(reason)
    assert bool(standing.reason) == bool(reason)
    told = place.job.progress(place.host)
    if state in ("failed", "gone"):
        assert told == {"failed": standing.reason, "wants": {}}
    else:
        assert (told is not None) == (state in ("queued", "running"))


def test_a_folder_that_others_may_enter_is_not_a_jobs(place: Place) -> None:
    place.put(AT_WORK)
    place.folder.chmod(0o755)
    assert place.job.read_status(place.host).state == "none"
    assert place.asked("squeue") == 0


@pytest.mark.parametrize(("late", "asked"), [(False, 0), (True, 1)])
def test_who_follows_a_job_asks_slurm_only_when_it_is_late(place: Place, late: bool, asked: int) -> None:
    place.put(AT_WORK)
    place.say("squeue", f"7|RUNNING|None|{NAME}")
    place.host.is_following = True
    if late:
        began = time.time() - 60 * 10 - LATE - 5
        os.utime(place.folder / "progress.json", (began, began))
    assert place.job.read_status(place.host).state == "running"
    assert place.asked("squeue") == asked


def submitted(place: Place) -> str:
    """The number that comes of a submission."""
    above = os.open(place.folder.parent, os.O_RDONLY)
    try:
        return place.job.submit(above, JobOrder("import", "true\n", ["--qos=cpu"], 5), {"digest": "sha256:2"})
    finally:
        os.close(above)


def test_it_is_submitted_once_with_what_was_given(place: Place) -> None:
    place.say("sbatch", "12;lrz")
    assert submitted(place) == "12"
    assert place.job.read_details(place.host) == {"digest": "sha256:2"}
    name = json.loads((place.folder / "mark.json").read_text())["name"]
    place.say("squeue", f"12|PENDING|None|{name}")
    assert submitted(place) == "12"
    assert place.asked("sbatch") == 1


def test_a_job_on_another_cluster_is_queried_and_cancelled_there(place: Place) -> None:
    place.say("sbatch", "12;wice")
    above = os.open(place.folder.parent, os.O_RDONLY)
    try:
        place.job.submit(above, JobOrder("try", "true\n", ["--clusters=wice", "--qos=cpu"], 5), {})
    finally:
        os.close(above)
    name = json.loads((place.folder / "mark.json").read_text())["name"]
    place.say("squeue", f"CLUSTER: wice\n12|PENDING|None|{name}")
    assert place.job.read_status(place.host).state == "queued"
    place.job.cancel(place.host)
    for command in ("squeue", "scancel"):
        asked = (place.bin / f"{command}.asked").read_text().splitlines()
        assert asked
        assert all("--clusters=wice" in line for line in asked)


def test_a_job_that_a_killed_run_had_sent_is_found_by_its_name(place: Place) -> None:
    place.put(MARK)
    place.say("squeue", f"7|PENDING|None|{NAME}")
    assert submitted(place) == "7"
    assert place.asked("sbatch") == 0


def test_where_slurm_cannot_be_asked_nothing_is_submitted_twice(place: Place) -> None:
    place.put(NUMBERED)
    place.say("squeue", None)
    place.say("sacct", None)
    with pytest.raises(AccountError, match="cannot check"):
        submitted(place)
    assert place.asked("sbatch") == 0


def test_a_refusal_is_said_and_leaves_no_job(place: Place) -> None:
    place.say("sbatch", "sbatch: error: QOSMaxSubmitJobPerUserLimit", 1)
    with pytest.raises(AccountError, match=r"Slurm rejected the job: .*QOSMaxSubmitJobPerUserLimit"):
        submitted(place)
    assert place.job.read_status(place.host).state == "none"


@pytest.mark.parametrize(("state", "cancelled"), [("PENDING", 1), ("COMPLETED", 0)])
def test_only_a_job_that_lives_is_cancelled_and_its_folder_goes(place: Place, state: str, cancelled: int) -> None:
    place.put(NUMBERED)
    place.say("squeue", f"7|{state}|None|{NAME}")
    place.job.cancel(place.host)
    assert place.asked("scancel") == cancelled
    assert not place.folder.exists()
