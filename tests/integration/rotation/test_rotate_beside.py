# SPDX-License-Identifier: GPL-3.0-or-later
"""What onboarding, another machine and a hand on the files do beside a rotation: it is never settled by what was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import onboard
from tests.testbed.registry import PRIVATE, new_key

from .rotation_scene import Stage, settled

pytestmark = [pytest.mark.testbed, turns(2)]


def said(ran: Any) -> str:
    """All that was printed, in one line."""
    return " ".join(ran.text.split())


def by_halves(stage: Stage) -> str:
    """Rotate while the last account cannot be reached; gives the new key, which the others hold."""
    new, away = new_key(), stage.accounts[3]
    stage.registry.allow(new, [PRIVATE])
    away.cluster.world.run("sh", "-c", f"usermod -s /bin/false {away.user}; true")
    assert stage.rotate(key=new).code == 2
    away.cluster.world.run("sh", "-c", f"usermod -s /bin/bash {away.user}; true")
    assert all(set(stage.held(one)) == {stage.old if one is away else new} for one in stage.accounts)
    return new


def test_onboarding_leaves_the_targets_of_an_open_rotation_alone_and_says_so(stage: Stage) -> None:
    new = by_halves(stage)
    before = [stage.held(account) for account in stage.accounts]
    ran = onboard(stage.bed, *stage.accounts, environment=stage.environment)
    assert ran.code == 0, ran.text
    assert [stage.held(account) for account in stage.accounts] == before
    assert "rotation of 'ngc' is open" in said(ran)
    assert "rotate_ngc.yml -e rotate_resume=true" in said(ran)
    late = stage.bed.new_account("lrz")
    assert onboard(stage.bed, late, environment=stage.environment).code == 0
    assert set(stage.held(late)) == {stage.old}, "an account that is no target yet gets the current key"
    stage.accounts.append(late)
    ended = stage.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(stage, new)


def test_a_key_that_a_hand_put_back_is_seen_before_the_rotation_settles(stage: Stage) -> None:
    new, odd = by_halves(stage), stage.accounts[0]
    odd.ssh(f"sed -i s/{new}/{stage.old}/ enroot/.credentials .config/enroot/.credentials 2>/dev/null; true")
    assert set(stage.held(odd)) == {stage.old}
    ran = stage.rotate(rotate_resume=True)
    assert ran.code == 2, ran.text
    assert "deactivate the old key" not in said(ran)
    assert f"{odd.name}:enroot_credential" in said(ran)
    assert "rotate_resume=true" in said(ran)
    assert set(stage.held(odd)) == {stage.old}, "what a hand did is named, and not undone in the same breath"
    ended = stage.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(stage, new)
    assert "deactivate the old key" in said(ended)
