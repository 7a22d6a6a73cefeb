# SPDX-License-Identifier: GPL-3.0-or-later
"""A task that keeps one resource: what it takes, and what it says."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.action import converge
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._resources.kept_key import KeptKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS


def outcome(status: str, **more: Any) -> dict[str, Any]:
    return {"identity": "folder ~/x", "status": status, "before": {}, "after": {"kind": "folder"}, **more}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_module_takes_the_options_of_its_kind_and_the_key_of_fingerprints(kind: str) -> None:
    spec = converge.make_module_spec(kind)
    more = {"replace"} if issubclass(KINDS[kind], KeptKey) else set()
    assert {*spec} == {*KINDS[kind].OPTIONS, "fingerprint_key"} | more
    assert "path" not in {option["type"] for option in spec.values()}, "Ansible would resolve it on this machine"
    assert spec["fingerprint_key"]["no_log"]
    assert spec.get("password", {"no_log": True})["no_log"]


def test_an_entry_is_checked_by_its_kind() -> None:
    with pytest.raises(AccountError, match=r"contains '\.\.'"):
        converge.make_plan_entry("directory", {"path": "~/../x", "mode": "0700", "state": "present"})


@pytest.mark.parametrize(("given", "found"), [("", {}), (None, {}), ("00ff", {"fingerprint_key": "00ff"})])
def test_the_key_of_fingerprints_is_that_of_the_task_if_it_names_one(given: Any, found: Any) -> None:
    assert converge.read_plan_settings({"fingerprint_key": given}) == found


@pytest.mark.parametrize(("given", "found"), [(False, {}), (None, {}), (True, {"replace": True})])
def test_an_unknown_key_is_replaced_only_where_the_task_says_so(given: Any, found: Any) -> None:
    assert converge.read_plan_settings({"replace": given}) == found


def test_a_key_of_fingerprints_is_not_repeated_when_it_is_refused() -> None:
    with pytest.raises(AccountError) as caught:
        converge.read_plan_settings({"fingerprint_key": "secret"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("status", ["blocked", "failed", "unknown"])
def test_what_failed_says_what_and_why(status: str) -> None:
    found = converge.make_module_result(outcome(status, reason="the home is full"))
    assert (found["failed"], found["msg"]) == (True, "folder ~/x: the home is full")


@pytest.mark.parametrize("status", ["missing", "different", "extra"])
def test_what_changed_is_shown_before_and_after(status: str) -> None:
    found = converge.make_module_result(outcome(status))
    assert found["changed"]
    assert [one["after"] for one in found["diff"]] == ["kind: folder\n"]
