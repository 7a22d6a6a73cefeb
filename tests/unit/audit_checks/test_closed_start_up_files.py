# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A start-up file that the account cannot read hides no problem of the other files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from account_scene import KEY
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.audit_check import AuditCheck
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.conda_traces import CondaTraces
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.tool_settings import ToolSettings
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._shells.shell_views import list_shell_ways, starts_session
from audit_check_runs import complete_options
from forked import as_nobody

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can close a file for itself")


@pytest.fixture(params=["file", "link"])
def home(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home whose ~/.bash_profile is closed, or is a link into a closed folder."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "closed").mkdir(mode=0o700)
        profile = Path(folder) / ".bash_profile"
        if request.param == "file":
            profile.touch(mode=0o600)
        else:
            profile.symlink_to(Path(folder) / "closed" / "profile")
        (Path(folder) / ".bashrc").write_text(
            "export SSL_CERT_FILE=/gone/ca\n# >>> conda initialize >>>\n# <<< conda initialize <<<\n"
        )
        yield Path(folder)


def look(kind: type[AuditCheck], home: Path) -> list[Any]:
    """What the check finds with bash as the login shell, and its remarks."""

    def run() -> list[Any]:
        host = Host(Account(str(home), "/bin/bash", {}), bytes.fromhex(KEY))
        check = kind(complete_options(kind, {})).with_expanded_paths(host)
        return [list(check.inspect(host)), check.remarks(host)]

    return list(as_nobody(run))


@pytest.mark.parametrize(
    ("kind", "field"), [(ToolSettings, "ENV-009 ~/.bashrc:1"), (CondaTraces, "PKG-002 ~/.bashrc:2")]
)
def test_the_other_files_are_checked(kind: type[AuditCheck], field: str, home: Path) -> None:
    found, remarks = look(kind, home)
    assert found == [field]
    assert any("EACCES" in remark for remark in remarks)


def test_the_shells_can_be_listed(home: Path) -> None:
    def run() -> list[Any]:
        host = Host(Account(str(home), "/bin/bash", {}), bytes.fromhex(KEY))
        return [[way.file for way in list_shell_ways(host)], starts_session(host)]

    files, starts = as_nobody(run)
    assert files == ["~/.bashrc", "~/.bash_profile", "~/.bash_profile", "~/.bashrc"]
    assert starts, "the closed file may start another program"
