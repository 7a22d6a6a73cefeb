# SPDX-License-Identifier: GPL-3.0-or-later
"""A look changes nothing, access times on purged storage included: they say when the site deletes a file."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import yaml

from tests.integration.onboard.test_offboard_practice import Practice

ACCOUNT = "ada@daint"
OLD = time.time() - 40 * 86400
NAMES = ("run.sh", "sub/.env", "notes.txt", "d.bin")


def test_an_audit_counts_all_that_is_purged_soon_and_moves_no_access_time(tmp_path: Path) -> None:
    practice = Practice(tmp_path)
    document = {"plugin": "hpc.onboard.accounts", "sandbox": True, "accounts": {ACCOUNT: {"project": "g1"}}}
    (tmp_path / "accounts.yml").write_text(yaml.safe_dump(document))
    practice.run("audit")  # which creates the sandbox
    root = tmp_path / ".sandbox" / ACCOUNT
    scratch = root / "capstor/scratch/cscs/ada"
    files = [scratch / "old" / name for name in NAMES]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\nexport A=b\n")
        os.utime(file, (OLD, OLD))
    for _ in range(2):
        practice.run("audit", "-e", "audit_output=report")
        report = json.loads((tmp_path / "report" / "audit.json").read_text())
        found = [one for one in report["findings"] if one["rule"] == "USE-003"]
        assert "4 files will be purged" in str(found)
        assert [round(file.stat().st_atime - OLD) for file in files] == [0, 0, 0, 0]
