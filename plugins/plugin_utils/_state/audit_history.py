# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history of audits on this machine: since when each finding is known, and the results of earlier audits.

A finding is one problem that an audit reports. Its fingerprint is a hash that is the same in all audits. Findings are
known for a set of accounts files. Audits of the same files with the same limit (-l) and tags are a series: a report
contains the earlier audits of its series.

Without the history, an audit reports no changes. A damaged file is renamed at the next write; a file of another
version is refused and stays.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from .durable_files import as_state_error, hold_lock, open_folder, read_file, replace_file
from .state_document import DamagedDocument, Document, StateDocument, check_document, dump_lines, parse_lines

if TYPE_CHECKING:
    from .._documents.finding import FormerAudit

KNOWN_SCHEMA, RUN_SCHEMA = "hpc.onboard/known-findings/1.0", "hpc.onboard/former-audit/1.0"
FOLDER = "audit"
KNOWN, HISTORY, LOCK = "known-%s.json", "history.jsonl", "lock"
FINDINGS_ID = re.compile(r"[0-9a-f]{12}")  # as hash_series() returns it
DAMAGED = "%s.damaged"  # new name of a damaged file
SHOWN_RUNS = 60  # former audits in a report
KEPT_RUNS = 2000  # former audits in the file
WAIT_SECONDS = 30.0  # for another audit to release the lock

Known = dict[str, dict[str, str]]
"""Fingerprint of a finding -> its rule, account, resource, and the day of the first audit that found it."""


def hash_series(*parts: str) -> str:
    """Return a hash of 12 hexadecimal digits, which names the audits that share these parts.

    parts: the paths of the accounts files, for a series followed by the limit and the tags.
    """
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def check_findings(document: Document) -> None:
    """Raise ValueError, KeyError, TypeError or AttributeError unless each finding of the document is an object."""
    if not all(isinstance(finding, dict) for finding in document["findings"].values()):
        raise ValueError  # state_document.py reports a damaged file


def _known_findings(findings_id: str) -> StateDocument:
    """Return the document of known findings in the state folder. findings_id: see read()."""
    # without advice, because callers rename a damaged document
    return StateDocument(FOLDER, KNOWN % findings_id, KNOWN_SCHEMA, advice="", check=check_findings)


def read(findings_id: str, series: str) -> tuple[Known, list[FormerAudit]]:
    """Return the known findings, and the last audits of a series, oldest first. Damaged parts count as missing.

    findings_id: hash_series() of the accounts files: other files may have a different account of the same name.
    series: hash_series() of these files, and of the limit and tags of the audit. Raise StateError.
    """
    with as_state_error(FOLDER), open_folder(FOLDER, create=False) as folder:
        if folder < 0:
            return {}, []  # no audit yet
        known, _is_damaged = _read_known(folder, findings_id)
        all_runs, _is_damaged = _read_runs(folder)
    runs = [run for run in all_runs if run.get("series") == series]
    findings: Known = known["findings"]
    # a report does not contain the fields that only this file needs
    former_audits: Any = [
        {name: value for name, value in run.items() if name not in ("series", "schema")} for run in runs[-SHOWN_RUNS:]
    ]
    return findings, former_audits


def has_audit(findings_id: str) -> bool:
    """Return True if this machine has audited these accounts files, and has an intact record of their findings.

    findings_id: see read(). Raise StateError.
    """
    with as_state_error(FOLDER), open_folder(FOLDER, create=False) as folder, suppress(DamagedDocument):
        return folder >= 0 and _known_findings(findings_id).read_in(folder) is not None
    return False


def keep(findings: Known, findings_id: str, series: str, run: FormerAudit) -> list[str]:
    """Store the result of an audit. findings: all known findings. run: the summary of this audit, added to the history.

    findings_id, series: see read(). Return a warning for each damaged file. Raise StateError.
    """
    with _locked_folder() as folder:
        known, is_known_damaged = _read_known(folder, findings_id)
        runs, is_history_damaged = _read_runs(folder)
        warnings = _move_aside(folder, KNOWN % findings_id, is_known_damaged)
        warnings += _move_aside(folder, HISTORY, is_history_damaged)
        _known_findings(findings_id).write_in(folder, {**known, "findings": findings})
        _write_runs(folder, [*runs, {"schema": RUN_SCHEMA, **run, "series": series}])
    return warnings


def export() -> Document:
    """Return the whole history, for another machine. Raise StateError.

    `known` maps each findings_id (see read()) to its document of known findings; `runs` lists all former audits.
    """
    with as_state_error(FOLDER), open_folder(FOLDER, create=False) as folder:
        if folder < 0:
            return {"known": {}, "runs": []}
        head, tail = KNOWN.split("%s")  # KNOWN % findings_id is the name of a file
        middles = (name.removeprefix(head).removesuffix(tail) for name in os.listdir(folder))
        # files with other names, such as copies, are skipped
        findings_ids = sorted(middle for middle in middles if FINDINGS_ID.fullmatch(middle))
        return {
            "known": {findings_id: _read_known(folder, findings_id)[0] for findings_id in findings_ids},
            "runs": _read_runs(folder)[0],
        }


def check_export(document: Document, advice: str) -> None:
    """Raise StateError or ValueError for another machine's history that is not as export() returns it.

    advice: what to do about a damaged document.
    """
    for findings_id, known in document["known"].items():
        if not FINDINGS_ID.fullmatch(findings_id):
            raise ValueError(findings_id)
        check_document(known, KNOWN_SCHEMA, "a document of known findings", advice, check_findings)
    for run in document["runs"]:
        check_document(run, RUN_SCHEMA, "a former audit", advice, check=dict)


def merge(other: Document) -> tuple[int, int, list[str]]:
    """Add the history of another machine, as export() returns it. A finding that both machines know stays unchanged.

    Return the numbers of new findings and runs, and a warning for each damaged file.
    """
    new_findings, warnings = 0, []
    with _locked_folder() as folder:
        for findings_id, other_known in other["known"].items():
            known, is_damaged = _read_known(folder, findings_id)
            warnings += _move_aside(folder, KNOWN % findings_id, is_damaged)
            merged = {**other_known["findings"], **known["findings"]}
            if merged != known["findings"]:
                new_findings += len(merged) - len(known["findings"])
                _known_findings(findings_id).write_in(folder, {**known, "findings": merged})
        runs, is_damaged = _read_runs(folder)
        warnings += _move_aside(folder, HISTORY, is_damaged)
        new_runs = [run for run in other["runs"] if run not in runs]
        if new_runs or is_damaged:  # a damaged file was renamed, so its intact lines are written again
            _write_runs(folder, sorted([*runs, *new_runs], key=lambda run: str(run.get("started", ""))))
    return new_findings, len(new_runs), warnings


@contextmanager
def _locked_folder() -> Iterator[int]:
    """Yield the descriptor of the folder, under the lock that lets one audit at a time write. Raise StateError."""
    holder = "another audit is still writing its results"
    with as_state_error(FOLDER), open_folder(FOLDER) as folder, hold_lock(folder, LOCK, holder, WAIT_SECONDS):
        yield folder


def _read_known(folder: int, findings_id: str) -> tuple[Document, bool]:
    """Return the document of known findings, and True if its file is damaged. folder: the open folder's descriptor.

    findings_id: see read(). Without a usable file, the document has no findings.
    """
    empty: Document = {"schema": KNOWN_SCHEMA, "findings": {}}
    try:
        return _known_findings(findings_id).read_in(folder) or empty, False
    except DamagedDocument:
        return empty, True


def _read_runs(folder: int) -> tuple[list[Document], bool]:
    """Return the intact lines of the history, and True if a line is damaged."""
    # dict() checks only that a line is a JSON object
    return parse_lines(read_file(folder, HISTORY), RUN_SCHEMA, check=dict)


def _write_runs(folder: int, runs: list[Document]) -> None:
    """Replace the history by the newest of these former audits, which are sorted from old to new."""
    replace_file(folder, HISTORY, dump_lines(runs[-KEPT_RUNS:]))


def _move_aside(folder: int, name: str, is_damaged: bool) -> list[str]:
    """Rename a damaged file, so that the file is not overwritten. Return a warning; [] for an intact file."""
    if not is_damaged:
        return []
    os.rename(name, DAMAGED % name, src_dir_fd=folder, dst_dir_fd=folder)
    return [f"the audit history in {name} is damaged. The file was renamed to {DAMAGED % name}"]
