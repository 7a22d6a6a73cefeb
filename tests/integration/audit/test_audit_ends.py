# SPDX-License-Identifier: GPL-3.0-or-later
"""How an audit ends, in every shape of a run: its exit code, its report, and one knock at each account's door."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns

from .audit_scene import Audit, Scene, at

pytestmark = [pytest.mark.testbed, turns(3)]


class Door:
    """An ssh port behind which nobody answers: each connection is counted, and closed at once or kept waiting."""

    def __init__(self, silent: bool = False) -> None:
        """silent: nothing is ever said to those who come."""
        self.knocks, self._silent, self._guests = 0, silent, list[socket.socket]()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._open, daemon=True).start()

    def _open(self) -> None:
        while True:
            try:
                guest, _address = self._socket.accept()
            except OSError:
                return
            self.knocks += 1
            if self._silent:
                self._guests.append(guest)
            else:
                guest.sendall(b"SSH-2.0-door\r\n")  # without a greeting it would be a busy node, which is tried again
                guest.close()

    def there(self) -> dict[str, Any]:
        """The settings of an account that lies behind this door."""
        return {"vars": {"ansible_host": "127.0.0.1", "ansible_port": self.port}}

    def close(self) -> None:
        """Let everybody go."""
        for socket_ in (self._socket, *self._guests):
            socket_.close()


@pytest.fixture(scope="module")
def scene(bed: Any, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    accounts = [bed.new_account(cluster) for cluster in ("lrz", "wilson", "dfki")]
    here = Scene(bed, tmp_path_factory.mktemp("ends"), accounts)
    ran = here.onboard()
    assert ran.code == 0, ran.text
    return here


@pytest.fixture(autouse=True)
def unchanged(scene: Scene) -> Iterator[None]:
    yield
    scene.declare()
    at(scene.accounts[0], "chmod 600 enroot/.credentials; ln -sfn $(readlink dss) dss")


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.close()


def ended(audit: Audit) -> tuple[int, int, int]:
    """Exit code, accounts that were measured, and those that were not."""
    summary = audit.report["summary"]
    assert (summary["exit"] == 2) == (audit.ran.code != 0) == bool(summary["reasons"]), audit.ran.text
    return audit.ran.code, summary["measured"], summary["unknown"]


def test_one_account_alone(scene: Scene) -> None:
    audit = scene.audit("-l", scene.accounts[1].name)
    assert ended(audit) == (0, 1, 0)
    assert [one["name"] for one in audit.report["accounts"]] == [scene.accounts[1].name]


def test_an_account_that_is_down_is_knocked_at_once_and_the_others_are_measured(scene: Scene, door: Door) -> None:
    gone = scene.accounts[0]
    scene.declare({gone.name: door.there()})
    audit = scene.audit()
    assert ended(audit) == (2, 2, 1)
    assert door.knocks == 1
    assert [(one["account"], one["rule"]) for one in audit.findings] == [(gone.name, "RUN-002")]
    assert audit.row(gone)["state"] == "unknown"
    assert audit.report["summary"]["reasons"] == ["1 account could not be measured"]
    assert ended(scene.audit(audit_incomplete="ignore")) == (0, 2, 1)
    assert ended(scene.audit(audit_fail_on="never")) == (2, 2, 1)
    assert ended(scene.audit("-l", gone.name)) == (2, 0, 1)
    assert door.knocks == 4


def test_all_accounts_down_still_make_a_report(scene: Scene, door: Door) -> None:
    scene.declare({one.name: door.there() for one in scene.accounts})
    assert ended(scene.audit()) == (2, 0, 3)
    assert door.knocks == 3
    assert ended(scene.audit(audit_incomplete="ignore")) == (0, 0, 3)


def test_an_account_without_a_shell_is_not_measured_and_logged_into_once(bed: Any, scene: Scene) -> None:
    closed = bed.new_account("dfki", shell="/bin/false")
    whole = Scene(bed, scene.folder / "closed", [scene.accounts[1], closed])
    audit = whole.audit()
    assert ended(audit) == (2, 1, 1)
    assert [(one["account"], one["rule"]) for one in audit.findings if one["rule"] == "RUN-002"] == [
        (closed.name, "RUN-002")
    ]
    assert (closed.logins(), closed.sessions()) == (1, 1)


def test_a_door_that_says_nothing_and_a_file_system_that_hangs_cost_only_their_own(scene: Scene) -> None:
    silent, hung, well = scene.accounts
    door = Door(silent=True)
    scene.declare({silent.name: door.there()})
    hung.hang(f"/wclustre/{hung.project}")
    try:
        audit = scene.audit(audit_seconds=2)
    finally:
        hung.unhang()
        door.close()
    assert ended(audit) == (2, 2, 1)
    assert {one["rule"] for one in audit.of(silent)} == {"RUN-002"}
    assert {one["rule"] for one in audit.of(hung)} == {"RUN-001"}
    kept = {one["resource"] for one in audit.of(hung) if one["capability"] != "watch"}
    assert "link ~/wclustre" in kept
    assert not {name for name in kept if "work1" in name or name == "link ~/work" or "login" in name}, kept
    assert audit.of(well) == []
    assert door.knocks == 1


def test_a_login_that_never_ends_is_given_up(scene: Scene) -> None:
    hung = scene.accounts[2]
    at(hung, "cp .bashrc kept; echo 'sleep 1000' > .bashrc")
    try:
        audit = scene.audit(audit_patience=15)
    finally:
        at(hung, "mv kept .bashrc")
    assert ended(audit) == (2, 2, 1)
    assert [(one["account"], one["rule"]) for one in audit.findings] == [(hung.name, "RUN-002")]
    assert "15" in audit.findings[0]["text"]


@turns(3)
@pytest.mark.parametrize(
    ("arguments", "capabilities"),
    [
        (("--tags", "conda"), {"conda"}),
        (("--tags", "storage_links,watch"), {"storage_links", "watch"}),
        (("--skip-tags", "watch,conda,enroot_credentials"), None),
    ],
)
def test_tags_choose_what_is_looked_at(scene: Scene, arguments: tuple[str, str], capabilities: set[str] | None) -> None:
    audit = scene.audit(*arguments)
    assert ended(audit) == (0, 3, 0)
    rows = [set(one["capabilities"]) for one in audit.report["accounts"]]
    skipped = set(arguments[1].split(","))
    assert all(row and (row <= capabilities if capabilities else not row & skipped) for row in rows), rows


def test_how_bad_it_must_be_to_fail(scene: Scene) -> None:
    at(scene.accounts[0], "ln -sfn / dss")
    assert ended(scene.audit()) == (2, 3, 0)
    assert ended(scene.audit(audit_fail_on="critical")) == (0, 3, 0)
    assert ended(scene.audit(audit_fail_on="never")) == (0, 3, 0)
    at(scene.accounts[0], "chmod 644 enroot/.credentials")
    assert ended(scene.audit(audit_fail_on="critical")) == (2, 3, 0)
    assert ended(scene.audit(audit_fail_on="never")) == (0, 3, 0)


def waiver(rule: str, days: int, account: str = "*") -> dict[str, str]:
    """A waiver that ends after so many days."""
    expires = (date.today() + timedelta(days=days)).isoformat()
    return {"rule": rule, "account": account, "justification": "it is known", "expires": expires}


def test_waivers_hold_until_they_end(scene: Scene, tmp_path: Path) -> None:
    at(scene.accounts[0], "ln -sfn / dss")
    file = tmp_path / "waivers.yml"
    for days, code, state in ((7, 0, "used"), (-1, 2, "expired")):
        file.write_text(json.dumps({"waivers": [waiver("LNK-002", days), waiver("KEY-001", 7)]}))
        audit = scene.audit(audit_waivers=str(file))
        assert ended(audit) == (code, 3, 0)
        assert [one["state"] for one in audit.report["waivers"]] == [state, "unused"]
        assert audit.report["summary"]["waived"] == (1 if code == 0 else 0)


@turns(3)
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("waivers:\n- rule: LNK-002\n  account: '*'\n  expires: 2026-13-01\n  justification: x\n", 4, "is not a date"),
        ("waivers:\n- rule: LNK-999\n  account: '*'\n  expires: 2026-12-01\n  justification: x\n", 2, "LNK-999"),
        ("waivers:\n- rule: LNK-002\n  account: '*'\n  expires: 2026-12-01\n", 2, "justification"),
    ],
)
def test_a_bad_file_of_waivers_is_one_error_with_its_line(
    scene: Scene, tmp_path: Path, text: str, line: int, said: str
) -> None:
    (tmp_path / "waivers.yml").write_text(text)
    audit = scene.audit("-l", scene.accounts[1].name, audit_waivers=str(tmp_path / "waivers.yml"))
    told = audit.ran.text.replace("\n", "")
    assert (audit.ran.code, audit.report) == (2, {})
    assert "waivers.yml" in told
    assert f":{line}:" in told
    assert said in told


def test_with_a_baseline_only_what_is_new_fails(scene: Scene, tmp_path: Path) -> None:
    at(scene.accounts[0], "ln -sfn / dss")
    file = str(tmp_path / "baseline.json")
    scene.audit(audit_baseline=file, audit_baseline_write=True)
    assert ended(scene.audit(audit_baseline=file)) == (0, 3, 0)
    at(scene.accounts[0], "chmod 644 enroot/.credentials")
    audit = scene.audit(audit_baseline=file)
    assert ended(audit) == (2, 3, 0)
    assert [(one["rule"], one["baseline"]) for one in audit.findings] == [("SEC-001", "new"), ("LNK-002", "unchanged")]


@turns(3)
@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"audit_fial_on": "never"}, 'audit_fial_on is not a setting of the audit; did you mean "audit_fail_on"?'),
        ({"audit_fail_on": "highest"}, "audit_fail_on cannot be 'highest'; did you mean \"high\"?"),
        ({"audit_formats": "jsn"}, "audit_formats: 'jsn' is not a valid value"),
        ({"audit_seconds": "soon"}, "audit_seconds is 'soon', but must be a whole number (0 or more)"),
        ({"audit_baseline_write": True}, "-e audit_baseline_write=true requires -e audit_baseline=FILE"),
        ({"audit_baseline": "{folder}/damaged.json"}, "damaged.json is not a baseline"),
        ({"audit_baseline": "{folder}/none.json"}, "none.json does not exist"),
        ({"audit_baseline": "{folder}/none/b.json", "audit_baseline_write": True}, "does not exist"),
        ({"audit_waivers": "{folder}/none.yml"}, "none.yml: file not found"),
        ({"audit_waivers": "{folder}/damaged.json"}, 'the file has no "waivers"'),
        ({"audit_output": "{folder}/damaged.json"}, "could not write the report"),
    ],
)
def test_what_nobody_can_heed_or_read_is_one_error_before_any_account_is_visited(
    scene: Scene, tmp_path: Path, wish: dict[str, Any], said: str
) -> None:
    for account in scene.accounts:
        account.reset_sessions()
    (tmp_path / "damaged.json").write_text('{"findings": 1}')
    wish = {name: one.format(folder=tmp_path) if isinstance(one, str) else one for name, one in wish.items()}
    audit = scene.audit(**wish)
    assert (audit.ran.code, audit.report) == (2, {})
    assert audit.ran.text.replace("\n", "").count(said) == 1, audit.ran.text
    assert "fatal" not in audit.ran.text
    assert "ignoring" not in audit.ran.text
    assert [account.logins() for account in scene.accounts] == [0, 0, 0]


def test_nobody_is_an_error_too(scene: Scene) -> None:
    audit = scene.audit("-l", "nobody@*")
    assert audit.ran.code != 0
    assert "nobody@*" in audit.ran.text
