# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions of a secret: one is current whatever happens, an edit shows, and one rotation goes on at a time."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions as _versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import current_keyring_name
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import VersionStore
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import KeyVersion, Secret
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import local_key
from forked import child
from hypothesis import given
from hypothesis import strategies as st

KEY = b"0123456789abcdef" * 2
CANARY = "nvapi-CaN4rY-" + "x" * 51
ONE, TWO = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
WILSON = "simone@wilson:enroot"
PENDING = KeyVersion(ONE, "personal", "pending", "2026-11-21", "2027-11-21", "aaaaaaaaaaaa", (WILSON,))


def adopted() -> VersionStore:
    """The labels after a plan."""
    store = VersionStore("ngc", KEY)
    store.read_or_adopt("personal", "bbbbbbbbbbbb", (WILSON,))
    return store


# Pure


def test_the_way_of_a_version_through_its_labels() -> None:
    secret = _versions.add_pending(_versions.adopt("ngc", "personal"), PENDING)
    secret = _versions.promote(secret, ONE, (WILSON,))
    assert [(one.id, one.label) for one in secret.versions] == [("first", "previous"), (ONE, "current")]
    secret = _versions.purge(_versions.mark_dead(_versions.retire(secret, "first"), "first"), "first")
    assert [one.label for one in secret.versions] == ["purged", "current"]
    assert secret.current.targets == (WILSON,)
    secret = _versions.abort(_versions.add_pending(secret, replace(PENDING, id=TWO)), TWO)
    assert [one.label for one in secret.versions] == ["purged", "current", "retired"]


CHANGES: dict[str, Callable[[Secret, str], Secret]] = {
    "begin": lambda secret, wanted: _versions.add_pending(secret, replace(PENDING, id=wanted)),
    "promote": lambda secret, wanted: _versions.promote(secret, wanted, ()),
    "retire": _versions.retire,
    "abort": _versions.abort,
    "dead": _versions.mark_dead,
    "purge": _versions.purge,
}
IDS = ("first", ONE, TWO, "33333333-3333-3333-3333-333333333333")


@given(st.lists(st.tuples(st.sampled_from(sorted(CHANGES)), st.sampled_from(IDS)), max_size=40))
def test_whatever_is_tried_one_is_current_and_labels_go_forward(tries: list[tuple[str, str]]) -> None:
    secret = _versions.adopt("ngc", "personal")
    order = _versions.LABELS.index
    for name, wanted in tries:
        before = secret
        with suppress(StateError):
            secret = CHANGES[name](secret, wanted)
        assert _versions.find_flaw(secret) == ""
        assert [one.id for one in secret.versions][: len(before.versions)] == [one.id for one in before.versions]
        back = [
            one.label
            for one, was in zip(secret.versions, before.versions, strict=False)
            if order(one.label) < order(was.label)
        ]
        assert back == []
        assert _versions.deserialize(_versions.serialize(secret, 3, KEY), "ngc", KEY) == (secret, 3)


@pytest.mark.parametrize(
    "versions",
    [
        (),
        (PENDING,),
        (replace(PENDING, label="current"), replace(PENDING, id=TWO, label="current")),
        (KeyVersion("first", "personal", "current"), PENDING, replace(PENDING, id=TWO)),
        (
            KeyVersion("first", "personal", "current"),
            replace(PENDING, label="previous"),
            replace(PENDING, id=TWO, label="previous"),
        ),
        (KeyVersion("first", "personal", "current"), KeyVersion("first", "personal", "dead")),
    ],
)
def test_what_does_not_hold_together_is_refused_when_read_and_written(
    versions: tuple[KeyVersion, ...], state: Path
) -> None:
    wrong = Secret("ngc", versions)
    with pytest.raises(StateError, match="contradict each other"):
        _versions.deserialize(_versions.serialize(wrong, 1, KEY), "ngc", KEY)
    store = adopted()
    with pytest.raises(StateError):
        store.update(lambda _: wrong)
    assert store.load() == _versions.adopt("ngc", "personal", "bbbbbbbbbbbb", (WILSON,))


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": CANARY},
        {"kind": CANARY},
        {"issued": CANARY},
        {"expires": "in a year"},
        {"expires": "2027-02-30"},
        {"fingerprint": CANARY},
        {"targets": (CANARY,)},
        {"targets": ("me@example.org",)},
        {"label": "new"},
    ],
)
def test_a_value_does_not_get_in(wrong: dict[str, Any], state: Path) -> None:
    store = adopted()
    with pytest.raises(StateError) as said:
        store.update(lambda secret: replace(secret, versions=(*secret.versions, replace(PENDING, **wrong))))
    assert CANARY not in str(said.value)
    assert not [file for file in state.rglob("*") if file.is_file() and b"CaN4rY" in file.read_bytes()]


# Kept


def test_without_a_rotation_the_plain_name_is_current(state: Path) -> None:
    assert current_keyring_name("ngc") == "ngc"
    assert not state.exists()
    store = VersionStore("ngc", bytes.fromhex(local_key()))
    store.read_or_adopt("personal")
    assert current_keyring_name("ngc") == "ngc"
    store.update(lambda secret: _versions.add_pending(secret, PENDING))
    assert current_keyring_name("ngc") == "ngc"
    store.update(lambda secret: _versions.promote(secret, ONE, (WILSON,)))
    assert current_keyring_name("ngc") == f"ngc@{ONE}"
    assert current_keyring_name("ngc@first") == "ngc@first"
    assert current_keyring_name("wandb") == "wandb"


def test_what_is_adopted_twice_stays(state: Path) -> None:
    store = adopted()
    store.update(lambda secret: _versions.add_pending(secret, PENDING))
    assert store.read_or_adopt("legacy").find_label("pending") == replace(PENDING, sequence=1)


@pytest.mark.parametrize("name", ["", "a/b", "../ngc", "ngc@1", CANARY, "n" * 33, ".ngc"])
def test_a_name_that_is_none_is_refused(name: str, state: Path) -> None:
    with pytest.raises(StateError) as said:
        VersionStore(name, KEY)
    assert CANARY not in str(said.value)


EDITS: dict[str, Callable[[bytes], bytes]] = {
    "label": lambda text: text.replace(b'"pending"', b'"current"').replace(b'"current"', b'"previous"', 1),
    "fingerprint": lambda text: text.replace(b"aaaaaaaaaaaa", b"cccccccccccc"),
    "expiry": lambda text: text.replace(b"2027", b"2037"),
    "count": lambda text: text.replace(b'"seq": 2', b'"seq": 9'),
    "no signature": lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "mac"}).encode(),
    "empty": lambda text: b"",
    "cut": lambda text: text[:-9],
    "list": lambda text: b"[]",
    "odd": lambda text: b'{"mac": 7}',
    "deep": lambda text: b"[" * 100_000,
    "bytes": lambda text: b"\xff" + text,
}


@pytest.mark.parametrize("how", EDITS)
def test_an_edit_shows(how: str, state: Path) -> None:
    store = adopted()
    store.update(lambda secret: _versions.add_pending(secret, PENDING))
    file = state / "secrets/ngc.json"
    before = file.read_bytes()
    file.write_bytes(EDITS[how](before))
    for act in (store.load, lambda: store.update(lambda secret: secret)):
        with pytest.raises(StateError, match=r"edited|damaged"):
            act()
    file.write_bytes(before)
    assert store.load()


def test_another_secrets_record_is_not_taken(state: Path) -> None:
    adopted()
    os.rename(state / "secrets/ngc.json", state / "secrets/wandb.json")
    with pytest.raises(StateError, match="edited"):
        VersionStore("wandb", KEY).load()


def test_what_others_could_change_is_refused(state: Path) -> None:
    store = adopted()
    (state / "secrets/ngc.json").chmod(0o644)
    for act in (store.load, lambda: store.update(lambda secret: _versions.add_pending(secret, PENDING))):
        with pytest.raises(StateError):
            act()


def test_a_kill_leaves_the_old_labels_or_the_new_ones(state: Path) -> None:
    store, chance = adopted(), random.Random(5)

    def turn() -> None:
        while True:
            version = _versions.new_id()
            store.update(partial(_versions.add_pending, pending=replace(PENDING, id=version)))
            store.update(partial(_versions.abort, version=version))

    file = state / "secrets/ngc.json"
    for _ in range(40):
        before = file.read_bytes()
        pid = child(turn)
        deadline = time.monotonic() + 30
        while file.read_bytes() == before and time.monotonic() < deadline:
            time.sleep(0.0005)  # on a busy machine it begins late
        time.sleep(chance.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL, "it ended by itself"
        secret = store.load()
        assert secret
        pending = secret.find_label("pending")
        if pending:
            store.update(lambda secret, wanted=pending.id: _versions.abort(secret, wanted))
    assert len(secret.versions) > 10


def test_two_processes_that_move_at_once_lose_nothing(state: Path) -> None:
    adopted()

    def turn(at: int) -> Callable[[], None]:
        def work() -> None:
            name = f"s{at}"
            own = VersionStore(name, KEY)
            own.read_or_adopt("personal")
            for number in range(20):
                version = f"{at:08x}-0000-0000-0000-{number:012x}"
                VersionStore("ngc", KEY).update(
                    lambda secret, version=version: replace(
                        secret, versions=(*secret.versions, replace(PENDING, id=version, label="dead"))
                    )
                )

        return work

    children = [child(turn(at)) for at in range(3)]
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
    secret = VersionStore("ngc", KEY).load()
    assert secret
    assert len(secret.versions) == 61


def test_a_second_rotation_waits_for_the_end_of_the_first(state: Path) -> None:
    store = adopted()
    reader, writer = os.pipe()

    def hold() -> None:
        with store.lock_rotation():
            os.write(writer, b"!")
            time.sleep(60)

    pid = child(hold)
    os.read(reader, 1)
    with (
        pytest.raises(
            StateError,
            match=rf"another rotation of 'ngc' is still running "
            rf"\(.*process {pid},",
        ),
        store.lock_rotation(),
    ):
        pass
    with VersionStore("wandb", KEY).lock_rotation():
        pass
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with store.lock_rotation():
        store.update(lambda secret: _versions.add_pending(secret, PENDING))
    with pytest.raises(StateError, match=r"is already open\. Finish it with --resume"):
        store.update(lambda secret: _versions.add_pending(secret, replace(PENDING, id=TWO)))
