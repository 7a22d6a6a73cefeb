# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When an account is looked through for the old key, what its share tells of it, and the reminder at the end."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.leftovers import LeftoverSearch, count_leftovers
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.situation import Situation
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.targets import SecretFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions

VERSION = versions.new_id()
FILES = [SecretFile("ada@lrz:enroot_credential", "~/enroot/.credentials", [])]
OLD = versions.adopt("ngc", "personal", "0" * 12)
SECRET = versions.promote(
    versions.add_pending(OLD, versions.KeyVersion(VERSION, "personal", fingerprint="1" * 12)), VERSION, ()
)


class Line(NamedTuple):
    """A record as far as a situation looks at it."""

    seq: int
    step: str
    result: str
    target: str = ""
    evidence: dict[str, Any] = {}
    secret: str = "ngc"
    version: str = VERSION
    verdict: str = ""


MARKS = {("ngc", "first"): "key " + "0" * 12}


def situation(*more: Line, mode: str = "scheduled") -> Situation:
    """A rotation that was begun in a mode, and what was written since."""
    lines = [Line(7, "plan", "begun", evidence={"mode": mode}), *more]
    return Situation("ngc", SECRET, lines)  # type: ignore[arg-type]  # lines stand for a ledger


@pytest.mark.parametrize(
    ("step", "mode", "due"),
    [
        ("retire", "scheduled", True),
        ("retire", "compromised", True),
        ("spread", "compromised", True),
        ("canary", "compromised", True),
        ("spread", "scheduled", False),
        ("plan", "compromised", False),
        ("abort", "scheduled", False),
    ],
)
def test_an_account_is_looked_through_once_the_old_key_is_deactivated(step: str, mode: str, due: bool) -> None:
    entries = LeftoverSearch.for_step(situation(mode=mode), step, FILES, {}, MARKS).entries()
    assert bool(entries) == due
    assert len(Plan.of(entries, str).entries) == due
    for entry in entries:
        assert entry["options"]["known"] == {"key " + "0" * 12: "a replaced key of 'ngc'"}
        assert entry["options"]["own"] == ["~/enroot/.credentials"]
        assert "~/.cache/enroot" in entry["options"]["caches"]


def test_every_key_that_was_replaced_and_not_removed_yet_is_looked_for() -> None:
    newest = versions.new_id()
    third = versions.add_pending(SECRET, versions.KeyVersion(newest, "personal", fingerprint="2" * 12))
    marks = {**MARKS, ("ngc", VERSION): "key " + "1" * 12, ("ngc", newest): "key " + "2" * 12}
    begun = Line(9, "plan", "begun", version=newest)
    now = Situation("ngc", versions.promote(third, newest, ()), [begun])  # type: ignore[list-item]  # as above
    (entry,) = LeftoverSearch.for_step(now, "retire", FILES, {}, marks).entries()
    assert list(entry["options"]["known"]) == ["key " + "0" * 12, "key " + "1" * 12]
    del marks["ngc", "first"]
    partly = LeftoverSearch.for_step(now, "retire", FILES, {}, marks)
    assert list(partly.entries()[0]["options"]["known"]) == ["key " + "1" * 12]
    assert partly.not_searched
    given_up = [begun, Line(10, "abort", "begun", version=newest), Line(11, "abort", "ok", version=newest)]
    back = Situation("ngc", versions.abort(third, newest), given_up)  # type: ignore[arg-type]  # as above
    marks["ngc", "first"] = MARKS["ngc", "first"]
    (entry,) = LeftoverSearch.for_step(back, "retire", FILES, {}, marks).entries()
    assert list(entry["options"]["known"]) == ["key " + "0" * 12, "key " + "2" * 12], "not the key that is in use again"


def test_it_is_looked_once_and_the_share_tells_what_went_and_what_is_left() -> None:
    sweep = LeftoverSearch.for_step(situation(), "retire", FILES, {}, MARKS)
    remarks = ["in any words: ~/.bashrc:1, x", "not looked at: ~/y"]
    found = {"status": "extra", "remarks": remarks, "reason": None, "evidence": {"leftovers": 1}}
    assert sweep.store_outcome([found]) == 1
    assert sweep.entries() == []
    assert sweep.store_outcome([]) == 1
    result = sweep.add_to({"changed": False, "failed": False, "outcomes": [], "remarks": []})
    assert (result["changed"], result["failed"], result["outcomes"]) == (True, False, [found])
    assert [one["text"] for one in result["remarks"]] == found["remarks"]


def test_what_could_not_be_looked_for_is_said_and_fails_nothing() -> None:
    sweep = LeftoverSearch.for_step(situation(), "retire", FILES, {}, MARKS)
    sweep.store_outcome([{"status": "unknown", "remarks": [], "reason": "it hangs", "evidence": {}}])
    result = sweep.add_to({"changed": False, "failed": False, "outcomes": [], "remarks": []})
    assert (result["changed"], result["failed"], result["outcomes"]) == (False, False, [])
    assert "it hangs" in result["remarks"][0]["text"]
    plain = {"changed": False}
    assert LeftoverSearch(None).add_to(plain) is plain


def test_what_is_left_is_counted_once_for_an_account_and_of_the_last_rotation_alone() -> None:
    lines = [
        Line(3, "retire", "verified", "bob@lrz:netrc_entry", {"leftovers": 9}),
        Line(8, "retire", "verified", "ada@lrz:enroot_credential", {"leftovers": 2}),
        Line(9, "retire", "verified", "ada@lrz:ngc_config", {"leftovers": 2}),
        Line(10, "retire", "verified", "ada@dfki:enroot_credential"),
    ]
    assert count_leftovers(situation(*lines)) == {"ada@lrz": 2}


def test_a_key_that_cannot_be_told_is_said_not_to_be_looked_for() -> None:
    sweep = LeftoverSearch.for_step(situation(), "retire", FILES, {}, {})
    assert sweep.entries() == []
    assert sweep.store_outcome([]) == 0
    result = sweep.add_to({"changed": False, "failed": False, "outcomes": [], "remarks": []})
    assert "not in the keyring" in result["remarks"][0]["text"]
