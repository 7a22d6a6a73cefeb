# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages that developers install by their sums are those that pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
LOCKED = (ROOT / "tools" / "constraints.txt").read_text(encoding="utf-8")
PINS = {name: version for name, version in re.findall(r"^([a-z0-9._-]+)==(\S+) ", LOCKED, re.MULTILINE)}


def test_what_is_asked_for_is_locked() -> None:
    """make lock fixes it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for line in [*project["dependencies"], *project["optional-dependencies"]["test"]]:
        asked = Requirement(line)
        version = PINS.get(canonicalize_name(asked.name))
        assert version, f"{asked.name} is not locked: make lock"
        assert asked.specifier.contains(version), f"{asked.name} {version} is not what is asked for: make lock"


def test_every_locked_package_has_sums_and_comes_from_no_place_of_its_own() -> None:
    entries = re.split(r"^(?=[a-z0-9])", LOCKED, flags=re.MULTILINE)[1:]
    assert len(entries) == len(PINS) > 50
    assert [one.partition(" ")[0] for one in entries if "--hash=sha256:" not in one] == []
    said = "\n".join(line for line in LOCKED.splitlines() if not line.startswith("#"))
    assert not re.search(r"https?:|file:|--(?:extra-)?index-url|--find-links", said)
