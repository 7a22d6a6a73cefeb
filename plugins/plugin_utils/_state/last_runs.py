# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the last runs ended on each account, as this machine saw it: for status, and for what need not be said again.

A run adds its lines at its end, in one write and without a lock; by them a run may do less, never more. They hold no
key, no path and no sentence.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .fingerprint_key import make_private, state_folder

if TYPE_CHECKING:
    from .._documents.declaration import Note
    from .._documents.finding import BySeverity, Report
    from .._documents.record import RunRecord

SCHEMA = "hpc.onboard/run/1.1"
FILE = "runs.jsonl"
LARGEST = 512 * 1024  # bytes, after which no more is kept than the last run of each verb
FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

VERBS = {"hpc.onboard.converge": "onboard", "hpc.onboard.offboard": "offboard"}  # action -> what it does to an account
SEVERITIES = ("critical", "high", "medium", "low", "info")

Result = Mapping[str, Any]
"""Of a task, as _documents/result.py has it, or an error of Ansible's."""

Runs = dict[tuple[str, bool], dict[str, "RunRecord"]]
"""(account, whether it is a sandbox) -> verb -> its last run."""


class Account:
    """What a run has come to on one account so far."""

    def __init__(self, verb: str, sandbox: bool) -> None:
        self.verb = verb
        self.sandbox = sandbox
        self.reached = False
        self.missing_keys: set[str] = set()
        self.unknown_areas: set[str] = set()
        self.left_out: set[str] = set()

    def take(self, result: Result) -> None:
        """Note the result of one task."""
        self.sandbox = self.sandbox or bool(result.get("sandbox"))
        self.reached = self.reached or "outcomes" in result
        self.missing_keys |= {one["missing_secret"] for one in result.get("outcomes", ()) if one.get("missing_secret")}
        notes: list[Note] = result.get("notes") or []
        self.unknown_areas |= {str(note["area"]) for note in notes if note["code"] == "path_unknown"}
        self.left_out |= set(map(digest, notes))


class Ends:
    """How a run ends on each account, and what need not be said of it since an earlier run has said it."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}
        self._sandboxes: set[str] = set()
        self._report: Report | None = None
        self._last: Runs | None = None

    def take(self, action: str, name: str, result: Result) -> None:
        """Note a result of a run that was no check run."""
        if result.get("sandbox"):
            self._sandboxes.add(name)
        if result.get("kind") == "audit_report":
            self._report = result.get("report")
        elif action in VERBS and result.get("kind", "account") == "account":
            self._accounts.setdefault(name, Account(VERBS[action], False)).take(result)

    def unsaid(self, name: str, result: Result) -> list[Note]:
        """The notes of a result that the last run over this account has not said."""
        notes: list[Note] = result["notes"]
        self._last = last() if self._last is None else self._last
        known = said_before(self._last, name, bool(result.get("sandbox")))
        return [note for note in notes if digest(note) not in known]

    def keep(self, ended: Mapping[str, str], options: Mapping[str, Any]) -> str:
        """Add all of it to the records; gives what is to be said where it cannot be kept.

        ended: account -> how. options: Ansible's of the command line; with tags, what was not looked at stays known.
        """
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        records = [self._record(at, name, one, ended.get(name, "failed")) for name, one in self._accounts.items()]
        if options.get("skip_tags") or list(options.get("tags") or ["all"]) != ["all"]:
            self._last = last() if self._last is None else self._last
            for one in records:
                known = said_before(self._last, one["account"], one["sandbox"])
                one["left_out"] = sorted({*one.get("left_out", ()), *known})
        records += audited(self._report, at, self._sandboxes) if self._report else []
        return add(records) if records else ""

    @staticmethod
    def _record(at: str, name: str, one: Account, ended: str) -> RunRecord:
        record: Any = {"schema": SCHEMA, "at": at, "account": name, "sandbox": one.sandbox, "verb": one.verb}
        record |= {"ended": ended, "reached": one.reached, "left_out": sorted(one.left_out)}
        record |= {"missing_keys": sorted(one.missing_keys), "unknown_areas": sorted(one.unknown_areas)}
        kept: RunRecord = record
        return kept


def said_before(runs: Runs, account: str, sandbox: bool) -> set[str]:
    """The digests of what the last onboarding of an account left out."""
    last_one = runs.get((account, sandbox), {}).get("onboard")
    return set(last_one.get("left_out", ())) if last_one else set()


def digest(note: Note) -> str:
    """What stands for a reason in the records, which hold no sentence."""
    return hashlib.sha256(f"{note['capability']}\0{note['text']}".encode()).hexdigest()[:12]


def audited(report: Report, at: str, sandboxes: Iterable[str]) -> list[RunRecord]:
    """The record of each account of an audit's report."""
    records: list[RunRecord] = []
    for account in report["accounts"]:
        name, is_measured = account["name"], account["state"] == "measured"
        counts: Any = dict.fromkeys(SEVERITIES, 0)
        for finding in report["findings"]:
            if finding["account"] == name and not finding["waiver"]:
                counts[finding["severity"]] += 1
        severities: BySeverity = counts
        counting = any(counts[one] for one in SEVERITIES if one != "info")
        records.append(
            {
                "schema": SCHEMA,
                "at": at,
                "account": name,
                "sandbox": name in sandboxes,
                "verb": "audit",
                "ended": ("found" if counting else "ok") if is_measured else "unreachable",
                "reached": is_measured,
                "by_severity": severities,
            }
        )
    return records


def add(records: Iterable[RunRecord]) -> str:
    """Keep these. Gives what is to be said where they cannot be kept, else nothing."""
    text = b"".join(json.dumps(one, sort_keys=True).encode() + b"\n" for one in records)
    path = state_folder() / FILE
    try:
        make_private(path.parent)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | FLAGS, 0o600)
        try:
            found = os.fstat(handle)
            if not _is_mine(found):
                return f"{path} is not a file that only you can read and write: move it away"
            os.write(handle, text)
        finally:
            os.close(handle)
    except OSError as error:
        return f"{path}: {error.strerror}: put that right"
    if found.st_size + len(text) > LARGEST:
        _shorten()
    return ""


def last() -> Runs:
    """The last run of each verb over each account. What cannot be read, or is of a newer version, is left out."""
    try:
        handle = os.open(state_folder() / FILE, os.O_RDONLY | FLAGS)
    except OSError:
        return {}
    if not _is_mine(os.fstat(handle)):
        os.close(handle)
        return {}
    with os.fdopen(handle, "rb") as stream:
        lines = stream.read().splitlines()
    found: Runs = {}
    for one in _records(lines):
        found.setdefault((one["account"], one["sandbox"]), {})[one["verb"]] = one
    return found


def was_reached(account: str) -> bool:
    """Return True if the last run of some verb has reached the account itself."""
    return any(one.get("reached") for one in last().get((account, False), {}).values())


def exported() -> list[RunRecord]:
    """The last run of each verb over each account, for another machine."""
    return [one for verbs in last().values() for one in verbs.values()]


def merge(records: Iterable[RunRecord]) -> int:
    """Add the runs of another machine that came after those known here; how many. Raises StateError."""
    known = last()
    new = [one for one in records if one["at"] > _when(known, one)]
    if why := add(new) if new else "":
        from .durable_files import StateError

        raise StateError(why)
    return len(new)


def check(records: Any) -> None:
    """Raise ValueError and the like where one of these is not a record of a run; its words are shown to people."""
    lines = [json.dumps(one, sort_keys=True).encode() for one in records]
    if len(list(_records(lines))) < len(lines) or any(b"\\" in line for line in lines):
        raise ValueError("a run")


def _when(known: Runs, one: RunRecord) -> str:
    verbs = known.get((one["account"], one["sandbox"]), {})
    return verbs[one["verb"]]["at"] if one["verb"] in verbs else ""


def _is_mine(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _records(lines: list[bytes]) -> Iterator[RunRecord]:
    for line in lines:
        try:
            one: Any = json.loads(line)
            known = _is_read(one["schema"]) and isinstance(one["sandbox"], bool)
            if known and all(isinstance(one[name], str) for name in ("account", "verb", "at", "ended")):
                yield one
        except (ValueError, KeyError, TypeError, RecursionError):
            continue


def _is_read(said: object) -> bool:
    """Whether a line of that schema is one that this version reads."""
    if said == SCHEMA:
        return True
    from ...module_utils._core import document_version  # most are of this one

    return document_version.compare(said, SCHEMA) in (document_version.OLDER, document_version.LATER)


def _shorten() -> None:
    """Leave the last run of each verb. What another run adds meanwhile may be lost; its next one says it anew."""
    from . import durable_files  # once in thousands of runs

    kept = [one for verbs in last().values() for one in verbs.values()]
    text = b"".join(json.dumps(one, sort_keys=True).encode() + b"\n" for one in kept)
    with durable_files.told(FILE), durable_files.folder() as at:
        durable_files.replace(at, FILE, text)
