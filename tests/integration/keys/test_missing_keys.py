# SPDX-License-Identifier: GPL-3.0-or-later
"""A key that the keyring has not: the account's step for it is left, and no other key's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import keyring_environment, onboard, play

pytestmark = pytest.mark.testbed


def missing(bed: Any, account: Any, environment: dict[str, str]) -> tuple[set[str], str]:
    """Onboard the account; which keys are missing, and what it says."""
    settings = {account.name: {"tokens": {"programs": [{"program": "wandb"}]}}}
    ran = onboard(bed, account, settings=settings, environment=environment)
    assert ran.code == 2, ran.text
    return {one["missing_secret"] for one in ran.of(account.name)["outcomes"] if "missing_secret" in one}, ran.text


def test_a_missing_key_leaves_its_own_step_to_a_person_and_no_other(bed: Any, tmp_path: Path) -> None:
    account, environment = bed.new_account("lrz"), keyring_environment(tmp_path)
    names, text = missing(bed, account, environment)
    assert names == {"wandb"}
    assert "keyring set hpc.onboard wandb" in " ".join(text.split())
    assert "NVIDIA" not in text
    order = [sys.executable, "-m", "keyring", "del", "hpc.onboard", "ngc"]
    subprocess.run(order, check=True, env={**environment, "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    names, text = missing(bed, account, environment)
    assert names == {"ngc", "wandb"}
    assert "Make a personal key for the NVIDIA registry" in text


def test_a_login_that_nobody_asked_for_is_left_out_where_its_key_is_missing(bed: Any, tmp_path: Path) -> None:
    account, empty = bed.new_account("wilson"), {"KEYRING_PROPERTY_FILE_PATH": str(tmp_path / "empty.cfg")}
    ran = onboard(bed, account, environment=empty)
    assert ran.code == 0, ran.text
    said = " ".join(ran.text.split())
    assert said.count("keyring set hpc.onboard ngc; if you do not need this role, set 'without: [registry_auth]'") == 1
    assert not account.exists(".apptainer/docker-config.json")
    looked = play(bed, "-i", str(bed.accounts_file([account])), playbook="audit.yml", environment=empty)
    assert looked.code == 0, looked.text
    assert "without: [registry_auth]" in str(looked.results)
    asked = {account.name: {"registry_auth": {"registries": [{"registry": "nvcr.io"}]}}}
    ran = onboard(bed, account, settings=asked, environment=empty)
    assert ran.code == 2
    assert "without:" not in ran.text
    ran = onboard(bed, account, settings={account.name: {"without": ["registry_auth"]}}, environment=empty)
    assert ran.code == 0
    assert "'ngc'" not in ran.text
