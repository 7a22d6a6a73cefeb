# SPDX-License-Identifier: GPL-3.0-or-later
"""What a probe writes on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._probe import probe_run


@pytest.mark.parametrize("is_sandbox", [False, True])
def test_a_sandbox_changes_no_profile(is_sandbox: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    fact = {"fact": "arch", "result": "differs", "says": "x86_64", "seen": "aarch64", "by": "", "value": ["aarch64"]}
    result: dict[str, Any] = {"observed": {}, "slurm": {}, "facts": [fact]}
    probed = {**result, "sandbox": "/sandbox"} if is_sandbox else result
    variables = {
        "ansible_play_hosts_all": ["ada@dfki"],
        "hostvars": {"ada@dfki": {"cluster": {"id": "dfki"}, probe_run.RESULT_VARIABLE: probed}},
        "probe_write": True,
        "probe_folder": str(tmp_path),
    }
    probe_run.store_and_write(variables, variables.get, None)
    assert (tmp_path / "dfki.yml").exists() != is_sandbox
