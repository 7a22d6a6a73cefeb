# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders of a sandbox are created inside it, whatever a profile says."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.hpc.onboard.plugins.module_utils._engine.plan import create_sandbox


def test_no_folder_is_created_outside(tmp_path: Path) -> None:
    root = tmp_path / "sandbox"
    root.mkdir()
    create_sandbox(str(root), {"home": "/x/../../home/mallory", "folders": ["../data", "/work"]})
    assert [path.name for path in tmp_path.iterdir()] == ["sandbox"]
    assert sorted(path.name for path in root.iterdir()) == ["data", "home", "work"]
