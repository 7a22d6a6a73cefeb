# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever records a run for later (callbacks, logs, databases) has no key in what it keeps, however much is said."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.effort import exhaustive
from tests.integration.runs import REPOSITORY, FileRing, onboard
from tests.testbed.registry import new_key

from .leaks import files_with_leaks, leaks

pytestmark = pytest.mark.testbed

LOUD = ("-vvvv", "--diff")


class Scene:
    """An account that takes its key, one that cannot, and a key of the real form that a keyring holds."""

    def __init__(self, bed: Any, folder: Path) -> None:
        self.bed, self.key = bed, new_key()
        self.well, failing = bed.new_account("lrz"), bed.new_account("lrz")
        failing.ssh("chmod 777 . && mkdir enroot && chmod 755 enroot")
        self.accounts = (self.well, failing)
        ring = FileRing(folder, self.key)
        self.environment = {**ring.env, "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file)}
        self.kept = folder / "kept"
        self.kept.mkdir()

    def check(self, said: str) -> None:
        """The key has arrived, one account has failed, and nothing that was kept or said holds any form of the key."""
        assert "failed=1" in said, said[-2000:]
        assert leaks(said.encode(), self.key) == []
        self.check_kept()

    def check_kept(self) -> None:
        """The key has arrived, and nothing that was kept holds any form of it."""
        assert self.key.encode() in self.well.read("enroot/.credentials")
        assert list(files_with_leaks(self.kept, 0, self.key)) == []

    def has_kept(self, *patterns: str) -> None:
        """Each recorder has written something that names the account."""
        for pattern in patterns:
            files = [path for path in self.kept.rglob(pattern) if path.is_file()]
            assert any(self.well.name.encode() in path.read_bytes() for path in files), pattern


def unpacked(database: Path) -> Iterator[bytes]:
    """What a database holds compressed, which no search of its file would find: ARA keeps results so."""
    with closing(sqlite3.connect(database)) as connection:
        for (table,) in connection.execute("select name from sqlite_master where type = 'table'").fetchall():
            for row in connection.execute(f'select * from "{table}"'):
                yield from (zlib.decompress(one) for one in row if isinstance(one, bytes) and one[:1] == b"\x78")


@pytest.fixture
def scene(bed: Any, tmp_path: Path) -> Scene:
    """The scene, nothing done yet."""
    return Scene(bed, tmp_path)


def test_what_the_callbacks_of_ansible_and_its_log_keep_has_no_key(bed: Any, scene: Scene) -> None:
    recorders = {
        "ANSIBLE_CALLBACKS_ENABLED": "record,ansible.builtin.junit,ansible.builtin.tree",
        "ANSIBLE_CALLBACK_TREE_DIR": str(scene.kept / "tree"),
        "JUNIT_OUTPUT_DIR": str(scene.kept / "junit"),
        "ANSIBLE_LOG_PATH": str(scene.kept / "log"),
        "RECORD": str(scene.kept / "record.jsonl"),  # whole results, as a callback for JSON gets them
    }
    ran = onboard(bed, *scene.accounts, more=LOUD, environment={**scene.environment, **recorders})
    scene.has_kept("log", "record.jsonl", "junit/*.xml")
    assert (scene.kept / "tree" / scene.well.name).exists()
    scene.check(ran.text)


@exhaustive  # it fetches 50 MB: no index has collections alone
@pytest.mark.parametrize("for_json", ["json", "jsonl"])
def test_what_callbacks_of_other_collections_keep_has_no_key(
    bed: Any, scene: Scene, tmp_path: Path, for_json: str
) -> None:
    fetch = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "ansible", "-d", str(tmp_path / "wheels")]
    subprocess.run(fetch, check=True)
    with ZipFile(next((tmp_path / "wheels").glob("*.whl"))) as wheel:
        wanted = ("ansible_collections/ansible/posix/", "ansible_collections/community/general/")
        wheel.extractall(tmp_path / "theirs", [name for name in wheel.namelist() if name.startswith(wanted)])
    recorders = {
        "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "theirs"),
        "ANSIBLE_STDOUT_CALLBACK": f"ansible.posix.{for_json}",
        "ANSIBLE_CALLBACKS_ENABLED": "record,ansible.posix.profile_tasks,community.general.log_plays",
        "ANSIBLE_LOG_FOLDER": str(scene.kept / "plays"),
        "RECORD": str(scene.kept / "record.jsonl"),
    }
    ran = onboard(bed, *scene.accounts, more=LOUD, environment={**scene.environment, **recorders})
    (scene.kept / "stdout").write_text(ran.text)
    scene.has_kept("stdout", f"plays/{scene.well.name}")
    assert '"failures":1' in ran.text.replace(" ", ""), ran.text[-2000:]
    scene.check_kept()


@exhaustive  # it installs two programs and what they need
def test_what_ara_and_ansible_runner_keep_has_no_key(bed: Any, scene: Scene, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    programs = environment / "bin"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    wanted = [f"ansible-core=={version('ansible-core')}", "keyring", "keyrings.alt", "cryptography"]
    subprocess.run([programs / "pip", "install", "-qq", "ara[server]", "ansible-runner", *wanted], check=True)
    found = [programs / "python", "-m", "ara.setup.callback_plugins"]
    plugins = subprocess.run(found, check=True, capture_output=True, text=True).stdout.strip()
    recorders = {
        "ANSIBLE_CALLBACK_PLUGINS": plugins,
        "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
        "ARA_BASE_DIR": str(scene.kept / "ara"),
        "ARA_RECORD_CONTROLLER": "true",
    }
    runner_folder = scene.kept / "runner"
    runner_folder.mkdir()
    order = ["run", str(runner_folder), "-p", str(REPOSITORY / "onboard.yml"), "--project-dir", str(REPOSITORY)]
    order += ["--inventory", str(bed.accounts_file(scene.accounts)), f"--cmdline={' '.join(LOUD)}"]
    ran = bed.ansible(*order, program="ansible-runner", programs=programs, env={**scene.environment, **recorders})
    said = ran.stdout + ran.stderr
    scene.has_kept("ara/*.sqlite*", "artifacts/*/stdout", "artifacts/*/job_events/*.json")
    packed = b"\n".join(unpacked(next((scene.kept / "ara").glob("*.sqlite"))))
    assert scene.well.name.encode() in packed
    assert b"enroot/.credentials" in packed
    assert leaks(packed, scene.key) == []
    scene.check(said)
