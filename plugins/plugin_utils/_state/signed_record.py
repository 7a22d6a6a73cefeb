# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record of the ledger: what it may say, how it is chained to the one before, and which line does not fit.

Every field has an allow-list, so that no value of a key, no answer of a service and no mail address can
get in. The chain is an HMAC: whoever has not the key can neither add nor edit a line unseen. Nothing
here reads a file or the clock.

Lines are never written anew: those of older versions stay between newer ones in the same chain. A field that is added
is a minor version; a new word for a step or a result is a major one, since what comes next is decided by them.
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

from ...module_utils._core import document_version

SCHEMA = "hpc.onboard/ledger/2.0"
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
    """A record that the ledger does not take: the field is named, never what it held."""


class NewerRecord(RecordError):
    """A record that a newer version of hpc.onboard wrote: nothing is wrong with it."""


@dataclass(frozen=True)
class Event:
    """One thing that was begun or came of a rotation: of a version, or of a version on a target.

    sequence: which rotation of this secret it is, counted over all machines that know of each other; 0 before any.
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
    """Who writes: the run, the user's name here, the machine's name, and its id, which no other machine has."""

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
    """The last record that was known to be whole: its number and hash, and where it ends in the file."""

    seq: int = 0
    hash: str = ""
    size: int = 0


class Misfit(NamedTuple):
    """The first line of the ledger that is not as it was written (from 1), and why.

    newer: a newer version of hpc.onboard wrote it, and it may well be whole.
    """

    line: int
    why: str
    newer: bool = False


FIELDS = {one.name for one in fields(Record)}
CHAIN = ("seq", "prev", "hash")
FIELDS_OF_1 = FIELDS - {"sequence", "machine"}


def subkey(key: bytes, purpose: str) -> bytes:
    """The key for one purpose, so that no signature serves for another one."""
    if len(key) < SHORTEST_KEY:
        raise RecordError(f"the key of the records is shorter than {SHORTEST_KEY} bytes: make it anew")
    return hmac.digest(key, b"hpc.onboard " + purpose.encode(), "sha256")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def check_texts(found: Mapping[str, Any], patterns: Mapping[str, str], what: str) -> None:
    """Every field that has a pattern is text that fits it. Raises RecordError."""
    for name, pattern in patterns.items():
        value = found.get(name)
        if not isinstance(value, str) or not _compiled(pattern).fullmatch(value):
            raise RecordError(f"{what}: '{name}' does not have the form that it must have; its value is not shown")


def check(found: Mapping[str, Any]) -> None:
    """The fields of a record are those of its version, each of its form. Raises RecordError."""
    said = found.get("schema")
    why = document_version.refusal(said, SCHEMA, "a record of the ledger", "it is no record of ours")
    if why:
        raise NewerRecord(why) if document_version.compare(said, SCHEMA) == document_version.NEWER else RecordError(why)
    wanted = FIELDS_OF_1 if said == 1 else FIELDS
    later = document_version.compare(said, SCHEMA) == document_version.LATER
    if not (set(found) >= wanted if later else set(found) == wanted):
        raise RecordError("a record: fields are missing or unknown")
    check_texts(found, {name: form for name, form in TEXTS.items() if name in wanted}, "a record")
    for name, low in (("sequence", 0), ("seq", 1)):
        if name in wanted and (not _is_number(found[name]) or found[name] < low):
            raise RecordError(f"a record: '{name}' is no number from {low} up")
    _check_evidence(found["evidence"], later)


def _check_evidence(evidence: Any, later: bool) -> None:
    """later: of a later minor version, whose further evidence is not looked at."""
    if not isinstance(evidence, dict) or not (later or set(evidence) <= set(EVIDENCE)):
        raise RecordError(f"a record: evidence may only hold {', '.join(sorted(EVIDENCE))}")
    for name, value in evidence.items():
        if name not in EVIDENCE:
            continue
        form = EVIDENCE[name]
        if isinstance(form, str):
            check_texts({name: value}, {name: form}, "evidence")
        elif not _is_number(value) or not form[0] <= value <= form[1]:
            raise RecordError(f"evidence: '{name}' is no number from {form[0]} to {form[1]}")


def _is_number(value: Any) -> bool:
    """Whether it is a whole number; Python takes True for one."""
    return isinstance(value, int) and not isinstance(value, bool)


def canonical(found: Mapping[str, Any]) -> str:
    """The one text of a mapping that is hashed and kept."""
    return json.dumps(found, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def seal(event: Event, author: Author, head: Head, ts: str, key: bytes) -> Record:
    """The record that follows head. Raises RecordError where a field does not have its form."""
    found = {
        **vars(event),
        **vars(author),
        "evidence": dict(event.evidence),
        "schema": SCHEMA,
        "seq": head.seq + 1,
        "ts": ts,
        "prev": head.hash,
    }
    found["hash"] = _hash(found, key)
    check(found)
    return _record(found)


def _record(found: Mapping[str, Any]) -> Record:
    """The record of a mapping that was checked; what a later version has added is left to the line itself."""
    known = {name: value for name, value in found.items() if name in FIELDS}
    return Record(**{**known, "schema": "hpc.onboard/ledger/1.0" if found["schema"] == 1 else found["schema"]})


def _hash(found: Mapping[str, Any], key: bytes) -> str:
    return hmac.new(key, canonical(found).encode(), hashlib.sha256).hexdigest()


def line(record: Record) -> bytes:
    """The record as the ledger holds it, newline included."""
    return canonical(vars(record)).encode() + b"\n"


def unchained(found: Mapping[str, Any]) -> dict[str, Any]:
    """A record's fields without those that chain and sign it, which hold for one machine alone."""
    return {name: value for name, value in found.items() if name not in CHAIN}


def chained(found: Mapping[str, Any], head: Head, key: bytes) -> tuple[Record, bytes]:
    """The record with these fields that follows head, and its line; of whichever version it is. Raises RecordError."""
    whole = {**found, "seq": head.seq + 1, "prev": head.hash}
    whole["hash"] = _hash(whole, key)
    check(whole)
    return _record(whole), canonical(whole).encode() + b"\n"


def parsed(text: bytes, key: bytes) -> Record:
    """The record in a line without its newline, if it is as it was written. Raises RecordError."""
    try:
        found = json.loads(text)
        if not isinstance(found, dict) or canonical(found).encode() != text:
            raise RecordError("it is no record")
    except (ValueError, RecursionError):
        raise RecordError("it is no record") from None
    check(found)
    without = {name: value for name, value in found.items() if name != "hash"}
    if not hmac.compare_digest(_hash(without, key), found["hash"]):
        raise RecordError("it was edited, or written with another key")
    return _record(found)


def fitting(lines: Sequence[bytes], head: Head | None, key: bytes) -> tuple[list[Record], Misfit | None]:
    """The records up to the first line that does not fit, and that line. head is the one kept beside them."""
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
    """What the head says of the end: it lags behind by one line at most, after a writer was killed."""
    known = head.seq if head else 0
    if last.seq < known:
        return Misfit(last.seq + 1, f"the lines from here to {known} were removed")
    if last.seq > known + 1:
        return Misfit(known + 2, "the head does not know of it: the head was removed or an old one was put back")
    return None
