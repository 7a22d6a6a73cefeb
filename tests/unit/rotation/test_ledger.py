# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger: whole lines or none, whoever is killed; an edit shows; nothing gets in that should not be there."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import ledger as _ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import (
    HEAD,
    LEDGER,
    Ledger,
    LedgerError,
    record_key,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import signed_record
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import local_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.signed_record import Event
from forked import child
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import turns

pytestmark = turns(2)

KEY = b"0123456789abcdef" * 2
ONE, TWO = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
CANARY = "nvapi-CaN4rY-" + "x" * 51
WILSON, LRZ = "simone@wilson:enroot", "go42tum@lrz:enroot"
FIRST = Event("ngc", "spread", "begun", ONE, WILSON, "aaaaaaaaaaaa")


def filled(number: int = 5) -> Ledger:
    """A ledger with some records."""
    ledger = Ledger(KEY)
    for at in range(number):
        ledger.append(replace(FIRST, result="begun" if at % 2 == 0 else "verified", evidence={"leftovers": at}))
    return ledger


def test_what_was_added_is_read_again_in_order(state: Path) -> None:
    ledger = filled()
    assert [one.seq for one in ledger.records()] == [1, 2, 3, 4, 5]
    assert ledger.find_misfit() is None
    assert {file.name: f"{file.stat().st_mode & 0o777:o}" for file in state.iterdir()} == {
        "ledger.jsonl": "600",
        "ledger.head": "600",
        "ledger.lock": "600",
    }
    assert state.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["_build", "-a", ".b", "ü", "", "a@b", "x" * 90])
def test_whatever_user_and_machine_are_called_records_are_written(
    name: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ledger.os, "uname", lambda: SimpleNamespace(nodename=name))
    monkeypatch.setattr(_ledger.pwd, "getpwuid", lambda _uid: SimpleNamespace(pw_name=name))
    filled(1)
    assert len(Ledger(KEY).records()) == 1


def test_a_long_user_name_on_an_account_is_recorded(state: Path) -> None:
    """The accounts file accepts such names, so a rotation must not stop at one."""
    account = "firstname.lastname.of-the-institute@cluster-of-the-national-facility"
    assert len(account.partition("@")[0]) > 32
    target = f"{account}:netrc_entry"
    record = Ledger(KEY).append(Event("ngc", "plan", "staged", "first", target))
    assert Ledger(KEY).records() == [record]
    assert versions.adopt("ngc", "personal", targets=(target,)).current.targets == (target,)


def test_nothing_is_made_by_looking(state: Path) -> None:
    assert Ledger(KEY).find_misfit() is None
    assert Ledger(KEY).records() == []
    assert not state.exists()


def edited(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2].replace(b"begun", b"ended"), *lines[3:]]


def forged(lines: list[bytes]) -> list[bytes]:
    """A line that is whole and chained, made without the key."""
    last = json.loads(lines[-1])
    head = signed_record.Head(last["seq"], last["hash"])
    more = signed_record.sign_event(FIRST, _ledger.current_author(), head, _ledger.utc_now(), b"another key of 16")
    return [*lines, signed_record.to_line(more)[:-1]]


TAMPERED: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int]] = {
    "edited": (edited, 3),
    "removed": (lambda lines: lines[:1] + lines[2:], 2),
    "first removed": (lambda lines: lines[1:], 1),
    "reordered": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], 2),
    "doubled": (lambda lines: [*lines, lines[-1]], 6),
    "cut off": (lambda lines: lines[:-1], 5),
    "two cut off": (lambda lines: lines[:-2], 4),
    "emptied": (lambda lines: [], 1),
    "spaced": (lambda lines: [lines[0] + b" ", *lines[1:]], 1),
    "added": (forged, 6),
    "noise in the middle": (lambda lines: [*lines[:2], b"\xff{}", *lines[2:]], 3),
    "deep": (lambda lines: [b"[" * 100_000, *lines], 1),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_the_first_line_that_does_not_fit_is_named(how: str, state: Path) -> None:
    ledger = filled()
    change, line = TAMPERED[how]
    lines = change((state / LEDGER).read_bytes().splitlines())
    (state / LEDGER).write_bytes(b"".join(one + b"\n" for one in lines))
    misfit = ledger.find_misfit()
    assert misfit
    assert misfit.line == line
    with pytest.raises(LedgerError, match=f"line {line} "):
        ledger.records()


@pytest.mark.parametrize("how", ["cut off", "two cut off", "emptied", "added", "doubled"])
def test_nothing_is_added_to_an_end_that_does_not_fit(how: str, state: Path) -> None:
    ledger = filled()
    lines = TAMPERED[how][0]((state / LEDGER).read_bytes().splitlines())
    (state / LEDGER).write_bytes(b"".join(one + b"\n" for one in lines))
    before = (state / LEDGER).read_bytes()
    with pytest.raises(LedgerError):
        ledger.append(FIRST)
    assert (state / LEDGER).read_bytes() == before


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"hash":"","mac":"","seq":9}', b"\xff"])
def test_a_head_that_was_removed_or_edited_shows(content: bytes | None, state: Path) -> None:
    ledger = filled()
    if content is None:
        (state / HEAD).unlink()
        misfit = ledger.find_misfit()
        assert misfit
        assert misfit.line == 2
    else:
        (state / HEAD).write_bytes(content)
        with pytest.raises(LedgerError, match="head"):
            ledger.find_misfit()
    with pytest.raises(LedgerError):
        ledger.append(FIRST)


def test_an_old_head_shows(state: Path) -> None:
    ledger = filled(2)
    old = (state / HEAD).read_bytes()
    filled(3)
    (state / HEAD).write_bytes(old)
    misfit = ledger.find_misfit()
    assert misfit
    assert misfit.line == 4


def test_a_ledger_that_was_removed_shows(state: Path) -> None:
    ledger = filled()
    (state / LEDGER).unlink()
    assert ledger.find_misfit()
    with pytest.raises(LedgerError):
        ledger.append(FIRST)


def test_another_key_adds_and_reads_nothing(state: Path) -> None:
    filled()
    other = Ledger(b"another key of 16")
    with pytest.raises(LedgerError):
        other.append(FIRST)
    with pytest.raises(LedgerError):
        other.records()
    with pytest.raises(StateError, match="16 bytes"):
        Ledger(b"short")


@pytest.mark.parametrize("torn", [b"{", b'{"actor":"me"', b"\0" * 900, b"\0" * 70 + b'","x":1}\n', b"\xff\xfe"])
def test_a_torn_last_line_was_never_there_and_is_taken_away(torn: bytes, state: Path) -> None:
    ledger = filled(3)
    whole = (state / LEDGER).read_bytes()
    (state / LEDGER).write_bytes(whole + torn)
    assert ledger.find_misfit() is None
    assert len(ledger.records()) == 3
    assert ledger.append(FIRST).seq == 4
    assert (state / LEDGER).read_bytes().startswith(whole + b'{"actor"')
    assert ledger.find_misfit() is None


def test_a_line_that_the_head_knows_does_not_tear(state: Path) -> None:
    ledger = filled(3)
    content = (state / LEDGER).read_bytes()
    for cut in range(content[:-1].rfind(b"\n") + 1, len(content), 5):
        (state / LEDGER).write_bytes(content[:cut])
        misfit = ledger.find_misfit()
        assert misfit
        assert misfit.line == 3
        with pytest.raises(LedgerError):
            ledger.append(FIRST)


def test_the_head_catches_up_with_a_writer_that_was_killed_before_it(state: Path) -> None:
    ledger = filled(2)
    head = (state / HEAD).read_bytes()
    ledger.append(FIRST)
    (state / HEAD).write_bytes(head)
    assert ledger.find_misfit() is None
    assert ledger.append(FIRST).seq == 4
    assert ledger.find_misfit() is None


CALLS = ("open", "write", "fsync", "rename", "fstat", "listdir", "pread", "stat", "ftruncate", "mkdir", "close", "read")


@pytest.mark.parametrize("name", CALLS)
def test_an_error_at_any_call_leaves_whole_lines(name: str, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = getattr(os, name)
    for failing in range(40):
        ledger, calls = filled(1) if not state.exists() else Ledger(KEY), iter(range(1000))

        def fail(*given: Any, at: int = failing, calls: Any = calls, **more: Any) -> Any:
            if next(calls) == at:
                raise OSError(errno.ENOSPC, CANARY)
            return real(*given, **more)

        before = len(ledger.records())
        monkeypatch.setattr(os, name, fail)
        said = ""
        try:
            ledger.append(FIRST)
        except StateError as error:
            said = str(error)
        monkeypatch.undo()
        monkeypatch.setenv("XDG_STATE_HOME", str(state.parent))
        after = len(ledger.records())
        assert after - before in ((0, 1) if said else (1,))
        assert "CaN4rY" not in said
        if next(calls) <= failing:
            break


def test_a_write_that_is_cut_short_is_taken_back(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = filled(2)
    before = (state / LEDGER).read_bytes()
    real = os.write
    monkeypatch.setattr(_ledger.os, "write", lambda handle, text: real(handle, text[:40]))
    with pytest.raises(LedgerError, match="only part"):
        ledger.append(FIRST)
    monkeypatch.undo()
    assert (state / LEDGER).read_bytes() == before


def add_many(at: int, rounds: int) -> Callable[[], None]:
    def work() -> None:
        ledger = Ledger(KEY, replace(_ledger.current_author(), run=f"{at:08x}"))
        for number in range(rounds):
            ledger.append(replace(FIRST, evidence={"leftovers": number}))

    return work


def test_processes_that_add_at_once_lose_nothing(state: Path) -> None:
    children = [child(add_many(at, 40)) for at in range(4)]
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    records = Ledger(KEY).records()
    assert [one.seq for one in records] == list(range(1, 161))
    for at in range(4):
        mine = [one.evidence["leftovers"] for one in records if one.run == f"{at:08x}"]
        assert mine == list(range(40))


def test_a_killed_writer_leaves_whole_lines(state: Path) -> None:
    chance, kept = random.Random(11), 0
    for _ in range(60):
        pid = child(add_many(1, 1000))
        time.sleep(chance.uniform(0.001, 0.02))
        os.kill(pid, signal.SIGKILL)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL, "it ended by itself"
        assert Ledger(KEY).find_misfit() is None
        number = len(Ledger(KEY).records())
        assert number >= kept
        kept = Ledger(KEY).append(FIRST).seq
        assert kept == number + 1
    assert kept > 60


# Who may touch it


def loose_file(state: Path) -> None:
    (state / LEDGER).chmod(0o640)


def loose_folder(state: Path) -> None:
    state.chmod(0o750)


def writable_above(state: Path) -> None:
    state.parent.chmod(0o777)


def linked_file(state: Path) -> None:
    (state / LEDGER).rename(state / "elsewhere")
    (state / LEDGER).symlink_to(state / "elsewhere")


def linked_head(state: Path) -> None:
    (state / HEAD).rename(state / "elsewhere")
    (state / HEAD).symlink_to(state / "elsewhere")


def linked_lock(state: Path) -> None:
    (state / "ledger.lock").unlink()
    (state / "ledger.lock").symlink_to(state / "elsewhere")


def linked_folder(state: Path) -> None:
    state.rename(state.with_name("elsewhere"))
    state.symlink_to(state.with_name("elsewhere"))


def second_name(state: Path) -> None:
    os.link(state / LEDGER, state / "second")


def pipe(state: Path) -> None:
    (state / LEDGER).unlink()
    os.mkfifo(state / LEDGER, 0o600)


def a_folder(state: Path) -> None:
    (state / LEDGER).unlink()
    (state / LEDGER).mkdir(0o700)


def foreign_file(state: Path) -> None:
    os.chown(state / LEDGER, 12345, -1)


def foreign_folder(state: Path) -> None:
    os.chown(state, 12345, -1)


def foreign_above(state: Path) -> None:
    os.chown(state.parent, 12345, -1)


UNSAFE = [
    loose_file,
    loose_folder,
    writable_above,
    linked_file,
    linked_head,
    linked_lock,
    linked_folder,
    second_name,
    pipe,
    a_folder,
    foreign_file,
    foreign_folder,
    foreign_above,
]


@pytest.mark.parametrize("make", UNSAFE)
def test_what_others_could_change_is_refused(make: Callable[[Path], None], state: Path) -> None:
    if make.__name__.startswith("foreign") and os.getuid() != 0:
        pytest.skip("only root can give a file away")
    ledger = filled(2)
    make(state)
    for act in (lambda: ledger.append(FIRST), ledger.find_misfit):
        with pytest.raises(StateError) as said:
            act()
        assert any(word in str(said.value) for word in ("chmod", "move", "belongs", "Check permissions"))


# What may be said

BAD: list[tuple[str, Any]] = [
    ("secret", CANARY),
    ("secret", "me@example.org"),
    ("secret", "ngc\n"),
    ("version", CANARY),
    ("version", "2"),
    ("fingerprint", "a" * 40),
    ("step", "rotate"),
    ("result", "fine"),
    ("target", "simone.m@fnal.gov"),
    ("target", "simone@fnal.gov:enroot"),
    ("target", f"simone@wilson:{CANARY}"),
    ("verdict", "HTTP 200"),
    ("evidence", {"body": CANARY}),
    ("evidence", {"kind": CANARY}),
    ("evidence", {"http_status": CANARY}),
    ("evidence", {"http_status": True}),
    ("evidence", {"http_status": 7}),
    ("evidence", {"found": "a" * 40}),
    ("evidence", {"until": "tomorrow"}),
    ("secret", 7),
    ("target", None),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_value_an_answer_or_an_address_does_not_get_in(name: str, value: object, state: Path) -> None:
    ledger = filled(1)
    with pytest.raises(StateError) as said:
        ledger.append(replace(FIRST, **{name: value}))
    assert CANARY not in str(said.value)
    assert len(ledger.records()) == 1
    assert not [file for file in state.rglob("*") if file.is_file() and b"CaN4rY" in file.read_bytes()]


@given(
    st.text(max_size=90) | st.from_regex(r"(nvapi-[A-Za-z0-9_-]{64}|[0-9a-f]{40}|hf_[A-Za-z0-9]{34})", fullmatch=True)
)
def test_no_field_takes_a_key(value: str) -> None:
    fields = ("secret", "step", "result", "version", "target", "fingerprint", "verdict")
    for name in fields:
        said, record = sealed(replace(FIRST, **{name: value}))
        assert record or len(value) < 12 or value not in said
        assert not record or len(value) < 37
        assert not record or "@" not in value or name == "target"


def sealed(event: Event) -> tuple[str, signed_record.Record | None]:
    """What was said of an event, and the record of it if it was taken."""
    try:
        return "", signed_record.sign_event(
            event, _ledger.current_author(), signed_record.Head(), _ledger.utc_now(), KEY
        )
    except StateError as error:
        return str(error), None


# Questions


def say(*events: tuple[str, str, str, str]) -> Ledger:
    """A ledger of (version, fingerprint, target, result)."""
    ledger = Ledger(KEY)
    for version, fingerprint, target, result in events:
        ledger.append(Event("ngc", "spread", result, version, target, fingerprint))
    return ledger


def test_who_has_a_key_and_who_had(state: Path) -> None:
    old, new = "aaaaaaaaaaaa", "bbbbbbbbbbbb"
    ledger = say(
        (ONE, old, WILSON, "verified"),
        (ONE, old, LRZ, "installed"),
        (TWO, new, WILSON, "begun"),
        (TWO, new, WILSON, "verified"),
        (TWO, new, LRZ, "begun"),
    )
    assert ledger.who_has(old) == {LRZ: "installed", WILSON: "replaced"}
    assert ledger.who_has(new) == {LRZ: "unknown", WILSON: "verified"}
    assert ledger.who_has("cccccccccccc") == ledger.who_has("") == {}
    assert _ledger.target_states(ledger.records(), "ngc", TWO) == {LRZ: "unknown", WILSON: "verified"}
    assert _ledger.target_states(ledger.records(), "wandb", TWO) == {}


def test_a_key_that_came_back_is_there_again(state: Path) -> None:
    old, new = "aaaaaaaaaaaa", "bbbbbbbbbbbb"
    ledger = say((ONE, old, WILSON, "verified"), (TWO, new, WILSON, "installed"), (TWO, new, WILSON, "rolled_back"))
    assert ledger.who_has(old) == {WILSON: "verified"}
    assert ledger.who_has(new) == {WILSON: "rolled_back"}


@pytest.mark.parametrize("content", ["", "not a key\n", "ab" * 16])
def test_a_damaged_key_of_the_machine_is_named_and_not_the_folder(content: str, state: Path) -> None:
    key = bytes.fromhex(local_key())
    assert record_key() == key
    file = state / "fingerprint.key"
    file.write_text(content)
    with pytest.raises(AccountError, match=r"fingerprint\.key.* is damaged") as caught:
        record_key()
    assert "not writable" not in str(caught.value)
