# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's ssh settings as init reads them, whatever is in them."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.ssh_world import SshHistory


def test_the_files_of_a_user_who_does_not_exist_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = list(pwd.getpwuid(os.getuid()))
    mine[5] = str(tmp_path)
    monkeypatch.setattr(pwd, "getpwuid", lambda _number: pwd.struct_passwd(mine))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Include ~no-such-user/config\nHost mine *.site.org\n")
    assert list(SshHistory().settings) == ["mine"]
