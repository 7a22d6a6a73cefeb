# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger: which version of a key was brought where, and the result; it never holds a key.

One JSON line per event in the state folder, only ever appended, each chained to the line before with a key. The head
(ledger.head) names the last line, so that a cut at the end is noticed. What is not noticed: that both were replaced by
an older pair.

A record is appended in one write and flushed, under a lock. What a killed writer left without its newline was never a
record, and the next writer removes it.
"""

from __future__ import annotations

import hmac
import json
import os
import pwd
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
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
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
START_ANEW = "move ledger.jsonl and ledger.head away without deleting them; the next run starts a new ledger"


class LedgerError(StateError):
    """The ledger is not as it was written, or cannot be read."""


class NewerLedger(LedgerError):
    """A newer version of hpc.onboard wrote the ledger; it may be intact."""


def record_key() -> bytes:
    """Return this machine's key, which signs ledger and labels. Raises AccountError if it cannot be kept."""
    key = bytes.fromhex(local_key())
    if bytes.fromhex(local_key()) != key:  # it is another one each time where it cannot be kept
        raise AccountError(
            f"{state_folder()} is not writable, and no key is rotated without a record: make it "
            f"writable, then run again"
        )
    return key


def current_author(run: str = "", machine: str = "") -> Author:
    """Return this user and host, the machine's id, and the run; a new run if none is given."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    actor = re.sub(r"[^A-Za-z0-9_.-]", "_", user.split("@")[0])[:32]
    controller = re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename)[:63]
    return Author(run or str(uuid.uuid4()), actor or "unknown", controller or "unknown", machine)


def utc_now() -> str:
    """Return this moment, for display: nothing is ordered by it."""
    return datetime.now(UTC).strftime(TIME_FORMAT)


class Ledger:
    """The ledger of this user. The key (16 bytes or more) must be the same one every time."""

    def __init__(self, key: bytes, author: Author | None = None) -> None:
        self._key = signed_record.derive_subkey(key, "ledger")
        self._head_key = signed_record.derive_subkey(key, "ledger head")
        self._author = author or current_author(machine=machine_id(key))

    def append(self, event: Event) -> Record:
        """Append a record; when this returns, it is on the disk. Raises LedgerError, StateError or RecordError."""
        return self._append(lambda last: signed_record.seal(event, self._author, last, utc_now(), self._key))

    def _append(self, make: Callable[[Head], Record]) -> Record:
        """Append the record that is made to follow the last one."""
        with durable_files.as_state_error(LEDGER), durable_files.open_folder() as folder, self._lock(folder):
            is_new = LEDGER not in os.listdir(folder)
            handle = durable_files.open_file(folder, LEDGER, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                last = self._repair_tail(folder, handle)
                record = make(last)
                line = signed_record.to_line(record)
                _write_line(handle, line)
                if is_new:
                    flush(folder)
            finally:
                os.close(handle)
            self._write_head(folder, Head(record.seq, record.hash, last.size + len(line)))
        return record

    def export_records(self) -> list[dict[str, Any]]:
        """Return all records without what chains them. Raises LedgerError as records() does."""
        return [signed_record.remove_from_chain(vars(record)) for record in self.records()]

    def import_records(self, exported: Sequence[Mapping[str, Any]]) -> None:
        """Append records of another machine's ledger, signed by this one. Raises RecordError for an invalid one.

        All of them are checked before the first is appended.
        """
        last = Head()
        for fields in exported:
            last = Head(last.seq + 1, signed_record.add_to_chain(fields, last, self._key).hash)
        for fields in exported:
            self._append(partial(signed_record.add_to_chain, fields, key=self._key))

    def records(self) -> list[Record]:
        """Return all records, oldest first. Raises LedgerError if a line does not fit."""
        records, misfit = self._read_records()
        if misfit and misfit.newer:
            raise NewerLedger(misfit.why)
        if misfit:
            raise LedgerError(f"line {misfit.line} of {LEDGER} is not valid: {misfit.why}; {START_ANEW}")
        return records

    def find_misfit(self) -> Misfit | None:
        """Return the first line that is not as it was written, or None."""
        return self._read_records()[1]

    def who_has(self, fingerprint: str) -> dict[str, str]:
        """Return every target that ever got the key with this fingerprint, with its last known state."""
        return who_has(self.records(), fingerprint)

    def _read_records(self) -> tuple[list[Record], Misfit | None]:
        with durable_files.as_state_error(LEDGER), durable_files.open_folder(create=False) as folder:
            if folder < 0:
                return [], None
            with self._lock(folder):
                head = self._read_head(folder)
                content = durable_files.read_file(folder, LEDGER)
        if content is None:
            return [], Misfit(1, "the ledger was removed, but its head still exists") if head else None
        return signed_record.verify_lines(_complete_lines(content).split(b"\n")[:-1], head, self._key)

    def _lock(self, folder: int) -> AbstractContextManager[None]:
        return durable_files.hold_lock(
            folder, LOCK, "another run is writing to the ledger and has not finished", WAIT_SECONDS
        )

    def _repair_tail(self, folder: int, handle: int) -> Head:
        """Remove the torn line of a killed writer, have the head catch up, and return the last record."""
        head = self._read_head(folder) or Head()
        size = os.fstat(handle).st_size
        tail = os.pread(handle, TAIL, max(0, size - TAIL))
        whole = _complete_lines(tail)
        end = size - len(tail) + len(whole)
        last = self._check_tail(whole, end, head)
        if end < size:
            os.ftruncate(handle, end)
            os.fsync(handle)
        if last.seq > head.seq:
            self._write_head(folder, last)
        return last

    def _check_tail(self, whole: bytes, end: int, head: Head) -> Head:
        """Return the last record. Raises LedgerError unless the head names it, or the record before it."""
        last = Head()
        if whole:
            line = whole[:-1].rpartition(b"\n")[2]
            try:
                record = signed_record.parse_line(line, self._key)
            except signed_record.NewerRecord as error:
                raise LedgerError(str(error)) from None
            except signed_record.RecordError as error:
                raise LedgerError(f"the last line of {LEDGER} is not valid: {error}; {START_ANEW}") from None
            last = Head(record.seq, record.hash, end)
            if head == Head(record.seq - 1, record.prev, end - len(line) - 1):
                return last
        if last != head:
            raise LedgerError(
                f"the end of {LEDGER} does not match {HEAD}: one of the two files was changed; {START_ANEW}"
            )
        return last

    def _read_head(self, folder: int) -> Head | None:
        content = durable_files.read_file(folder, HEAD)
        if content is None:
            return None
        try:
            found = json.loads(content)
            reason = document_version.refusal(found["schema"], HEAD_SCHEMA, HEAD, START_ANEW)
            if reason:
                raise LedgerError(reason)
            mac = str(found.pop("mac"))
            if hmac.compare_digest(self._head_mac(found), mac):
                return Head(int(found["seq"]), str(found["hash"]), int(found["size"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        raise LedgerError(f"{HEAD} was edited, or signed with a different key; {START_ANEW}")

    def _head_mac(self, found: Mapping[str, object]) -> str:
        return hmac.digest(self._head_key, signed_record.canonical_json(found).encode(), "sha256").hex()

    def _write_head(self, folder: int, head: Head) -> None:
        found = {"schema": HEAD_SCHEMA, **head._asdict()}
        text = signed_record.canonical_json({**found, "mac": self._head_mac(found)}) + "\n"
        durable_files.replace_file(folder, HEAD, text.encode())


def _write_line(handle: int, line: bytes) -> None:
    """Append in one write and flush; a write that was cut short is undone."""
    size = os.fstat(handle).st_size
    try:
        written = os.write(handle, line)
        if written == len(line):
            os.fsync(handle)
            return
    except OSError:
        os.ftruncate(handle, size)
        raise
    os.ftruncate(handle, size)
    raise LedgerError(f"{LEDGER}: only part of a line could be written: is the disk full? Free space, then run again")


def _complete_lines(content: bytes) -> bytes:
    """Return the lines that were written whole: with their newline, and without holes from a power cut."""
    end = content.rfind(b"\n") + 1
    while end and b"\0" in content[content.rfind(b"\n", 0, end - 1) + 1 : end]:
        end = content.rfind(b"\n", 0, end - 1) + 1
    return content[:end]


def _last_states(records: Iterable[Record]) -> dict[tuple[str, str, str], tuple[str, int]]:
    """Return the last state, and the number of its record, by secret, version and target."""
    states: dict[tuple[str, str, str], tuple[str, int]] = {}
    for one in records:
        if not one.target or not one.version:
            continue
        state = "unknown" if one.result == "begun" else one.result  # begun and not ended
        if "found" in one.evidence and one.result in ("excused", "failed"):
            state = "absent" if one.evidence["found"] == NO_KEY else "foreign"
        states[one.secret, one.version, one.target] = (state, one.seq)
    return states


def target_states(records: Iterable[Record], secret: str, version: str) -> dict[str, str]:
    """Return the last known state of every target of a version; begun and not ended is unknown."""
    states = sorted(_last_states(records).items())
    return {key[2]: state for key, (state, _seq) in states if key[:2] == (secret, version)}


def who_has(records: Iterable[Record], fingerprint: str) -> dict[str, str]:
    """Return every target that ever got the key and its last state; "replaced" if it has a later version."""
    records, fingerprint = list(records), fingerprint.removeprefix("key ")
    versions = {(one.secret, one.version) for one in records if fingerprint and one.fingerprint == fingerprint}
    states = _last_states(one for one in records if one.result != "staged" and "found" not in one.evidence)
    found: dict[str, str] = {}
    for (secret, version, target), (state, seq) in states.items():
        if (secret, version) not in versions:
            continue
        is_replaced = state in HOLDS and any(
            (other[0], other[2]) == (secret, target) and other[1] != version and later in HOLDS and later_seq > seq
            for other, (later, later_seq) in states.items()
        )
        found[target] = "replaced" if is_replaced else state
    return dict(sorted(found.items()))
