# SPDX-License-Identifier: GPL-3.0-or-later
"""What onboarding, another machine and a hand on the files do beside a rotation: it is never settled by what was."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import COMMAND, onboard, play
from tests.testbed.registry import PRIVATE, new_key

from .rotation_scene import Stage, elsewhere, settled

pytestmark = [pytest.mark.testbed, turns(4)]


def said(ran: Any) -> str:
    """All that was printed, in one line."""
    return " ".join(ran.text.split())


def by_halves(stage: Stage) -> str:
    """Rotate while the last account cannot be reached; gives the new key, which the others hold."""
    new, away = new_key(), stage.accounts[3]
    stage.registry.allow(new, [PRIVATE])
    away.cluster.world.run("sh", "-c", f"usermod -s /bin/false {away.user}; true")
    assert stage.rotate(key=new).code == 2
    away.cluster.world.run("sh", "-c", f"usermod -s /bin/bash {away.user}; true")
    assert all(set(stage.held(one)) == {stage.old if one is away else new} for one in stage.accounts)
    return new


def test_onboarding_leaves_the_targets_of_an_open_rotation_alone_and_says_so(stage: Stage) -> None:
    new = by_halves(stage)
    before = [stage.held(account) for account in stage.accounts]
    ran = onboard(stage.bed, *stage.accounts, environment=stage.environment)
    assert ran.code == 0, ran.text
    assert [stage.held(account) for account in stage.accounts] == before
    assert "rotation of 'ngc' is open" in said(ran)
    assert "rotate_ngc.yml -e rotate_resume=true" in said(ran)
    late = stage.bed.new_account("lrz")
    assert onboard(stage.bed, late, environment=stage.environment).code == 0
    assert set(stage.held(late)) == {stage.old}, "an account that is no target yet gets the current key"
    stage.accounts.append(late)
    ended = stage.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(stage, new)


def test_a_key_that_a_hand_put_back_is_seen_before_the_rotation_settles(stage: Stage) -> None:
    new, odd = by_halves(stage), stage.accounts[0]
    odd.ssh(f"sed -i s/{new}/{stage.old}/ enroot/.credentials .config/enroot/.credentials 2>/dev/null; true")
    assert set(stage.held(odd)) == {stage.old}
    ran = stage.rotate(rotate_resume=True)
    assert ran.code == 2, ran.text
    assert "deactivate the old key" not in said(ran)
    assert f"{odd.name}:enroot_credential" in said(ran)
    assert "rotate_resume=true" in said(ran)
    assert set(stage.held(odd)) == {stage.old}, "what a hand did is named, and not undone in the same breath"
    ended = stage.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(stage, new)
    assert "deactivate the old key" in said(ended)


def test_what_a_rotation_installed_is_ours_and_what_a_hand_put_there_is_theirs(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    assert stage.rotate(key=new).code == 0
    theirs = stage.accounts[0]
    assert onboard(stage.bed, theirs, environment=stage.environment).code == 0
    theirs.ssh(f"sed -i s/{new}/nvapi-of-a-hand/ enroot/.credentials .config/enroot/.credentials 2>/dev/null; true")
    accounts = str(stage.bed.accounts_file(stage.accounts))
    order = ("-i", accounts, "-e", "offboard_sure=true")
    ran = play(stage.bed, *order, playbook="offboard.yml", environment=stage.environment)
    assert ran.code == 0, ran.text
    others = len(stage.accounts) - 1
    assert [set(stage.held(one)) for one in stage.accounts] == [{"nvapi-of-a-hand"}, *[set()] * others]


def rotated_elsewhere(stage: Stage, folder: Path) -> tuple[Stage, str]:
    """Rotate, and give another machine that still has the old key and knows nothing of it; and the new key."""
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    assert stage.rotate(key=new).code == 0
    folder.mkdir()
    other = elsewhere(stage, folder)
    assert other.keyring("ngc") == stage.old
    return other, new


def test_a_machine_that_does_not_know_of_a_rotation_undoes_nothing(stage: Stage, tmp_path: Path) -> None:
    other, new = rotated_elsewhere(stage, tmp_path / "other")
    receipt = json.loads(stage.accounts[0].path(".config/hpc.onboard/receipt.json").read_text())
    assert (receipt["keys"]["ngc"]["sequence"], receipt["keys"]["ngc"]["controller"]) == (1, os.uname().nodename)
    ran = onboard(other.bed, *other.accounts, environment=other.environment)
    assert ran.code == 2, ran.text
    assert settled(other, new)
    for word in (os.uname().nodename, f"on {date.today().isoformat()[:4]}", "state import", "keyring set hpc.onboard"):
        assert word in said(ran)
    third = new_key()
    stage.registry.allow(third, [PRIVATE])
    ran = other.rotate(key=third)
    assert ran.code == 2, ran.text
    assert "state import" in said(ran)
    assert settled(other, new)
    assert other.keyring("ngc") == stage.old
    stage.registry.revoke(stage.old)
    assert stage.rotate(rotate_resume=True, rotate_retired=True).code == 0


def test_the_records_of_a_rotation_go_to_the_other_machine_and_it_goes_on(stage: Stage, tmp_path: Path) -> None:
    new = by_halves(stage)
    (tmp_path / "other").mkdir()
    other = elsewhere(stage, tmp_path / "other")
    assert other.rotate(key=new).code == 2, "it is another one's rotation"
    assert set(stage.held(stage.accounts[3])) == {stage.old}
    file = tmp_path / "state.json"
    for one, words in ((stage, ["export"]), (other, ["import"])):
        done = command(one, "state", *words, str(file))
        assert done.returncode == 0, done.stderr
    version = next(
        one for one in json.loads(file.read_text())["key_versions"]["ngc"]["versions"] if one["label"] == "pending"
    )
    assert other.ring.keyring("set", "hpc.onboard", f"ngc@{version['id']}", value=new).returncode == 0
    ended = other.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(other, new)
    again = onboard(other.bed, *other.accounts, environment=other.environment)
    assert again.code == 0, again.text
    assert not any(again.of(account.name)["changed"] for account in other.accounts)


def test_a_machine_that_was_given_the_new_key_by_hand_is_not_stopped(stage: Stage, tmp_path: Path) -> None:
    other, new = rotated_elsewhere(stage, tmp_path / "other")
    assert other.ring.keyring("set", "hpc.onboard", "ngc", value=new).returncode == 0
    ran = onboard(other.bed, *other.accounts, environment=other.environment)
    assert ran.code == 0, ran.text
    assert settled(other, new)


def test_machines_that_have_both_rotated_go_on_with_the_key_that_was_written_last(stage: Stage, tmp_path: Path) -> None:
    keys = [new_key() for _ in range(3)]
    for key in keys:
        stage.registry.allow(key, [PRIVATE])
    for key in keys[:2]:
        assert stage.rotate(key=key).code == 0
    (tmp_path / "other").mkdir()
    other = elsewhere(stage, tmp_path / "other")
    assert other.ring.keyring("set", "hpc.onboard", "ngc", value=keys[1]).returncode == 0
    assert onboard(other.bed, *other.accounts, environment=other.environment).code == 0
    assert other.rotate(key=keys[2]).code == 0
    receipt = json.loads(stage.accounts[0].path(".config/hpc.onboard/receipt.json").read_text())
    assert receipt["keys"]["ngc"]["sequence"] == 1, "the mark is of the machine that wrote last"
    ran = onboard(stage.bed, *stage.accounts, environment=stage.environment)
    assert ran.code == 2, ran.text
    assert f"{os.uname().nodename} rotated the key 'ngc' on" in said(ran)
    assert "enter the new key" in said(ran)
    assert "onboard_replace" not in said(ran)
    assert "keyring set" not in said(ran), "it would have no effect"
    more = ("-e", "onboard_replace=true")
    forced = onboard(stage.bed, *stage.accounts, more=more, environment=stage.environment)
    assert (forced.code, settled(stage, keys[2])) == (2, True), "an older key never replaces a newer one"
    preview = stage.rotate("--check", key=keys[2])
    assert preview.code == 0, preview.text
    assert stage.rotate(key=keys[2]).code == 0
    for machine in (stage, other):
        ran = onboard(machine.bed, *machine.accounts, environment=machine.environment)
        assert ran.code == 0, ran.text
        assert not any(ran.of(account.name)["changed"] for account in machine.accounts)
    assert settled(stage, keys[2])


def test_there_is_a_way_back_while_the_old_key_lives(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    assert stage.rotate(key=new).code == 0
    late = stage.bed.new_account("lrz")
    stage.accounts.append(late)
    assert onboard(stage.bed, late, environment=stage.environment).code == 0
    assert set(stage.held(late)) == {new}
    ran = stage.rotate(rotate_give_up=True)
    assert ran.code == 0, ran.text
    assert settled(stage, stage.old), "those that only onboarding gave the new key, too"
    assert "Deactivate the new key" in said(ran)
    again = onboard(stage.bed, *stage.accounts, environment=stage.environment)
    assert again.code == 0, again.text
    assert not any(again.of(account.name)["changed"] for account in stage.accounts)
    stage.registry.revoke(new)
    ended = stage.rotate(rotate_resume=True, rotate_retired=True)
    assert ended.code == 0, ended.text
    assert settled(stage, stage.old)
    assert stage.keyring("ngc") == stage.old


def test_there_is_no_way_back_to_a_key_that_is_dead(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    assert stage.rotate(key=new).code == 0
    stage.registry.revoke(stage.old)
    ran = stage.rotate(rotate_give_up=True)
    assert ran.code == 2, ran.text
    assert "the old key no longer works" in said(ran)
    assert settled(stage, new)


def test_a_settled_rotation_is_followed_by_another_one_while_the_old_key_lives(stage: Stage) -> None:
    new, third = new_key(), new_key()
    for key in (new, third):
        stage.registry.allow(key, [PRIVATE])
    assert stage.rotate(key=new).code == 0
    ran = stage.rotate(key=third)
    assert ran.code == 0, ran.text
    assert settled(stage, third)
    assert "deactivate the 2 old keys" in said(ran)
    stage.registry.revoke(stage.old)
    early = stage.rotate(rotate_resume=True, rotate_retired=True)
    assert early.code == 2, early.text
    assert "still works" in said(early)
    stage.registry.revoke(new)
    ended = stage.rotate(rotate_resume=True, rotate_retired=True)
    assert ended.code == 0, ended.text
    assert settled(stage, third)
    assert stage.keyring("ngc") == ""


def planted(key: str) -> dict[str, str]:
    """Files of programs in which a person has put the key, by their paths below the home."""
    logins = [base64.b64encode(f"{user}:{key}".encode()).decode() for user in ("$oauthtoken", "ada")]
    auth = {name: json.dumps({"auths": {"nvcr.io": {"auth": login}}}) for name, login in zip("ab", logins, strict=True)}
    return {
        ".docker/config.json": auth["a"],
        ".config/containers/auth.json": auth["b"],
        ".ngc/config": f"[CURRENT]\napikey = {key}\n",
        ".enroot/.credentials": f"machine nvcr.io login $oauthtoken password {key}\n",
        "project/conf.yaml": f"registry:\n  key: {key}\n",
    }


def test_every_file_of_keys_is_opened_before_it_is_said_that_nothing_is_left(stage: Stage) -> None:
    new, odd = new_key(), stage.accounts[0]
    stage.registry.allow(new, [PRIVATE])
    for path, text in planted(stage.old).items():
        odd.ssh(f"mkdir -p $(dirname {path}) && cat > {path} && chmod 600 {path}", text=text)
    assert stage.rotate(key=new).code == 0
    stage.registry.revoke(stage.old)
    ended = stage.rotate(rotate_resume=True, rotate_retired=True)
    assert ended.code == 0, ended.text
    assert [path for path in planted("") if f"~/{path}:" not in said(ended)] == []
    assert f"found copies of the key on these accounts: {odd.name} (5)" in said(ended)
    assert "nothing is left to do" not in said(ended)
    assert {path: odd.read(path).decode() for path in planted("")} == planted(stage.old), "they are a person's"


@pytest.mark.parametrize("who", ["issuer", "person"])
def test_the_last_day_of_a_key_is_kept_and_every_run_reminds_of_it(stage: Stage, who: str) -> None:
    new, day = new_key(), (date.today() + timedelta(days=6)).isoformat()
    stage.registry.allow(new, [PRIVATE])
    wishes = {"rotate_expires": day} if who == "person" else {}
    if who == "issuer":
        stage.registry.doorkeeper.expires = f"{day}T10:00:00Z"
    assert stage.rotate(key=new, **wishes).code == 0
    accounts = ("-i", str(stage.bed.accounts_file(stage.accounts)))
    for playbook in ("onboard.yml", "doctor.yml"):
        ran = play(stage.bed, *accounts, playbook=playbook, environment=stage.environment)
        assert f"The key 'ngc' expires on {day}, in 6 days" in said(ran), ran.text
    ran = play(stage.bed, *accounts, playbook="audit.yml", environment=stage.environment)
    assert "KEY-007" in ran.text


def test_a_key_that_opens_less_than_the_old_one_is_not_spread(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    stage.registry.doorkeeper.products[new] = ["artifact-catalog"]
    ran = stage.rotate(key=new)
    assert ran.code == 2, ran.text
    assert "the new key lacks access to private-registry, which the old key has" in said(ran)
    assert settled(stage, stage.old)
    assert not (stage.folder / "state" / "hpc.onboard" / "ledger.jsonl").exists()


def command(stage: Stage, *words: str) -> subprocess.CompletedProcess[str]:
    """The command hpc-onboard, on the machine of the stage."""
    program = [COMMAND, *words]
    environment = {**stage.bed.client.environment(), **stage.environment}
    return subprocess.run(program, env=environment, text=True, capture_output=True, check=False)
