# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left for a person, before an account is reached and after."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import Catalogue
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import manual_steps
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.manual_steps import (
    Signs,
    filter_open_steps,
    list_open_steps,
)
from fabricated import outcome, result

TODAY = date(2026, 11, 22)


def left(cluster: Any, result: Any) -> Any:
    """The steps that are left when nobody has said anything."""
    return manual_steps.list_explaining_steps(cluster, result, {}, TODAY)


def profile(cluster: str) -> dict[str, Any]:
    """A profile that ships."""
    found = Catalogue().profile(cluster)
    assert found
    return found


@pytest.mark.parametrize("cluster", sorted(Catalogue().ids()))
def test_every_profile_says_what_comes_before_an_account_is_reached(cluster: str) -> None:
    steps = left(profile(cluster), {"unreachable": True})
    assert steps
    assert all(step["text"] for step in steps)
    assert not any("registry" in step["text"] for step in steps)
    assert left(profile(cluster), result()) == []


def test_before_an_account_is_reached_steps_without_a_sign_are_left_too() -> None:
    steps = [step["text"] for step in left(profile("lrz"), {"unreachable": True})]
    assert any("export control" in step for step in steps)
    assert not any("DSS" in step for step in steps)


def test_a_key_that_is_missing_is_left_to_be_made() -> None:
    why = "the key 'ngc' is not in x.Keyring. Store it with:  keyring set hpc.onboard ngc"
    missing = {**outcome("failed", reason="in words that nobody reads back"), "missing_secret": "ngc"}
    other = {**outcome("failed", reason=why), "missing_secret": "wandb"}
    locked = outcome("failed", reason=why)
    assert [step["url"] for step in left(profile("lrz"), result(missing))] == [
        "https://org.ngc.nvidia.com/setup/api-keys"
    ]
    assert left(profile("lrz"), result(locked)) == []
    assert left(profile("lrz"), result(other)) == []


def test_an_area_whose_path_nobody_knows_is_left_to_be_asked_for() -> None:
    note = {"capability": "storage_links", "code": "path_unknown", "area": "dss", "text": "in other words"}
    steps = left(profile("lrz"), result(notes=[note]))
    assert [step["text"].split()[0] for step in steps] == ["Accept"]
    assert left(profile("lrz"), result(notes=[{**note, "area": "scratch"}])) == []
    assert left(profile("lrz"), result(notes=[{**note, "code": "terms"}])) == []


def test_what_a_person_said_is_done_is_left_no_more_until_it_is_due_again() -> None:
    def names(said: dict[str, Any], today: date = TODAY) -> list[str]:
        return [step["id"] for step in filter_open_steps(profile("lrz")["human_steps"], Signs(True), said, today)]

    mark = {"at": "2026-11-01T00:00:00Z", "by": "a@desk"}
    assert names({}) == ["export_control", "ai_group"]
    assert names({"ai_group": mark, "nonsense": mark}) == ["export_control"]
    assert names({"export_control": mark}) == ["ai_group"]
    assert names({"export_control": mark}, date(2027, 10, 31)) == ["ai_group"]
    assert names({"export_control": mark}, date(2027, 11, 1)) == ["export_control", "ai_group"]
    assert names({"export_control": {**mark, "at": "some day"}}) == ["export_control", "ai_group"]
    ahead = manual_steps.list_explaining_steps(profile("lrz"), {"unreachable": True}, {"export_control": mark}, TODAY)  # type: ignore[typeddict-item]
    assert not any("export control" in step["text"] for step in ahead)


def test_a_sandbox_leaves_nothing_to_a_person_and_neither_does_a_host_of_others() -> None:
    variables = {"cluster": profile("lrz"), "account": {"sandbox": {"root": "/x"}}}
    unreached: Any = {"kind": "account", "unreachable": True, "msg": "x"}
    assert list_open_steps(variables, unreached) == []
    assert list_open_steps({}, unreached) == []
    assert list_open_steps({**variables, "account": {"name": "x"}}, unreached)
    assert manual_steps.list_unproven_steps({**variables, "account": {"name": "x"}})[0]["id"] == "export_control"


@pytest.mark.parametrize(
    ("today", "mark", "is_open"),
    [
        (date(2027, 2, 28), None, False),
        (date(2027, 3, 1), None, True),
        (date(2028, 1, 1), None, True),
        (date(2027, 3, 1), {"due": "2027-03-31"}, False),
        (date(2029, 1, 1), {"due": "2027-03-31"}, False),
        (date(2027, 3, 1), {"due": "2026-03-31"}, True),
        (date(2027, 3, 1), {}, True),
        (date(2027, 2, 1), {}, False),
    ],
)
def test_a_day_of_ones_own_is_told_ahead_and_until_it_is_said_done_for_that_day(
    today: date, mark: Any, is_open: bool
) -> None:
    step = {"id": "contract", "text": "Ask for a longer contract", "due": "2027-03-31"}
    said = {} if mark is None else {"contract": {"at": "2026-11-01T00:00:00Z", "by": "a@desk", **mark}}
    assert bool(filter_open_steps([step], Signs(True), said, today)) == is_open


def test_what_was_done_for_its_own_day_comes_back_after_its_days() -> None:
    step = {"id": "rules", "text": "Agree", "due": "2027-03-31", "every_days": 365}
    said: Any = {"rules": {"at": "2027-03-20T00:00:00Z", "by": "a@desk", "due": "2027-03-31"}}
    assert filter_open_steps([step], Signs(True), said, date(2028, 3, 18)) == []
    assert filter_open_steps([step], Signs(True), said, date(2028, 3, 19)) == [step]


@pytest.mark.parametrize("every_days", [4_000_000, 2**31, 2**70])
def test_a_step_that_comes_again_after_the_last_day_of_the_calendar_stays_done(every_days: int) -> None:
    step = {"id": "rules", "text": "Agree", "every_days": every_days}
    said = {"rules": {"at": "2026-11-01T00:00:00Z", "by": "ada@here"}}
    assert filter_open_steps([step], Signs(True), said, date(2026, 11, 27)) == []


@pytest.mark.parametrize(("marks", "subcommand"), [({}, "test_job"), ({"by_hand": True}, "status")])
def test_a_test_job_is_suggested_only_where_a_program_may_log_in(marks: dict[str, bool], subcommand: str) -> None:
    account = {"name": "a@b", **marks}
    introduction = manual_steps.introduce_site({"account": account, "cluster": {}}, "a@b", [])
    assert subcommand in " ".join(introduction["next"])
