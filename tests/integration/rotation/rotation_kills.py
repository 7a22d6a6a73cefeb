# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a rotation that are killed, all of them at once, and what is then found on the accounts and in the records.

A run has a process namespace of its own: with its first process the kernel ends everything in it, connections too,
as a power cut would. Several lanes, each with accounts, a keyring and a state folder of its own, work side by side.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.encrypted_file import Store

from tests.integration.runs import REPOSITORY
from tests.testbed.registry import PRIVATE, new_key

from .rotation_scene import Stage

HOOK = Path(__file__).parent / "killing"
PLACES = ("enroot/.credentials", ".config/enroot/.credentials", ".apptainer/docker-config.json")
DONE = "nothing is left to do"


class Cut(NamedTuple):
    """When a run is killed: right before or after a record of its ledger (from 1), or so many seconds after one.

    Seconds count from a record (0: from the start), since the machine's speed changes and where a run is must not.
    """

    side: str
    record: int
    seconds: float = 0.0


class Ended(NamedTuple):
    """A run that was killed at work, or ended by itself with a code; when its records came, and its end (seconds)."""

    killed: bool
    code: int
    text: str
    times: list[float]


def awaited(reader: int, cut: Cut | None) -> tuple[bool, list[float]]:
    """Whether the run came to the cut before it ended, and when it wrote its records or ended."""
    start, times = time.monotonic(), list[float]()
    exactly = cut is None or cut.side != "at"
    while True:
        if exactly or cut is None or len(times) < cut.record:
            left = None
        else:
            left = max(0.0, (times[cut.record - 1] if cut.record else 0.0) + cut.seconds - (time.monotonic() - start))
        if not select.select([reader], [], [], left)[0]:
            return True, times
        told = os.read(reader, 1)
        if told == b"!":
            return True, times
        times.append(time.monotonic() - start)
        if not told:
            return False, times


@dataclass
class Lane:
    """A stage whose key is rotated again and again, each time from a state folder without records."""

    stage: Stage
    store: Store
    old: str
    state: Path
    number: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, stage: Stage) -> Lane:
        """A lane with ssh connections of its own."""
        sockets = tempfile.mkdtemp(prefix="cp", dir=stage.bed.folder)
        environment = {**stage.environment, "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets}
        store = Store(stage.ring.file, str(stage.ring.passphrase_file))
        return cls(stage._replace(environment=environment), store, stage.old, stage.folder / "state")

    # -- runs ----------------------------------------------------------------------------------

    def run(self, cut: Cut | None = None, key: str | None = None, **wishes: Any) -> Ended:
        """A run of rotate_ngc.yml, killed where the cut says if it comes there."""
        reader, writer = os.pipe()
        own = {"XDG_STATE_HOME": str(self.state), "PYTHONPATH": str(HOOK), "TELLS": str(writer)}
        held = {"HOLD_AT": f"{cut.side} {self.lines() + cut.record}"} if cut else {}
        ansible = [str(Path(sys.executable).parent / "ansible-playbook"), "rotate_ngc.yml"]
        run = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child=KILL", "--", *ansible, *self.stage.wanted(key, "key", wishes)],
            cwd=REPOSITORY,
            env={**self.stage.bed.client.environment(), **self.stage.environment, **own, **held},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(writer,),
            text=True,
        )
        os.close(writer)
        killed, times = awaited(reader, cut)
        if killed:
            run.kill()
        while os.read(reader, 1):  # it ends when nobody is left who could write
            pass
        os.close(reader)
        return Ended(killed, run.wait(), " ".join(run.communicate()[0].split()), times)

    def lines(self) -> int:
        """How many records the ledger has."""
        path = self.state / "hpc.onboard" / "ledger.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def first(self) -> str | None:
        """The key that was stored by hand, as the keyring has it."""
        return self.store.entries()["hpc.onboard"].get("ngc")

    # -- what is found -------------------------------------------------------------------------

    def files(self) -> list[tuple[bytes, int]]:
        """Every file that holds a key: what is in it, and its mode."""
        paths = [account.path(path) for account in self.stage.accounts for path in PLACES if account.exists(path)]
        return [(path.read_bytes(), path.stat().st_mode) for path in paths]

    def everywhere(self, key: str) -> bool:
        """Whether every account holds this key and no other one."""
        return [keys_in(content) for content, _mode in self.files()] == [{key}] * len(self.stage.accounts)

    # -- lives ---------------------------------------------------------------------------------

    def begin(self) -> str:
        """Another new key, and no records: the key that the accounts hold is the one stored by hand."""
        self.number += 1
        self.state = self.stage.folder / f"state{self.number}"
        self.store.change(lambda entries: entries["hpc.onboard"].update(ngc=self.old))
        new = new_key()
        self.stage.registry.allow(new, [PRIVATE])
        return new

    def live(self, first: Cut, second: Cut | None) -> None:
        """A rotation killed in its first run, and in the one that lets the old key go; each is finished by the next."""
        new = self.begin()
        self._rotate(new, first)
        if second:
            self._retire(new, second)
        self.old = new

    def _rotate(self, new: str, cut: Cut) -> None:
        before = self.files()
        cut_off = self.run(cut, key=new)
        after = self.files()
        fresh = [keys_in(content) == {new} for content, _mode in after]
        for is_new, now, was in zip(fresh, after, before, strict=True):
            assert is_new or now == was, "a target holds neither the new key nor its old file"
            assert now[1] == was[1]
        self._judge(cut_off, done=all(fresh), halves=any(fresh) and not all(fresh))
        if not cut_off.killed:
            assert (cut_off.code, all(fresh)) == (0, True), cut_off.text
        begun = {"rotate_resume": True} if self.lines() else {}
        ended = self.run(key=new, **begun)
        assert (ended.killed, ended.code) == (False, 0), ended.text
        assert self.everywhere(new)
        assert "settled: deactivate the old key" in ended.text

    def _retire(self, new: str, cut: Cut) -> None:
        self.stage.registry.revoke(self.old)
        cut_off = self.run(cut, rotate_resume=True, rotate_retired=True)
        assert self.everywhere(new)
        gone = self.first() is None
        self._judge(cut_off, done=gone, halves=False)
        assert gone or self.first() == self.old
        ended = self.run(rotate_resume=True, rotate_retired=True)
        assert (ended.killed, ended.code) == (False, 0), ended.text
        assert f"clean; {DONE}" in ended.text
        assert self.everywhere(new)
        assert self.first() is None

    def _judge(self, run: Ended, done: bool, halves: bool) -> None:
        """Of any run: the records are whole, it did not say that more is done than is, and it is counted."""
        assert self.stage.ledger_fits(self.state)
        assert done or (DONE not in run.text and "settled" not in run.text), run.text
        for name, happened in (("moments", True), ("at work", run.killed), ("with some accounts done", halves)):
            self.counts[name] = self.counts.get(name, 0) + happened


def keys_in(content: bytes) -> set[str]:
    """The keys in a file, as they are or as base64 of login and key."""
    coded = b" ".join(b64decode(one) for one in re.findall(rb'"auth": "([^"]*)"', content))
    return {one.decode() for one in re.findall(rb"nvapi-[\w-]+", content + b" " + coded)}
