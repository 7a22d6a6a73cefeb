# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands with which a job creates a Python environment, and the old versions that it removes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.env_spec import EnvSpec
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.python_env import PythonEnvJob
from ansible_collections.hpc.onboard.plugins.module_utils._resources.python_env import PythonEnv
from forked import NOBODY, as_nobody


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can close a folder for itself")
def test_an_old_version_in_use_does_not_fail_the_job() -> None:
    with tempfile.TemporaryDirectory() as folder:
        versions = Path(folder) / ".ml.versions"
        for name in ("in_use/lib", "old", "new"):  # a folder of another user cannot be removed, as a file in use on NFS
            (versions / name).mkdir(parents=True)
        (versions / "in_use" / "lib" / "file").touch()
        for path in (Path(folder), versions, versions / "in_use", versions / "old"):
            os.chown(path, NOBODY, NOBODY)

        def work() -> list[Any]:
            options = PythonEnv.with_defaults({"path": f"{folder}/ml", "packages": []})
            job = PythonEnvJob(f"{folder}/.ml.hpc.onboard", EnvSpec(options))
            job._remove_old_versions(previous="new")
            return sorted(os.listdir(versions))

        assert as_nobody(work) == ["in_use", "new"]


@pytest.mark.parametrize(
    ("maker", "command", "in_job"),
    [
        ("venv", ["python3.11", "-m", "venv"], "/e/ml/bin/python -m venv "),
        (
            "virtualenv",
            ["virtualenv", "--no-download", "--python", "python3.11"],
            " --no-download --python python3.11 ",
        ),
    ],
)
def test_the_python_of_the_settings_is_used(maker: str, command: list[str], in_job: str) -> None:
    given = {"path": "/e/ml", "maker": maker, "python": "python3.11", "in_job": "$TMPDIR"}
    job = PythonEnvJob("/e/.ml.hpc.onboard", EnvSpec(PythonEnv.with_defaults(given)))
    assert job._build_create_command()[:-1] == command
    assert f'{in_job}"$TMPDIR"/ml &&' in job._render_activation_in_job()
