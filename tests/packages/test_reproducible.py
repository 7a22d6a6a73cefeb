"""Two builds of one commit, in two places and at two times, are the same bytes; and what is in them is said.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.build_packages import build, list_packages

from .conftest import MOMENT, Environment


def test_two_builds_are_the_same_bytes(tree: Path, dist: Path, tmp_path: Path) -> None:
    other, again = tmp_path / "elsewhere" / "a-clone", tmp_path / "again"
    shutil.copytree(tree, other, symlinks=True, copy_function=shutil.copy)
    for path in other.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (time.time() - 10_000,) * 2)
            path.chmod(path.stat().st_mode | 0o020)  # as another umask leaves it
    again.mkdir()
    build(other, again, MOMENT)
    names = [path.name for path in list_packages(dist)]
    assert len(names) == 3
    assert names == [path.name for path in list_packages(again)]
    assert [name for name in names if (dist / name).read_bytes() != (again / name).read_bytes()] == []


def test_the_bill_of_materials_names_what_a_user_installs(from_wheel: Environment, tmp_path: Path) -> None:
    bill = tmp_path / "bill.json"
    program = str(Path(sys.executable).with_name("cyclonedx-py"))
    python = str(from_wheel.path / "bin" / "python")
    order = [program, "environment", python, "--output-reproducible", "--validate", "-o", str(bill)]
    subprocess.run(order, check=True)
    document = json.loads(bill.read_text(encoding="utf-8"))
    assert document["bomFormat"] == "CycloneDX"
    named = {one["name"]: one for one in document["components"]}
    assert {"hpc-onboard", "ansible-core", "cryptography", "keyring"} <= set(named)
    assert all(one.get("version") for one in named.values())
    assert named["cryptography"]["purl"].startswith("pkg:pypi/cryptography@")
