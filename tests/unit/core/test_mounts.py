# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file system that hangs is found by asking it, and nothing waits for it longer than it may."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core import mounts

needs_mounts = pytest.mark.skipif(
    os.getuid() != 0 or not (shutil.which("unshare") and shutil.which("bindfs")), reason="needs root and bindfs"
)
HUNG = """
import os, signal, subprocess, sys, time
from ansible_collections.hpc.onboard.plugins.module_utils._core import account, mounts
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError, FileSystemHangs
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
home = sys.argv[1]
server = subprocess.Popen(["bindfs", "-f", home, home])
while not os.path.ismount(home):
    time.sleep(0.01)
server.send_signal(signal.SIGSTOP)
try:
    began = time.monotonic()
    assert mounts.find_hanging([home, "/"], 1) == [home]
    account.LOGIN_SECONDS = 1
    owner = account.Account(home, "/bin/sh")
    for _again in range(2):
        try:
            owner.environment()
        except AccountError as error:
            print(error)
    try:
        Host(owner, b"").entry(home + "/.bashrc")
    except FileSystemHangs as error:
        print(error)
    assert time.monotonic() - began < 4, "it was asked again"
finally:
    server.kill()
"""


@needs_mounts
def test_a_home_that_hangs_is_asked_once_and_no_login_shell_is_started_in_it(tmp_path: Path) -> None:
    """With a real file system, in a mount namespace of its own."""
    line = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", HUNG, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(line, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    place = f"the home directory (file system {tmp_path})"
    why = f"{place} did not respond within 1 s: run hpc-onboard again when the file system responds"
    assert ran.stdout.splitlines() == [why] * 3


def test_a_mount_point_is_named_as_programs_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel writes some characters as numbers, and all others as they are, in whatever encoding."""
    table = tmp_path / "mountinfo"
    for name in ("/plain", "/a b", "/a\tb\\\n", "/\u65e5 \u672c", "/\udcff x", "/a\x0bb"):
        written = os.fsencode(name)
        for byte in b"\\ \t\n":
            written = written.replace(bytes([byte]), b"\\%03o" % byte)
        table.write_bytes(b"22 1 0:5 / %b rw,nosuid shared:2 - proc none rw\n" % written)
        monkeypatch.setattr(mounts, "TABLE", str(table))
        assert mounts.read_mounts() == [(name, ["rw", "nosuid"])]
