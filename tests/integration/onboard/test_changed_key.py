# SPDX-License-Identifier: GPL-3.0-or-later
"""A key that was changed in the keyring takes the place of the one that hpc-onboard wrote; over real ssh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import KEY, FileRing, onboard

pytestmark = pytest.mark.testbed

FILE, OTHER = "enroot/.credentials", "nvapi-" + "s" * 64


def test_a_key_that_hpc_onboard_wrote_is_replaced_by_the_one_in_the_keyring(bed: Any, tmp_path: Path) -> None:
    account, ring = bed.new_account("dfki"), FileRing(tmp_path)
    environment = {**ring.env, "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file)}
    environment["XDG_STATE_HOME"] = str(tmp_path / "state")
    assert onboard(bed, account, environment=environment).code == 0
    assert KEY.encode() in account.read(FILE)
    assert ring.keyring("set", "hpc.onboard", "ngc", value=OTHER).returncode == 0
    ran = onboard(bed, account, environment=environment)
    assert ran.code == 0, ran.text
    assert KEY.encode() not in account.read(FILE)
    assert OTHER.encode() in account.read(FILE)
