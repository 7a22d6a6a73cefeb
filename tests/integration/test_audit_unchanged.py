# SPDX-License-Identifier: GPL-3.0-or-later
"""An account that was just set up audits clean at every site, in one session, and twice the same; nothing is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testbed.installer import installer
from tests.testbed.web import Web

from .audit_scene import TOKENS, Scene, conda_settings

pytestmark = pytest.mark.testbed

SHELLS = {"lrz": "/bin/bash", "dfki": "/bin/bash", "pegasus": "/usr/bin/zsh", "wilson": "/bin/tcsh", "daint": "/bin/bash",
          "narval": "/usr/bin/fish"}  # fmt: skip


@pytest.fixture(scope="module")
def scene(bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:  # type: ignore[no-untyped-def]
    accounts = [bed.new_account(cluster, shell=shell, skel=True) for cluster, shell in SHELLS.items()]
    with Web(installer(4)) as web:
        settings = {one.name: {"vars": TOKENS} for one in accounts}
        settings[accounts[1].name].update(conda_settings(accounts[1], web))
        here = Scene(bed, tmp_path_factory.mktemp("unchanged"), accounts, settings)
        ran = here.onboard()
        assert ran.code == 0, ran.text
        yield here


def test_an_account_that_was_just_set_up_is_clean_at_every_site_and_stays_so(scene: Scene) -> None:
    before = {one.name: one.tree() for one in scene.accounts}
    for one in scene.accounts:
        one.reset_sessions()
    first, second = scene.audit(), scene.audit()
    for audit in (first, second):
        assert audit.findings == [], [(one["account"], one["rule"], one["text"]) for one in audit.findings]
        assert audit.ran.code == 0, audit.ran.text
        assert audit.report["summary"]["not_measured"] == 0
    assert [one.sessions() for one in scene.accounts] == [2] * len(scene.accounts)
    assert [first.row(one) for one in scene.accounts] == [second.row(one) for one in scene.accounts]
    assert {one.name: one.tree() for one in scene.accounts} == before
