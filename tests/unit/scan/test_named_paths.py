# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths that settings name are found quickly, also in strange files."""

from __future__ import annotations

import time

from ansible_collections.hpc.onboard.plugins.module_utils._scan import named_paths


def test_many_empty_lines_take_no_time() -> None:
    started = time.monotonic()
    for lines in (*named_paths.SETTINGS_LINES.values(), named_paths.UNIT_LINES):
        assert named_paths.find_named(lines, "\n" * 2000 + "\t[core]\n", "/home/ada") == []
    assert time.monotonic() - started < 5
