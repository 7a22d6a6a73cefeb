# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways into a rotation and out of it: prompt, pipe, giving up, a grace, an old key that goes at once or first."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.effort import turns
from tests.integration.runs import REPOSITORY, Ran, onboard, play
from tests.testbed.registry import PRIVATE, new_key

from .rotation_scene import Stage, settled, staged

pytestmark = [pytest.mark.testbed, turns(4)]
COLUMNS = 80
QUESTION = "New key of 'ngc' .your input is hidden.: "


CLUSTERS = ("lrz", "dfki", "wilson")


@pytest.fixture
def few(bed: Any, tmp_path: Path) -> Iterator[Stage]:
    """Three accounts, of three clusters."""
    with staged(bed, tmp_path, CLUSTERS) as made:
        yield made


@pytest.fixture
def legacy(bed: Any, tmp_path: Path) -> Iterator[Stage]:
    """Three accounts that hold a key of the older kind."""
    with staged(bed, tmp_path, CLUSTERS, legacy=True) as made:
        assert holding(made, made.old) == 3
        yield made


def allowed(stage: Stage) -> str:
    """A new key that the registry knows."""
    key = new_key()
    stage.registry.allow(key, [PRIVATE])
    return key


def held(stage: Stage) -> list[set[str]]:
    """The keys that each account holds."""
    return [set(stage.held(account)) for account in stage.accounts]


def holding(stage: Stage, key: str) -> int:
    """How many accounts hold this key, of whatever kind."""
    coded = base64.b64encode(f"$oauthtoken:{key}".encode()).decode()
    order = "cat enroot/.credentials .apptainer/docker-config.json 2>/dev/null; true"
    texts = [account.ssh(order).stdout for account in stage.accounts]
    return sum(key in text or coded in text for text in texts)


def words(text: str) -> str:
    """The text in one line."""
    return " ".join(text.split())


def at_terminal(stage: Stage, *more: str, **wishes: Any) -> pexpect.spawn[str]:
    """A run at a terminal, as a person starts it."""
    order = ["rotate_ngc.yml", *stage.wanted(None, "", wishes), *more]
    env = {**stage.bed.client.environment(), **stage.environment}
    program = Path(stage.bed.client.environment()["PATH"].split(":")[0]) / "ansible-playbook"
    return pexpect.spawn(
        str(program),
        order,
        cwd=str(REPOSITORY),
        env=env,
        encoding="utf-8",
        timeout=120,
        dimensions=(40, COLUMNS),
    )


def finished(run: pexpect.spawn[str]) -> tuple[int, str]:
    """Exit code, and what was printed since the last look."""
    run.expect(pexpect.EOF, timeout=120)
    run.close()
    return int(run.exitstatus or 0), str(run.before)


def piped(stage: Stage, key: bytes, **wishes: Any) -> subprocess.CompletedProcess[bytes]:
    """A run with the key on its standard input."""
    order = ["ansible-playbook", "rotate_ngc.yml", *stage.wanted(None, "", wishes), "-e", "rotate_key_file=-"]
    env = {**stage.bed.client.environment(), **stage.environment}
    return subprocess.run(order, cwd=REPOSITORY, env=env, input=key, capture_output=True, check=False, timeout=120)


def away(account: Any, gone: bool) -> None:
    """Have the account answer nobody, or everybody again."""
    shell = "/bin/false" if gone else "/bin/bash"
    account.cluster.world.run("sh", "-c", f"usermod -s {shell} {account.user}; true")


# -- where the new key comes from -------------------------------------------------------------


def test_a_key_that_is_typed_is_nowhere_on_the_terminal(few: Stage) -> None:
    new = allowed(few)
    run = at_terminal(few)
    run.expect(QUESTION)
    asked = str(run.before) + str(run.after)
    run.sendline(new)
    code, said = finished(run)
    print(said)
    assert code == 0, said
    assert settled(few, new)
    assert not any(part in asked + said for part in (new, new[:20], new[-20:]))


def test_at_a_terminal_the_last_day_is_asked_for_where_the_issuer_does_not_say_it(few: Stage) -> None:
    new, day = allowed(few), (date.today() + timedelta(days=6)).isoformat()
    few.registry.doorkeeper.expires = ""
    run = at_terminal(few)
    run.expect(QUESTION)
    run.sendline(new)
    run.expect("Last day on which the new key of 'ngc'.*Press Enter to skip: ")
    run.sendline("soon")
    run.expect("your input is 'soon'; expected a date.*Press Enter to skip: ")
    run.sendline(day)
    code, said = finished(run)
    assert code == 0, said
    assert settled(few, new)
    reminded = play(few.bed, playbook="doctor.yml", environment=few.environment)
    assert f"The key 'ngc' expires on {day}, in 6 days" in words(reminded.text)


NO_KEYS = {
    "": "the key is empty",
    "nvapi-short": "too short",
    "$(touch /tmp/pwned)": "white space",
    "\x03": "no new key was entered for 'ngc'",
}


def test_what_is_no_key_at_the_prompt_is_one_error_and_touches_nothing(few: Stage) -> None:
    before = [account.tree() for account in few.accounts]
    for account in few.accounts:
        account.reset_sessions()
    for typed, why in NO_KEYS.items():
        run = at_terminal(few)
        run.expect(QUESTION)
        run.send(typed if typed == "\x03" else f"{typed}\r")
        code, said = finished(run)
        assert code == 2, said
        assert words(said).lower().count("nothing was changed") == 1, said
        assert why in words(said)
    assert [account.tree() for account in few.accounts] == before
    assert [account.sessions() for account in few.accounts] == [0, 0, 0]
    assert not (few.folder / "state" / "hpc.onboard" / "ledger.jsonl").exists()


def test_a_key_comes_by_standard_input(few: Stage) -> None:
    done = piped(few, b"")
    assert done.returncode == 2
    assert "standard input is empty" in words(done.stdout.decode())
    assert held(few) == [{few.old}] * 3
    new = allowed(few)
    done = piped(few, new.encode() + b"\n")
    assert done.returncode == 0, done.stdout.decode()
    assert settled(few, new)
    assert new.encode() not in done.stdout + done.stderr


# -- words that are wrong ----------------------------------------------------------------------


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"rotate_resum": True}, 'rotate_resum is not a setting of a rotation; did you mean "rotate_resume"?'),
    ({"rotate_resume": "perhaps"}, "must be true or false"),
    ({"rotate_mode": "compromized"}, 'did you mean "compromised"?'),
    ({"rotate_grace": "7 moons"}, "12h, 7d or 2w"),
    ({"rotate_canary": "nobody@lrz:enroot_credential"}, "is not a target"),
    ({"rotate_give_up": True}, "no rotation of 'ngc' is open"),
]
NAMED = [
    ((), "The accounts have these keys: ngc. Run one of: ansible-playbook -i /"),
    (("-e", "secret=ncg"), "no account has the key 'ncg': did you mean \"ngc\"?"),
]


def test_a_word_that_is_wrong_is_named_before_anything_is_done(few: Stage) -> None:
    new = allowed(few)
    for wish, said in WRONG:
        ran = few.rotate(key=new, **wish)
        assert ran.code == 2, ran.text
        assert said in words(ran.text)
    for secret, said in NAMED:
        order = ["-i", str(few.bed.accounts_file(few.accounts)), *secret]
        ran = play(few.bed, *order, playbook="rotate.yml", environment=few.environment)
        assert ran.code == 2
        assert said in words(ran.text), ran.text
    assert held(few) == [{few.old}] * 3
    assert not (few.folder / "state" / "hpc.onboard" / "ledger.jsonl").exists()


# -- giving up ---------------------------------------------------------------------------------


def half_done(stage: Stage, new: str) -> Any:
    """A rotation that is open since one account is away."""
    last = stage.accounts[2]
    away(last, True)
    assert stage.rotate(key=new).code == 2
    away(last, False)
    assert held(stage) == [{new}, {new}, {stage.old}]
    return last


def test_what_is_given_up_is_as_it_was_and_the_new_key_goes(few: Stage) -> None:
    before = [_files(account) for account in few.accounts]
    new = allowed(few)
    half_done(few, new)
    ran = few.rotate(rotate_give_up=True)
    print(ran.text)
    assert ran.code == 0, ran.text
    assert [_files(account) for account in few.accounts] == before
    assert "Deactivate the new key" in words(ran.text)
    again = few.rotate(rotate_give_up=True)
    assert again.code == 0
    assert "Deactivate the new key" in words(again.text)
    few.registry.revoke(new)
    ended = few.rotate(rotate_retired=True)
    print(ended.text)
    assert ended.code == 0
    assert "cancelled; nothing is left to do" in words(ended.text)
    assert few.keyring("ngc") == few.old
    assert new.encode() not in few.ring.file.read_bytes()
    assert few.ledger_fits(few.folder / "state")
    other = allowed(few)
    assert few.rotate(key=other).code == 0
    assert settled(few, other)


def _files(account: Any) -> dict[str, Any]:
    """What is in the files of an account, but for its notes, which know no more of a key that was rotated."""
    entries = account.tree().items()
    return {path: (entry.content, entry.mode) for path, entry in entries if not path.endswith("/receipt.json")}


def test_giving_up_stays_open_while_an_account_is_away(few: Stage) -> None:
    new = allowed(few)
    half_done(few, new)
    away(few.accounts[0], True)
    ran = few.rotate(rotate_give_up=True)
    print(ran.text)
    assert ran.code == 2, ran.text
    assert held(few) == [{new}, {few.old}, {few.old}]
    assert f"{few.accounts[0].name}:enroot_credential" in words(ran.text)
    assert few.rotate(key=allowed(few)).code == 2
    away(few.accounts[0], False)
    ended = few.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert held(few) == [{few.old}] * 3


def test_giving_up_is_refused_where_the_old_key_is_dead(few: Stage) -> None:
    new = allowed(few)
    half_done(few, new)
    few.registry.revoke(few.old)
    ran = few.rotate(rotate_give_up=True)
    assert ran.code == 2
    assert "was not cancelled, because the old key no longer works" in words(ran.text)
    assert few.rotate(rotate_resume=True).code == 0
    assert settled(few, new)
    late = few.rotate(rotate_give_up=True)
    assert late.code == 2
    assert "was not cancelled, because the old key no longer works" in words(late.text)
    assert settled(few, new)


# -- a grace -----------------------------------------------------------------------------------


def test_in_a_grace_the_old_key_stays_until_a_person_says_that_it_is_dead(few: Stage) -> None:
    new = allowed(few)
    ran = few.rotate(key=new, rotate_grace="7d")
    print(ran.text)
    assert ran.code == 0, ran.text
    assert settled(few, new)
    said = words(ran.text)
    assert "stays active until 20" in said
    later = few.rotate(rotate_resume=True)
    assert later.code == 0
    assert said.split("active until ")[1][:20] == words(later.text).split("active until ")[1][:20]
    assert few.keyring("ngc") == few.old
    onboarded = onboard(few.bed, *few.accounts, environment=few.environment)
    assert "The old key of 'ngc', replaced on 20" in words(onboarded.text)
    assert "rotate_ngc.yml -e rotate_retired=true" in words(onboarded.text.replace("\\\n", ""))
    few.registry.revoke(few.old)
    ended: Ran = few.rotate(rotate_retired=True)
    assert ended.code == 0, ended.text
    assert "nothing is left to do" in words(ended.text)
    assert few.keyring("ngc") == ""
    assert "old key" not in onboard(few.bed, *few.accounts, environment=few.environment).text


# -- the old key goes first ---------------------------------------------------------------------


def test_a_compromised_key_goes_first_and_every_place_it_was_at_is_named(few: Stage) -> None:
    second, third = allowed(few), allowed(few)
    assert few.rotate(key=second).code == 0
    few.registry.revoke(few.old)
    assert few.rotate(rotate_retired=True).code == 0
    left_out = few.bed.new_account("lrz")
    assert onboard(few.bed, left_out, environment=few.environment).code == 0
    ran = few.rotate(key=third, rotate_mode="compromised")
    print(ran.text)
    assert ran.code == 0, ran.text
    assert held(few) == [{second}] * 3
    assert f"this rotation does not include these accounts, which may still have the key: {left_out.name}." in words(
        ran.text
    )
    assert "deactivate the old key now" in words(ran.text)
    gone = few._replace(accounts=few.accounts[:2])
    few.registry.revoke(second)
    ended = gone.rotate(key=third, rotate_retired=True)
    print(ended.text)
    said = words(ended.text).split("the compromised key: ")[1]
    assert all(account.name in said for account in few.accounts)
    assert held(few)[:2] == [{third}] * 2
    whole = few.rotate(rotate_resume=True)
    assert whole.code == 0, whole.text
    assert "nothing is left to do" in words(whole.text)
    assert settled(few, third)
    assert [few.keyring(name) for name in ("ngc",)] == [""]
    assert few.ledger_fits(few.folder / "state")


def test_at_a_terminal_a_compromised_key_is_replaced_in_one_run(few: Stage) -> None:
    new = allowed(few)
    run = at_terminal(few, rotate_mode="compromised")
    run.expect(QUESTION)
    run.sendline(new)
    run.expect("Did you deactivate the key. .yes.no.: ")
    assert held(few) == [{few.old}] * 3
    few.registry.revoke(few.old)
    run.sendline("yes")
    code, said = finished(run)
    print(said)
    assert code == 0, said
    assert settled(few, new)
    assert few.keyring("ngc") == ""


# -- the old key goes at once -------------------------------------------------------------------


def test_a_key_that_its_successor_ends_is_replaced_only_where_all_are_ready(legacy: Stage) -> None:
    odd = legacy.accounts[1]
    odd.ssh("ln enroot/.credentials enroot/second-name")
    run = at_terminal(legacy)
    code, said = finished(run)
    print(said)
    assert code == 2, said
    assert f"these targets are not ready: {odd.name}:enroot_credential" in words(said)
    assert "New key of" not in said
    assert holding(legacy, legacy.old) == 3
    odd.ssh("rm enroot/second-name")
    run = at_terminal(legacy, rotate_resume=True)
    run.expect(QUESTION)
    assert "The new key revokes the old key" in words(str(run.before))
    new = legacy.registry.succeed(legacy.old, [PRIVATE])
    run.sendline(new)
    code, said = finished(run)
    print(said)
    assert code == 0, said
    assert holding(legacy, new) == 3
    assert "nothing is left to do" in words(said)
    assert legacy.keyring("ngc") == ""
    assert new not in said


def test_a_legacy_key_is_followed_by_a_personal_one_with_both_alive(legacy: Stage) -> None:
    new = allowed(legacy)
    ran = legacy.rotate(key=new)
    assert ran.code == 0, ran.text
    assert "both keys work until then" in words(ran.text)
    assert holding(legacy, new) == 3
    assert legacy.keyring("ngc") == legacy.old
    legacy.registry.revoke(legacy.old)
    assert legacy.rotate(rotate_retired=True).code == 0
    assert legacy.keyring("ngc") == ""
