# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of accounts from records alone, and what comes next."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.quick_look import AccountSummary
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import VersionStore
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import last_runs, receipts, signed_record
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import local_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._status import lines, memory
from ansible_collections.hpc.onboard.plugins.plugin_utils._status.standing import Memory, build_account_status
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Terminal, plain_text
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.cells import count_cells

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
STEPS: tuple[dict[str, Any], ...] = (
    {"id": "account", "text": "Ask for an account.", "done": "reached"},
    {"id": "terms", "text": "Accept the terms.", "url": "https://a.example/terms"},
    {"id": "ngc_key", "text": "Make a key.", "done": "key", "secret": "ngc"},
    {"id": "dss", "text": "Accept the invitation.", "done": "link", "area": "dss"},
)


def run(verb: str, ended: str, at: str = "2026-11-22T10:00:00Z", **more: Any) -> dict[str, Any]:
    """The record of a run over a@lrz."""
    own = {"schema": last_runs.SCHEMA, "at": at, "account": "a@lrz", "sandbox": False, "subcommand": verb}
    return {**own, "ended": ended, "reached": ended != "unreachable", **more}


def standing(*runs: dict[str, Any], receipt: bool = False, said: Any = None, rotations: Any = (), **more: Any) -> Any:
    """How a@lrz stands after these runs. left: hpc-onboard's resources are left on the account."""
    account = AccountSummary("a@lrz", "lrz", more.get("sandbox", False), ("lrz",), STEPS)
    known: Any = {one["subcommand"]: one for one in runs}
    return build_account_status(
        account, Memory(known, receipt, said or {}, rotations, None, more.get("left", False)), NOW
    )


NEXT = [
    ((), {}, "plan"),
    ((), {"receipt": True}, "audit"),
    ((run("onboard", "ok"),), {}, "audit"),
    ((run("onboard", "failed"),), {}, "onboard"),
    ((run("onboard", "unreachable"),), {}, "preflight"),
    ((run("onboard", "ok"), run("audit", "ok")), {}, ""),
    ((run("onboard", "ok"), run("audit", "found")), {}, "audit"),
    ((run("onboard", "ok"), run("audit", "unreachable")), {}, "audit"),
    ((run("onboard", "ok"), run("audit", "ok", "2026-10-22T10:00:00Z")), {}, "audit"),
    ((run("onboard", "ok"), run("audit", "ok", "2026-10-24T10:00:00Z")), {}, ""),
    ((run("onboard", "ok", "2026-11-01T10:00:00Z"), run("offboard", "changed")), {"receipt": True}, ""),
    ((run("onboard", "ok"), run("offboard", "changed", "2026-11-01T10:00:00Z"), run("audit", "ok")), {}, ""),
    ((run("onboard", "ok", "2026-11-01T10:00:00Z"), run("offboard", "failed")), {"receipt": True}, "offboard"),
    ((run("onboard", "ok", "2026-11-01T10:00:00Z"), run("offboard", "unreachable")), {}, "offboard"),
    ((run("offboard", "unreachable"), run("audit", "found", "2026-11-22T11:00:00Z")), {}, "offboard"),
    ((run("onboard", "ok", "2026-11-01T10:00:00Z"), run("offboard", "changed")), {"left": True}, "audit"),
    ((run("onboard", "failed"),), {"rotations": ["ngc"]}, "rotate"),
]


@pytest.mark.parametrize(("runs", "more", "verb"), NEXT)
def test_what_is_next(runs: Any, more: dict[str, Any], verb: str) -> None:
    assert standing(*runs, **more)["next"] == verb


OPEN = [
    ((), {}, ["account", "terms"]),
    ((run("onboard", "unreachable"),), {}, ["account", "terms"]),
    ((run("onboard", "ok"),), {}, ["terms"]),
    ((), {"receipt": True}, ["terms"]),
    ((run("audit", "ok"), run("onboard", "unreachable")), {}, ["terms"]),
    ((run("onboard", "failed", missing_keys=["ngc"], unknown_areas=["dss"]),), {}, ["terms", "ngc_key", "dss"]),
    ((run("onboard", "failed", missing_keys=["wandb"], unknown_areas=["home"]),), {}, ["terms"]),
    ((run("onboard", "ok"),), {"said": {"terms": {"at": "2026-01-01T00:00:00Z", "by": "a@b"}}}, []),
    ((), {"sandbox": True}, []),
]


@pytest.mark.parametrize(("runs", "more", "names"), OPEN)
def test_a_step_is_open_until_it_is_seen_done_or_said_done(runs: Any, more: dict[str, Any], names: list[str]) -> None:
    assert [step["id"] for step in standing(*runs, **more)["steps"]] == names


DONE = [
    (run("onboard", "ok", found_keys=["ngc"]), ["account", "ngc_key", "dss"]),
    (run("onboard", "failed", found_keys=[]), ["account", "dss"]),  # the keyring failed, or no role needs the key
    (run("onboard", "unreachable"), []),
]


@pytest.mark.parametrize(("onboarding", "names"), DONE)
def test_a_step_is_done_only_if_a_run_has_seen_its_sign(onboarding: dict[str, Any], names: list[str]) -> None:
    assert [step["id"] for step in standing(onboarding)["steps_done"]] == names


def key_is_rotated() -> None:
    """The key ngc of a@lrz is old, ends soon, and its rotation has begun."""
    key = bytes.fromhex(local_key())
    sidecar, book = VersionStore("ngc", key), ledger.Ledger(key)
    old = versions.KeyVersion("first", "personal", "current", issued="2026-05-01", expires="2026-12-01")
    new = versions.KeyVersion(versions.new_id(), "personal", sequence=1)
    sidecar.write(versions.add_pending(versions.check_secret(versions.Secret("ngc", (old,))), new))
    target = "a@lrz:enroot_credential"
    book.append(signed_record.Event("ngc", "plan", "begun", new.id, sequence=1))
    book.append(signed_record.Event("ngc", "plan", "staged", new.id, target, sequence=1))


def test_keys_are_told_by_age_and_last_day_and_an_open_rotation_comes_first(state: Path) -> None:
    key_is_rotated()
    last_runs.add_records([run("onboard", "failed")])  # type: ignore[list-item]
    account = AccountSummary("a@lrz", "lrz", False, ("lrz",), STEPS)
    status = memory.build_status(Path("accounts.yml"), [account], True, NOW)
    (key,) = status["keys"]
    assert (key["days"], key["left"], key["open"]) == (205, 9, True)
    assert status["accounts"][0]["rotations"] == ["ngc"]
    assert status["next"][-1] == "rotate_resume=true"
    text = " ".join(" ".join(map(plain_text, lines.status_lines(status, NOW, Terminal()))).split())
    assert "in use since 2026-05-01, 205 days; last day 2026-12-01; rotation open" in text
    assert "rotation of 'ngc' open" in text


def test_a_record_of_a_key_that_was_edited_is_said_and_hides_nothing_else(state: Path) -> None:
    key_is_rotated()
    file = state / "secrets" / "ngc.json"
    file.write_text(file.read_text().replace("2026-12-01", "2029-12-01"))
    status = memory.build_status(Path("accounts.yml"), [AccountSummary("a@lrz", "lrz", False, ("lrz",), ())], True, NOW)
    assert status["keys"] == []
    assert "was edited" in status["reminders"][0]["text"]
    assert [one["name"] for one in status["accounts"]] == ["a@lrz"]


def test_the_next_command_names_the_accounts_unless_it_is_for_all(state: Path) -> None:
    named = [AccountSummary(f"{name}@lrz", "lrz", False, ("lrz",), ()) for name in "ab"]
    assert memory.build_status(Path("x"), named, True, NOW)["next"][-1].endswith("onboard.yml") is False
    every = memory.build_status(Path("x"), named, True, NOW)["next"]
    last_runs.add_records([run("onboard", "failed")])  # type: ignore[list-item]
    one = memory.build_status(Path("x"), named, True, NOW)["next"]
    assert "a@lrz" not in every
    assert one[-1] == "a@lrz"


def test_a_command_with_a_blank_in_a_path_stays_one_word(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key_is_rotated()
    last_runs.add_records([run("onboard", "failed")])  # type: ignore[list-item]
    monkeypatch.setattr("sys.argv", ["ansible-playbook", "-i", "my lab/accounts.yml"])
    status = memory.build_status(Path("x"), [AccountSummary("a@lrz", "lrz", False, ("lrz",), ())], True, NOW)
    assert status["next"] == shlex.split(status["keys"][0]["command"])


def test_the_next_rotation_is_one_of_the_accounts_that_are_shown() -> None:
    keys: Any = [{"name": name, "command": f"hpc-onboard rotate --secret {name}"} for name in ("hf", "ngc")]
    shown = [standing(rotations=["ngc"])]
    assert memory.choose_next_command(shown, keys, are_all=False)[-1] == "ngc"


@pytest.mark.parametrize(("offboard", "mark"), [("2026-11-22T11:00:00Z", "✓"), ("2026-11-01T10:00:00Z", "!")])
def test_what_an_audit_found_before_an_offboarding_is_no_problem_any_more(offboard: str, mark: str) -> None:
    account = standing(run("onboard", "ok"), run("audit", "found"), run("offboard", "changed", offboard))
    status: Any = {"accounts": [account], "keys": [], "reminders": [], "next": []}
    assert plain_text(lines.status_lines(status, NOW, Terminal())[0]).startswith(f"  {mark} a@lrz")


@pytest.mark.parametrize(
    ("ended", "text"),
    [("failed", "partly removed 2 h ago"), ("unreachable", "not removed (unreachable) 2 h ago")],
)
def test_an_account_is_not_called_removed_after_an_offboarding_that_failed(state: Path, ended: str, text: str) -> None:
    last_runs.add_records([run("onboard", "ok", "2026-11-01T10:00:00Z"), run("offboard", ended)])  # type: ignore[list-item]
    account = AccountSummary("a@lrz", "lrz", False, ("lrz",), ())
    status = memory.build_status(Path("accounts.yml"), [account], True, NOW)
    shown = [plain_text(line) for line in lines.status_lines(status, NOW, Terminal())]
    assert shown[0].startswith(f"  ✗ a@lrz  {text}; ")
    assert "offboard" in shown[-1]


def test_an_account_is_not_called_removed_while_resources_are_left(state: Path) -> None:
    last_runs.add_records([run("onboard", "ok", "2026-11-01T10:00:00Z"), run("offboard", "changed")])  # type: ignore[list-item]
    account = AccountSummary("a@lrz", "lrz", False, ("lrz",), ())
    note = {"kind": "storage_link", "identity": "link ~/a", "made": True, "for": "", "options": {}, "keyed": {}}
    for notes, text in (({}, "removed 2 h ago"), ({"x": {**note, "clusters": []}}, "partly removed 2 h ago")):
        receipts.keep_receipt("a@lrz", False, {"notes": notes, "keys": {}})  # type: ignore[typeddict-item]
        status = memory.build_status(Path("accounts.yml"), [account], True, NOW)
        assert f"a@lrz  {text}; " in plain_text(lines.status_lines(status, NOW, Terminal())[0])


@pytest.mark.parametrize("width", [20, 40, 80, 100])
def test_no_line_is_wider_than_the_terminal_and_each_step_stands_there_once(state: Path, width: int) -> None:
    named = [
        AccountSummary(f"{name}@lrz", "lrz", False, ("lrz",), STEPS) for name in ("ada", "a-very-long-name-of-somebody")
    ]
    status = memory.build_status(Path("accounts.yml"), named, True, NOW)
    found = [plain_text(line) for line in lines.status_lines(status, NOW, Terminal(width))]
    assert [line for line in found if count_cells(line) > width] == []
    assert " ".join(" ".join(found).split()).count("Accept the terms") == 1


def test_how_long_ago_in_words() -> None:
    moments = {"11:59:30": "just now", "11:12:00": "48 min ago", "02:00:00": "10 h ago"}
    assert {at: lines.describe_age(f"2026-11-22T{at}Z", NOW) for at in moments} == moments
    assert lines.describe_age("2026-11-20T11:00:00Z", NOW) == "2 days ago"
