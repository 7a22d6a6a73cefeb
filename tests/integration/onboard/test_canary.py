# SPDX-License-Identifier: GPL-3.0-or-later
"""A canary key is found in the keyring and in its target, and nowhere else: no output, argv, environment or file.

At any moment: of an ordinary module's run, every call that writes is read, for a file may be gone before one looks.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import PASSPHRASE, REPOSITORY, FileRing, keyring_environment, onboard, play

from .leaks import files_with_leaks, forms, leaks

pytestmark = pytest.mark.testbed

CANARY = "a-key-CaN4rY+" + "Zq7/" * 12
MODULES_CANARY = "a-key-Fi2cH+" + "/8wP" * 12  # it is in a file of the test, which the other one's test would find
PROGRAMS = "execve"
WRITES = "write,pwrite64,writev,pwritev,pwritev2"
WRITTEN = re.compile(rf"\b(?:{WRITES.replace(',', '|')})\(\d+<(?P<path>/[^>]*)>, (?P<what>.*)")


@contextmanager
def recorded(pid: int, calls: str, record: Path) -> Iterator[None]:
    """Every such call of a process and those below it, whole: arguments, environment, the paths of descriptors."""
    order = ["strace", "-f", "-y", "-p", str(pid), "-e", f"trace={calls}", "-v", "-s", "200000", "-o", str(record)]
    tracer = subprocess.Popen(order, stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    assert "attached" in tracer.stderr.readline()
    try:
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(20)


def server_of(account: Any) -> int:
    """The process of the cluster's sshd, as this machine numbers it."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                same = os.readlink(entry / "ns" / "pid") == os.readlink(f"/proc/{account.cluster.world.pid}/ns/pid")
            except OSError:
                continue
            if same and b"testbed_config" in command and b"[listener]" in command:  # no connection, nor a further sshd
                return int(entry.name)
    raise AssertionError("no sshd runs there")


def test_every_form_of_a_planted_leak_is_found() -> None:
    for name, form in forms(CANARY).items():
        assert name in leaks(b"before" + form + b"after", CANARY)
    for shift in range(3):
        assert leaks(base64.b64encode(b"x" * shift + b"$oauthtoken:" + CANARY.encode() + b"tail"), CANARY)


@turns(2)
@pytest.mark.parametrize("trouble", ["none", "folder of others", "full home", "encrypted file"])
def test_the_key_is_only_where_it_belongs(bed: Any, tmp_path: Path, trouble: str) -> None:
    started = time.time()
    account = bed.new_account("lrz")
    if trouble == "folder of others":
        account.ssh("chmod 777 . && mkdir enroot && chmod 755 enroot")
    if trouble == "full home":
        account.small_home()
        account.fill_home()
    # No shared connection: strace would wait for the one that ssh keeps open.
    environment = {**_keyring(tmp_path, trouble), "ANSIBLE_SSH_ARGS": "-o ControlMaster=no"}
    programs = tmp_path / "programs-of-the-server"
    own = tmp_path / "programs-of-the-controller"
    with recorded(server_of(account), PROGRAMS, programs):
        traced = traced_ansible(tmp_path, own)
        ran = onboard(bed, account, more=("-vvvv", "--diff"), environment=environment, programs=traced)
    assert (ran.code == 0) == (trouble in ("none", "encrypted file")), ran.text[-2000:]
    assert leaks(ran.text.encode(), CANARY) == []
    assert programs.read_bytes().count(b"execve(") > 3
    assert own.read_bytes().count(b"execve(") > 3
    assert leaks(programs.read_bytes(), CANARY) == []
    assert leaks(own.read_bytes(), CANARY) == []
    assert not [
        one for one in (programs.read_bytes(), own.read_bytes(), ran.text.encode()) if PASSPHRASE.encode() in one
    ]
    allowed = {str(tmp_path / "keyring.cfg"), str(account.path("enroot/.credentials"))}
    roots = [Path(bed.folder), tmp_path, account.path(account.home), account.path("/tmp"), account.path("/var/log")]
    roots += [
        account.path("/dev/shm"),
        Path("/dev/shm"),
        Path("/tmp"),
        Path.home() / ".ansible",
        REPOSITORY / "inventory",
    ]
    found = {path for root in roots if root.exists() for path, _seen in files_with_leaks(root, started - 1, CANARY)}
    found = {path for path in found if not path.endswith("/enroot/.credentials")}
    assert found - allowed == set()
    if ran.code == 0:
        assert CANARY.encode() in account.read("enroot/.credentials")


def test_a_module_writes_its_key_into_its_own_file_alone(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("lrz")
    task = {"hpc.onboard.netrc_entry": {"machine": "api.wandb.ai", "password": "{{ canary }}"}}
    playbook = tmp_path / "mine.yml"
    playbook.write_text(json.dumps([{"hosts": "accounts", "gather_facts": False, "tasks": [task]}]))
    settings = tmp_path / "vars.json"
    settings.write_text(json.dumps({"canary": MODULES_CANARY}))
    writes = tmp_path / "writes"
    own_connection = {"ANSIBLE_SSH_ARGS": "-o ControlMaster=no"}
    arguments = ("-i", str(bed.accounts_file([account])), "-e", f"@{settings}", "-vvv")
    with recorded(server_of(account), WRITES, writes):
        ran = play(bed, *arguments, playbook=str(playbook), environment=own_connection)
    assert ran.code == 0, ran.text[-2000:]
    assert MODULES_CANARY.encode() in account.read(".netrc")
    assert leaks(ran.text.encode(), MODULES_CANARY) == []
    calls = [match for match in map(WRITTEN.search, writes.read_text(errors="replace").splitlines()) if match]
    holding = {match["path"] for match in calls if leaks(match["what"].encode(), MODULES_CANARY)}
    assert {Path(path).parent.name for path in holding} == {account.user}, holding
    assert {path for path in holding if ".netrc" not in Path(path).name} == set()


def _keyring(folder: Path, trouble: str) -> dict[str, str]:
    """A keyring with the canary. The encrypted file shows neither names nor values, in no coding."""
    if trouble != "encrypted file":
        return keyring_environment(folder, CANARY)
    ring = FileRing(folder, CANARY)
    content = ring.file.read_bytes()
    for line in (content, *map(base64.b64decode, content.splitlines()[2:])):
        assert leaks(line, CANARY) == []
        assert not [name for name in (b"hpc.onboard", b'"ngc"') if name in line]
    return {**ring.env, "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file)}


def traced_ansible(folder: Path, record: Path) -> Path:
    """A folder with an ansible-playbook that records every program it starts, with argv and environment."""
    real = Path(sys.executable).parent / "ansible-playbook"
    programs = folder / "bin"
    programs.mkdir()
    script = programs / "ansible-playbook"
    script.write_text(f'#!/bin/sh\nexec strace -f --seccomp-bpf -e trace=execve -v -s 200000 -o {record} {real} "$@"\n')
    script.chmod(0o755)
    return programs
