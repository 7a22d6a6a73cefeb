# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a conda's job takes out of what an earlier one has begun: its own, and nothing that the notes name beside.

The installation itself is in tests/integration.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._jobs import download, job
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.conda import CondaJob
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.conda_spec import CondaSpec
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.made import FINISHED_MARK, UNFINISHED_NOTE

from tests.testbed import installer

CONDA = Path(installer.__file__).with_name("conda.sh")
NOWHERE = {"url": "http://127.0.0.1:1/Standin3.sh", "sha256": "0" * 64}
OPTIONS: dict[str, Any] = {
    "distribution": "miniforge",
    "version": "26.1.1-3",
    "channels": ["conda-forge"],
    "environments": [],
    "proxies": {},
}


def failed(prefix: Path, making: Path | None, **options: Any) -> str:
    """Why a job fails, if it does, for which an earlier one has noted what it is making; no installer can be had."""
    folder = prefix.parent / ".conda.hpc.onboard"
    folder.mkdir(mode=0o700)
    if making:
        (folder / UNFINISHED_NOTE).write_text(str(making))
    above = os.open(prefix.parent, os.O_RDONLY)
    CondaJob(str(folder), CondaSpec(str(prefix), {**OPTIONS, **options}, NOWHERE), is_outdated=False).detach(above)
    os.close(above)
    deadline = time.monotonic() + 20
    while (found := job.read_progress(str(folder))) and "failed" not in found:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return str((found or {}).get("failed", ""))


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where conda goes, with something half made there, and a folder of the user's beside it."""
    monkeypatch.setattr(download, "PAUSE", 0.0)
    for name in ("conda/envs/demo", "precious/envs/demo"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "conda"


@pytest.mark.parametrize("begun", ["", "envs/demo"])
def test_what_is_half_made_of_ours_goes(prefix: Path, begun: str) -> None:
    assert "could not be downloaded" in failed(prefix, prefix / begun)
    assert not (prefix / begun).exists()


@pytest.mark.parametrize("named", ["../precious", "envs/../../precious", "envs", "envs/demo/../../x", "envs/.."])
def test_nothing_else_that_its_notes_name_goes(prefix: Path, named: str) -> None:
    assert "as unfinished, but hpc-onboard did not create it" in failed(prefix, Path(f"{prefix}/{named}"))
    assert (prefix.parent / "precious/envs/demo").is_dir()
    assert (prefix / "envs/demo").is_dir()


def test_what_is_finished_stays(prefix: Path) -> None:
    (prefix / FINISHED_MARK).write_text("miniforge")
    assert not failed(prefix, prefix)
    assert (prefix / "envs/demo").is_dir()


def test_an_environment_lies_in_the_prefix_whatever_the_users_own_folder_for_environments(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prefix / FINISHED_MARK).write_text("miniforge")
    (prefix / "bin").mkdir()
    (prefix / "bin/conda").write_text(CONDA.read_text(encoding="ascii").replace("@PAUSE@", "0"))
    (prefix / "bin/conda").chmod(0o755)
    monkeypatch.setenv("CONDA_ENVS_PATH", str(prefix.parent / "precious"))
    assert not failed(prefix, None, environments=[{"name": "torch", "content": "dependencies: [python]\n"}])
    assert (prefix / "envs/torch/conda-meta/made-from").read_text() == "dependencies: [python]\n"
    assert [path.name for path in (prefix.parent / "precious").iterdir()] == ["envs"]
