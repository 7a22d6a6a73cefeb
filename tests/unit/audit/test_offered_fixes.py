# SPDX-License-Identifier: GPL-3.0-or-later
"""What an account offers to be fixed is remembered, and believed as far as it is such as we make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.offered_fixes import (
    FixableFinding,
    find_offboarded_accounts,
    find_offers,
    plan_fixes,
    read_offer,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import last_runs

LINK = {"path": "~/old", "what": "link", "mark": "key 0123456789ab"}
WHOLE = {**LINK, "of": "", "areas": [], "names": [], "variable": ""}
FIX: Any = {"kind": "leftover_fix", "options": LINK}


def test_a_fix_such_as_we_make_is_completed() -> None:
    assert read_offer(FIX) == {"kind": "leftover_fix", "options": WHOLE}


@pytest.mark.parametrize(
    "told",
    [
        {"kind": "conda_install", "options": LINK},
        {"kind": "leftover_fix", "options": {**LINK, "more": "x"}},
        {"kind": "leftover_fix", "options": {**LINK, "what": "home"}},
        {"kind": "leftover_fix", "options": {**LINK, "path": ["~/old"]}},
        {"kind": "leftover_fix", "options": {**LINK, "path": "$HOME/old"}},
        {"kind": "leftover_fix", "options": {"what": "link"}},
        {"kind": "statement_fix", "options": {"path": "~/.bashrc", "marks": "key 1"}},
        None,
    ],
)
def test_any_other_is_not_believed(told: Any) -> None:
    assert read_offer(told) is None


def test_what_is_remembered_of_others_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"rule": "LNK-003", "capability": "watch", "resource": "links", "since": "2026-01-01", "account": "a@lrz"}
    whole = {**one, "place": "~/old", "text": "Nothing is there.", "auto_fix": json.dumps(FIX)}
    known = {"1": whole, "2": one, "3": {**whole, "account": "b@lrz"}}
    offered = FixableFinding(
        "a@lrz", "LNK-003", "~/old", "Nothing is there.", {"kind": "leftover_fix", "options": WHOLE}
    )
    assert find_offers(known, {"a@lrz"}) == [offered]
    entry = {"kind": "leftover_fix", "capability": "watch", "options": WHOLE}
    assert plan_fixes([offered, offered._replace(rule="LNK-005")], "a@lrz") == [entry]
    assert plan_fixes([offered], "b@lrz") == []


@pytest.mark.parametrize("sandbox", [{}, {"sandbox": {"root": "/x"}}])
@pytest.mark.parametrize("was_sandbox", [False, True])
@pytest.mark.parametrize(
    ("verbs", "is_left"),
    [("audit offboard", True), ("offboard audit", False), ("audit onboard", False), ("offboard", False)],
)
def test_an_account_that_was_offboarded_after_its_audit_offers_nothing(
    verbs: str, is_left: bool, was_sandbox: bool, sandbox: dict[str, Any], state: Path
) -> None:
    """A sandbox of the account's name is another account."""
    usual = {"schema": last_runs.SCHEMA, "sandbox": was_sandbox, "ended": "ok"}
    for second, verb in enumerate(verbs.split()):
        run: Any = {**usual, "account": "a@lrz", "subcommand": verb, "at": f"2026-11-22T10:00:0{second}Z"}
        last_runs.add_records([run])
    hosts = {name: {"account": sandbox} for name in ("a@lrz", "b@lrz")}
    left = find_offboarded_accounts({"ansible_play_hosts_all": list(hosts), "hostvars": hosts})
    assert left == ({"a@lrz"} if is_left and was_sandbox == bool(sandbox) else set())
