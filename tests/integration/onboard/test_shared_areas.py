# SPDX-License-Identifier: GPL-3.0-or-later
"""A colleague may make anything in a shared area, under our names too; none of it is taken for ours."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.made import FINISHED_MARK

from tests.faults.swapping import Attack
from tests.integration.audit.audit_scene import by_root
from tests.integration.runs import Ran, onboard, play

pytestmark = pytest.mark.testbed

COLLEAGUE = 4321  # a user id of nobody else's


def planted(account: Any, folder: str, *more: str) -> None:
    """What a colleague has made where ours belongs, open to all."""
    by_root(account, "; ".join([f"mkdir -p {folder}", *more, f"chown -R {COLLEAGUE} {folder}; chmod -R 777 {folder}"]))


def blocked(ran: Ran, account: Any) -> dict[str, str]:
    """What was not made, and why."""
    outcomes = ran.of(account.name)["outcomes"]
    return {one["identity"]: one["reason"] for one in outcomes if one["status"] in ("blocked", "failed")}


def test_a_colleagues_folder_of_our_name_is_no_place_for_ours(bed: Any) -> None:
    account = bed.new_account("wilson")
    folder = f"/work1/{account.project}/{account.user}"
    planted(account, folder)
    ran = onboard(bed, account)
    assert ran.code == 2, ran.text
    said = blocked(ran, account)
    assert said[f"folder {folder}"].startswith(f"{folder} belongs to another user"), said
    assert said["link ~/work"] == f"waits for: folder {folder}"
    assert not account.exists("work")
    audit = play(bed, "-i", str(bed.accounts_file([account])), playbook="audit.yml")
    assert audit.code == 2, audit.text
    assert "DIR-002" in audit.text


@pytest.mark.parametrize("laid", ["chmod 666 {0}; chown 4321 {0}", "rm {0}; mkfifo {0}; chown 4321 {0}; chmod 666 {0}"])
def test_a_lock_that_somebody_else_has_laid_is_refused_at_once(bed: Any, laid: str) -> None:
    account = bed.new_account("lrz")
    lock = f"{account.home}/.hpc.onboard.lock"
    by_root(account, f"touch {lock}; {laid.format(lock)}")
    begun = time.monotonic()
    ran = onboard(bed, account)
    assert time.monotonic() - begun < 40, "it waited for the lock"
    assert ran.code == 2, ran.text
    assert f"{lock} is not a lock file that you own: rename or move it, then run hpc-onboard again" in str(
        ran.of(account.name)
    )
    audit = play(bed, "-i", str(bed.accounts_file([account])), playbook="audit.yml")
    assert "no lock of yours" not in audit.text, "a look needs none"


def test_a_link_of_a_colleagues_leads_nobody_into_a_private_folder(bed: Any) -> None:
    account = bed.new_account("wilson")
    folder, private = f"/work1/{account.project}/{account.user}", f"{account.home}/private"
    by_root(account, f"install -d -m 700 -o {account.user} {private}; ln -s {private} {folder}")
    by_root(account, f"chown -h {COLLEAGUE} {folder}")
    ran = onboard(bed, account)
    assert ran.code == 2, ran.text
    assert blocked(ran, account)[f"folder {folder}"].startswith(f"{folder} belongs to another user")
    assert not account.exists("work")
    assert [path for path in account.tree() if path.startswith("private/")] == []


def test_a_job_that_a_colleague_has_laid_out_is_no_job_of_ours(bed: Any) -> None:
    account = bed.new_account("dfki")
    job, precious = f"/data/{account.user}/.miniconda3.hpc.onboard", f"{account.home}/precious"
    by_root(account, f"install -d -o {account.user} /data/{account.user}; install -d -o {account.user} {precious}")
    planted(account, job, f"echo -n {precious} > {job}/making; ln -s {account.home}/.profile {job}/log")
    before = account.tree()
    conda = {"distribution": "miniconda", "anaconda_terms": "accepted"}
    ran = onboard(bed, account, more=("--tags", "conda"), settings={account.name: {"conda": conda}})
    assert ran.code == 2, ran.text
    assert f"{job} already exists and was not created by hpc-onboard" in str(blocked(ran, account))
    after = account.tree()
    assert {path: after.get(path) for path in before} == before


def test_a_colleagues_conda_is_not_run_whatever_it_says(bed: Any) -> None:
    account = bed.new_account("dfki")
    prefix = f"/data/{account.user}/miniconda3"
    names = " ".join(f"{prefix}/{name}" for name in ("bin/conda", "bin/python", "etc/profile.d/conda.sh"))
    trap = f"echo 'touch /tmp/caught' | tee {names}"
    forged = f"echo 'miniconda py399_99.9.9-9 for {os.uname().machine}' > {prefix}/{FINISHED_MARK}"
    by_root(account, f"install -d -o {account.user} /data/{account.user}")
    folders = f"mkdir -p {prefix}/bin {prefix}/etc/profile.d {prefix}/{os.path.dirname(FINISHED_MARK)}"
    planted(account, prefix, folders, trap, forged)
    conda = {"distribution": "miniconda", "anaconda_terms": "accepted"}
    ran = onboard(bed, account, more=("--tags", "conda"), settings={account.name: {"conda": conda}})
    assert ran.code == 2, ran.text
    assert "already exists and was not created by hpc-onboard" in str(blocked(ran, account))
    account.login_shell("conda activate demo")
    assert not os.path.exists("/tmp/caught")


def test_whole_commands_come_about_or_refuse_while_a_colleague_swaps_names(bed: Any, count: Any) -> None:
    account = bed.new_account("wilson")
    area, private = f"/work1/{account.project}", f"{account.home}/private"
    by_root(
        account, f"install -d -m 700 -o {account.user} {private}; touch {private}/thesis; chmod 1755 {account.home}"
    )
    by_root(
        account, f"chmod 777 {area}; mkdir {area}/theirs; touch {area}/theirs/data; ln -s {private} {area}/to-private"
    )
    by_root(account, f"chmod 777 {area}/theirs; chown -Rh 54322 {area}/theirs {area}/to-private")
    order = ("-i", str(bed.accounts_file([account])), "-e", "offboard_sure=true")
    watched = {place: account.path(place).stat().st_mtime_ns for place in (private, f"{area}/theirs")}
    attack = Attack(account.path(area), (account.user,), ("to-private", "theirs"), 0.05)
    try:
        rans = [play(bed, *order, playbook=f"{name}.yml") for name in ("onboard", "audit", "offboard")]
    finally:
        attack.end()
    settle(account, area)
    harmed = [place for place, then in watched.items() if account.path(place).stat().st_mtime_ns != then]
    count("names swapped during whole commands", attack.moves, len(harmed))
    assert not harmed
    assert attack.moves > 1000
    for ran in rans:
        assert ran.code in (0, 2), ran.text
        assert "a bug in hpc.onboard" not in ran.text, ran.text
        assert "Traceback" not in ran.text, ran.text
    assert onboard(bed, account).code == 0
    ran = play(bed, *order, playbook="offboard.yml")
    assert ran.code == 0, ran.text
    stays = account.exists(f"{area}/{account.user}")  # where it was another thing when an offboarding looked
    assert ("not removed" in " ".join(ran.text.split())) == stays, ran.text
    assert stays or not account.exists("work")


def settle(account: Any, area: str) -> None:
    """Give everything its own name again, as he does who has had enough: he was ended in the middle of it."""
    names = {}
    for name in (account.user, "to-private", "theirs"):
        path = account.path(f"{area}/{name}", follow=False)
        if path.is_symlink() or path.exists():
            owner = path.lstat().st_uid
            names["to-private" if path.is_symlink() else "theirs" if owner == 54322 else account.user] = path
    for name, path in list(names.items()):
        path.rename(path.with_name(f"{name}.kept"))
    for name in names:
        account.path(f"{area}/{name}.kept", follow=False).rename(account.path(f"{area}/{name}", follow=False))
