# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of the ledger: sign them, chain them, and find the first line that was tampered with.

The ledger is the list of all steps of rotations on this machine; a rotation replaces a key on all accounts. Each record
contains the hash of the record before, which makes the records a chain. The stored head is a second file with the
number and hash of the last record, so that missing records at the end are found.

Every field has an allow-list, so no key, no response of a service and no mail address can get into a record. The
hash is an HMAC: adding or editing a line without the key is detected. This module reads neither files nor the clock.
The text of a StateError names the field that is not valid, never its value.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, NamedTuple

from ...module_utils._core.document_version import refusal
from .durable_files import StateError

SCHEMA = "hpc.onboard/ledger/1.0"
SHORTEST_KEY = 16  # bytes
_STEPS = "plan take prove canary spread settle grace retire prove_dead purge abort excuse"
_RESULTS = "begun ok failed unknown staged installed verified rolled_back unreachable excused refused"
_VERDICTS = "valid invalid not_entitled unreachable inconclusive unknown"
STEPS, RESULTS, VERDICTS = _STEPS.split(), _RESULTS.split(), _VERDICTS.split()
TIME = r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(\.\d{1,6})?Z"
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}"
VERSION = r"first|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TARGET = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@[a-z][a-z0-9_-]{0,63}:[a-z][a-z0-9_]{0,31}"
FINGERPRINT = r"[0-9a-f]{12}"
DIGEST = r"[0-9a-f]{64}"
MACHINE = r"[0-9a-f]{16}"
TEXTS = {  # field of a record -> pattern of its text
    "ts": TIME,
    "run": r"[0-9a-f-]{8,36}",
    "actor": r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}",
    "controller": r"[A-Za-z0-9][A-Za-z0-9.-]{0,62}",
    "secret": NAME,
    "version": f"({VERSION})?",
    "fingerprint": f"({FINGERPRINT})?",
    "step": "|".join(STEPS),
    "target": f"({TARGET})?",
    "result": "|".join(RESULTS),
    "verdict": f"({'|'.join(VERDICTS)})?",
    "machine": f"({MACHINE})?",
    "prev": f"({DIGEST})?",
    "hash": DIGEST,
}
EVIDENCE: dict[str, str | tuple[int, int]] = {  # field -> pattern of its text, or range of its number
    "http_status": (100, 599),
    "leftovers": (0, 10_000),
    "grace": (0, 366 * 86_400),
    "found": f"{FINGERPRINT}|none",
    "until": TIME,
    "mode": "scheduled|compromised",
    "kind": "personal|service|legacy|token",
}


class NewerRecord(StateError):
    """A record of another version of the format, which may be intact."""


@dataclass(frozen=True)
class Event:
    """The beginning or end of a step of a rotation, for a version of the key, or for a version on a target.

    secret: the name of the key. step, result: of STEPS and RESULTS. version: the version's id. target: the file on an
    account that contains the key; empty for a step as a whole. fingerprint: of the key, or empty. verdict: the response
    of services to the key, or empty. evidence: further facts, as in EVIDENCE. sequence: the number of this secret's
    rotation, counted on all machines that exchange their state; 0 before the first.
    """

    secret: str
    step: str
    result: str
    version: str = ""
    target: str = ""
    fingerprint: str = ""
    verdict: str = ""
    evidence: Mapping[str, str | int] = field(default_factory=dict)
    sequence: int = 0


@dataclass(frozen=True)
class Author:
    """The writer of a record: run, user name, name of the machine, and unique id of the machine."""

    run: str
    actor: str
    controller: str
    machine: str = ""


@dataclass(frozen=True)
class Record(Event):
    """An event as a link of the chain.

    seq: the number of the record. ts: its time. prev: the hash of the record before. hash: the record's signature.
    """

    schema: str = SCHEMA
    seq: int = 0
    ts: str = ""
    run: str = ""
    actor: str = ""
    controller: str = ""
    machine: str = ""
    prev: str = ""
    hash: str = ""


class Head(NamedTuple):
    """The last record that was verified: its number and hash, and its end in the file, in bytes."""

    seq: int = 0
    hash: str = ""
    size: int = 0


class Misfit(NamedTuple):
    """The first line of the ledger that is not as it was written. line: its number, from 1.

    is_newer: the line has another version of the format, and may be intact.
    """

    line: int
    reason: str
    is_newer: bool = False


FIELDS = {member.name for member in fields(Record)}
CHAIN_FIELDS = ("seq", "prev", "hash")  # the others are the same on another machine


def derive_subkey(key: bytes, purpose: str) -> bytes:
    """Return the key for one purpose, so that a signature for one purpose is not valid for another.

    key: of this machine. Raise StateError if it is too short.
    """
    if len(key) < SHORTEST_KEY:
        raise StateError(f"the key of the ledger is too short (minimum: {SHORTEST_KEY} bytes). Create a new key")
    return hmac.digest(key, b"hpc.onboard " + purpose.encode(), "sha256")


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern, for ASCII only; cached, because a ledger has many records."""
    return re.compile(pattern, re.ASCII)


def check_texts(document: Mapping[str, Any], patterns: Mapping[str, str], subject: str) -> None:
    """Raise StateError unless each field with a pattern is a text that matches the pattern.

    patterns: by field. subject: what the error calls the document.
    """
    for name, pattern in patterns.items():
        value = document.get(name)
        if not isinstance(value, str) or not _compile(pattern).fullmatch(value):
            raise StateError(f"{subject}: the field '{name}' is invalid; its value is not shown")


def check_record(document: Mapping[str, Any]) -> None:
    """Raise StateError unless the document has all fields of a record, each valid, and no others."""
    schema = document.get("schema")
    if schema != SCHEMA:
        is_ledger = isinstance(schema, str) and schema.rpartition("/")[0] == SCHEMA.rpartition("/")[0]
        error_class = NewerRecord if is_ledger else StateError  # the ledger in another version of its format
        advice = "restore the ledger from a backup"
        raise error_class(refusal(schema, SCHEMA, document="a record of the ledger", advice=advice))
    if set(document) != FIELDS:
        raise StateError("a record of the ledger has missing or unknown fields")
    check_texts(document, TEXTS, "a record")
    for name, least in (("sequence", 0), ("seq", 1)):
        if not is_integer(document[name], least):
            raise StateError(f"'{name}' in a record must be an integer, {least} or greater")
    evidence = document["evidence"]
    if not isinstance(evidence, dict) or not set(evidence) <= set(EVIDENCE):
        raise StateError(f"the evidence of a record may contain only {', '.join(sorted(EVIDENCE))}")
    for name, value in evidence.items():
        pattern_or_range = EVIDENCE[name]
        if isinstance(pattern_or_range, str):
            check_texts({name: value}, {name: pattern_or_range}, "evidence")
            continue
        least, most = pattern_or_range
        if not is_integer(value, least, most):
            raise StateError(f"'{name}' in the evidence of a record must be an integer from {least} to {most}")


def is_integer(value: Any, least: int, most: float = math.inf) -> bool:
    """Return True for an integer in this range, but not for a bool, which Python also counts as an int."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def canonical_json(document: Mapping[str, Any]) -> str:
    """Return the canonical JSON of a document, for hashing and storing: equal documents have equal text."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def sign_event(event: Event, author: Author, head: Head, ts: str, key: bytes) -> Record:
    """Return the signed record of an event, as the next record after head. Raise StateError if a field is invalid.

    ts: the time of the event, as in TIME. key: signs the record.
    """
    document = {**vars(event), **vars(author), "evidence": dict(event.evidence), "schema": SCHEMA, "ts": ts}
    return add_to_chain(document, head, key)


def _hash(document: Mapping[str, Any], key: bytes) -> str:
    """Return the signature of a record's fields, which is the field `hash` of the record."""
    return hmac.new(key, canonical_json(document).encode(), hashlib.sha256).hexdigest()


def to_line(record: Record) -> bytes:
    """Return the record as a line of the ledger, including the newline."""
    return canonical_json(vars(record)).encode() + b"\n"


def remove_from_chain(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's fields without number, link and signature, which are valid on one machine only."""
    return {name: value for name, value in document.items() if name not in CHAIN_FIELDS}


def add_to_chain(document: Mapping[str, Any], head: Head, key: bytes) -> Record:
    """Return a signed record with the fields of the document, as the next record after head. key: signs the record.

    Raise StateError for invalid fields.
    """
    complete = {**document, "seq": head.seq + 1, "prev": head.hash}
    complete["hash"] = _hash(complete, key)
    check_record(complete)
    return Record(**complete)


def check_exported(documents: Iterable[Mapping[str, Any]]) -> None:
    """Raise StateError unless all are valid records as remove_from_chain() returns them; TypeError for other data."""
    last = Head()  # of a trial chain, whose key does not matter
    for document in documents:
        last = Head(last.seq + 1, add_to_chain(document, last, key=b"").hash)


def parse_line(line: bytes, key: bytes) -> Record:
    """Return the record in a line without newline. Raise StateError if the line differs from what the key signed."""
    try:
        document = json.loads(line)
        is_canonical = isinstance(document, dict) and canonical_json(document).encode() == line
    except (ValueError, RecursionError):
        is_canonical = False
    if not is_canonical:
        raise StateError("this line is not a record")
    check_record(document)
    unsigned = {name: value for name, value in document.items() if name != "hash"}
    if not hmac.compare_digest(_hash(unsigned, key), document["hash"]):
        raise StateError("this line was edited, or written with a different key")
    return Record(**document)


def verify_lines(lines: Sequence[bytes], head: Head | None, key: bytes) -> tuple[list[Record], Misfit | None]:
    """Return the valid records before the first misfit, and the misfit, or None if all lines are valid.

    head: of the last record that was written, as stored in a file of its own; None if that file is missing.
    """
    records: list[Record] = []
    last = Head()
    for number, line in enumerate(lines, 1):
        try:
            record = parse_line(line, key)
        except StateError as error:
            return records, Misfit(number, str(error), is_newer=isinstance(error, NewerRecord))
        if (record.seq, record.prev) != (last.seq + 1, last.hash):
            return records, Misfit(number, "an earlier line was removed, or lines were reordered")
        last = Head(record.seq, record.hash)
        records.append(record)
        if head and head.seq == last.seq and head.hash != last.hash:
            return records, Misfit(number, "this line does not match the stored head of the ledger")
    return records, _tail_misfit(last, head)


def _tail_misfit(last: Head, head: Head | None) -> Misfit | None:
    """Return a misfit if the last record does not fit the stored head, else None.

    last: the last record of the ledger. head: the stored head, or None.
    """
    head_seq = head.seq if head else 0
    if last.seq < head_seq:
        return Misfit(last.seq + 1, f"the lines from this line to line {head_seq} were removed")
    if last.seq > head_seq + 1:  # one line more is normal after a writer was killed before it stored the head
        return Misfit(
            head_seq + 2, "this line is newer than the stored head, which was removed or replaced by an older head"
        )
    return None
