# SPDX-License-Identifier: GPL-3.0-or-later
"""A file system that hangs, over real ssh: it is asked once, named rightly, and costs no other account anything."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.effort import exhaustive, turns
from tests.integration.runs import Ran, onboard, play
from tests.testbed.further_sshd import FurtherSshd

LOOK = 3  # seconds for one resource
LONG_LOOK = (
    10  # seconds, where it is to be seen how often something was waited for: all else takes less than two of them
)
HOME_PORT, LOCKLESS_PORT = 2230, 2231
RECEIPT = "receipt ~/.config/hpc.onboard/receipt.json"


@pytest.fixture
def held(bed: Any) -> Iterator[Any]:
    """Hang a folder of an account; all of them answer again at the end."""
    accounts = []

    def hang(account: Any, folder: str) -> None:
        accounts.append(account)
        account.hang(folder)

    yield hang
    for account in accounts:
        account.unhang()


def timed(
    bed: Any, playbook: str, *accounts: Any, more: tuple[str, ...] = (), settings: Any = None, look: int = LOOK
) -> tuple[Ran, float]:
    """A run of a playbook, and the seconds it took."""
    inventory = str(bed.accounts_file(accounts, settings=settings))
    seconds = ("-e", f"converge_seconds={look}", "-e", f"audit_seconds={look}", "-e", "offboard_sure=true")
    begun = time.monotonic()
    ran = play(bed, "-i", inventory, *seconds, *more, playbook=playbook)
    return ran, time.monotonic() - begun


def reasons(ran: Ran, account: Any) -> dict[str, str]:
    """Identity -> why, of what could not be done."""
    return {one["identity"]: one["reason"] for one in ran.outcomes(account.name) if one["reason"]}


def before_login(bed: Any) -> dict[str, int]:
    """A login node that looks for authorized keys in the home, as most do; it sees what hangs when it is started."""
    FurtherSshd(bed.cluster("dfki"), "home", HOME_PORT, {"AuthorizedKeysFile": ".ssh/authorized_keys"})
    return {"ansible_port": HOME_PORT}


def after_login(_bed: Any) -> dict[str, int]:
    """The usual one here, whose keys are elsewhere."""
    return {}


@turns(6)
@pytest.mark.parametrize(
    ("playbook", "more", "door"),
    [
        ("onboard.yml", (), after_login),
        ("onboard.yml", (), before_login),
        ("onboard.yml", ("--check",), after_login),
        ("audit.yml", (), after_login),
        ("offboard.yml", (), after_login),
        ("preflight.yml", ("-e", "preflight_patience=8"), after_login),
    ],
)
def test_a_home_that_hangs_ends_soon_and_costs_no_other_account(
    bed: Any, held: Any, playbook: str, more: tuple[str, ...], door: Callable[[Any], dict[str, int]]
) -> None:
    hung, well = bed.new_account("dfki"), bed.new_account("dfki")
    hung.ssh("mkdir -m 700 .ssh; cat >.ssh/authorized_keys", text=bed.key.with_suffix(".pub").read_text())
    held(hung, hung.home)
    settings = {hung.name: {"vars": {"ansible_ssh_timeout": LOOK, **door(bed)}}}
    ran, seconds = timed(bed, playbook, hung, well, more=more, settings=settings)
    words = " ".join(ran.text.split())
    assert ran.code == 2, ran.text
    assert re.search("the home directory (does|may) not respond", words), ran.text
    assert "Task failed" not in words
    if playbook == "onboard.yml":
        assert set(ran.statuses(well.name).values()) == {"missing"}
        assert f"no command started within {2 * LOOK} s" in words
    assert seconds < 2 * LOOK + 20, ran.text
    assert [one for one in ran.results if one["host"] == well.name and not one["result"].get("failed")]
    started = subprocess.run(["pgrep", "-af", "^ssh "], capture_output=True, text=True, check=False).stdout
    left = [line for line in started.splitlines() if hung.user in line and str(bed.ssh_config) in line]
    assert not left, "ssh still waits for the account"


def test_a_file_system_that_hangs_is_asked_once_by_audit_and_offboarding(bed: Any, held: Any) -> None:
    account = bed.new_account("wilson")
    area = f"/work1/{account.project}/{account.user}"
    assert onboard(bed, account).code == 0
    account.ssh(f"ln -s {area} .cache")  # a look at the home comes there without being told
    held(account, area)
    assert account.login_shell("ls -d .cache").stdout == ".cache\n", "a login shell waits for the launcher's folder"
    audit, audited = timed(bed, "audit.yml", account, look=LONG_LOOK)
    offboard, offboarded = timed(bed, "offboard.yml", account, look=LONG_LOOK)
    assert (audit.code, offboard.code) == (2, 2)
    for words in (" ".join(ran.text.split()) for ran in (audit, offboard)):
        assert f"the file system {area} did not respond" in words
        assert "the home directory (file system" not in words
    assert not account.exists("work"), "a link is removed without a look at its target"
    assert account.exists(".cache")
    left = [one["result"] for one in offboard.results if one["action"] == "hpc.onboard.offboard"][-1]
    unknown = {one["identity"] for one in left["outcomes"] if one["status"] == "unknown"}
    folders = {f"folder {area}", f"folder {area}/caches", f"folder {area}/bin"}
    assert unknown == {*folders, f"script {area}/bin/usrun.sh"}
    assert max(audited, offboarded) < 3 * LONG_LOOK, "it was asked again"


def test_without_a_place_for_the_receipt_things_wait_for_it_and_name_no_other_cause(bed: Any, held: Any) -> None:
    account = bed.new_account("wilson", files={".config/kept": b"", ".bashrc": b"exec 2>/dev/null\n"})
    held(account, f"{account.home}/.config")
    impatient = {account.name: {"vars": {"ansible_ssh_timeout": 1}}}  # the run takes longer than its first word may
    ran, seconds = timed(bed, "onboard.yml", account, settings=impatient)
    assert ran.code == 2
    why = reasons(ran, account)
    assert why["link ~/work"] == f"waits for: {RECEIPT}"
    assert why["login ~/.apptainer/docker-config.json: nvcr.io"] == f"waits for: {RECEIPT}"
    place = f"the file system {account.home}/.config"
    hangs = f"{place} did not respond within {LOOK} s: run hpc-onboard again when the file system responds"
    assert set(why.values()) == {f"waits for: {RECEIPT}", hangs}
    assert why[RECEIPT] == hangs
    assert seconds > LOOK, "the first word came in time, and the answer later"


NO_LOCKS = b"""\
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>
#include <sys/syscall.h>
int fcntl(int file, int what, ...) {
    va_list more; va_start(more, what); void *one = va_arg(more, void *); va_end(more);
    if (what == F_SETLK || what == F_SETLKW) { errno = ENOLCK; return -1; }
    return syscall(SYS_fcntl, file, what, one);
}
int fcntl64(int file, int what, ...) {
    va_list more; va_start(more, what); void *one = va_arg(more, void *); va_end(more);
    return fcntl(file, what, one);
}
int flock(int file, int what) { errno = ENOLCK; return -1; }
"""


def without_locks(bed: Any) -> dict[str, Any]:
    """A login node whose file systems know no locks, as Lustre mounted with noflock; the settings that lead there."""
    cluster = bed.cluster("wilson")
    library = "/usr/local/lib/no-locks.so"
    line = ["gcc", "-shared", "-fPIC", "-x", "c", "-o", str(cluster.world.root) + library, "-"]
    subprocess.run(line, input=NO_LOCKS, check=True)
    FurtherSshd(cluster, "lockless", LOCKLESS_PORT, {"SetEnv": f"LD_PRELOAD={library}"})
    return {"vars": {"ansible_port": LOCKLESS_PORT}}


@exhaustive
def test_without_locks_a_lock_of_a_dead_run_elsewhere_is_named_with_what_removes_it(bed: Any) -> None:
    account = bed.new_account("wilson")
    settings = {account.name: without_locks(bed)}
    left = f"{account.home}/.hpc.onboard.lock.held"
    account.ssh(f"echo login7 boot 4242 >{left}; touch -d '-3 hours' {left}")
    ran = onboard(bed, account, settings=settings)
    assert ran.code == 2
    why = reasons(ran, account)
    owner = f"login7, process 4242, 3 hours ago; if that process has ended, run: rm {left}"
    assert (
        why.pop(RECEIPT)
        == f"another run is working on this account ({owner}): wait for that run or stop it, then run hpc-onboard again"
    )
    assert set(why.values()) == {f"waits for: {RECEIPT}"}
    assert [path for path in account.tree() if ".lock" in path] == [left]
    account.ssh(f"rm {left}")
    assert onboard(bed, account, settings=settings).code == 0
    assert not [path for path in account.tree() if ".lock" in path]
