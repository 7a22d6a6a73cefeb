# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What audits remember on this machine: since when each finding is known, and how the runs before this one ended.

Without it a run is as good, but tells nothing of the past. What is damaged is moved aside when it is written again;
what a newer version wrote is left as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

from ...module_utils._core import document_version
from . import durable_files
from .durable_files import StateError

if TYPE_CHECKING:
    from .._documents.finding import Former

KNOWN_SCHEMA, RUN_SCHEMA = "hpc.onboard/audit-known/2.1", "hpc.onboard/audit-run/1.2"
FOLDER = "audit"
KNOWN, HISTORY, LOCK = "known-%s.json", "history.jsonl", "lock"
DAMAGED = "%s.damaged"
RUNS = 60  # that are told of
KEPT = 2000  # runs that are remembered
WAIT_SECONDS = 30.0

Known = dict[str, dict[str, str]]
Document = dict[str, Any]  # as it lies in a file, with what other versions have written


class NewerHistory(StateError):
    """A newer version of hpc.onboard wrote what is remembered here."""


def series(*words: str) -> str:
    """What tells runs over the same accounts from others."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:12]


def read(place: str, name: str) -> tuple[Known, list[Former]]:
    """The findings that are known, by fingerprint, and the runs of that series, oldest first.

    place: the series of all runs over the same accounts files, for another file may have an account of the same name.
    Raises NewerHistory; what is damaged is as if it were not there, and keep() says so.
    """
    with durable_files.told(FOLDER), durable_files.folder(FOLDER, make=False) as at:
        if at < 0:
            return {}, []
        known, _damaged = _known(durable_files.read(at, KNOWN % place))
        lines, _damaged = _lines(durable_files.read(at, HISTORY))
    runs = [run for run in lines if run.get("series") == name]
    findings: Known = known["findings"]
    told: Any = [{key: run[key] for key in run if key not in ("series", "schema")} for run in runs[-RUNS:]]
    return findings, told  # as they were written, which nobody checks again


def was_made(place: str) -> bool:
    """Whether an audit of these accounts files is remembered."""
    with durable_files.told(FOLDER), durable_files.folder(FOLDER, make=False) as at:
        return at >= 0 and durable_files.read(at, KNOWN % place) is not None


def keep(findings: Known, place: str, name: str, run: Former) -> list[str]:
    """Remember these findings, and this run. Gives what is to be said of damaged files. Raises NewerHistory."""
    with (
        durable_files.told(FOLDER),
        durable_files.folder(FOLDER) as at,
        durable_files.locked(at, LOCK, "another audit writes down what it found, and does not end", WAIT_SECONDS),
    ):
        before, history = durable_files.read(at, KNOWN % place), durable_files.read(at, HISTORY)
        (known, known_damaged), (lines, lines_damaged) = _known(before), _lines(history)
        said = [
            _moved_aside(at, file)
            for file, damaged in ((KNOWN % place, known_damaged), (HISTORY, lines_damaged))
            if damaged
        ]
        text = _of_known(known, findings)
        if text != before:
            durable_files.replace(at, KNOWN % place, text)
        durable_files.replace(at, HISTORY, _of_runs([*lines, {"schema": RUN_SCHEMA, **run, "series": name}]))
    return said


def exported() -> Document:
    """All that audits remember here, for another machine: the findings that are known by place, and the runs."""
    with durable_files.told(FOLDER), durable_files.folder(FOLDER, make=False) as at:
        if at < 0:
            return {"known": {}, "runs": []}
        head, tail = KNOWN.split("%s")
        places = [
            name[len(head) : -len(tail)]
            for name in sorted(os.listdir(at))
            if name.startswith(head) and name.endswith(tail)
        ]
        known = {place: _known(durable_files.read(at, KNOWN % place))[0] for place in places}
        return {"known": known, "runs": _lines(durable_files.read(at, HISTORY))[0]}


def merge(other: Document) -> tuple[int, int]:
    """Add what another machine remembers; what is known here stays. How many findings and runs were new."""
    findings = runs = 0
    with (
        durable_files.told(FOLDER),
        durable_files.folder(FOLDER) as at,
        durable_files.locked(at, LOCK, "another audit writes down what it found, and does not end", WAIT_SECONDS),
    ):
        for place, theirs in other["known"].items():
            mine, _damaged = _known(durable_files.read(at, KNOWN % place))
            whole = {**theirs["findings"], **mine["findings"]}
            if whole != mine["findings"]:
                findings += len(whole) - len(mine["findings"])
                durable_files.replace(at, KNOWN % place, _of_known(mine, whole))
        lines, _damaged = _lines(durable_files.read(at, HISTORY))
        new = [run for run in other["runs"] if run not in lines]
        if new:
            every = sorted([*lines, *new], key=lambda run: str(run.get("started", "")))
            runs = len(new)
            durable_files.replace(at, HISTORY, _of_runs(every))
    return findings, runs


def _of_known(document: Document, findings: Known) -> bytes:
    """The file of what is known, with these findings."""
    return json.dumps({**document, "findings": findings}, indent=1, sort_keys=True).encode() + b"\n"


def _of_runs(runs: list[Document]) -> bytes:
    """The file of the runs that are remembered, of these the last."""
    return b"".join(json.dumps(one, sort_keys=True).encode() + b"\n" for one in runs[-KEPT:])


def _moved_aside(at: int, name: str) -> str:
    """Keep a damaged file under another name, and say so."""
    os.rename(name, DAMAGED % name, src_dir_fd=at, dst_dir_fd=at)
    return f"{name}, what audits remember, was damaged: it lies beside the new one as {DAMAGED % name}"


def _known(content: bytes | None) -> tuple[Document, bool]:
    """The document of the findings that are known, and whether it is damaged."""
    empty: Document = {"schema": KNOWN_SCHEMA, "findings": {}}
    if content is None:
        return empty, False
    try:
        found = json.loads(content)
        if "schema" not in found:  # of 0.1.0: the findings alone
            found = {**empty, "findings": found}
        if not all(isinstance(one, dict) for one in found["findings"].values()):
            return empty, True
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return empty, True
    damaged = _is_foreign(found["schema"], KNOWN_SCHEMA)
    return (empty if damaged else found), damaged


def _lines(content: bytes | None) -> tuple[list[Document], bool]:
    """The runs that can be read, and whether there are lines that cannot: those that a crash has cut, say."""
    found, damaged = [], False
    for line in (content or b"").splitlines():
        try:
            run = json.loads(line)
            known = not _is_foreign(run.get("schema", 1), RUN_SCHEMA)
        except (ValueError, AttributeError, RecursionError):
            known = False
        if known:
            found.append(run)
        damaged = damaged or not known
    return found, damaged


def _is_foreign(said: object, known: str) -> bool:
    """Whether that is no document of this kind. Raises NewerHistory."""
    standing = document_version.compare(said, known)
    if standing == document_version.NEWER:
        raise NewerHistory(str(document_version.refusal(said, known, "what audits remember here", "")))
    return standing == document_version.FOREIGN
