# SPDX-License-Identifier: GPL-3.0-or-later
"""conda in the data area over real ssh: from a web server of the test, and an installer of the real kind."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.testbed.installer import JOURNAL, installer
from tests.testbed.web import Web

from .runs import REPOSITORY, keyring_environment, onboard, seen_from

pytestmark = pytest.mark.testbed

ONLY = ("--tags", "conda")
FILES = 8


def settings(account: Any, web: Web, address: str | None = None, **more: Any) -> dict[str, Any]:
    """What the accounts file says, so that the installer comes from the test's web server."""
    host = address or seen_from(account)
    one = {"url": f"http://{host}:{web.port}/Standin3.sh", "sha256": hashlib.sha256(web.content).hexdigest()}
    conda = {"distribution": "miniconda", "anaconda_terms": "accepted", "version": "26.1.1-3"}
    return {account.name: {"conda": {**conda, "installers": {os.uname().machine: one}, **more}}}


def prefix(account: Any) -> str:
    """Where conda goes at DFKI."""
    return f"/data/{account.user}/miniconda3"


def journal(account: Any) -> list[str]:
    """What the installers did there, one line for each beginning and each end."""
    return account.read(f"/data/{account.user}/{JOURNAL}").decode().splitlines()


def assert_whole(account: Any) -> None:
    """One installer made all of it, nothing of the work is left, and no process."""
    where = prefix(account)
    parts = {account.read(f"{where}/lib/part-{number}") for number in range(FILES)}
    assert parts == {account.read(f"{where}/conda-meta/history")}
    assert journal(account)[-1] == f"end {parts.pop().decode().strip()}"
    assert not account.exists(f"/data/{account.user}/.miniconda3.hpc.onboard")
    assert not account.exists(".conda")
    assert _programs(account) == []


def _programs(account: Any) -> list[int]:
    return [pid for pid in _mine(account) if b"HPC_ONBOARD_JOB=" in _bytes(f"/proc/{pid}/environ")]


def _mine(account: Any) -> list[int]:
    """The processes of the account's user on its cluster."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            status = _bytes(f"{path}/status")
            if f"\nUid:\t{account.login_entry.uid}\t".encode() in status:
                found.append(int(path.name))
    return found


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(installer(FILES, ballast=400_000)) as server:
        yield server


def test_conda_is_set_up_at_dfki_and_the_second_run_is_one_session(bed: Any, web: Web) -> None:
    account = bed.new_account("dfki")
    said = settings(account, web)
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 0, ran.text
    assert ran.statuses(account.name)[f"conda /data/{account.user}/miniconda3"] == "missing"
    assert_whole(account)
    assert account.read(f"{prefix(account)}/condarc.d/hpc.onboard.yml").count(b"conda-forge") == 1
    account.reset_sessions()
    before = account.tree()
    again = onboard(bed, account, more=ONLY, settings=said)
    assert again.code == 0, again.text
    assert not again.of(account.name)["changed"]
    assert (account.sessions(), account.tree()) == (1, before)
    assert len(journal(account)) == 2


@pytest.mark.parametrize(("shell", "said"), [("bash", "sh"), ("zsh", "sh"), ("tcsh", "csh"), ("fish", "fish")])
def test_every_shell_knows_the_command(bed: Any, web: Web, shell: str, said: str) -> None:
    account = bed.new_account("dfki", shell=f"/bin/{shell}" if shell != "fish" else "/usr/bin/fish")
    assert onboard(bed, account, more=ONLY, settings=settings(account, web)).code == 0
    assert account.login_shell("conda activate demo").stdout.strip() == f"conda in {said}: activate demo"


def test_at_daint_the_installer_is_brought_for_there_is_no_way_out(bed: Any, web: Web) -> None:
    account = bed.new_account("daint")
    account.reset_sessions()
    ran = onboard(bed, account, more=ONLY, settings=settings(account, web, "127.0.0.1"))
    assert ran.code == 0, ran.text
    where = f"/capstor/store/cscs/userlab/{account.project}/{account.user}/miniconda3-{os.uname().machine}"
    assert account.exists(f"{where}/bin/conda")
    assert web.requests == ["whole"]


def test_at_lrz_and_narval_it_is_refused_with_the_reason(bed: Any) -> None:
    account = bed.new_account("lrz")
    ran = onboard(bed, account, more=ONLY)
    assert ran.code == 0, ran.text
    assert [note["text"] for note in ran.of(account.name)["notes"]] == [
        "Conda, pip and modules are not supported on the AI Systems; software comes in enroot images."
        " Use an enroot image, with what you need installed in it."
    ]
    done = bed.ansible("onboard.yml", "-l", "narval", *ONLY, cwd=REPOSITORY)
    assert "virtualenv with the site's wheels" in " ".join(done.stdout.split())


def test_nothing_is_accepted_for_the_user(bed: Any) -> None:
    account = bed.new_account("dfki")
    ran = onboard(bed, account, more=ONLY)
    assert ran.code == 0, ran.text
    assert "only you can accept" in ran.of(account.name)["notes"][0]["text"]
    assert not account.exists(prefix(account))


def test_killed_at_ten_random_moments_it_is_finished_by_the_next_run_each_time(bed: Any) -> None:
    randomly = random.Random(20261121)
    killed = 0
    with Web(installer(FILES, pause=0.25, ballast=400_000), seconds=1.5) as server:
        for number in range(10):
            account = bed.new_account("dfki")
            moment = randomly.uniform(0.2, 4.5)
            alone = number % 2 == 0
            killed += _killed(bed, account, server, moment, alone)
            ran = onboard(bed, account, more=ONLY, settings=settings(account, server))
            assert ran.code == 0, ran.text
            assert_whole(account)
            assert not ran.of(account.name)["outcomes"][0]["reason"]
            account.remove()
    print(f"killed while at work: {killed} of 10; finished by the next run: 10; traces of two installs: 0")
    assert killed >= 8


def _killed(bed: Any, account: Any, server: Web, moment: float, alone: bool) -> bool:
    """Start a run, kill the job so long after its start, and wait for the run. alone: not the programs it runs."""
    run = _begun(bed, account, server)
    folder = f"/data/{account.user}/.miniconda3.hpc.onboard"
    deadline = time.monotonic() + 30
    while not account.exists(f"{folder}/mark") and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(moment)
    found = _jobs(account, folder)
    for pid in found if alone else [*found, *_programs(account)]:
        os.kill(pid, signal.SIGKILL)
    text = run.communicate(timeout=60)[0]
    if found:
        assert run.returncode == 2, text
        assert "goes on where it stopped" in " ".join(text.split())
    return bool(found)


def _jobs(account: Any, folder: str) -> list[int]:
    """The process that holds the lock of the work."""
    held = account.path(f"{folder}/lock")
    if not held.exists():
        return []
    inode = held.stat().st_ino
    found = []
    for pid in _mine(account):
        try:
            handles = [os.stat(f"/proc/{pid}/fd/{name}").st_ino for name in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        if inode in handles:
            found.append(pid)
    return found


def _begun(bed: Any, account: Any, server: Web) -> subprocess.Popen[str]:
    """A run in the background."""
    file = bed.accounts_file([account], settings=settings(account, server))
    program = ["ansible-playbook", "onboard.yml", "-i", str(file), *ONLY]
    environment = {**bed.client.environment(), **keyring_environment(Path(bed.folder))}
    return subprocess.Popen(
        program, cwd=REPOSITORY, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
