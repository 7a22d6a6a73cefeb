# SPDX-License-Identifier: GPL-3.0-or-later
"""An account that was just set up audits clean at every site, in one session, twice the same, and unwritten."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.keys.witness import Witness, read_only
from tests.testbed.installer import installer
from tests.testbed.web import Web

from .audit_scene import TOKENS, Scene, at, conda_settings, known

pytestmark = pytest.mark.testbed

SHELLS = {"lrz": "/bin/bash", "dfki": "/bin/bash", "pegasus": "/usr/bin/zsh", "wilson": "/bin/tcsh",
          "daint": "/bin/bash", "narval": "/usr/bin/fish"}  # fmt: skip


@pytest.fixture(scope="module")
def scene(bed: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    accounts = [bed.new_account(cluster, shell=shell, skel=True) for cluster, shell in SHELLS.items()]
    with Web(installer(4)) as web:
        variables = {"vars": {**TOKENS, "shell_environment_variables": {"HF_HOME": "/var/tmp/hf", "MINE": "one"}}}
        settings: dict[str, dict[str, Any]] = {one.name: dict(variables) for one in accounts}
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
        found = {(one["account"], one["rule"], one["severity"]) for one in audit.findings}
        assert found <= {(scene.accounts[3].name, "KEY-010", "info")}, audit.ran.text  # Wilson's jobs have no home
        assert audit.ran.code == 0, audit.ran.text
        assert audit.report["summary"]["unknown"] == 0
    assert [one.sessions() for one in scene.accounts] == [2] * len(scene.accounts)
    assert [first.row(one) for one in scene.accounts] == [second.row(one) for one in scene.accounts]
    assert {one.name: one.tree() for one in scene.accounts} == before


DRIFTED = {
    "lrz": "chmod 644 enroot/.credentials; ln -sfn / dss; echo 'date >> ~/logins' >> .profile",  # asked as a login
    "dfki": "rm -r /data/$USER/miniconda3 bin/usrun.sh; rm data",
    "pegasus": "rm -r .zshenv .config/hpc.onboard; rm -r /netscratch/$USER/enroot/cache",
    "wilson": "chmod 755 .apptainer; rm work",
    "daint": "rm scratch .netrc .ngc/config; rm -r .config/enroot",
    "narval": "echo '{}' > .apptainer/docker-config.json; rm -r .cache",
}


def test_nothing_is_written_while_an_audit_looks_at_accounts_that_onboarding_would_change(scene: Scene) -> None:
    for one in scene.accounts:
        at(one, f"export USER={one.user}; {DRIFTED[one.cluster.name]}")
    with Witness(*scene.accounts) as witness:
        at(scene.accounts[0], "touch canary; rm canary")
        assert any("create" in one for one in witness.seen()), "the witness is blind"
        free = scene.audit()
        assert witness.seen() == []
    assert free.report["summary"]["measured"] == len(scene.accounts)
    assert {one["account"] for one in free.findings} == {one.name for one in scene.accounts}
    with contextlib.ExitStack() as stack:
        for one in scene.accounts:
            stack.enter_context(read_only(one))
            with pytest.raises(AssertionError, match="Read-only file system"):
                at(one, "touch canary")
        held = scene.audit()
    closed = [one for one in held.findings if one["rule"] == "DIR-003"]
    assert {one["text"] for one in closed} == {"The file system of this folder is read-only."}
    assert known([one for one in held.findings if one not in closed]) == known(free.findings)
    for one in scene.accounts:
        row, other = held.row(one), free.row(one)
        assert (row["state"], row["checks"]) == (other["state"], other["checks"])
