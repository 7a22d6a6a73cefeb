# SPDX-License-Identifier: GPL-3.0-or-later
"""What Slurm offered is kept for a day, and what was not measured takes nothing away."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import slurm_offers

NAME = "ada@lrz"


def offers(**more: Any) -> Any:
    return {"accounts": [], "default": "", "partitions": [], "missed": [], **more}


@pytest.fixture
def file(state: Path) -> Path:
    slurm_offers.keep_offers(NAME, offers(default="p1"))
    return state / slurm_offers.FOLDER / "ada@lrz.json"


def aged(file: Path, hours: float) -> None:
    found = json.loads(file.read_text())
    found["at"] = time.strftime(slurm_offers.TIME_FORMAT, time.gmtime(time.time() - hours * 3600))
    file.write_text(json.dumps(found))


@pytest.mark.parametrize(("hours", "fresh"), [(0, True), (23, True), (25, False), (-2, False)])
def test_it_is_fresh_for_a_day(file: Path, hours: float, fresh: bool) -> None:
    aged(file, hours)
    assert slurm_offers.make_plan_field(NAME, False)["slurm"]["fresh"] is fresh
    assert slurm_offers.make_plan_field(NAME, True)["slurm"]["fresh"] is False


def test_what_is_not_whole_is_asked_again(file: Path) -> None:
    slurm_offers.keep_offers(NAME, offers(missed=["'sacctmgr' failed"]))
    assert slurm_offers.make_plan_field(NAME, False)["slurm"]["fresh"] is False


def test_what_was_not_measured_leaves_what_is_known(file: Path) -> None:
    slurm_offers.keep_offers(NAME, offers(accounts=None, partitions=None))
    assert slurm_offers.make_plan_field(NAME, False)["slurm"]["default"] == "p1"


NEWER = '{"schema": "hpc.onboard/slurm-offers/9.0"}'


LACKING = '{"schema": "hpc.onboard/slurm-offers/1.0", "at": "2026-11-22T10:00:00Z", "offers": %s}'
PARTS = [offers(accounts=[{"name": "p1"}]), offers(partitions=[{"name": "gpu"}]), {"missed": []}]


@pytest.mark.parametrize("text", ["", "[]", NEWER, NEWER.replace("9", "1"), *(LACKING % json.dumps(o) for o in PARTS)])
def test_a_damaged_record_is_none(file: Path, text: str) -> None:
    file.write_text(text)
    assert slurm_offers.make_plan_field(NAME, False) == {}
    slurm_offers.keep_offers(NAME, offers())
    assert slurm_offers.make_plan_field(NAME, False)["slurm"]["fresh"] is True
