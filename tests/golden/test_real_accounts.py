# SPDX-License-Identifier: GPL-3.0-or-later
"""What people see of real accounts: a rotation from its previewing to its end, and an account that is looked at."""

from __future__ import annotations

import re

import pytest

from tests.golden.seen import hold, place, plain
from tests.integration.rotation.rotation_scene import Stage, staged
from tests.integration.runs import REPOSITORY
from tests.testbed import Testbed
from tests.testbed.registry import PRIVATE, new_key

pytestmark = pytest.mark.testbed


def see(stage: Stage, name: str, *arguments: str) -> None:
    """Run a playbook over the stage's accounts, one after the other, and hold what it printed."""
    own = {**stage.environment, "ANSIBLE_FORKS": "1"}
    done = stage.bed.ansible(*arguments, cwd=REPOSITORY, env=own)
    text = f"{done.stdout}---- stderr\n{done.stderr}---- exit {done.returncode}\n"
    places = {str(stage.folder): "<home>", str(stage.bed.folder): "<bed>", str(REPOSITORY): "<checkout>"}
    shown = plain(" ".join(text.split()).replace(" ---- ", "\n---- "), places)
    hold(f"{name}.txt", re.sub(",? <seconds>", "", shown))  # a second or more is said, less is not


def test_a_rotation_and_an_audit() -> None:
    """On login nodes of its own: what tests of the audit put onto theirs would be seen."""
    with Testbed() as bed, place() as folder, staged(bed, folder, ("lrz", "wilson"), kdf=None) as stage:
        new, bad = new_key(), new_key()
        stage.registry.allow(new, [PRIVATE])
        see(stage, "rotate-bad-key", "rotate_ngc.yml", *stage.wanted(bad, "bad", {}))
        see(stage, "rotate-preview", "rotate_ngc.yml", "--check", *stage.wanted(new, "new", {}))
        see(stage, "rotate", "rotate_ngc.yml", *stage.wanted(new, "new", {}))
        see(stage, "rotate-too-early", "rotate_ngc.yml", *stage.wanted(None, "", RESUMED))
        stage.registry.revoke(stage.old)
        see(stage, "rotate-retired", "rotate_ngc.yml", *stage.wanted(None, "", RESUMED))
        inventory = ("-i", str(bed.accounts_file(stage.accounts)))
        stage.accounts[0].ssh("rm ~/dss; chmod 644 enroot/.credentials")
        see(stage, "audit-over-ssh", "audit.yml", *inventory)
        see(stage, "onboard-over-ssh", "onboard.yml", *inventory)
        see(stage, "offboard-over-ssh", "offboard.yml", *inventory, "-e", "offboard_sure=true")


RESUMED = {"rotate_resume": True, "rotate_retired": True}
