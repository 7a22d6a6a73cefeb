# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host says of what lies there, also while another login node is at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host


def test_a_folder_that_is_made_between_two_looks_is_no_link_to_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    host = Host(Account(str(tmp_path), "/bin/sh", {}), b"key")
    resolved_kind, folder = host.resolved_kind, tmp_path / ".config"

    def and_another_run_makes_it(path: str) -> str:
        kind = resolved_kind(path)
        folder.mkdir(exist_ok=True)
        return kind

    monkeypatch.setattr(host, "resolved_kind", and_another_run_makes_it)
    assert host.why_blocked(str(folder)) is None


def test_a_link_to_nothing_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / ".config").symlink_to(tmp_path / "gone")
    said = Host(Account(str(tmp_path), "/bin/sh", {}), b"key").why_blocked(f"{tmp_path}/.config/hpc.onboard")
    assert said == "~/.config is a broken link: fix or remove the link, then run hpc-onboard again"
