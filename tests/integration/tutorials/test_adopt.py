# SPDX-License-Identifier: GPL-3.0-or-later
"""Accounts of the five tutorials are adopted: what is there is used, stays the user's, and nothing is left to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest
import yaml

from tests.integration.command.desk import heeding
from tests.integration.runs import COMMAND

from .life import Life

pytestmark = pytest.mark.testbed

ASK = (
    'printf "%s=%s\\n" hub "${HF_HUB_CACHE:-${HF_HOME:-$HOME/.cache/huggingface}/hub}"'
    ' containers "${ENROOT_DATA_PATH:-$HOME/.local/share/enroot}" layers "${ENROOT_CACHE_PATH:-}"'
    ' cache "${APPTAINER_CACHEDIR:-}" usrun "$(command -v usrun.sh)"'
)
SHELLS = {"login": "-lc", "interactive": "-ic", "batch": "-c"}
OFFER = "To keep using them, run:"
PASTED = re.compile(r"mv -n|ansible \S+ -m raw")


@pytest.fixture
def life(bed: Any, tmp_path: Path) -> Life:
    """Five accounts, lived in."""
    return Life(bed, tmp_path, without=())


def seen(account: Any, kind: str) -> dict[str, str]:
    """What a shell of a kind uses: models, containers, caches and launcher."""
    done = account.ssh(f"{account.login_entry.shell} {SHELLS[kind]} '{ASK}'")
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def used(account: Any) -> dict[str, str]:
    """What an interactive shell uses, as far as anything is there."""
    found = {what: path for what, path in seen(account, "interactive").items() if path and account.exists(path)}
    return {what: path for what, path in found.items() if what == "usrun" or any(account.path(path).iterdir())}


def accepted(life: Life, say: Callable[[str], None]) -> None:
    """Onboard, compare what every kind of shell sees with what the user saw before, and give everything back."""
    onboarded = life.take("onboard")
    assert onboarded.code == 0, onboarded.text
    assert not PASTED.search(onboarded.text), "nothing is left to do by hand"
    statuses = [one for account in life.accounts for one in onboarded.statuses(account.name).values()]
    assert "blocked" not in statuses
    assert life.take("onboard").text.count("created") == 0
    say(f"blocked after adoption: 0 of {len(statuses)} resources of five accounts")


def test_what_serves_is_used_by_every_shell_and_given_back(life: Life, say: Callable[[str], None]) -> None:
    users = {one.name: used(one) for one in life.accounts}
    assert {what for found in users.values() for what in found} == {"hub", "containers", "layers", "cache", "usrun"}
    before = life.scene.inventory.read_text(encoding="utf-8")
    assert OFFER in " ".join(life.take("plan").text.split())
    for account in life.accounts:
        account.reset_sessions()
    adopted = life.take("adopt")
    assert adopted.code == 0, adopted.text
    assert {account.sessions() for account in life.accounts} == {1}
    assert life.trees() == life.before, "no account was changed"
    assert yaml.safe_load(life.scene.inventory.read_text(encoding="utf-8")) != yaml.safe_load(before)
    written = life.scene.inventory.read_text(encoding="utf-8")
    assert OFFER not in " ".join(life.take("plan").text.split())
    assert life.take("adopt").code == 0
    assert life.scene.inventory.read_text(encoding="utf-8") == written, "a second time adds nothing"

    accepted(life, say)
    for account in life.accounts:
        for kind in SHELLS:
            now = seen(account, kind)
            for what, path in users[account.name].items():
                if what != "usrun" or kind == "interactive":  # it is on PATH of those alone
                    assert now[what] == path, (account.name, kind, what)
    dfki = next(one for one in life.accounts if one.cluster.name == "dfki")
    prefix = f"/data/{dfki.user}/miniconda"
    for kind in SHELLS:
        assert f"{prefix}/" in dfki.ssh(f"bash {SHELLS[kind]} 'type conda'").stdout, kind

    assert life.take("offboard").code == 0
    assert [*life.lost_keys(), *life.changed(), *life.left()] == []


def test_what_was_replaced_at_a_terminal_is_put_back(life: Life, say: Callable[[str], None]) -> None:
    """Everything that differs is replaced, by one answer each."""
    environment = {**life.scene.bed.client.environment(), **life.scene.environment, "TERM": "dumb"}
    run = pexpect.spawn(
        COMMAND, ["adopt", "-i", str(life.scene.inventory)], cwd=str(life.scene.folder), env=environment,
        encoding="utf-8", timeout=90, dimensions=(24, 80), preexec_fn=heeding,
    )  # fmt: skip
    questions = 0
    while run.expect_exact(["Keep your version? [Y/n] ", "stay unchanged. [y/N] "]) == 0:
        questions += 1
        run.sendline("n")
    run.sendline("y")
    run.expect(pexpect.EOF)
    run.close()
    assert run.exitstatus == 0, run.before
    assert questions >= 4
    assert life.trees() == life.before
    accepted(life, say)
    assert life.take("offboard").code == 0
    assert [*life.lost_keys(), *life.changed(), *life.left()] == []
