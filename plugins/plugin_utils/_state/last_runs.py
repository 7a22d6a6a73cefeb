# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of the last runs from this machine on each account, for status, and to report a skipped role only once.

A run appends its lines at its end, in one write and without a lock. The lines contain no key, no path and no sentence.

A note is a sentence about something that a role skipped on an account, with the reason. Records contain only the hashes
of notes. A sandbox is a folder on this machine that simulates an account; it may have the name of a real account.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .durable_files import StateError, as_state_error, open_file, open_folder, read_file, replace_file
from .fingerprint_key import state_folder
from .state_document import Document, dump_lines, parse_document

if TYPE_CHECKING:
    from .._documents.declaration import Note
    from .._documents.finding import AuditReport, BySeverity
    from .._documents.record import RunRecord

SCHEMA = "hpc.onboard/last-run/1.0"
FILE = "runs.jsonl"
LARGEST = 512 * 1024  # bytes; a larger file is reduced to the last run of each subcommand

SUBCOMMANDS = {"hpc.onboard.converge": "onboard", "hpc.onboard.offboard": "offboard"}  # Ansible action -> subcommand
SEVERITIES = ("critical", "high", "medium", "low", "info")

Result = Mapping[str, Any]
"""The result of a task (_documents/result.py), or an error of Ansible."""

LastRuns = dict[tuple[str, bool], dict[str, "RunRecord"]]
"""(account, True for a sandbox) -> subcommand -> its last run."""


class AccountRun:
    """The results of a run on one account so far, which make_record() returns as a record."""

    def __init__(self, subcommand: str) -> None:
        self.subcommand = subcommand
        self.is_sandbox = False
        self.is_reached = False  # the account responded
        self.missing_keys: set[str] = set()  # names of required keys that the keyring lacks
        self.found_keys: set[str] = set()  # names of keys that the run has read
        self.unknown_areas: set[str] = set()  # storage areas without a known path
        self.skipped: set[str] = set()  # hashes of notes

    def add_result(self, result: Result) -> None:
        """Add the result of one task. Its outcomes are missing if the account did not respond."""
        outcomes, notes = result.get("outcomes", ()), result.get("notes") or []
        self.is_sandbox = self.is_sandbox or bool(result.get("sandbox"))
        self.is_reached = self.is_reached or "outcomes" in result
        self.missing_keys |= {outcome["missing_secret"] for outcome in outcomes if outcome.get("missing_secret")}
        self.found_keys |= set(result.get("found_keys", ()))
        self.unknown_areas |= {str(note["area"]) for note in notes if note["code"] == "path_unknown"}
        self.skipped |= {hash_note(note) for note in notes}

    def make_record(self, at: str, name: str, ended: str, earlier: Mapping[str, Any]) -> RunRecord:
        """Return the record of this run.

        at: the time when the run ended, in UTC. name: of the account. ended: the result, such as "ok". earlier: the
        record of the last run, if this run did not run all roles; else {}.
        """
        found_keys = {*earlier.get("found_keys", ())} - self.missing_keys | self.found_keys
        fields: Any = {
            "schema": SCHEMA,
            "at": at,
            "account": name,
            "sandbox": self.is_sandbox,
            "subcommand": self.subcommand,
            "ended": ended,
            "reached": self.is_reached,
            "missing_keys": sorted(self.missing_keys),
            "found_keys": sorted(found_keys),
            "unknown_areas": sorted(self.unknown_areas),
            "skipped": sorted({*self.skipped, *earlier.get("skipped", ())}),
        }
        record: RunRecord = fields
        return record


class RunRecorder:
    """Collects the results of a run by account, and finds the notes that the last run did not report."""

    def __init__(self) -> None:
        self._accounts: dict[str, AccountRun] = {}
        self._sandboxes: set[str] = set()
        self._report: AuditReport | None = None  # of an audit
        self._last_runs: LastRuns | None = None  # None: not read yet

    def add_result(self, action: str, name: str, result: Result) -> None:
        """Add the result of an action on an account. Do not call this in check mode, whose runs are not recorded.

        action: the full name of the task's Ansible action. name: of the account.
        """
        if result.get("sandbox"):
            self._sandboxes.add(name)
        if result.get("kind") == "audit_report":  # one for all accounts
            self._report = result.get("report")
        elif action in SUBCOMMANDS and result.get("kind", "account") == "account":  # an error of Ansible has no kind
            self._accounts.setdefault(name, AccountRun(SUBCOMMANDS[action])).add_result(result)

    def find_new_notes(self, name: str, result: Result) -> list[Note]:
        """Return the notes in the result that the last onboarding did not report. name: of the account."""
        reported = self._last_onboarding(name, bool(result.get("sandbox"))).get("skipped", ())
        return [note for note in result["notes"] if hash_note(note) not in reported]

    def write(self, ended: Mapping[str, str], options: Mapping[str, Any]) -> str:
        """Store a record for each account. Return a warning if that is not possible, else "".

        ended: account -> result, such as "ok". options: Ansible's command line. A run with tags does not run all roles,
        so its record also gets the notes and the found keys of the last run.
        """
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        # without the option --tags, Ansible sets the tag "all"
        is_partial = options.get("skip_tags") or list(options.get("tags") or ["all"]) != ["all"]
        records = []
        for name, run in self._accounts.items():
            earlier = self._last_onboarding(name, run.is_sandbox) if is_partial else {}
            records.append(run.make_record(at, name, ended.get(name, "failed"), earlier))
        records += build_audit_records(self._report, at, self._sandboxes) if self._report else []
        return add_records(records) if records else ""

    def _last_onboarding(self, account: str, is_sandbox: bool) -> Mapping[str, Any]:
        """Return the record of the last onboarding of the account, or {}."""
        if self._last_runs is None:  # read once in a run
            self._last_runs = {}  # without a readable file; write() returns a warning about it
            with suppress(StateError):
                self._last_runs = read_last_runs()
        return self._last_runs.get((account, is_sandbox), {}).get("onboard") or {}


def hash_note(note: Mapping[str, Any]) -> str:
    """Return the hash of a note's role and sentence for the records, which contain no sentences."""
    return hashlib.sha256(f"{note['capability']}\0{note['text']}".encode()).hexdigest()[:12]


def build_audit_records(report: AuditReport, at: str, sandboxes: Collection[str]) -> list[RunRecord]:
    """Return a record for each account in the report of an audit. at: the time of the audit's end, in UTC.

    sandboxes: names of the accounts that are sandboxes. Findings that the user has accepted (waivers) are not counted.
    An account that the audit could not check (its state is not "measured") is recorded as unreachable.
    """
    open_findings = (finding for finding in report["findings"] if not finding["waiver"])
    numbers = Counter((finding["account"], str(finding["severity"])) for finding in open_findings)
    records: list[RunRecord] = []
    for account in report["accounts"]:
        name, is_measured = account["name"], account["state"] == "measured"
        counts: Any = {severity: numbers[name, severity] for severity in SEVERITIES}
        by_severity: BySeverity = counts
        has_findings = any(counts[severity] for severity in SEVERITIES if severity != "info")  # "info" alone is "ok"
        records.append(
            {
                "schema": SCHEMA,
                "at": at,
                "account": name,
                "sandbox": name in sandboxes,
                "subcommand": "audit",
                "ended": ("found" if has_findings else "ok") if is_measured else "unreachable",
                "reached": is_measured,
                "by_severity": by_severity,
            }
        )
    return records


def add_records(records: list[RunRecord]) -> str:
    """Append the records to the file. Return a warning if that is not possible, else ""."""
    content = dump_lines(records)
    try:
        with as_state_error(FILE), open_folder() as folder:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
            handle = open_file(folder, FILE, flags, display_path=str(state_folder() / FILE))
            try:
                size = os.fstat(handle).st_size
                if size and os.pread(handle, 1, size - 1) != b"\n":  # the last run was killed, or the disk was full
                    content = b"\n" + content  # otherwise the first record would be a part of the incomplete line
                if os.write(handle, content) < len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(handle)
            # export() returns only the last runs; lines that another run appends at this moment may be lost
            if size + len(content) > LARGEST:
                replace_file(folder, FILE, dump_lines(export()))
    except StateError as error:
        return str(error)
    return ""


def read_last_runs() -> LastRuns:
    """Return the last run of each subcommand on each account. Damaged lines are skipped. Raise StateError."""
    with as_state_error(FILE), open_folder(create=False) as folder:
        content = read_file(folder, FILE) if folder >= 0 else None
    runs: LastRuns = {}
    for line in (content or b"").splitlines():
        try:
            run: Any = parse_document(line, SCHEMA, FILE, advice="", check=check_record)
        except StateError:  # incomplete after a crash, or of another version
            continue
        runs.setdefault((run["account"], run["sandbox"]), {})[run["subcommand"]] = run
    return runs


def was_reached(account: str) -> bool:
    """Return True if the account, not its sandbox, responded to the last run of any subcommand.

    Return False also if the records cannot be read.
    """
    with suppress(StateError):
        return any(run.get("reached") for run in read_last_runs().get((account, False), {}).values())
    return False


def export() -> list[RunRecord]:
    """Return the records of read_last_runs() as a list, for another machine or a smaller file. Raise StateError."""
    return [run for runs in read_last_runs().values() for run in runs.values()]


def merge(records: Iterable[RunRecord]) -> int:
    """Add the runs of another machine that are later than this machine's. Return their number. Raise StateError."""
    own_runs = read_last_runs()
    new = []
    for record in records:
        run = own_runs.get((record["account"], record["sandbox"]), {}).get(record["subcommand"])
        if run is None or record["at"] > run["at"]:
            new.append(record)
    warning = add_records(new) if new else ""
    if warning:
        raise StateError(warning)
    return len(new)


def check_record(record: Document) -> None:
    """Raise ValueError, KeyError, TypeError or AttributeError unless this is a run's record with printable texts.

    Its time must have a time zone.
    """
    texts = [record[field] for field in ("schema", "account", "subcommand", "at", "ended")]
    if not isinstance(record["sandbox"], bool) or not all(
        isinstance(text, str) and text.isprintable() for text in texts
    ):
        raise ValueError  # state_document.py reports a damaged line
    datetime.fromisoformat(record["at"]) - datetime.now(UTC)  # raises TypeError without a time zone
