# SPDX-License-Identifier: GPL-3.0-or-later
"""A value that a role refuses costs that role alone, and offboarding nothing: the receipt says what goes; over ssh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.audit.audit_scene import Scene
from tests.integration.onboard.test_offboard import offboard, tree
from tests.integration.runs import play

pytestmark = pytest.mark.testbed

BASE = {"without": ["conda"]}
GOOD = {"variables": {"H3A": "one"}}
REFUSED = {"variables": {"H3A": "q\"uo'te"}}
WHY = "H3A contains a character that some shells do not support"


@pytest.fixture
def scene(bed: Any, tmp_path: Path) -> Scene:
    """An account with a variable and a file of the user's own."""
    (tmp_path / "mine.txt").write_text("mine\n")
    account = bed.new_account("dfki", skel=True)
    return Scene(bed, tmp_path, [account], {account.name: settings(GOOD, tmp_path)})


def settings(environment: object, folder: Path, **more: Any) -> dict[str, Any]:
    """The settings of the account."""
    files = [{"file": "mine.txt", "path": "~/mine.txt"}]
    return {
        **BASE,
        "shell_environment": environment,
        "own_files": {"files": files, "folder": str(folder)},
        **more,
    }


def test_offboarding_needs_no_valid_setting_of_a_role(scene: Scene) -> None:
    account = scene.accounts[0]
    before = tree(account)
    ran = scene.onboard()
    assert ran.code == 0, ran.text
    assert account.exists("mine.txt")
    scene.declare({account.name: settings(REFUSED, scene.folder)})
    (scene.folder / "mine.txt").unlink()
    account.reset_sessions()
    gone = offboard(scene)
    assert gone.code == 0, gone.text
    assert account.sessions() == 1
    said = " ".join(gone.text.split())
    assert f"shell_environment: the role's settings are invalid (the value of {WHY}" in said
    assert "own_files: the role's settings are invalid (the file " in said
    assert "the role's resources in the receipt are removed anyway" in said
    assert tree(account) == before


def test_offboarding_of_other_roles_leaves_what_a_refused_role_created(scene: Scene) -> None:
    account = scene.accounts[0]
    assert scene.onboard().code == 0
    scene.declare({account.name: settings(REFUSED, scene.folder)})
    for more in (("--tags", "enroot_credentials"), ("-e", "offboard_only=undeclared")):
        gone = offboard(scene, *more)
        assert gone.code == 0, gone.text
        assert b"H3A" in account.read(".config/hpc.onboard/env.sh")
    assert not account.exists("enroot/.credentials")
    assert account.exists("mine.txt")
    gone = offboard(scene, "--tags", "shell_environment")
    assert gone.code == 0, gone.text
    assert b"H3A" not in account.read(".config/hpc.onboard/env.sh")
    assert account.exists("mine.txt")


def test_onboarding_fails_for_a_refused_role_and_sets_up_the_others(scene: Scene) -> None:
    account = scene.accounts[0]
    scene.declare({account.name: settings(REFUSED, scene.folder)})
    account.reset_sessions()
    ran = scene.onboard()
    assert ran.code == 2, ran.text
    assert account.sessions() == 1
    statuses = ran.statuses(account.name)
    assert statuses["role shell_environment"] == "failed"
    assert {one for one, status in statuses.items() if status != "missing"} == {"role shell_environment"}
    assert account.exists("mine.txt")
    assert account.exists("enroot/.credentials")
    assert WHY in " ".join(ran.text.split())
    lines = scene.inventory.read_text().splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if "shell_environment" in text)
    assert f"accounts.yml:{line})" in "".join(ran.text.split())


def test_a_setting_of_the_wrong_form_stops_onboarding_before_anything_is_touched(scene: Scene) -> None:
    account = scene.accounts[0]
    before = tree(account)
    wrong = ("-e", '{"shell_environment_variables": [1]}')
    ran = scene.onboard(*wrong)
    assert ran.code == 2, ran.text
    assert tree(account) == before
    assert scene.onboard().code == 0
    gone = offboard(scene, *wrong)
    assert gone.code == 0, gone.text
    assert tree(account) == before


def test_an_audit_checks_all_other_roles_and_reports_the_refused_one(scene: Scene) -> None:
    account = scene.accounts[0]
    assert scene.onboard().code == 0
    whole = scene.audit()
    scene.declare({account.name: settings(REFUSED, scene.folder)})
    audit = scene.audit()
    assert audit.ran.code == 2, audit.ran.text
    row = audit.row(account)
    assert (row["state"], row["capabilities"]["shell_environment"]) == ("measured", "unknown")
    assert row["checks"] == whole.row(account)["checks"]
    (refused,) = (one for one in audit.of(account) if one["rule"] == "RUN-001")
    assert (refused["capability"], refused["severity"]) == ("shell_environment", "high")
    assert WHY in refused["text"]
    assert WHY in " ".join(audit.ran.text.split())
    others = [(one["rule"], one["resource"]) for one in audit.of(account) if one is not refused]
    assert others == [(one["rule"], one["resource"]) for one in whole.of(account)], "what is unknown is no leftover"
    assert audit.report["resolved"] == []


def test_adopt_compares_all_other_roles(scene: Scene) -> None:
    account = scene.accounts[0]
    scene.declare({account.name: settings(REFUSED, scene.folder)})
    ran = play(
        scene.bed, "-i", str(scene.inventory), "-e", "adopt_sure=true",
        playbook="adopt.yml", environment=scene.environment,
    )  # fmt: skip
    assert ran.code == 0, ran.text
    said = " ".join(ran.text.split())
    assert (
        f"role shell_environment: not compared with the account, because its settings are invalid: the value of {WHY}"
        in said
    )
