# SPDX-License-Identifier: GPL-3.0-or-later
"""Each seeded bug is caught by its test, which passes without the bug."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.effort import turns

from .seeded import BUGS, Bug

TREE = Path(__file__).parents[2]
NOTICED = re.compile(r"^E +(AssertionError|assert)", re.MULTILINE)  # an assertion, not an accident
PROMISES = TREE / "tests/faults/test_promises.py"


def copy(to: Path) -> Path:
    """A copy of the engine, to put a bug in."""
    shutil.copytree(TREE / "plugins", to / "plugins", ignore=shutil.ignore_patterns("__pycache__"))
    return to


def run(tree: Path, tests: list[str]) -> subprocess.CompletedProcess[str]:
    """The tests, against the engine of that tree."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=short"]
    named = [f"{PROMISES}::{test}" for test in tests]
    env = {**os.environ, "HPC_ONBOARD_TREE": str(tree), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command + named, cwd=TREE, env=env, capture_output=True, text=True)


def test_without_a_bug_every_test_passes(tmp_path: Path) -> None:
    done = run(copy(tmp_path), [bug.test for bug in BUGS])
    assert done.returncode == 0, done.stdout + done.stderr


@turns(5)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name.replace(" ", "-"))
def test_a_seeded_bug_is_caught(bug: Bug, tmp_path: Path, count: Callable[[str, int, int], None]) -> None:
    tree = copy(tmp_path)
    for name, text, replacement in bug.edits:
        file = tree / "plugins/module_utils" / name
        source = file.read_text()
        assert source.count(text) == 1, f"{bug.name} no longer fits {name}: fix the bug"
        file.write_text(source.replace(text, replacement))
    done = run(tree, [bug.test])
    caught = done.returncode == 1 and bool(NOTICED.search(done.stdout))
    count("seeded bugs", 1, not caught)
    assert caught, f"nothing noticed it:\n{done.stdout}{done.stderr}"
    print(done.stdout)
