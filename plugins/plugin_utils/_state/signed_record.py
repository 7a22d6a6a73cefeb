# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record of the ledger: its fields, its place in the chain, and the first line that does not fit.

Every field has an allow-list, so that no value of a key, no response of a service and no mail address can get in. The
chain is an HMAC: without the key, no line can be added or edited unnoticed. Nothing here reads a file or the clock.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, NamedTuple

from ...module_utils._core.document_version import refusal

SCHEMA = "hpc.onboard/ledger/1.0"
SHORTEST_KEY = 16
_STEPS = "plan take prove canary spread settle grace retire prove_dead purge abort excuse"
_RESULTS = "begun ok failed unknown staged installed verified rolled_back unreachable excused reactivated refused"
_VERDICTS = "valid invalid not_entitled malformed unreachable inconclusive unknown"
STEPS, RESULTS, VERDICTS = _STEPS.split(), _RESULTS.split(), _VERDICTS.split()
TIME = r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(\.\d{1,6})?Z"
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}"
VERSION = r"first|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TARGET = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}@[a-z][a-z0-9_-]{0,31}:[a-z][a-z0-9_]{0,31}"
FINGERPRINT = r"[0-9a-f]{12}"
DIGEST = r"[0-9a-f]{64}"
MACHINE = r"[0-9a-f]{16}"
TEXTS = {
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
EVIDENCE: dict[str, str | tuple[int, int]] = {
    "http_status": (100, 599),
    "seconds": (0, 1_000_000),
    "leftovers": (0, 10_000),
    "grace": (0, 366 * 86_400),
    "level": "L[0-5]",
    "errno": r"E[A-Z0-9]{1,20}",
    "mode_before": r"0[0-7]{3}",
    "bytes_before": r"[0-9a-f]{16}",
    "found": f"{FINGERPRINT}|none",
    "until": TIME,
    "mode": "scheduled|compromised",
    "kind": "personal|service|legacy|token",
}


class RecordError(Exception):
    """A record that is refused; the sentence names the field, never its value."""


class NewerRecord(RecordError):
    """A record of another version of the format. It may be intact."""


@dataclass(frozen=True)
class Event:
    """A step of a rotation that began or ended, for a version of the key, or for a version on a target.

    sequence: the number of this secret's rotation, counted over all machines that know of each other; 0 before any.
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
    """The writer: its run, the user's name, the machine's name, and the machine's unique id."""

    run: str
    actor: str
    controller: str
    machine: str = ""


@dataclass(frozen=True)
class Record(Event):
    """An event in its place in the chain."""

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
    """The first line of the ledger that is not as it was written (from 1), and why.

    newer: the line is of another version of the format and may be intact.
    """

    line: int
    why: str
    newer: bool = False


FIELDS = {one.name for one in fields(Record)}
CHAIN = ("seq", "prev", "hash")


def subkey(key: bytes, purpose: str) -> bytes:
    """Return the key for one purpose, so that no signature serves for another one."""
    if len(key) < SHORTEST_KEY:
        raise RecordError(f"the key of the records is too short ({SHORTEST_KEY} bytes at least): create a new one")
    return hmac.digest(key, b"hpc.onboard " + purpose.encode(), "sha256")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def check_texts(found: Mapping[str, Any], patterns: Mapping[str, str], what: str) -> None:
    """Raise RecordError unless each field that has a pattern is text that matches it. what: starts the sentence."""
    for name, pattern in patterns.items():
        value = found.get(name)
        if not isinstance(value, str) or not _compiled(pattern).fullmatch(value):
            raise RecordError(f"{what}: '{name}' is invalid; its value is not shown")


def check_record(found: Mapping[str, Any]) -> None:
    """Raise RecordError unless the fields are those of a record, each valid."""
    schema = found.get("schema")
    if schema != SCHEMA:
        is_ledger = isinstance(schema, str) and schema.rpartition("/")[0] == SCHEMA.rpartition("/")[0]
        advice = "restore the ledger from a backup"
        raise (NewerRecord if is_ledger else RecordError)(refusal(schema, SCHEMA, "a record of the ledger", advice))
    if set(found) != FIELDS:
        raise RecordError("a record: fields are missing or unknown")
    check_texts(found, TEXTS, "a record")
    for name, least in (("sequence", 0), ("seq", 1)):
        if not _is_integer(found[name]) or found[name] < least:
            raise RecordError(f"a record: '{name}' is not an integer from {least}")
    evidence = found["evidence"]
    if not isinstance(evidence, dict) or not set(evidence) <= set(EVIDENCE):
        raise RecordError(f"a record: evidence may only hold {', '.join(sorted(EVIDENCE))}")
    for name, value in evidence.items():
        form = EVIDENCE[name]
        if isinstance(form, str):
            check_texts({name: value}, {name: form}, "evidence")
        elif not _is_integer(value) or not form[0] <= value <= form[1]:
            raise RecordError(f"evidence: '{name}' is not an integer from {form[0]} to {form[1]}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def canonical(found: Mapping[str, Any]) -> str:
    """Return the canonical JSON of a mapping, which is hashed and kept."""
    return json.dumps(found, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def seal(event: Event, author: Author, head: Head, ts: str, key: bytes) -> Record:
    """Return the record of the event that follows head. Raise RecordError if a field is invalid."""
    found = {**vars(event), **vars(author), "evidence": dict(event.evidence), "schema": SCHEMA, "ts": ts}
    return chained(found, head, key)


def _hash(found: Mapping[str, Any], key: bytes) -> str:
    return hmac.new(key, canonical(found).encode(), hashlib.sha256).hexdigest()


def line(record: Record) -> bytes:
    """Return the record as a line of the ledger, newline included."""
    return canonical(vars(record)).encode() + b"\n"


def unchained(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's fields without those that chain and sign it, which are valid on one machine only."""
    return {name: value for name, value in found.items() if name not in CHAIN}


def chained(found: Mapping[str, Any], head: Head, key: bytes) -> Record:
    """Return the record with these fields that follows head. Raise RecordError."""
    whole = {**found, "seq": head.seq + 1, "prev": head.hash}
    whole["hash"] = _hash(whole, key)
    check_record(whole)
    return Record(**whole)


def parsed(text: bytes, key: bytes) -> Record:
    """Return the record in a line without its newline. Raise RecordError if it is not as it was written."""
    try:
        found = json.loads(text)
        is_canonical = isinstance(found, dict) and canonical(found).encode() == text
    except (ValueError, RecursionError):
        is_canonical = False
    if not is_canonical:
        raise RecordError("it is not a record")
    check_record(found)
    unsigned = {name: value for name, value in found.items() if name != "hash"}
    if not hmac.compare_digest(_hash(unsigned, key), found["hash"]):
        raise RecordError("it was edited, or written with another key")
    return Record(**found)


def fitting(lines: Sequence[bytes], head: Head | None, key: bytes) -> tuple[list[Record], Misfit | None]:
    """Return the records up to the first line that does not fit, and that line. head: the one that is kept."""
    records: list[Record] = []
    last = Head()
    for number, text in enumerate(lines, 1):
        try:
            record = parsed(text, key)
        except RecordError as error:
            return records, Misfit(number, str(error), isinstance(error, NewerRecord))
        if (record.seq, record.prev) != (last.seq + 1, last.hash):
            return records, Misfit(number, "a line before it was removed, or lines changed places")
        last = Head(record.seq, record.hash)
        records.append(record)
        if head and head.seq == last.seq and head.hash != last.hash:
            return records, Misfit(number, "it is not the line that the head was made for")
    return records, _tail_misfit(last, head)


def _tail_misfit(last: Head, head: Head | None) -> Misfit | None:
    """Return a misfit at the end. The head lags behind by one line at most, after a writer was killed."""
    known = head.seq if head else 0
    if last.seq < known:
        return Misfit(last.seq + 1, f"the lines from here to {known} were removed")
    if last.seq > known + 1:
        return Misfit(known + 2, "the head does not know of it: the head was removed or an old one was put back")
    return None
