# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger: which version of a key was installed where, and the result. It never contains a key.

A target is one file on one account that contains the key. The state of a target is the result of the last step that
changed or read it, such as "staged" (ready for the new key), "installed" or "verified".

The ledger is a file in the state folder, with one JSON line for each event. Lines are only appended, and each is
chained to the line before by an HMAC. The head (ledger.head) names the last line, so that missing lines at the end are
detected. It is not detected if both files are replaced by an older pair.

A record is appended in one write and flushed, under a lock. A line without its newline, from a killed writer, is not a
record; the next writer removes it. In this module, `folder` and `handle` are the descriptors of folder and ledger.
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
from .._state.fingerprint_key import explain_no_key, local_key, machine_id
from .._state.signed_record import Author, Event, Head, Misfit, Record

HEAD_SCHEMA = "hpc.onboard/ledger-head/1.0"
LEDGER, HEAD, LOCK = "ledger.jsonl", "ledger.head", "ledger.lock"
WAIT_SECONDS = 60.0  # for another run to release the lock
TAIL = 64 * 1024  # bytes to read from the end; far more than the longest record
NO_KEY = "none"  # evidence "found" of a target without a key
HOLDS = ("installed", "verified")  # results after which the target is known to have the version
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
START_AGAIN = "rename or move ledger.jsonl and ledger.head, but keep them; the next run starts a new ledger"


class LedgerError(StateError):
    """The ledger was changed after it was written, or cannot be read."""


class NewerLedger(LedgerError):
    """A newer version of hpc.onboard wrote the ledger; it may be intact."""


def record_key() -> bytes:
    """Return this machine's key, which signs ledger and labels. Raise AccountError if the key cannot be stored."""
    key = bytes.fromhex(local_key())
    if bytes.fromhex(local_key()) != key:  # a key that cannot be stored is different at each call
        raise AccountError(explain_no_key())
    return key


def current_author(machine: str = "") -> Author:
    """Return the author of records: this user, host and machine, with a new id for the run. machine: its id."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    # a record allows only these characters and lengths, and no dot or dash at the beginning
    actor = re.sub(r"[^A-Za-z0-9_.-]", "_", user.split("@")[0]).lstrip(".-")[:32]
    controller = re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename).lstrip(".-")[:63]
    return Author(run=str(uuid.uuid4()), actor=actor or "unknown", controller=controller or "unknown", machine=machine)


def utc_now() -> str:
    """Return the current time, for display; records are ordered by their number."""
    return datetime.now(UTC).strftime(TIME_FORMAT)


class Ledger:
    """The ledger of this user. key: of this machine, 16 bytes or more; a different key cannot read the ledger."""

    def __init__(self, key: bytes, author: Author | None = None) -> None:
        self._key = signed_record.derive_subkey(key, "ledger")
        self._head_key = signed_record.derive_subkey(key, "ledger head")
        self._author = author or current_author(machine=machine_id(key))

    def append(self, event: Event) -> Record:
        """Append the record of an event, and flush it to the disk. Raise StateError."""
        return self._append(lambda last: signed_record.sign_event(event, self._author, last, utc_now(), self._key))

    def _append(self, make_record: Callable[[Head], Record]) -> Record:
        """Append and return a new record. make_record: takes the head, to which the new record is chained."""
        with durable_files.as_state_error(LEDGER), durable_files.open_folder() as folder, self._lock(folder):
            is_new = LEDGER not in os.listdir(folder)
            handle = durable_files.open_file(folder, LEDGER, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                last = self._repair_tail(folder, handle)
                record = make_record(last)
                line = signed_record.to_line(record)
                _write_line(handle, line)
                if is_new:
                    flush(folder)  # the name of a new file must survive a crash, too
            finally:
                os.close(handle)
            self._write_head(folder, Head(record.seq, record.hash, last.size + len(line)))
        return record

    def export_records(self) -> list[dict[str, Any]]:
        """Return all records without the fields of the chain. Raise LedgerError for a damaged ledger."""
        return [signed_record.remove_from_chain(vars(record)) for record in self.records()]

    def import_records(self, exported: Sequence[Mapping[str, Any]]) -> None:
        """Append records of another machine's ledger, signed by this machine. Raise StateError for an invalid record.

        exported: as export_records() returns them. All records are checked before the first one is appended.
        """
        signed_record.check_exported(exported)
        for fields in exported:
            self._append(partial(signed_record.add_to_chain, fields, key=self._key))

    def records(self) -> list[Record]:
        """Return all records, oldest first. Raise LedgerError if a line was changed."""
        records, misfit = self._read_records()
        if misfit and misfit.is_newer:
            raise NewerLedger(misfit.reason)
        if misfit:
            raise LedgerError(f"line {misfit.line} of {LEDGER} is not valid: {misfit.reason}; {START_AGAIN}")
        return records

    def find_misfit(self) -> Misfit | None:
        """Return the first line that was changed after it was written, and why; None for an intact ledger."""
        return self._read_records()[1]

    def who_has(self, fingerprint: str) -> dict[str, str]:
        """Return, by target, the last state of every target that ever had the key.

        The state is "replaced" if the target has a later version of the secret. fingerprint: of the key.
        """
        records = self.records()
        # an empty fingerprint, of a version without a key yet, must not match
        with_key = [record for record in records if fingerprint and record.fingerprint == fingerprint]
        versions = {(record.secret, record.version) for record in with_key}
        # a target that was only checked or excused, or had no key or an unknown one, did not get this key
        states = _last_states(
            record
            for record in records
            if record.result != "staged" and record.step != "excuse" and "found" not in record.evidence
        )
        holders: dict[str, str] = {}
        for (secret, version, target), (state, seq) in states.items():  # seq: the number of the state's record
            if (secret, version) not in versions:
                continue
            has_later_version = any(
                (other_secret, other_target) == (secret, target) and other_state in HOLDS and other_seq > seq
                for (other_secret, _version, other_target), (other_state, other_seq) in states.items()
            )
            holders[target] = "replaced" if state in HOLDS and has_later_version else state
        return dict(sorted(holders.items()))

    def _read_records(self) -> tuple[list[Record], Misfit | None]:
        """Return the records, oldest first, and the first line that does not fit; None if every line is intact."""
        with durable_files.as_state_error(LEDGER), durable_files.open_folder(create=False) as folder:
            if folder < 0:  # no state folder yet
                return [], None
            with self._lock(folder):
                head = self._read_head(folder)
                content = durable_files.read_file(folder, LEDGER)
        if content is None:
            return [], Misfit(1, f"the ledger was removed, but {HEAD} still exists") if head else None
        return signed_record.verify_lines(_complete_lines(content).split(b"\n")[:-1], head, self._key)

    def _lock(self, folder: int) -> AbstractContextManager[None]:
        """Return a context in which no other process uses the ledger."""
        return durable_files.hold_lock(folder, LOCK, "another run is still writing to the ledger", WAIT_SECONDS)

    def _repair_tail(self, folder: int, handle: int) -> Head:
        """Remove an incomplete line, and write the head if it is one record behind: a killed writer leaves either.

        Return the head that names the last record. handle: of the open ledger.
        """
        head = self._read_head(folder) or Head()
        size = os.fstat(handle).st_size
        tail = os.pread(handle, TAIL, max(0, size - TAIL))
        complete = _complete_lines(tail)
        end = size - len(tail) + len(complete)  # the position after the last complete line
        last = self._check_tail(complete, end, head)
        if end < size:
            os.ftruncate(handle, end)
            os.fsync(handle)
        if last.seq > head.seq:  # the head is one record behind
            self._write_head(folder, last)
        return last

    def _check_tail(self, tail: bytes, end: int, head: Head) -> Head:
        """Return the head for the last record. Raise LedgerError unless `head` names that record, or the one before.

        The head is written after the record, so a run that was killed in between leaves a head one record behind.
        tail: complete lines at the end of the file. end: the position after them. head: as stored.
        """
        last = Head()  # of an empty ledger
        if tail:
            line = tail[:-1].rpartition(b"\n")[2]
            try:
                record = signed_record.parse_line(line, self._key)
            except signed_record.NewerRecord as error:
                raise LedgerError(str(error)) from None
            except StateError as error:
                raise LedgerError(f"the last line of {LEDGER} is not valid: {error}; {START_AGAIN}") from None
            last = Head(record.seq, record.hash, end)
            previous = Head(record.seq - 1, record.prev, end - len(line) - 1)
            if head == previous:
                return last
        if last != head:
            raise LedgerError(
                f"the end of {LEDGER} does not match {HEAD}: one of the two files was changed; {START_AGAIN}"
            )
        return last

    def _read_head(self, folder: int) -> Head | None:
        """Return the signed head, or None if there is no ledger yet. Raise LedgerError for an edited head."""
        content = durable_files.read_file(folder, HEAD)
        if content is None:
            return None
        try:
            document = json.loads(content)
            reason = document_version.refusal(document["schema"], HEAD_SCHEMA, document=HEAD, advice=START_AGAIN)
            if reason:
                raise LedgerError(reason)
            mac = str(document.pop("mac"))
            if hmac.compare_digest(self._head_mac(document), mac):
                return Head(int(document["seq"]), str(document["hash"]), int(document["size"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # the head is damaged
        raise LedgerError(f"{HEAD} was edited, or signed with a different key; {START_AGAIN}")

    def _head_mac(self, document: Mapping[str, object]) -> str:
        """Return the signature of a head without signature."""
        return hmac.digest(self._head_key, signed_record.canonical_json(document).encode(), "sha256").hex()

    def _write_head(self, folder: int, head: Head) -> None:
        """Write the signed head, in one atomic replacement of its file."""
        document = {"schema": HEAD_SCHEMA, **head._asdict()}
        text = signed_record.canonical_json({**document, "mac": self._head_mac(document)}) + "\n"
        durable_files.replace_file(folder, HEAD, text.encode())


def _write_line(handle: int, line: bytes) -> None:
    """Append a line in one write, and flush it. Undo an incomplete write, and raise OSError or LedgerError."""
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
    raise LedgerError(
        f"only part of a line could be written to {LEDGER}. If the disk is full, free some space, then try again"
    )


def _complete_lines(content: bytes) -> bytes:
    """Return the content up to the last complete line: with a newline, and without zero bytes from a power failure."""
    *lines, _incomplete = content.split(b"\n")
    while lines and b"\0" in lines[-1]:
        lines.pop()
    return b"".join(line + b"\n" for line in lines)


def _last_states(records: Iterable[Record]) -> dict[tuple[str, str, str], tuple[str, int]]:
    """Return the last state, and the number of its record, by secret, version and target."""
    states: dict[tuple[str, str, str], tuple[str, int]] = {}
    for record in records:
        if not record.target or not record.version:
            continue  # a record about a whole step
        state = "unknown" if record.result == "begun" else record.result  # the run stopped before the result
        if "found" in record.evidence and record.result in ("excused", "failed"):  # the target has no version
            state = "absent" if record.evidence["found"] == NO_KEY else "foreign"
        states[record.secret, record.version, record.target] = (state, record.seq)
    return states


def target_states(records: Iterable[Record], secret: str, version: str) -> dict[str, str]:
    """Return the last known state of every target of a version; "unknown" if the last step has no result."""
    return {
        target: state
        for (state_secret, state_version, target), (state, _seq) in sorted(_last_states(records).items())
        if (state_secret, state_version) == (secret, version)
    }
