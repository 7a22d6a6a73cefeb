# SPDX-License-Identifier: GPL-3.0-or-later
"""Python environments over real ssh: from Lmod's modules and a wheelhouse of real wheels, or from an index."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.effort import EXHAUSTIVE, chance, turns
from tests.integration.runs import begin, onboard, play, seen_from, until
from tests.testbed.modules import uv

pytestmark = [pytest.mark.testbed, turns(10)]

ONLY = ("--tags", "python_envs")
JOB = b"""#!/bin/bash -l
export SLURM_TMPDIR=/tmp/$SLURM_JOB_ID
mkdir $SLURM_TMPDIR
. ~/envs/ml/activate-in-job && which python
"""
ML: dict[str, Any] = {"name": "ml", "modules": ["StdEnv/2023", "python/3.11"], "packages": ["filelock", "distlib<1"]}
LINK = "envs/ml"
MARK = ".hpc.onboard"  # in the folder of all versions: whose it is
MOMENTS = 12 if EXHAUSTIVE else 1


def settings(account: Any, *environments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What the accounts file says of these environments."""
    return {account.name: {"python_envs": {"environments": list(environments), **more}}}


@pytest.fixture
def account(bed: Any) -> Any:
    """An account where there are modules."""
    bed.modules("narval")
    return bed.new_account("narval", files={"job": JOB})


def outcome(ran: Any, account: Any) -> dict[str, Any]:
    """What came of the first environment."""
    found: dict[str, Any] = next(one for one in ran.outcomes(account.name) if one["identity"].startswith("Python"))
    return found


def version(account: Any) -> str:
    """The folder that the link leads to."""
    return os.readlink(account.path(LINK, follow=False))


def assert_whole(account: Any) -> None:
    """It can be used, and nothing of the work is left."""
    used = account.login_shell(f". ~/{LINK}/activate && python -c 'import filelock, sys; print(sys.prefix)'")
    assert used.stdout.strip() == f"{account.home}/envs/{version(account)}", used.stderr
    assert not account.exists("envs/.ml.hpc.onboard")


def test_an_environment_is_made_from_modules_and_wheels_used_in_a_job_and_taken_out(bed: Any, account: Any) -> None:
    before = account.tree()
    said = settings(account, ML)
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 0, ran.text
    assert outcome(ran, account)["status"] == "missing"
    assert_whole(account)
    lock = account.read(f"{LINK}/requirements.lock").decode().splitlines()
    assert [line.split("==")[0] for line in lock] == ["distlib", "filelock"]

    account.reset_sessions()
    made = account.tree()
    again = onboard(bed, account, more=ONLY, settings=said)
    assert (again.code, again.of(account.name)["changed"]) == (0, False), again.text
    assert (account.sessions(), account.tree()) == (1, made)

    slurm = bed.slurm("narval")
    slurm.admit(account)
    command = f"cd /scratch/{account.user} && sbatch --wait -Q --output=out ~/job"
    assert account.login_shell(command, timeout=60).returncode == 0, account.read(f"/scratch/{account.user}/out")
    said_there = account.read(f"/scratch/{account.user}/out").decode().split()
    assert said_there[-1].startswith("/tmp/")
    assert said_there[-1].endswith("/ml/bin/python")
    account.ssh(f"rm /scratch/{account.user}/out")

    file = str(bed.accounts_file([account], settings=said))
    gone = play(bed, "-i", file, "-e", "offboard_sure=true", playbook="offboard.yml")
    assert gone.code == 0, gone.text
    assert set(account.tree()) == set(before)


def test_what_the_site_lacks_is_said_before_anything_is_made(bed: Any, account: Any) -> None:
    before = account.tree()
    for more in (("--check",), ()):
        lacking = {**ML, "packages": ["filelock==99", "nosuchthing", "distlib"]}
        ran = onboard(bed, account, more=(*ONLY, *more), settings=settings(account, lacking))
        assert ran.code == 2
        reason = outcome(ran, account)["reason"]
        there = next(one for one in os.listdir(account.path("/cvmfs/wheels")) if one.startswith("filelock"))
        assert f"the site has no wheel for filelock==99 (available: {there.split('-')[1]}), nosuchthing. Run" in reason
        assert "'avail_wheels NAME' to list the available versions" in reason
        assert account.tree().keys() - before.keys() <= {f"{account.home}/.config", *_receipt(account)}
    unknown = {**ML, "modules": ["StdEnv/2023", "python/3.99"]}
    ran = onboard(bed, account, more=ONLY, settings=settings(account, unknown))
    assert ran.code == 2
    assert "'module load StdEnv/2023 python/3.99' failed: " in outcome(ran, account)["reason"]
    assert "python/3.99" in outcome(ran, account)["reason"].partition("failed:")[2]


def _receipt(account: Any) -> set[str]:
    folder = f"{account.home}/.config/hpc.onboard"
    return {folder, f"{folder}/receipt.json", f"{folder}/lock"}


def test_other_packages_are_made_beside_and_the_one_before_stays_for_jobs(bed: Any, account: Any) -> None:
    assert onboard(bed, account, more=ONLY, settings=settings(account, ML)).code == 0
    first = version(account)
    more = {**ML, "packages": ["filelock", "packaging"]}
    ran = onboard(bed, account, more=ONLY, settings=settings(account, more))
    assert ran.code == 0, ran.text
    assert outcome(ran, account)["fields"] == ["packages"]
    assert version(account) != first
    assert account.exists(f"envs/{first}/bin/python")
    assert_whole(account)
    assert onboard(bed, account, more=ONLY, settings=settings(account, {**ML, "packages": ["filelock"]})).code == 0
    assert not account.exists(f"envs/{first}")
    assert_whole(account)


def test_what_was_installed_by_hand_stays_and_is_reported(bed: Any, account: Any) -> None:
    said = settings(account, ML)
    assert onboard(bed, account, more=ONLY, settings=said).code == 0
    done = account.login_shell(f". ~/{LINK}/activate && pip install -q packaging")
    assert done.returncode == 0, done.stderr
    before = account.tree()
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 2
    assert "packages in ~/envs/ml were changed by hand (+packaging==" in outcome(ran, account)["reason"]
    file = str(bed.accounts_file([account], settings=said))
    gone = play(bed, "-i", file, "-e", "offboard_sure=true", playbook="offboard.yml")
    assert gone.code == 0, gone.text
    assert {path for path in before if "/envs/" in path} <= set(account.tree())


def test_a_python_that_the_site_took_out_is_a_finding_and_the_next_one_fixes_it(bed: Any, account: Any) -> None:
    modules = bed.modules("narval")
    modules.add_python("3.11-old")
    old = {**ML, "modules": ["StdEnv/2023", "python/3.11-old"]}
    assert onboard(bed, account, more=ONLY, settings=settings(account, old)).code == 0
    account.ssh(f"ln -sfn /cvmfs/python/3.11-old/bin/python3 envs/{version(account)}/bin/python")
    modules.remove_python("3.11-old")
    file = str(bed.accounts_file([account], settings=settings(account, old)))
    report = play(bed, "-i", file, *ONLY, playbook="audit.yml").text
    assert "PKG-006" in report
    assert "python/3.11-old" in " ".join(report.split())
    ran = onboard(bed, account, more=ONLY, settings=settings(account, ML))
    assert ran.code == 0, ran.text
    assert_whole(account)


def test_killed_at_work_nothing_half_made_counts_as_there_and_the_next_run_finishes(bed: Any, account: Any) -> None:
    randomly = chance("python_envs")
    for _moment in range(MOMENTS):
        run = _begun(bed, account, settings(account, ML))
        until(lambda: account.exists("envs/.ml.hpc.onboard/mark"))
        time.sleep(randomly.uniform(0, 3))
        for pid in _working(account):
            os.kill(pid, signal.SIGKILL)
        text = run.communicate(timeout=120)[0]
        if run.returncode:
            assert "Run hpc-onboard again to continue" in " ".join(text.split())
            assert not account.exists(LINK) or account.exists(f"{LINK}/requirements.lock")
        ran = onboard(bed, account, more=ONLY, settings=settings(account, ML))
        assert ran.code == 0, ran.text
        assert_whole(account)
        assert len(list(account.path("envs/.ml.versions").iterdir())) == 2  # this one, and the mark
        account.ssh("rm -rf envs")


def _begun(bed: Any, account: Any, said: dict[str, Any]) -> subprocess.Popen[str]:
    return begin(bed, "-i", str(bed.accounts_file([account], settings=said)), *ONLY)


def _working(account: Any) -> list[int]:
    """The job's process, and the programs that it runs."""
    lock = account.path("envs/.ml.hpc.onboard/lock")
    inode = lock.stat().st_ino if lock.exists() else -1
    found = []
    for pid in account.processes():
        try:
            held = [os.stat(f"/proc/{pid}/fd/{name}").st_ino for name in os.listdir(f"/proc/{pid}/fd")]
            marked = b"HPC_ONBOARD_JOB=" in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if marked or inode in held:
            found.append(pid)
    return found


@pytest.fixture
def index(bed: Any, tmp_path: Path) -> Iterator[int]:
    """An index of packages over TLS, with the wheels that the modules have; its port."""
    wheels = Path(bed.modules("narval").root) / "cvmfs/wheels"
    for wheel in wheels.iterdir():
        folder = tmp_path / "simple" / wheel.name.split("-")[0].replace("_", "-")
        folder.mkdir(parents=True)
        shutil.copy(wheel, folder)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    certificate, key = tmp_path / "index.crt", tmp_path / "index.key"
    order = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=index", "-days", "1"]
    subprocess.run([*order, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with http.server.ThreadingHTTPServer(("", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize("maker", ["uv", "venv"])
def test_elsewhere_it_comes_from_an_index_and_lies_in_the_data_area(bed: Any, index: int, maker: str) -> None:
    account = bed.new_account("dfki", files={".local/bin/uv": uv()} if maker == "uv" else {})
    account.ssh("[ ! -e .local/bin/uv ] || chmod 755 .local/bin/uv")
    host = seen_from(account)  # the user's own settings trust its certificate
    account.ssh(
        "mkdir -p .config/pip .config/uv; cat > .config/pip/pip.conf", text=f"[global]\ntrusted-host = {host}\n"
    )
    account.ssh("cat > .config/uv/uv.toml", text=f'allow-insecure-host = ["{host}:{index}"]\n')
    before = account.tree()
    said = settings(
        account, {"name": "ml", "packages": ["filelock"], "python": "/usr/bin/python3"},
        index=f"https://{host}:{index}/simple",
    )  # fmt: skip
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 0, ran.text
    place = f"/data/{account.user}/envs"
    used = account.login_shell(f". {place}/ml/activate && python -c 'import filelock, sys; print(sys.prefix)'")
    assert used.stdout.startswith(f"{place}/.ml.versions/"), used.stderr
    assert (b"\nuv = " in account.read(f"{place}/ml/pyvenv.cfg")) == (maker == "uv")
    assert account.read(f"{place}/ml/requirements.lock").startswith(b"filelock==")
    assert not account.exists("envs")
    assert not account.exists(f"{place}/ml/activate-in-job")
    assert not account.exists(f"{place}/.ml.hpc.onboard")
    assert not {path for path in account.tree().keys() - before.keys() if "/.cache" in path}
    again = onboard(bed, account, more=ONLY, settings=said)
    assert (again.code, again.of(account.name)["changed"]) == (0, False), again.text


def test_two_runs_at_once_make_one(bed: Any, account: Any) -> None:
    runs = [_begun(bed, account, settings(account, ML)) for _number in range(2)]
    said = [run.communicate(timeout=150)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert_whole(account)
    assert len(list(account.path("envs/.ml.versions").iterdir())) == 2  # this one, and the mark


def test_on_a_full_disk_the_old_one_goes_on_and_nothing_is_half_left(bed: Any, account: Any) -> None:
    world, entry = bed.cluster("narval").world, account.login_entry
    account.ssh("mkdir -m 0700 envs")
    folder, who = f"{account.home}/envs", f"uid={entry.uid},gid={entry.gid},mode=700"
    world.run("mount", "-t", "tmpfs", "-o", f"size=200m,{who}", "tmpfs", folder)
    try:
        assert onboard(bed, account, more=ONLY, settings=settings(account, ML)).code == 0
        first = version(account)
        used = int(account.ssh("du -sk envs").stdout.split()[0])
        world.run("mount", "-o", f"remount,size={used + 2000}k,{who}", folder)
        more = settings(account, {**ML, "packages": ["filelock", "packaging"]})
        ran = onboard(bed, account, more=ONLY, settings=more)
        assert ran.code == 2
        assert "No space left" in outcome(ran, account)["reason"], outcome(ran, account)["reason"]
        assert version(account) == first
        assert sorted(os.listdir(account.path("envs/.ml.versions"))) == sorted([MARK, os.path.basename(first)])
        used_now = account.login_shell(f". ~/{LINK}/activate && python -c 'import distlib'")
        assert used_now.returncode == 0, used_now.stderr
        world.run("mount", "-o", f"remount,size=200m,{who}", folder)
        assert onboard(bed, account, more=ONLY, settings=more).code == 0
        assert version(account) != first
        assert_whole(account)
    finally:
        world.run("umount", "-l", folder)
