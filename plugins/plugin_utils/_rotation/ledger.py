# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger: what was done with which version of a key, where, and what came of it; and never a key.

One JSON line per event in the state folder, only ever added to, each chained to the one before with a
key. The head (ledger.head) names the last line, so that lines cut off the end are missed. What cannot be
known: that ledger and head were both put back to an older pair.

A record is added in one write and flushed, under a lock. What a killed writer left without its newline
was never a record, and the next writer takes it away.
"""

from __future__ import annotations

import hmac
import json
import os
import pwd
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ...module_utils._core import document_version
from ...module_utils._core.errors import AccountError
from ...module_utils._core.files import flush
from .._state import durable_files, signed_record
from .._state.durable_files import StateError
from .._state.fingerprint_key import local_key, machine_id, state_folder
from .._state.signed_record import Author, Event, Head, Misfit, Record

HEAD_SCHEMA = "hpc.onboard/ledger-head/1.0"
LEDGER, HEAD, LOCK = "ledger.jsonl", "ledger.head", "ledger.lock"
WAIT_SECONDS = 60.0
TAIL = 64 * 1024  # no record is nearly as long
NO_KEY = "none"  # evidence: the target holds no key
HOLDS = ("installed", "verified")  # results after which the target is known to hold the version
AWAY = "keep ledger.jsonl and ledger.head for a look and move both away, then a new ledger begins"


class LedgerError(StateError):
    """The ledger is not as it was written, or cannot be."""


class NewerLedger(LedgerError):
    """A newer version of hpc.onboard wrote the ledger, and it may well be whole."""


def record_key() -> bytes:
    """The key that ledger and labels are signed with: this machine's own."""
    key = bytes.fromhex(local_key())
    if bytes.fromhex(local_key()) != key:  # it is another one each time where it cannot be kept
        raise AccountError(f"{state_folder()} cannot be written: without records no key is rotated")
    return key


def author(run: str = "", machine: str = "") -> Author:
    """Who writes: this user and machine (its id, where there is one), and the run (a new one where none is given)."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    actor = re.sub(r"[^A-Za-z0-9_.-]", "_", user.split("@")[0])[:32]
    controller = re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename)[:63]
    return Author(run or str(uuid.uuid4()), actor or "unknown", controller or "unknown", machine)


def now() -> str:
    """This moment, for people: nothing is ordered by it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Ledger:
    """The ledger of this user. The key (16 bytes or more) must be the same one every time."""

    def __init__(self, key: bytes, by: Author | None = None) -> None:
        self._key = signed_record.subkey(key, "ledger")
        self._head_key = signed_record.subkey(key, "ledger head")
        self._by = by or author(machine=machine_id(key))

    def append(self, event: Event) -> Record:
        """Add a record; when this returns, it is on the disk. Raises LedgerError, StateError or RecordError."""
        return self._append(lambda last: signed_record.seal(event, self._by, last, now(), self._key))

    def _append(self, made: Callable[[Head], Record]) -> Record:
        """Add the record that is made to follow the last one."""
        with durable_files.as_state_error(LEDGER), durable_files.open_folder() as at, self._locked(at):
            new = not self._there(at)
            handle = durable_files.open_file(at, LEDGER, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                last = self._repaired(at, handle)
                record = made(last)
                line = signed_record.line(record)
                _add(handle, line)
                if new:
                    flush(at)
            finally:
                os.close(handle)
            self._write_head(at, Head(record.seq, record.hash, last.size + len(line)))
        return record

    def told(self) -> list[dict[str, Any]]:
        """Return all records without what chains them. Raise LedgerError as records() does."""
        return [signed_record.unchained(vars(record)) for record in self.records()]

    def add(self, told: Sequence[Mapping[str, Any]]) -> None:
        """Add records of another machine's ledger, signed anew. Raises RecordError for what is no record.

        All of it is looked at before anything is added.
        """
        last = Head()
        for one in told:
            last = Head(last.seq + 1, signed_record.chained(one, last, self._key).hash)
        for one in told:
            self._append(partial(signed_record.chained, one, key=self._key))

    def records(self) -> list[Record]:
        """All records, oldest first. Raises LedgerError when a line does not fit."""
        records, misfit = self._fitting()
        if misfit and misfit.newer:
            raise NewerLedger(misfit.why)
        if misfit:
            raise LedgerError(f"line {misfit.line} of {LEDGER} does not fit: {misfit.why}; {AWAY}")
        return records

    def verify(self) -> Misfit | None:
        """The first line that is not as it was written, or None."""
        return self._fitting()[1]

    def who_has(self, fingerprint: str) -> dict[str, str]:
        """Every target that the key with this fingerprint ever went to, with the last known state."""
        return who_has(self.records(), fingerprint)

    def state_of(self, secret: str, version: str) -> dict[str, str]:
        """The last known state of every target of a version."""
        return state_of(self.records(), secret, version)

    def _fitting(self) -> tuple[list[Record], Misfit | None]:
        with durable_files.as_state_error(LEDGER), durable_files.open_folder(create=False) as at:
            if at < 0:
                return [], None
            with self._locked(at):
                head = self._head(at)
                content = durable_files.read_file(at, LEDGER)
        if content is None:
            return [], Misfit(1, "the ledger was removed, its head is still there") if head else None
        return signed_record.fitting(_whole(content).split(b"\n")[:-1], head, self._key)

    @contextmanager
    def _locked(self, at: int) -> Iterator[None]:
        with durable_files.hold_lock(at, LOCK, "another run writes the ledger and does not end", WAIT_SECONDS):
            yield

    def _there(self, at: int) -> bool:
        try:
            os.stat(LEDGER, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _repaired(self, at: int, handle: int) -> Head:
        """The end of the ledger, after the torn line of a killed writer was taken away and the head caught up."""
        head = self._head(at) or Head()
        size = os.fstat(handle).st_size
        tail = os.pread(handle, TAIL, max(0, size - TAIL))
        whole = _whole(tail)
        end = size - len(tail) + len(whole)
        last = self._last(whole, end, head)
        if end < size:
            os.ftruncate(handle, end)
            os.fsync(handle)
        if last.seq > head.seq:
            self._write_head(at, last)
        return last

    def _last(self, whole: bytes, end: int, head: Head) -> Head:
        """The last record of the ledger's end, which must be the head's or the one after it."""
        last = Head()
        if whole:
            line = whole[:-1].rpartition(b"\n")[2]
            try:
                record = signed_record.parsed(line, self._key)
            except signed_record.NewerRecord as error:
                raise LedgerError(str(error)) from None
            except signed_record.RecordError as error:
                raise LedgerError(f"the last line of {LEDGER} does not fit: {error}; {AWAY}") from None
            last = Head(record.seq, record.hash, end)
            if head == Head(record.seq - 1, record.prev, end - len(line) - 1):
                return last
        if last != head:
            raise LedgerError(f"the end of {LEDGER} does not fit {HEAD}: lines or the head were changed; {AWAY}")
        return last

    def _head(self, at: int) -> Head | None:
        content = durable_files.read_file(at, HEAD)
        if content is None:
            return None
        try:
            found = json.loads(content)
            why = document_version.refusal(found["schema"], HEAD_SCHEMA, HEAD, AWAY)
            if why:
                raise LedgerError(why)
            mac = str(found.pop("mac"))
            if hmac.compare_digest(self._head_mac(found), mac):
                return Head(int(found["seq"]), str(found["hash"]), int(found["size"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        raise LedgerError(f"{HEAD} was edited, or written with another key; {AWAY}")

    def _head_mac(self, found: Mapping[str, object]) -> str:
        return hmac.digest(self._head_key, signed_record.canonical(found).encode(), "sha256").hex()

    def _head_text(self, head: Head) -> bytes:
        found = {"schema": HEAD_SCHEMA, **head._asdict()}
        return signed_record.canonical({**found, "mac": self._head_mac(found)}).encode() + b"\n"

    def _write_head(self, at: int, head: Head) -> None:
        durable_files.replace_file(at, HEAD, self._head_text(head))


def _add(handle: int, text: bytes) -> None:
    """One write at the end, flushed; a write that was cut short is taken back."""
    size = os.fstat(handle).st_size
    try:
        written = os.write(handle, text)
        if written == len(text):
            os.fsync(handle)
            return
    except OSError:
        os.ftruncate(handle, size)
        raise
    os.ftruncate(handle, size)
    raise LedgerError(f"{LEDGER}: the file system took only part of a line: is it full? make room, then run again")


def _whole(content: bytes) -> bytes:
    """What has its newline; the rest is of a writer that was killed, as is a last line with holes (a power cut)."""
    end = content.rfind(b"\n") + 1
    while end and b"\0" in content[content.rfind(b"\n", 0, end - 1) + 1 : end]:
        end = content.rfind(b"\n", 0, end - 1) + 1
    return content[:end]


def held(records: Iterable[Record]) -> dict[tuple[str, str, str], tuple[str, int]]:
    """The last known (state, number of the record) of every (secret, version, target)."""
    states: dict[tuple[str, str, str], tuple[str, int]] = {}
    for one in records:
        if one.target and one.version:
            states[one.secret, one.version, one.target] = (_state(one), one.seq)
    return states


def _state(one: Record) -> str:
    """The state of a target after a record: begun and not ended is unknown; what was found there may say more."""
    if "found" in one.evidence and one.result in ("excused", "failed"):
        return "absent" if one.evidence["found"] == NO_KEY else "foreign"
    return "unknown" if one.result == "begun" else one.result


def state_of(records: Iterable[Record], secret: str, version: str) -> dict[str, str]:
    """The last known state of every target of a version; begun and not ended is unknown."""
    return {key[2]: state for key, (state, _seq) in sorted(held(records).items()) if key[:2] == (secret, version)}


def who_has(records: Iterable[Record], fingerprint: str) -> dict[str, str]:
    """Every target that the key ever went to, and its last known state; replaced where a later version is there."""
    records, wanted = list(records), fingerprint.removeprefix("key ")
    versions = {(one.secret, one.version) for one in records if wanted and one.fingerprint == wanted and one.version}
    states = held(one for one in records if one.result != "staged" and "found" not in one.evidence)
    there: dict[str, str] = {}
    for (secret, version, target), (state, seq) in states.items():
        if (secret, version) not in versions:
            continue
        later = any(
            other[0] == secret and other[2] == target and other[1] != version and found[0] in HOLDS and found[1] > seq
            for other, found in states.items()
        )
        there[target] = "replaced" if later and state in HOLDS else state
    return dict(sorted(there.items()))
