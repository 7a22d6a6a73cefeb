# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an account answers: found between noise, typed, bounded, and harmless before anyone sees it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .._text.sanitise import bounded, harmless, harmless_lines, plain_values
from . import payload
from .result import WORDS

if TYPE_CHECKING:
    from .._documents.answer import Answer, Mark, Receipt, ReceiptNote
    from .._documents.outcome import Evidence, Outcome, Progress, Severity, State, UnderWay, Unit, Verdict

Document = Mapping[str, Any]  # as it came, of which nothing is known yet
Word = TypeVar("Word", bound=str)

FLAGS: tuple[Literal["theirs", "unknown_key", "replaces"], ...] = ("theirs", "unknown_key", "replaces")
TEXTS: tuple[Literal["obstacle", "open_folder"], ...] = ("obstacle", "open_folder")
HELD = r"none|key [0-9a-f]{12}"  # of a key to replace, as it goes into the ledger
SCHEMA = "hpc.onboard/answer/1.7"  # as _engine/engine.py writes it
LARGEST = 4 * 1024 * 1024
VERDICTS: tuple[Verdict, ...] = ("valid", "invalid", "not_entitled", "unknown")
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "info")
HASHED: tuple[Literal["found", "was"], ...] = ("found", "was")
NOTE_STATES: tuple[Literal["intended", "done"], ...] = ("intended", "done")
UNITS: tuple[Unit, ...] = ("bytes", "steps")
WANTS = ("url", "sha256", "path")  # of a file that could be brought to an account

LOOK = "'ssh {name} true' should end at once and print nothing; look at the start-up files of that account"


class NoAnswer(Exception):
    """The account did not answer as it should, with what to do about it."""


def parse(stdout: str, stderr: str, code: int, name: str) -> Answer:
    """The answer document. Raises NoAnswer, which says what the account did instead."""
    frame = f"\n{payload.FRAME} "
    at = stdout.rfind(frame)
    if at < 0:
        raise NoAnswer(_instead(stdout, stderr, code, name))
    head, _newline, rest = stdout[at + len(frame) :].partition("\n")
    length = int(head) if re.fullmatch(r"[0-9]{1,8}\r?", head) else -1
    if not 0 <= length <= LARGEST or len(rest) < length:
        raise NoAnswer("the answer was cut: did the line drop? Run again: it reads back what was done")
    try:
        document = json.loads(rest[:length])
        if document["schema"] != SCHEMA:
            _check_version(document["schema"], name)
        return _typed(document)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise NoAnswer("the answer cannot be read; is another program writing into this connection?") from None


def _check_version(said: object, name: str) -> None:
    """The answer of another version, which a plan that was taken there as a file may have. Raises NoAnswer."""
    from ...module_utils._core import document_version  # the engine is mostly ours

    why = document_version.refusal(said, SCHEMA, f"the answer of {name}", "is another program writing into it?")
    if why:
        raise NoAnswer(why)


def _typed(document: Document) -> Answer:
    account = document.get("account") or {}
    return {
        "outcomes": [_outcome(entry) for entry in document["outcomes"]],
        "error": None if document["error"] is None else harmless(document["error"]),
        "receipt": _receipt(document.get("receipt")),
        "account": {"home": harmless(account.get("home", ""), 200), "shell": harmless(account.get("shell", ""), 200)},
        "python": harmless(document["python"], 20),
        "host": harmless(document["host"], 200),
        "seconds": _seconds(document["seconds"]),
    }


def one_of(words: Iterable[Word], said: object) -> Word:
    """The word that was said, if it is one of these. Raises ValueError."""
    for word in words:
        if word == said:
            return word
    raise ValueError(said)


def _outcome(entry: Document) -> Outcome:
    return {
        "identity": harmless(entry["identity"], 500),
        "capability": harmless(entry["capability"], 100),
        "status": one_of(WORDS, entry["status"]),
        "fields": [harmless(field, 500) for field in entry["fields"]],
        "before": _state(entry["before"]),
        "after": _state(entry["after"]),
        "reason": None if entry["reason"] is None else harmless(entry["reason"]),
        "seconds": _seconds(entry["seconds"]),
        "progress": _progress(entry.get("progress")),
        "remarks": [harmless(remark, 500) for remark in entry.get("remarks", [])[:20]],
        "evidence": _evidence(entry.get("evidence", {})),
        "was": _state(entry.get("was", {})),
    }


def _evidence(found: Document) -> Evidence:
    """What was seen as fields, each of its type; what this version does not know is left out."""
    evidence: Evidence = {}
    if "verdict" in found:
        evidence["verdict"] = one_of(VERDICTS, found["verdict"])
    if "leftovers" in found:
        evidence["leftovers"] = bounded(found["leftovers"])
    if "severities" in found:
        evidence["severities"] = {harmless(k, 500): v for k, v in found["severities"].items() if v in SEVERITIES}
    if "fixes" in found:
        evidence["fixes"] = {
            harmless(field, 500): {"kind": harmless(one["kind"], 100), "options": _options(one["options"])}
            for field, one in found["fixes"].items()
        }
    if "cases" in found:
        evidence["cases"] = _state(found["cases"])
    for text in TEXTS:
        if text in found:
            evidence[text] = harmless(found[text])
    if "held" in found:
        evidence["held"] = one_of(re.findall(HELD, found["held"]), found["held"])
    if "slurm" in found:
        from .._text.slurm_answer import offers  # once a day

        evidence["slurm"] = offers(found["slurm"])
    for flag in FLAGS:
        if flag in found:
            evidence[flag] = found[flag] is True
    if "rotated" in found:
        mark = _mark(found["rotated"])
        evidence["rotated"] = {
            "secret": harmless(found["rotated"]["secret"], 100),
            "machine": mark["machine"],
            "controller": mark["controller"],
            "when": mark["when"],
        }
    return evidence


def _options(options: Document) -> dict[str, str | list[str]]:
    """The options of a fix: texts and lists of texts."""
    return {
        harmless(name, 100): [harmless_lines(one) for one in value]
        if isinstance(value, list)
        else harmless_lines(value)
        for name, value in options.items()
    }


def _progress(progress: Document | None) -> Progress | None:
    """How far the work is that goes on by itself, or why it failed and what could be brought to it."""
    if progress is None:
        return None
    if "failed" in progress:
        wants = progress.get("wants") or {}
        brought = {name: harmless(wants[name], 500) for name in WANTS if wants}
        return {"failed": harmless(progress["failed"]), "wants": brought}
    done, total = progress["done"], progress["total"]
    under_way: UnderWay = {
        "step": harmless(progress["step"], 200),
        "done": None if done is None else bounded(done),
        "total": None if total is None else bounded(total),
        "unit": one_of(UNITS, progress["unit"]),
    }
    waits: UnderWay = {**under_way, "patience": bounded(progress["patience"])} if "patience" in progress else under_way
    return {**waits, "why": harmless(progress["why"], 200)} if "why" in progress else waits


def _receipt(receipt: Document | None) -> Receipt | None:
    """What is noted on the account; a note that is none is left out."""
    if receipt is None:
        return None
    return {
        "notes": {harmless(key, 500): _note(json.loads(text)) for key, text in receipt["notes"].items()},
        "keys": {harmless(name, 100): _mark(mark) for name, mark in receipt.get("keys", {}).items()},
        "problem": None if receipt["problem"] is None else harmless(receipt["problem"], 500),
    }


def _mark(mark: Document) -> Mark:
    """Which rotation last installed a key."""
    return {
        "sequence": bounded(mark["sequence"]),
        "rotation": harmless(mark["rotation"], 100),
        "machine": harmless(mark["machine"], 100),
        "controller": harmless(mark.get("controller", ""), 100),
        "when": harmless(mark["when"], 100),
    }


def _note(note: Document) -> ReceiptNote:
    """One note (see module_utils/_receipt/notes.py)."""
    if "state" not in note:
        from ...module_utils._receipt.notes import upgraded_note  # of a plan that an older version took there as a file

        note = upgraded_note(dict(note))
    keyed = {harmless(own, 100): _state(hashes) for own, hashes in note["keyed"].items()}
    checked: ReceiptNote = {
        "kind": harmless(note["kind"], 500),
        "capability": harmless(note["capability"], 500),
        "identity": harmless(note["identity"], 500),
        "state": one_of(NOTE_STATES, note["state"]),
        "for": harmless(note["for"], 500),
        "made": note["made"] is True,
        "options": plain_values(note["options"]),
        "hashes": _state(note["hashes"]),
        "keyed": keyed,
        "clusters": [harmless(one, 100) for one in note["clusters"]],
    }
    for name in HASHED:
        if name in note:
            checked[name] = _state(note[name])
    if "secret" in note:
        checked["secret"] = harmless(note["secret"], 100)
    if "former" in note:
        checked["former"] = [_state(one) for one in note["former"]]
    if "replaced" in note:
        checked["replaced"] = note["replaced"] is True
    return checked


def _seconds(value: Any) -> float:
    seconds = float(value)
    if not math.isfinite(seconds):
        raise ValueError("no duration")
    return seconds


def _state(state: Document) -> State:
    return {harmless(key, 500): harmless_lines(value) for key, value in state.items()}


def _instead(stdout: str, stderr: str, code: int, name: str) -> str:
    """What the account did instead of answering, in a sentence, and the next step."""
    look = LOOK.format(name=name)
    stdout, stderr = stdout.replace(payload.BEGUN, ""), stderr.replace(payload.BEGUN, "")
    if payload.NO_PYTHON in stdout:
        tried = harmless(stdout.partition(payload.NO_PYTHON)[2].strip().replace("\n", "; "), 2000)
        return (
            f"no Python from 3.6 up was found. Tried: {tried}. Name one in the account's"
            " 'vars:' as ansible_python_interpreter"
        )
    if code == payload.EATEN:
        return f"a start-up file of the account hands the connection to another shell (exec, say): {look}"
    if code == payload.CUT:
        return f"what was sent did not arrive whole: a start-up file reads standard input, or the line dropped. {look}"
    said = harmless((stderr.strip() or stdout.strip())[-300:].replace("\n", " | "))
    return f"the account ended the connection without an answer (exit code {code}): {look}" + (
        f". It said: {said}" if said else ""
    )
