# SPDX-License-Identifier: GPL-3.0-or-later
"""conda in the data area over real ssh: from a web server of the test, and an installer of the real kind."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.effort import EXHAUSTIVE, chance, turns
from tests.integration.runs import REPOSITORY, keyring_environment, onboard, play, seen_from
from tests.testbed.installer import JOURNAL, installer
from tests.testbed.web import Web

pytestmark = [pytest.mark.testbed, turns(3)]

ONLY = ("--tags", "conda")
FILES = 8
MOMENTS = 20 if EXHAUSTIVE else 2
JOURNAL_OF = "/data/{}/" + JOURNAL


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
    return account.read(JOURNAL_OF.format(account.user)).decode().splitlines()


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
    return [pid for pid in account.processes() if b"HPC_ONBOARD_JOB=" in _bytes(f"/proc/{pid}/environ")]


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(installer(FILES, ballast=400_000)) as server:
        yield server


@turns(1)
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


@turns(4)
@pytest.mark.parametrize(("shell", "said"), [("bash", "sh"), ("zsh", "sh"), ("tcsh", "csh"), ("fish", "fish")])
def test_every_shell_knows_the_command(bed: Any, web: Web, shell: str, said: str) -> None:
    account = bed.new_account("dfki", shell=f"/bin/{shell}" if shell != "fish" else "/usr/bin/fish")
    assert onboard(bed, account, more=ONLY, settings=settings(account, web)).code == 0
    assert account.login_shell("conda activate demo").stdout.strip() == f"conda in {said}: activate demo"


def test_at_daint_the_installer_is_brought_for_there_is_no_way_out(bed: Any, web: Web) -> None:
    account = bed.new_account("daint")
    account.reset_sessions()
    ran = onboard(bed, account, more=ONLY, settings=settings(account, web, "127.0.0.1", wanted=True))
    assert ran.code == 0, ran.text
    where = f"/capstor/store/cscs/userlab/{account.project}/{account.user}/miniconda3-{os.uname().machine}"
    assert account.exists(f"{where}/bin/conda")
    assert web.requests == ["whole"]


def test_at_lrz_it_is_refused_and_at_narval_discouraged_with_the_reason(bed: Any) -> None:
    account = bed.new_account("lrz")
    ran = onboard(bed, account, more=ONLY)
    assert ran.code == 0, ran.text
    assert [note["text"] for note in ran.of(account.name)["notes"]] == [
        "Conda, pip and modules are not supported on the AI Systems; software comes in enroot images."
        " Use an enroot image, with what you need installed in it."
    ]
    done = bed.ansible("onboard.yml", "-l", "narval", *ONLY, "-e", "conda_wanted=true", cwd=REPOSITORY)
    assert "The site does not recommend it" in " ".join(done.stdout.split())


def test_nothing_is_accepted_for_the_user(bed: Any) -> None:
    account = bed.new_account("dfki")
    ran = onboard(bed, account, more=ONLY)
    assert ran.code == 0, ran.text
    assert "only you can accept" in ran.of(account.name)["notes"][0]["text"]
    assert not account.exists(prefix(account))


def test_killed_at_random_moments_it_is_finished_by_the_next_run_each_time(
    bed: Any, say: Callable[[str], None]
) -> None:
    randomly = chance("conda")
    killed = 0
    with Web(installer(FILES, pause=0.25, ballast=400_000), seconds=1.5) as server:
        for number in range(MOMENTS):
            account = bed.new_account("dfki")
            moment = randomly.uniform(0.2, 2.5)
            alone = number % 2 == 0
            killed += _killed(bed, account, server, moment, alone)
            ran = onboard(bed, account, more=ONLY, settings=settings(account, server))
            assert ran.code == 0, ran.text
            assert_whole(account)
            assert not ran.of(account.name)["outcomes"][0]["reason"]
            account.remove()
    say(f"conda killed at work: {killed} of {MOMENTS}; finished by the next run: {MOMENTS}; traces of two installs: 0")
    assert killed >= 0.8 * MOMENTS


def _killed(bed: Any, account: Any, server: Web, moment: float, alone: bool) -> bool:
    """Start a run, kill the job so long after its start, and wait for the run. alone: not the programs it runs."""
    run = _begun(bed, account, server)
    folder = f"/data/{account.user}/.miniconda3.hpc.onboard"
    _until(lambda: account.exists(f"{folder}/mark"))
    time.sleep(moment)
    found = _jobs(account, folder)
    for pid in found if alone else [*found, *_programs(account)]:
        os.kill(pid, signal.SIGKILL)
    text = run.communicate(timeout=60)[0]
    if found:
        assert run.returncode == 2, text
        assert "Run hpc-onboard again to continue" in " ".join(text.split())
    return bool(found)


def _jobs(account: Any, folder: str) -> list[int]:
    """The process that holds the lock of the work."""
    held = account.path(f"{folder}/lock")
    if not held.exists():
        return []
    inode = held.stat().st_ino
    found = []
    for pid in account.processes():
        try:
            handles = [os.stat(f"/proc/{pid}/fd/{name}").st_ino for name in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        if inode in handles:
            found.append(pid)
    return found


def _command(bed: Any, account: Any, server: Web) -> tuple[list[str], dict[str, str]]:
    """The command of a run, and its environment."""
    file = bed.accounts_file([account], settings=settings(account, server))
    environment = {**bed.client.environment(), **keyring_environment(Path(bed.folder))}
    return ["ansible-playbook", "onboard.yml", "-i", str(file), *ONLY], environment


def _begun(bed: Any, account: Any, server: Web) -> subprocess.Popen[str]:
    """A run in the background."""
    program, environment = _command(bed, account, server)
    return subprocess.Popen(
        program, cwd=REPOSITORY, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_two_runs_at_once_start_it_once_and_both_see_the_end(bed: Any) -> None:
    account = bed.new_account("dfki")
    with Web(installer(FILES, pause=0.2, ballast=400_000), seconds=1) as server:
        runs = [_begun(bed, account, server) for _number in range(2)]
        said = [run.communicate(timeout=90)[0] for run in runs]
        assert [run.returncode for run in runs] == [0, 0], said
        assert [line.split()[0] for line in journal(account)] == ["begin", "end"]
    assert_whole(account)


def test_on_a_terminal_it_is_seen_in_bytes_and_then_in_steps(bed: Any) -> None:
    account = bed.new_account("dfki")
    with Web(installer(FILES, pause=0.6, ballast=4_000_000), seconds=8) as server:
        program, environment = _command(bed, account, server)
        environment.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
        run = pexpect.spawn(
            program[0],
            program[1:],
            env=environment,
            cwd=str(REPOSITORY),
            dimensions=(24, 80),
            timeout=60,
            encoding="utf-8",
        )
        run.expect("downloading Miniconda 26.1.1-3")
        run.expect("━+.*[1-3]/4 MB")
        run.expect("installing Miniconda 26.1.1-3.*1/3")
        run.expect(pexpect.EOF)
        run.close()
    assert run.exitstatus == 0
    assert_whole(account)


def test_a_line_that_drops_is_outlived_and_the_next_run_waits(bed: Any) -> None:
    account = bed.new_account("dfki")
    with Web(installer(FILES, pause=1.2, ballast=400_000), seconds=1) as server:
        run = _begun(bed, account, server)
        _until(lambda: account.exists(JOURNAL_OF.format(account.user)))
        while run.poll() is None:  # a drop between two checks is outlived by this very run: the next one opens a line
            _end_lines(account)
        assert run.returncode == 4, run.communicate()[0]
        assert _jobs(account, f"/data/{account.user}/.miniconda3.hpc.onboard")
        ran = onboard(bed, account, more=ONLY, settings=settings(account, server))
        assert ran.code == 0, ran.text
        assert [line.split()[0] for line in journal(account)] == ["begin", "end"]
    assert_whole(account)


def _end_lines(account: Any) -> None:
    """Drop each connection to the account."""
    for pid in account.processes():
        if b"sshd" in _bytes(f"/proc/{pid}/cmdline"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_without_waiting_it_goes_on_and_nothing_is_said_to_be_done(bed: Any) -> None:
    account = bed.new_account("dfki")
    with Web(installer(FILES, pause=3, ballast=400_000)) as server:
        said = settings(account, server)
        ran = onboard(bed, account, more=(*ONLY, "-e", "converge_wait=0"), settings=said)
        assert ran.code == 2
        assert "continues on the account: run again to wait for it" in ran.of(account.name)["outcomes"][0]["reason"]
        preview = onboard(bed, account, more=(*ONLY, "--check"), settings=said)
        assert preview.of(account.name)["outcomes"][0]["progress"]["step"].startswith("installing")
        assert onboard(bed, account, more=ONLY, settings=said).code == 0
    assert_whole(account)


@turns(3)
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"cut": 1000}, "could not be downloaded"),
        ({"code": 404}, "the server returned HTTP 404"),
        ({"code": 503}, "could not be downloaded"),
    ],
)
def test_a_download_that_fails_is_said_and_the_next_run_goes_on(bed: Any, how: dict[str, int], reason: str) -> None:
    account = bed.new_account("dfki")
    content = installer(FILES, ballast=400_000)
    with Web(content, **how) as server:
        said = settings(account, server)
        ran = onboard(bed, account, more=ONLY, settings=said)
        assert ran.code == 2
        assert reason in ran.of(account.name)["outcomes"][0]["reason"]
        assert not account.exists(prefix(account))
        server.cut, server.code = None, 200
        assert onboard(bed, account, more=ONLY, settings=said).code == 0
    assert_whole(account)


def test_another_file_than_the_pinned_one_is_never_run(bed: Any) -> None:
    account = bed.new_account("dfki")
    with Web(installer(FILES)) as server:
        said = settings(account, server)
        server.content = server.content.replace(b"installation finished.", b"installation tampered")
        ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 2
    assert "The file was not run" in ran.of(account.name)["outcomes"][0]["reason"]
    assert not account.exists(JOURNAL_OF.format(account.user))


def test_environments_are_made_and_kept_up_to_date(bed: Any, web: Web, tmp_path: Path) -> None:
    account = bed.new_account("dfki")
    demo, lock = tmp_path / "demo.yml", tmp_path / "exact.txt"
    demo.write_text("dependencies: [python]\n")
    lock.write_text("@EXPLICIT\nhttps://conda.example/x.conda\n")
    environments = [{"file": str(demo)}, {"file": str(lock), "name": "exact"}]
    said = settings(account, web, environments=environments, proxies={"https": "http://proxy.example:3128"})
    said[account.name]["conda"]["proxies"]["no"] = seen_from(account)
    assert onboard(bed, account, more=ONLY, settings=said).code == 0
    made = {name: f"{prefix(account)}/envs/{name}/conda-meta/made-from" for name in ("demo", "exact")}
    assert {name: account.read(path).decode() for name, path in made.items()} == {
        "demo": demo.read_text(),
        "exact": lock.read_text(),
    }
    seen = account.read(f"{prefix(account)}/environment-of-conda").decode()
    assert re.sub(r"/proc/\d+/fd/\d+/", "JOB/", seen).splitlines() == [  # its folder as it was opened
        "CONDA_PLUGINS_AUTO_ACCEPT_TOS=false",
        "PIP_CACHE_DIR=JOB/pip",
        "https_proxy=http://proxy.example:3128",
    ]
    demo.write_text("dependencies: [python, numpy]\n")
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 0, ran.text
    assert ran.of(account.name)["outcomes"][0]["fields"] == ["environment demo"]
    assert account.read(made["demo"]).decode() == demo.read_text()
    assert not onboard(bed, account, more=ONLY, settings=said).of(account.name)["changed"]
    assert len(journal(account)) == 2


@turns(2)
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("dependencies: [impossible]\n", "nothing provides impossible"),
        ("channels: [anaconda]\n", "you have not accepted"),
    ],
)
def test_an_environment_that_cannot_be_made_is_said_and_tried_again(
    bed: Any, web: Web, tmp_path: Path, content: str, reason: str
) -> None:
    account = bed.new_account("dfki")
    (tmp_path / "demo.yml").write_text(content)
    said = settings(account, web, environments=[{"file": str(tmp_path / "demo.yml")}])
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 2
    assert reason in ran.of(account.name)["outcomes"][0]["reason"]
    (tmp_path / "demo.yml").write_text("dependencies: [python]\n")
    assert onboard(bed, account, more=ONLY, settings=said).code == 0
    assert_whole(account)


def test_absent_takes_it_out_but_for_environments_of_the_users(bed: Any, web: Web) -> None:
    account = bed.new_account("dfki", files={".bashrc": b"# mine\n"})
    assert onboard(bed, account, more=ONLY, settings=settings(account, web)).code == 0
    account.ssh(f"mkdir -p {prefix(account)}/envs/mine")
    absent = settings(account, web, state="absent")
    assert "the environment mine" in onboard(bed, account, more=ONLY, settings=absent).text.replace("\n", " ")
    account.ssh(f"rmdir {prefix(account)}/envs/mine")
    _ended_midway(bed, account, absent)
    ran = onboard(bed, account, more=ONLY, settings=absent)
    assert ran.code == 0, ran.text
    assert sorted(path.name for path in account.path(f"/data/{account.user}").iterdir()) == [JOURNAL]
    assert account.read(".bashrc") == b"# mine\n"


def _ended_midway(bed: Any, account: Any, absent: Any) -> None:
    """A removal that a folder stops which cannot be emptied, here with the marks of what we made gone before it."""
    where = prefix(account)
    account.ssh(f"mkdir -p {where}/envs/demo && echo sum > {where}/envs/demo/.hpc.onboard && chmod 500 {where}/bin")
    account.ssh(f"cd {where}/envs/demo && mkdir locked && touch locked/file && chmod 500 locked")
    ran = onboard(bed, account, more=ONLY, settings=absent)
    assert ran.code == 2, ran.text
    assert "working in" in " ".join(ran.text.split())
    account.ssh(f"chmod 700 {where}/bin {where}/envs/demo/locked")
    account.ssh(f"rm -f {where}/.hpc.onboard {where}/envs/demo/.hpc.onboard")


def test_a_newer_version_is_put_over_ours_and_environments_of_the_users_stay(bed: Any, web: Web) -> None:
    account = bed.new_account("dfki")
    assert onboard(bed, account, more=ONLY, settings=settings(account, web)).code == 0
    account.ssh(f"mkdir -p {prefix(account)}/envs/mine && echo x > {prefix(account)}/envs/mine/file")
    newer = settings(account, web, version="27.1.0-0")
    ran = onboard(bed, account, more=ONLY, settings=newer)
    assert ran.code == 0, ran.text
    assert ran.of(account.name)["outcomes"][0]["before"]["conda"].startswith("miniconda 26.1.1-3")
    assert [line.split()[0] for line in journal(account)] == ["begin", "end"] * 2
    assert account.read(f"{prefix(account)}/envs/mine/file") == b"x\n"
    assert_whole(account)
    assert not onboard(bed, account, more=ONLY, settings=settings(account, web)).of(account.name)["changed"]


def test_a_hand_made_conda_is_left_alone(bed: Any, web: Web) -> None:
    account = bed.new_account("dfki")
    account.ssh(f"mkdir -p {prefix(account)}/bin")
    ran = onboard(bed, account, more=ONLY, settings=settings(account, web))
    assert ran.code == 2
    assert "was not created by hpc-onboard" in ran.of(account.name)["outcomes"][0]["reason"]
    assert web.requests == []


def _until(true: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


QUOTA = """#!/bin/sh
# A stand-in for the quota command, in its own format: not every kernel that tests run on has a quota format.
echo "Disk quotas for user $(id -un) (uid $(id -u)): "
echo "     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace"
test "$(id -un)" = {user} && echo "          /data {row}"
"""


@turns(2)
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("900000   0 1000000 0   5 0 0 0", "not enough space at /data: your quota has 102 MB left, but 200 MB"),
        ("12 0 0 0   99000* 90000 100000 1763654400", "not enough space at /data: your quota has 1000 files left"),
    ],
)
def test_a_used_up_quota_is_said_before_anything_is_downloaded(bed: Any, tmp_path: Path, row: str, reason: str) -> None:
    account = bed.new_account("dfki")
    command = account.cluster.world.path("/usr/local/bin/quota")
    command.write_text(QUOTA.format(user=account.user, row=row))
    command.chmod(0o755)
    one = {"url": "http://127.0.0.1:9/never.sh", "sha256": "0" * 64}
    conda = {"prefix": f"/data/{account.user}/conda", "root": "/data", "distribution": "miniforge", "version": "1"}
    needs = {"installers": {os.uname().machine: one}, "bytes": 200_000_000, "files": 30_000}
    task = {"hpc.onboard.converge": {"resources": [{"kind": "conda_install", **conda, **needs}]}}
    playbook = tmp_path / "site.yml"
    playbook.write_text(json.dumps([{"hosts": "accounts", "gather_facts": False, "tasks": [task]}]))
    try:
        ran = play(bed, "-i", str(bed.accounts_file([account])), playbook=str(playbook))
    finally:
        command.unlink()
    assert ran.code == 2
    found = ran.of(account.name)["outcomes"][0]
    assert (found["status"], found["reason"].startswith(reason)) == ("blocked", True), found["reason"]
