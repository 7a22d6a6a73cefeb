# SPDX-License-Identifier: GPL-3.0-or-later
"""An account for which no role declares anything is connected to all the same, and is counted apart."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES

from tests.integration.command.test_command import AWAY, Desk
from tests.testbed.signing import Signing

pytestmark = pytest.mark.testbed

NOTHING: dict[str, Any] = {"without": list(ROLES)}
LOOKS = (("onboard",), ("plan",), ("audit",), ("offboard", "-e", "offboard_sure=true"))


def words(ran: Any) -> str:
    """All that a run printed, in one line."""
    return " ".join((ran.stdout + ran.stderr).split())


def test_an_account_with_nothing_declared_is_reached_by_each_run_and_is_not_as_wanted(bed: Any) -> None:
    account, other = bed.new_account("lrz"), bed.new_account("wilson")
    desk = Desk(bed, account, other, settings={account.name: NOTHING})
    assert desk.types("onboard", other.name).returncode == 0
    fresh = account.tree()
    said = {}
    for verb, *more in LOOKS:
        account.reset_sessions()
        ran = desk.types(verb, "-l", account.name, *more)
        said[verb] = words(ran)
        assert ran.returncode == 0, said[verb]
        assert account.sessions() == 1, f"{verb} {said[verb]}"
        assert account.tree() == fresh, verb
    for verb in ("onboard", "plan"):
        assert f"- {account.name} no resources declared" in said[verb], said[verb]
        assert "1 with no resources declared" in said[verb], said[verb]
    assert f"{account.name} nothing to remove" in said["offboard"], said["offboard"]
    assert "1 account: 1 with nothing to remove" in said["offboard"], said["offboard"]

    both = words(desk.types("onboard"))
    assert "2 accounts: 1 unchanged, 1 with no resources declared" in both, both
    status = words(desk.types("status"))
    assert f"{account.name} no resources declared just now" in status, status


def test_an_audit_of_an_account_with_nothing_declared_finds_what_it_watches(bed: Any) -> None:
    account = bed.new_account("lrz")
    desk = Desk(bed, account, settings={account.name: NOTHING})
    account.ssh(f"echo export NGC_API_KEY=nvapi-{hashlib.sha256(b'stray').hexdigest()} >> ~/.bashrc")
    ran = desk.types("audit")
    assert ran.returncode == 2, words(ran)
    assert "SEC-" in ran.stdout


WAYS: dict[str, tuple[dict[str, Any], str]] = {
    "a dead port": (AWAY, "1 not up to date (1 unreachable)"),
    "a closed jump host": (
        {"vars": {"ansible_ssh_extra_args": "-o ProxyJump=nobody@127.0.0.1:1"}},
        "1 not up to date (1 unreachable)",
    ),
    "no automation": ({"auth": "none"}, "hpc-onboard export-script -l "),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_account_with_nothing_declared_that_is_not_reached_is_never_a_success(bed: Any, way: str) -> None:
    account = bed.new_account("lrz")
    settings, says = WAYS[way]
    desk = Desk(bed, account, settings={account.name: {**NOTHING, **settings}})
    for verb, *more in LOOKS:
        ran = desk.types(verb, *more)
        said = words(ran)
        assert ran.returncode == (2 if verb == "audit" else 4), f"{verb}: {said}"
        assert verb == "audit" or says in said, f"{verb}: {said}"
        assert "1 unchanged" not in said, f"{verb}: {said}"
    assert account.logins() == 0


def test_with_nothing_declared_an_expired_certificate_is_still_told(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("daint")
    signing = Signing(bed, account, tmp_path)
    signing.sign("-2d:-1h")
    desk = Desk(bed, account, settings={account.name: {**NOTHING, **signing.settings}})
    for verb, exit_code in (("onboard", 4), ("plan", 4), ("audit", 2)):
        ran = desk.types(verb)
        assert ran.returncode == exit_code, words(ran)
        assert "the certificate expired on 20" in words(ran)
    assert signing.connections == 0


def test_in_a_sandbox_nothing_declared_is_said_too(bed: Any, tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    text = f"plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n  ada@lrz: {{without: [{', '.join(ROLES)}]}}\n"
    file.write_text(text)
    ran = bed.ansible("onboard", "-i", str(file), program="hpc-onboard", cwd=tmp_path)
    assert ran.returncode == 0, words(ran)
    assert "- ada@lrz no resources declared" in words(ran)
    assert "1 account: 1 with no resources declared" in words(ran)
