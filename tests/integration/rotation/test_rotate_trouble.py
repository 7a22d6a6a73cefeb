# SPDX-License-Identifier: GPL-3.0-or-later
"""Trouble on one account in the middle of a rotation: it keeps its exact old file or is said to be what it is.

The others are done all the same, the run says which one is left and the command that goes on, and that command
finishes it when the trouble is gone.
"""

from __future__ import annotations

import re
import shlex
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.effort import turns
from tests.integration.runs import Ran
from tests.testbed.registry import PRIVATE, new_key

from .rotation_kills import keys_in
from .rotation_scene import Stage, settled, staged

pytestmark = [pytest.mark.testbed, turns(5)]

FILE = "enroot/.credentials"
SPREAD = "Install it on the others"
OTHER = "nvapi-" + "o" * 64
FOREIGN = b"machine gitlab.example.org login me password foreign\n"


@pytest.fixture
def three(bed: Any, tmp_path: Path) -> Iterator[Stage]:
    """The canary, the one that gets into trouble (at a site whose registry can be reached), and another one."""
    with staged(bed, tmp_path, ("lrz", "lrz", "wilson")) as stage:
        yield stage


def met(stage: Stage, task: str, act: Callable[[], None], **wishes: Any) -> Ran:
    """A run of the rotation in which something happens right before a task."""
    folder = stage.folder / "meeting"
    folder.mkdir()
    own = {"ANSIBLE_CALLBACKS_ENABLED": "record,meeting", "MEETING": str(folder), "MEETING_TASK": task}
    meeting = stage._replace(environment={**stage.environment, **own})
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(meeting.rotate, **wishes)
        while not (folder / "here").exists() and not run.done():
            time.sleep(0.01)
        assert (folder / "here").exists(), f"no task is called {task}"
        try:
            act()
        finally:
            (folder / "on").touch()
        return run.result()


def content_and_mode(account: Any) -> tuple[bytes, int]:
    """The file with the key."""
    return account.read(FILE), account.path(FILE).stat().st_mode


def new_one(stage: Stage) -> str:
    """A new key that the registry takes."""
    key = new_key()
    stage.registry.allow(key, [PRIVATE])
    return key


def nothing(account: Any) -> None:
    """No preparation."""


def small(account: Any) -> None:
    """A home that is a file system of its own."""
    account.small_home("2m", inodes=200)


def remounted(how: str) -> Callable[[Any], None]:
    """The home mounted anew, ro or rw."""
    return lambda account: account.cluster.world.run("mount", "-o", f"remount,{how}", account.home)


def full(account: Any) -> None:
    """Not a byte is left."""
    account.fill_home()


def emptied(account: Any) -> None:
    """What filled the home goes."""
    account.path(".filler").unlink()


def hanging(account: Any) -> None:
    """The folder of the key answers nobody."""
    account.hang(f"{account.home}/enroot")


def answering(account: Any) -> None:
    """It answers again."""
    account.unhang()


def shut_out(account: Any) -> None:
    """Every connection of the account ends, and no new one is let in."""
    account.cluster.world.run("usermod", "-s", "/bin/false", account.user)
    thrown_out(account)


def thrown_out(account: Any) -> None:
    """Every process of the account ends, its sshd among them."""
    uid = account.login_entry.uid
    account.cluster.world.run("setpriv", f"--reuid={uid}", "--clear-groups", "sh", "-c", "kill -KILL -1; true")


def let_in(account: Any) -> None:
    """It can log in again."""
    account.cluster.world.run("usermod", "-s", "/bin/bash", account.user)


def misled(option: str) -> Callable[[Any], None]:
    """Its connections end, and by this option of ssh's no new one gets there."""

    def happens(account: Any) -> None:
        thrown_out(account)
        account.ssh_config.write_text(f"Match user {account.user}\n    {option}\n{account.ssh_config.read_text()}")

    return happens


def led(account: Any) -> None:
    """That option is taken out again."""
    _match, _option, *rest = account.ssh_config.read_text().splitlines(keepends=True)
    account.ssh_config.write_text("".join(rest))


def linked(account: Any) -> None:
    """The file lies elsewhere, a link in its place."""
    account.ssh(f"mv {FILE} elsewhere && ln -s ~/elsewhere {FILE}")


def unlinked(account: Any) -> None:
    """The file is in its place again."""
    account.ssh(f"mv elsewhere {FILE}")


class Trouble(NamedTuple):
    """What is made ready before, what happens in the middle, how it is fixed, and how the account then is called."""

    ready: Callable[[Any], None]
    happens: Callable[[Any], None]
    fixed: Callable[[Any], None]
    called: str


FAILED, UNKNOWN, UNTOUCHED = "not replaced", "the content of the file is unknown", "could not be reached"
AWAY = f"({UNTOUCHED}|{UNKNOWN})"  # a login that ends at once may have done something
TROUBLES = {
    "full": Trouble(small, full, emptied, FAILED),
    "read-only": Trouble(small, remounted("ro"), remounted("rw"), FAILED),
    "hung": Trouble(nothing, hanging, answering, UNKNOWN),
    "a link": Trouble(nothing, linked, unlinked, FAILED),
    "a jump host that is down": Trouble(nothing, misled("ProxyCommand false"), led, UNTOUCHED),
    "a wrong key": Trouble(nothing, misled("PubkeyAuthentication no"), led, UNTOUCHED),
    "an unknown host": Trouble(nothing, misled("HostName no-such-host.invalid"), led, UNTOUCHED),
    "shut out": Trouble(nothing, shut_out, let_in, AWAY),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_an_account_in_trouble_keeps_its_old_file_and_is_done_when_the_trouble_is_gone(three: Stage, name: str) -> None:
    trouble, odd, new = TROUBLES[name], three.accounts[1], new_one(three)
    trouble.ready(odd)
    before = content_and_mode(odd)
    ran = met(three, SPREAD, lambda: trouble.happens(odd), key=new)
    print(ran.text)
    left_alone(three, ran, trouble.called, new)
    trouble.fixed(odd)
    assert content_and_mode(odd) == before
    ended = three.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(three, new)
    if name in ("full", "read-only"):
        odd.normal_home()


def left_alone(stage: Stage, ran: Ran, called: str, new: str) -> None:
    """The run failed for one account alone, said so, named the command that goes on, and did the others."""
    text, odd = " ".join(ran.text.split()), stage.accounts[1]
    assert ran.code == 2, ran.text
    assert re.search(rf"{re.escape(odd.name)}:enroot_credential:? [^✓!✗]*{called}", text), ran.text
    assert len(re.findall(r"\brotate\w*\.yml", text)) == 1, ran.text
    assert "rotate_resume=true" in text
    assert "nothing is left" not in text
    assert "deactivate the old key" not in text
    for account in stage.accounts:
        assert account is odd or set(stage.held(account)) == {new}


BY_HAND = {
    "a foreign line": f"printf %s {shlex.quote(FOREIGN.decode())} >> {FILE}",
    "mode 0644": f"chmod 0644 {FILE}",
}


@pytest.mark.parametrize("how", BY_HAND)
def test_what_somebody_changed_by_hand_meanwhile_is_no_obstacle(three: Stage, how: str) -> None:
    odd, new = three.accounts[1], new_one(three)

    def by_hand() -> None:
        assert odd.ssh(BY_HAND[how]).returncode == 0

    ran = met(three, SPREAD, by_hand, key=new)
    assert ran.code == 0, ran.text
    assert settled(three, new)
    content, mode = content_and_mode(odd)
    assert mode & 0o7777 == 0o600
    assert content.count(b"\n") == 2 + (how == "a foreign line")
    assert (FOREIGN in content) == (how == "a foreign line")


@pytest.mark.parametrize("how", [f"rm {FILE}", "rm -r enroot"])
def test_a_file_that_somebody_removed_meanwhile_is_not_created_again(three: Stage, how: str) -> None:
    odd, new = three.accounts[1], new_one(three)
    ran = met(three, SPREAD, lambda: odd.ssh(how), key=new)
    assert ran.code == 0, ran.text
    assert "does not contain the key 'ngc'" in " ".join(ran.text.split())
    assert not odd.exists(FILE)
    assert [set(three.held(account)) for account in three.accounts] == [{new}, set(), {new}]


def test_another_key_that_somebody_put_in_meanwhile_stays(three: Stage) -> None:
    odd, new = three.accounts[1], new_one(three)
    ran = met(three, SPREAD, lambda: odd.ssh(f"sed -i s/nvapi-.*/{OTHER}/ {FILE}"), key=new)
    left_alone(three, ran, "it contains a key that hpc-onboard", new)
    assert keys_in(odd.read(FILE)) == {OTHER}


def test_a_line_that_drops_while_the_key_is_tried_leaves_an_account_of_which_nothing_is_said(three: Stage) -> None:
    """The registry is slow, so the key stands in the file and its account waits; then its connection ends."""
    odd, new = three.accounts[1], new_one(three)

    def drop() -> None:
        deadline = time.monotonic() + 30
        while keys_in(odd.read(FILE)) != {new} and time.monotonic() < deadline:
            time.sleep(0.01)
        thrown_out(odd)
        three.registry.mode = "well"

    def slow() -> None:
        three.registry.mode = "slow"
        threading.Thread(target=drop).start()

    ran = met(three, SPREAD, slow, key=new)
    print(ran.text)
    left_alone(three, ran, UNKNOWN, new)
    assert keys_in(odd.read(FILE)) in ({new}, {three.old})
    ended = three.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(three, new)


def test_files_that_were_never_written_do_not_hold_up_a_cancellation(three: Stage) -> None:
    linked, doubled, _other = three.accounts
    linked.ssh(f"mv {FILE} elsewhere && ln -s ../elsewhere {FILE}")
    doubled.ssh(f"ln {FILE} second")
    ran = three.rotate(key=new_one(three))
    assert ran.code == 2, ran.text
    given_up = three.rotate(rotate_give_up=True)
    assert given_up.code == 0, given_up.text
    assert "Deactivate the new key" in " ".join(given_up.text.split())
    assert settled(three, three.old)


def test_a_cancellation_ends_at_once_without_a_target_that_a_person_excuses(three: Stage) -> None:
    new, away = new_one(three), three.accounts[1]
    assert three.rotate(key=new).code == 0
    away.cluster.world.run("sh", "-c", f"usermod -s /bin/false {away.user}; true")
    stuck = three.rotate(rotate_give_up=True)
    assert stuck.code == 2, stuck.text
    assert "the file may still have the new key" in " ".join(stuck.text.split())
    assert f"rotate_excuse={away.name}:enroot_credential" in " ".join(stuck.text.split())
    ended = three.rotate(rotate_give_up=True, rotate_excuse=f"{away.name}:enroot_credential")
    assert ended.code == 0, ended.text
    assert set(three.held(three.accounts[0])) == {three.old}
