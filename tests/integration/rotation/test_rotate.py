# SPDX-License-Identifier: GPL-3.0-or-later
"""A key rotated over real accounts and a real registry: everywhere, or nowhere by halves."""

from __future__ import annotations

import base64
import subprocess
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import Ran, onboard
from tests.testbed.registry import PRIVATE, new_key

from .rotation_scene import Stage, settled

pytestmark = [pytest.mark.testbed, turns(3)]


@turns(1)
def test_a_key_is_rotated_everywhere_and_the_old_one_proven_dead(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    for account in stage.accounts:
        account.reset_sessions()
    ran = stage.rotate(key=new)
    print(ran.text)
    assert ran.code == 0, ran.text
    assert all(set(stage.held(account)) == {new} for account in stage.accounts)
    assert "deactivate the old key" in " ".join(ran.text.split())
    stage.registry.revoke(stage.old)
    ended = stage.rotate(rotate_resume=True, rotate_retired=True)
    print(ended.text)
    assert ended.code == 0, ended.text
    again = stage.rotate(key=new)
    print(again.text)
    assert again.code == 0


def test_onboarding_installs_what_a_rotation_left(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    assert stage.rotate(key=new).code == 0
    again = onboard(stage.bed, *stage.accounts, environment=stage.environment)
    assert again.code == 0, again.text
    assert not any(again.of(account.name)["changed"] for account in stage.accounts)
    late = stage.bed.new_account("lrz")
    assert onboard(stage.bed, late, environment=stage.environment).code == 0
    assert set(stage.held(late)) == {new}


@turns(3)
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("unknown", "invalid"),
        ("revoked", "invalid"),
        ("not entitled", "not entitled"),
        ("malformed", "is not valid: "),
        ("hostile", "is not valid: "),
        ("the same", "is already the current key"),
    ],
)
def test_a_key_that_is_not_good_touches_no_account(stage: Stage, how: str, said: str) -> None:
    new = {"malformed": "nvapi-short", "hostile": "$(touch /tmp/pwned)", "the same": stage.old}.get(how) or new_key()
    if how in ("revoked", "not entitled"):
        stage.registry.allow(new, [PRIVATE] if how == "revoked" else [])
    if how == "revoked":
        stage.registry.revoke(new)
    before = [account.tree() for account in stage.accounts]
    for account in stage.accounts:
        account.reset_sessions()
    ran = stage.rotate(key=new)
    assert ran.code == (0 if how == "the same" else 2), ran.text
    assert said in " ".join(ran.text.split())
    assert [account.tree() for account in stage.accounts] == before
    assert [account.sessions() for account in stage.accounts] == [0] * len(stage.accounts)
    assert how == "the same" or new not in ran.text


def test_what_could_not_be_reached_is_done_by_the_next_run_and_nothing_is_said_to_be_done_before(stage: Stage) -> None:
    new, away = new_key(), stage.accounts[3]
    stage.registry.allow(new, [PRIVATE])
    away.cluster.world.run("sh", "-c", f"usermod -s /bin/false {away.user}; true")
    before = away.tree()
    ran = stage.rotate(key=new)
    assert ran.code == 2, ran.text
    assert away.tree() == before
    assert set(stage.held(away)) == {stage.old}
    assert "rotate_resume=true" in ran.text
    away.cluster.world.run("sh", "-c", f"usermod -s /bin/bash {away.user}; true")
    ended = stage.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(stage, new)


def test_a_target_that_cannot_be_written_keeps_its_old_file(stage: Stage) -> None:
    new, odd = new_key(), stage.accounts[1]
    stage.registry.allow(new, [PRIVATE])
    odd.ssh("ln enroot/.credentials enroot/second-name")
    before = odd.tree()
    ran = stage.rotate(key=new)
    assert ran.code == 2
    assert odd.tree() == before
    assert all(set(stage.held(account)) == {new} for account in stage.accounts if account is not odd)
    odd.ssh("rm enroot/second-name")
    ended = stage.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(stage, new)


def test_a_rotation_that_is_open_is_not_begun_again(stage: Stage) -> None:
    new, other = new_key(), new_key()
    for key in (new, other):
        stage.registry.allow(key, [PRIVATE])
    stage.accounts[1].ssh("ln enroot/.credentials enroot/second-name")
    assert stage.rotate(key=new).code == 2
    ran = stage.rotate(key=other)
    assert ran.code == 2
    assert "is already open" in ran.text
    assert not any(other in stage.held(account) for account in stage.accounts)


def test_an_old_key_that_still_works_is_not_called_dead(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    assert stage.rotate(key=new).code == 0
    ran = stage.rotate(rotate_resume=True, rotate_retired=True)
    assert ran.code == 2, ran.text
    assert stage.keyring("ngc") == stage.old
    stage.registry.revoke(stage.old)
    assert stage.rotate(rotate_resume=True, rotate_retired=True).code == 0
    assert stage.keyring("ngc") == ""


def test_check_judges_the_key_and_changes_nothing(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    before = [account.tree() for account in stage.accounts]
    ran = stage.rotate("--check", key=new)
    assert ran.code == 0, ran.text
    assert [account.tree() for account in stage.accounts] == before
    assert not (stage.folder / "state" / "hpc.onboard" / "ledger.jsonl").exists()


def shares(ran: Ran, account: Any) -> list[dict[str, Any]]:
    """Return the outcomes of an account's files, of the steps that write."""
    mine = [one["result"] for one in ran.results if one["host"] == account.name]
    found = [one for result in mine for one in result.get("outcomes", ())]
    return [one for one in found if one["status"] != "ok"]


@turns(1)
def test_check_previews_what_a_rotation_writes_and_what_it_leaves(stage: Stage) -> None:
    new, unknown = new_key(), new_key()
    stage.registry.allow(new, [PRIVATE])
    plain, foreign, bare, linked = stage.accounts[:4]
    for account in stage.accounts:
        assert stage.held(account)
    foreign.ssh(f"sed -i s/{stage.old}/{unknown}/ enroot/.credentials")
    bare.ssh("rm enroot/.credentials")
    before = [account.tree() for account in stage.accounts]
    for account in stage.accounts:
        account.reset_sessions()
    preview = stage.rotate("--check", key=new)
    text = " ".join(preview.text.split())
    assert preview.code == 2, preview.text
    assert [account.sessions() for account in stage.accounts] == [1] * len(stage.accounts)
    assert [account.tree() for account in stage.accounts] == before
    assert not (stage.folder / "state" / "hpc.onboard" / "ledger.jsonl").exists()
    assert "contains an unknown key, which was not replaced" in text
    assert f"rotate_excuse={foreign.name}:enroot_credential" in text
    assert "~/enroot/.credentials does not contain the key 'ngc'" in text
    assert new not in preview.text
    assert unknown not in preview.text
    excused = stage.rotate("--check", key=new, rotate_excuse=f"{foreign.name}:enroot_credential")
    assert excused.code == 0, excused.text
    ran = stage.rotate(key=new)
    for account in stage.accounts:
        told, done = ({(one["identity"], one["status"]) for one in shares(run, account)} for run in (preview, ran))
        assert told == done, account.name
    assert {status for _identity, status in told} == {"different"}
    assert set(stage.held(plain)) == set(stage.held(linked)) == {new}
    assert (stage.held(foreign), stage.held(bare)) == ([unknown] * len(stage.held(foreign)), [])
    again = stage.rotate("--check", rotate_resume=True)
    assert {one["status"] for account in stage.accounts for one in shares(again, account)} == {"blocked"}


def test_check_of_a_key_that_is_not_good_looks_at_no_account(stage: Stage) -> None:
    for account in stage.accounts:
        account.reset_sessions()
    ran = stage.rotate("--check", key=new_key())
    assert ran.code == 2, ran.text
    assert [account.sessions() for account in stage.accounts] == [0] * len(stage.accounts)


def test_no_key_is_in_the_records_or_in_what_is_said(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    said = stage.rotate("-vvvv", "--diff", key=new)
    stage.registry.revoke(stage.old)
    said_too = stage.rotate("-vvvv", rotate_resume=True, rotate_retired=True)
    assert (said.code, said_too.code) == (0, 0)
    (stage.folder / "new-key").unlink()
    kept = b"".join(path.read_bytes() for path in stage.folder.rglob("*") if path.is_file())
    for key in (stage.old, new):
        for form in (key.encode(), base64.b64encode(f"$oauthtoken:{key}".encode()), key[:40].encode()):
            assert form not in kept
            assert form.decode() not in said.text + said_too.text
    for account in stage.accounts:
        for path in (account.home, *account.folders):
            text = subprocess.run(["grep", "-rlaF", stage.old, str(account.path(path))], capture_output=True, text=True)
            assert text.stdout == ""


def test_of_two_rotations_at_once_one_is_refused_or_both_agree(stage: Stage) -> None:
    keys = [new_key(), new_key()]
    for key in keys:
        stage.registry.allow(key, [PRIVATE])
    runs = [stage.begun(key, f"key{number}") for number, key in enumerate(keys)]
    said = [run.communicate(timeout=120)[0] for run in runs]
    codes = sorted(run.returncode for run in runs)
    assert codes == [0, 2], said
    held = [set(stage.held(account)) for account in stage.accounts]
    assert held in ([{key}] * len(stage.accounts) for key in keys)
