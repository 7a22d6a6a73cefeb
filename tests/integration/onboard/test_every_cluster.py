# SPDX-License-Identifier: GPL-3.0-or-later
"""Every cluster as a practice account: a run does what its preview says, the next changes nothing, audit included."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.effort import clusters
from tests.integration.runs import REPOSITORY

CLUSTERS = clusters(sorted(file.stem for file in (REPOSITORY / "inventory" / "clusters").glob("*.yml")))
PATHS = {"lrz": "{dss: /dss/dssfs04/lwp-dss-0002/pr12ab/pr12ab-dss-0000}"}  # known to the account alone
EVERYTHING = """\
plugin: hpc.onboard.accounts
sandbox: true
defaults:
  conda: {distribution: miniforge}
  job_scripts: {templates: [batch, chain]}
  own_files: {files: [{file: condarc, path: ~/deep/er/condarc}]}
  python_envs: {environments: [{name: ml, modules: [python/3.11], packages: [numpy]}]}
  container_images: {images: [{image: "alpine:3.20@sha256:%s"}]}
accounts:
""".replace("%s", "1" * 64)


def test_it_is_set_up_once_as_previewed_and_then_in_order(tmp_path: Path, say: Callable[[str], None]) -> None:
    text = EVERYTHING
    for cluster in CLUSTERS:
        storage = f", storage: {PATHS[cluster]}" if cluster in PATHS else ""
        text += f"  ada@{cluster}: {{project: pr12ab{storage}}}\n"
    (tmp_path / "accounts.yml").write_text(text)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "condarc").write_text("auto_activate: false\n")
    preview, _seconds = _play("onboard.yml", tmp_path, "-v", "--check")
    assert f"{len(CLUSTERS)} accounts: {len(CLUSTERS)} would change" in preview
    first, took = _play("onboard.yml", tmp_path, "-v")
    assert any("conda /" in thing for thing in _things(first, "created"))
    assert _things(first, "created") == _things(preview, "to create")
    assert f"{len(CLUSTERS)} accounts: {len(CLUSTERS)} changed" in first
    second, again = _play("onboard.yml", tmp_path)
    assert f"{len(CLUSTERS)} accounts: {len(CLUSTERS)} unchanged" in second
    audit, looked = _play("audit.yml", tmp_path)
    assert not re.search(r"[0-9] (?:low|medium|high|critical)", audit), "at most that jobs do not see a key in the home"
    assert not re.search(r"\d+\s+(critical|high|medium|low)\b", audit)
    say(f"{len(CLUSTERS)} sandboxes: onboarded in {took:.1f} s, unchanged in {again:.1f} s, audited in {looked:.1f} s")


def _things(said: str, status: str) -> list[str]:
    """What has this status, of all accounts, which end in any order; a long name goes on in the lines below it."""
    found = re.findall(rf"^  \+ {status} +(.*(?:\n {{4}}(?!skipped|note).*)*)", said, re.MULTILINE)
    return sorted(" ".join(thing.split()) for thing in found)


def _play(playbook: str, folder: Path, *words: str) -> tuple[str, float]:
    """What a run that succeeds prints, and its seconds."""
    begun = time.monotonic()
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "-i", str(folder / "accounts.yml"), *words],
        cwd=REPOSITORY,
        env={**os.environ, "HOME": str(folder), "COLUMNS": "500"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, time.monotonic() - begun
