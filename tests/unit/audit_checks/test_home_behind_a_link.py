# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""At some sites, the home directory is a link: a finding names its place as the user knows it, below ~."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from account_scene import KEY
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.audit_check import AuditCheck
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.conda_traces import CondaTraces
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.job_requests import JobRequests
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.trusted_files import TrustedFiles
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._key_checks.open_keys import OpenKeys
from ansible_collections.hpc.onboard.plugins.module_utils._storage_checks.home_caches import HomeCaches
from audit_check_runs import complete_options


@pytest.mark.parametrize(
    ("kind", "options", "field"),
    [
        (CondaTraces, {"policy": "refused"}, "PKG-001 ~/mini"),
        (TrustedFiles, {}, "SEC-010 ~/.bashrc"),
        (OpenKeys, {}, "SEC-002 ~/.config"),
        (JobRequests, {"home_in_jobs": "ro"}, "JOB-005 ~/a.job:2"),
        (HomeCaches, {"wanted": {"*": "/work"}}, "ENV-001 ~/.cache/pip"),
    ],
)
def test_a_place_is_shown_below_the_home(
    kind: type[AuditCheck], options: dict[str, Any], field: str, tmp_path: Path
) -> None:
    real = tmp_path / "real"
    for folder in ("mini/conda-meta", "mini/condabin", ".config/enroot"):
        (real / folder).mkdir(parents=True)
    for file in ("mini/conda-meta/history", "mini/condabin/conda", ".bashrc"):
        (real / file).touch()
    (real / ".config" / "enroot" / ".credentials").write_text("machine nvcr.io login a password b\n")
    (real / ".cache" / "pip").mkdir(parents=True)
    (real / ".cache" / "pip" / "a").write_text("a")
    (real / "a.job").write_text(f"#!/bin/bash\n#SBATCH --output={real}/a.out\n")
    (real / ".bashrc").chmod(0o666)
    (real / ".config").chmod(0o777)
    home = tmp_path / "home"
    home.symlink_to(real)
    host = Host(Account(str(home), "/bin/sh", {}), bytes.fromhex(KEY))
    check = kind(complete_options(kind, options)).with_expanded_paths(host)
    found = check.inspect(host)
    assert field in found
    assert str(real) not in str([found, check.evidence(found, host)])
