# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation's playbook: the lead and the accounts take turns, and each turn is said in the same way."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.coordinator import ACCOUNT_STEPS

PLAYBOOK = Path(__file__).parents[3] / "playbooks" / "rotate.yml"
TURNS = 4  # the look, one account, the others, all read again: what a run asks of accounts, each once
ROTATE = "hpc.onboard.rotate"


def tasks() -> list[dict[str, Any]]:
    """The tasks of the lead and the accounts, without their names."""
    play = yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8"))[-1]
    return [{key: value for key, value in task.items() if key != "name"} for task in play["tasks"] if ROTATE in task]


def test_after_each_lead_but_the_last_the_run_ends_if_no_account_has_a_share() -> None:
    whole = yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8"))[-1]["tasks"]
    after = [one for before, one in pairwise(whole) if before.get(ROTATE, {}).get("part") == "lead"]
    ends = {"ansible.builtin.meta": "end_play", "when": "not rotation.step"}
    assert [{key: one[key] for key in ends} for one in after] == [ends] * TURNS


def test_the_lead_and_the_accounts_take_turns() -> None:
    assert [task[ROTATE]["part"] for task in tasks()] == ["lead", *["account", "lead"] * TURNS]
    assert {"plan", "retire", "abort"} < set(ACCOUNT_STEPS)
    assert len(set(ACCOUNT_STEPS) - {"retire", "abort"}) == TURNS  # those two come alone, in a run of their own


def test_every_share_is_asked_for_in_the_same_way_and_no_failure_ends_a_run_that_writes() -> None:
    shares = [task for task in tasks() if task[ROTATE]["part"] == "account"]
    assert [share for share in shares if share != shares[0]] == []
    assert shares[0]["ignore_unreachable"] is True
    assert shares[0]["ignore_errors"] == "{{ not ansible_check_mode }}", "no lead judges what accounts preview"


def test_every_lead_goes_on_from_the_one_before_and_the_last_one_alone_is_the_last() -> None:
    leads = [task for task in tasks() if task[ROTATE]["part"] == "lead"]
    assert all(lead["run_once"] and lead["register"] == "rotation" for lead in leads)
    assert [lead[ROTATE].get("lead") for lead in leads] == [None, *["{{ rotation }}"] * TURNS]
    assert [lead[ROTATE].get("last", False) for lead in leads] == [False] * TURNS + [True]
