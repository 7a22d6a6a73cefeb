# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads an account's answer: finds it in the output of a session, checks its types, makes its texts harmless.

The engine, hpc-onboard's program on the account, prints the answer to a plan (docs/schemas/answer.schema.json): an
outcome for each resource of the plan, and the receipt, which has a note about each resource that hpc-onboard created.
harmless(text, 500) replaces control and invisible characters, and shortens the text to 500 characters.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ...module_utils._core import document_version
from .._state.kept_engines import DIGEST
from .._text.sanitise import harmless, harmless_lines, harmless_values, limit_number
from .._text.slurm_answer import parse_offers
from . import payload
from .result import WORDS

if TYPE_CHECKING:
    from .._documents.answer import AccountReceipt, EngineAnswer, EngineFile, ReceiptNote, RotationMark
    from .._documents.outcome import (
        Evidence,
        ExistingThing,
        ExistingType,
        JobProgress,
        Progress,
        ResourceOutcome,
        Severity,
        State,
        Verdict,
    )

Document = Mapping[str, Any]  # parts of an answer that are not checked yet
Choice = TypeVar("Choice", bound=str)
# Fields of an outcome's evidence, by the type of their values
FLAGS: tuple[Literal["theirs", "unknown_key", "replaces"], ...] = ("theirs", "unknown_key", "replaces")
TEXTS: tuple[Literal["obstacle", "open_folder"], ...] = ("obstacle", "open_folder")
MAPPINGS: tuple[Literal["cases", "in_use", "observed"], ...] = ("cases", "in_use", "observed")
HELD = re.compile(r"none|key [0-9a-f]{12}")  # no key, or the fingerprint of the key on the account
SCHEMA = "hpc.onboard/answer/1.0"  # as _engine/engine.py writes it
LARGEST = 4 * 1024 * 1024  # characters of an answer
VERDICTS: tuple[Verdict, ...] = ("valid", "invalid", "not_entitled", "unknown")
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "info")
NOTE_HASHES: tuple[Literal["found", "was"], ...] = ("found", "was")  # fields of a note that contain hashes
EXISTING: tuple[ExistingType, ...] = ("conda", "variable", "image", "launcher")
MOST_EXISTING = 200  # existing resources in one outcome; the rest is dropped
WANTS = ("url", "sha256", "path")  # fields that describe a file which this machine could copy to the account


class NoAnswer(Exception):
    """The account gave no valid answer. The message says what it did instead, and what to do."""


def parse(stdout: str, stderr: str, code: int, ssh_arguments: str) -> EngineAnswer:
    """Return the answer in the output of an account. Raise NoAnswer.

    code: the exit code of the session. ssh_arguments: what a user types after "ssh" for the account.
    """
    frame = f"\n{payload.FRAME} "
    start = stdout.rfind(frame)
    if start < 0:
        from .connection_failure import explain_missing_answer  # imported late: most sessions have an answer

        raise NoAnswer(explain_missing_answer(stdout, stderr, code, ssh_arguments))
    length_text, _newline, rest = stdout[start + len(frame) :].partition("\n")
    length = int(length_text) if re.fullmatch(r"[0-9]{1,8}\r?", length_text) else -1  # -1: not a length
    if length > LARGEST:
        raise NoAnswer(
            f"the answer is larger than {LARGEST // 2**20} MiB: declare fewer resources or smaller own files"
        )
    if not 0 <= length <= len(rest):
        raise NoAnswer("the answer is incomplete: the connection was lost. Run hpc-onboard again to check and continue")
    advice = "another program may be writing to the connection. Run hpc-onboard again"
    try:
        document = json.loads(rest[:length])
        if refusal := document_version.refusal(document["schema"], SCHEMA, f"the answer of {ssh_arguments}", advice):
            raise NoAnswer(refusal)
        return _read_answer(document)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise NoAnswer(f"the answer from the account is invalid: {advice}") from None


def _read_answer(document: Document) -> EngineAnswer:
    """Return the answer with checked types and harmless texts. Raise one of the errors that parse catches."""
    account = document.get("account") or {}
    return {
        "outcomes": [_read_outcome(entry) for entry in document["outcomes"]],
        "error": None if document["error"] is None else harmless(document["error"]),
        "receipt": _read_receipt(document.get("receipt")),
        "engine": _read_engine(document.get("engine")),
        "account": {"home": harmless(account.get("home", ""), 200), "shell": harmless(account.get("shell", ""), 200)},
        "python": harmless(document["python"], 20),
        "host": harmless(document["host"], 200),
        "seconds": _read_seconds(document["seconds"]),
    }


def read_choice(choices: Iterable[Choice], value: object) -> Choice:
    """Return the choice that equals the value. Raise ValueError."""
    for choice in choices:
        if choice == value:
            return choice
    raise ValueError(value)


def _read_outcome(entry: Document) -> ResourceOutcome:
    """Return an outcome of the answer with checked types and harmless texts. ResourceOutcome explains the fields."""
    return {
        "identity": harmless(entry["identity"], 500),
        "capability": harmless(entry["capability"], 100),
        "status": read_choice(WORDS, entry["status"]),
        "fields": [harmless(field, 500) for field in entry["fields"]],
        "before": _read_state(entry["before"]),
        "after": _read_state(entry["after"]),
        "reason": None if entry["reason"] is None else harmless(entry["reason"]),
        "seconds": _read_seconds(entry["seconds"]),
        "progress": _read_progress(entry.get("progress")),
        "remarks": [harmless(remark, 500) for remark in entry.get("remarks", [])[:20]],
        "evidence": _read_evidence(entry.get("evidence", {})),
        "was": _read_state(entry.get("was", {})),
    }


def _read_evidence(document: Document) -> Evidence:
    """Return the evidence of an outcome, with checked types. The class Evidence explains the fields."""
    evidence: Evidence = {}
    if "verdict" in document:
        evidence["verdict"] = read_choice(VERDICTS, document["verdict"])
    if "leftovers" in document:
        evidence["leftovers"] = limit_number(document["leftovers"])
    if "severities" in document:
        items = document["severities"].items()
        evidence["severities"] = {harmless(name, 500): severity for name, severity in items if severity in SEVERITIES}
    if "fixes" in document:
        evidence["fixes"] = {
            harmless(field, 500): {"kind": harmless(fix["kind"], 100), "options": _read_options(fix["options"])}
            for field, fix in document["fixes"].items()
        }
    for field in TEXTS:
        if field in document:
            evidence[field] = harmless(document[field])
    if "held" in document:
        evidence["held"] = read_choice(HELD.findall(document["held"]), document["held"])  # the whole text must match
    if "adopted" in document:
        evidence["adopted"] = read_choice(("equal", "equivalent"), document["adopted"])
    if document.get("recorded"):
        evidence["recorded"] = True
    if "existing" in document:
        evidence["existing"] = [_read_existing(thing) for thing in document["existing"][:MOST_EXISTING]]
    if "environments" in document:
        evidence["environments"] = [harmless(name, 100) for name in document["environments"][:100]]
    for mapping in MAPPINGS:
        if mapping in document:
            evidence[mapping] = _read_state(document[mapping])
    if "slurm" in document:
        evidence["slurm"] = parse_offers(document["slurm"])
    for flag in FLAGS:
        if flag in document:
            evidence[flag] = document[flag] is True
    if "rotated" in document:
        mark = _read_mark(document["rotated"])
        evidence["rotated"] = {
            "secret": harmless(document["rotated"]["secret"], 100),
            "machine": mark["machine"],
            "controller": mark["controller"],
            "when": mark["when"],
        }
    return evidence


def _read_existing(thing: Document) -> ExistingThing:
    """Return a resource that the user had set up before, with checked types. ExistingThing explains the fields."""
    return {
        "what": read_choice(EXISTING, thing["what"]),
        "path": harmless(thing["path"], 4000),
        "shown": harmless(thing["shown"], 4000),
        "name": harmless(thing["name"], 200),
        "at": harmless(thing["at"], 4000),
        "in_home": thing["in_home"] is True,
        "words": [harmless(word, 200) for word in thing["words"][:40]],
    }


def _read_options(options: Document) -> dict[str, str | list[str]]:
    """Return the options of a fix: texts and lists of texts."""
    return {
        harmless(name, 100): [harmless_lines(item) for item in value]
        if isinstance(value, list)
        else harmless_lines(value)
        for name, value in options.items()
    }


def _read_progress(progress: Document | None) -> Progress | None:
    """Return a job's progress, or a failed job's reason with the file that this machine could copy to the account."""
    if progress is None:
        return None
    if "failed" in progress:
        wants = progress.get("wants") or {}
        file = {name: harmless(wants[name], 500) for name in WANTS} if wants else {}
        return {"failed": harmless(progress["failed"]), "wants": file}
    done, total = progress["done"], progress["total"]
    job: JobProgress = {
        "step": harmless(progress["step"], 200),
        "done": None if done is None else limit_number(done),
        "total": None if total is None else limit_number(total),
        "unit": read_choice(("bytes", "steps"), progress["unit"]),
    }
    if "patience" in progress:  # seconds that a run waits at most for work that has not started, and why it has not
        job["patience"] = limit_number(progress["patience"])
    if "why" in progress:
        job["why"] = harmless(progress["why"], 200)
    return job


def _read_receipt(receipt: Document | None) -> AccountReceipt | None:
    """Return the account's receipt with checked types; None if the plan did not request it. Notes are JSON texts."""
    if receipt is None:
        return None
    return {
        "notes": {harmless(key, 500): _read_note(json.loads(text)) for key, text in receipt["notes"].items()},
        "keys": {harmless(name, 100): _read_mark(mark) for name, mark in receipt.get("keys", {}).items()},
        "problem": None if receipt["problem"] is None else harmless(receipt["problem"], 500),
    }


def _read_engine(file: Document | None) -> EngineFile | None:
    """Return Python's version and the digest of the file in which the account keeps the engine; None without it."""
    if file is None:
        return None
    digest = read_choice(DIGEST.findall(file["digest"]), file["digest"])  # the whole text must match
    return {"python": harmless(file["python"], 100), "digest": digest}


def _read_mark(mark: Document) -> RotationMark:
    """Return the mark of the rotation that last installed a key."""
    return {
        "sequence": limit_number(mark["sequence"]),
        "rotation": harmless(mark["rotation"], 100),
        "machine": harmless(mark["machine"], 100),
        "controller": harmless(mark.get("controller", ""), 100),
        "when": harmless(mark["when"], 100),
    }


def _read_note(note: Document) -> ReceiptNote:
    """Return a note of the receipt (see module_utils/_receipt/notes.py), with checked types."""
    keyed = {harmless(key, 100): _read_state(hashes) for key, hashes in note["keyed"].items()}
    checked: ReceiptNote = {
        "kind": harmless(note["kind"], 500),
        "capability": harmless(note["capability"], 500),
        "identity": harmless(note["identity"], 500),
        "state": read_choice(("intended", "done"), note["state"]),
        "for": harmless(note["for"], 500),
        "made": note["made"] is True,
        "options": harmless_values(note["options"]),
        "hashes": _read_state(note["hashes"]),
        "keyed": keyed,
        "clusters": [harmless(cluster, 100) for cluster in note["clusters"]],
    }
    for name in NOTE_HASHES:
        if name in note:
            checked[name] = _read_state(note[name])
    if "secret" in note:
        checked["secret"] = harmless(note["secret"], 100)
    if "former" in note:
        checked["former"] = [_read_state(hashes) for hashes in note["former"]]
    if "replaced" in note:
        checked["replaced"] = note["replaced"] is True
    return checked


def _read_seconds(value: Any) -> float:
    """Return a duration in seconds. Raise ValueError for infinity and for what is not a number."""
    seconds = float(value)
    if not math.isfinite(seconds):
        raise ValueError("not a duration")
    return seconds


def _read_state(state: Document) -> State:
    """Return a mapping of names to texts, such as the fields of a resource's state, with harmless texts."""
    return {harmless(key, 500): harmless_lines(value) for key, value in state.items()}
