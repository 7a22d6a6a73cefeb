# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples in docstrings give what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
PACKAGE = "ansible_collections.hpc.onboard.plugins"


def test_each_example_in_a_docstring_gives_what_it_shows() -> None:
    attempted = 0
    for file in sorted(PLUGINS.rglob("*.py")):
        if ">>> " in file.read_text(encoding="utf-8"):
            parts = file.relative_to(PLUGINS).with_suffix("").parts
            failed, tried = doctest.testmod(importlib.import_module(".".join((PACKAGE, *parts))))
            assert failed == 0, file
            attempted += tried
    assert attempted > 10
