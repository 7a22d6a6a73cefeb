# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of this machine in one file for another one: receipts, ledger, key versions, audits, runs, manual steps.

No key travels, so the ledger's signatures do not either: its records are verified where they are exported, and signed
again where they are imported. Whoever can change the file on its way can change what it says; both sides print its
checksum, to be compared. Fingerprints in it are keyed hashes of twelve digits, and the sealed hashes stay behind, so
that no guess at a key can be tried against it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...module_utils._core.errors import AccountError, errno_name
from .._rotation.ledger import Ledger, LedgerError, record_key, utc_now
from .._secrets import versions
from .._secrets.version_store import BELOW, VersionStore
from .._secrets.versions import Secret, VersionError
from .._state import audit_history, done_steps, last_runs, receipts
from .._state.fingerprint_key import machine_id, state_folder
from .._state.signed_record import canonical_json
from .._state.state_document import Document, parse_document
from .._text.amounts import count

SCHEMA = "hpc.onboard/state-export/1.0"
LARGEST = 256 * 1024 * 1024
RECEIPT, PLACE = re.compile(r"[A-Za-z0-9_%+@-][A-Za-z0-9_.%+@-]{0,250}\.json"), re.compile(r"[0-9a-f]{12}")
EXPORT_AGAIN = "export it again on the other machine"


@dataclass
class ImportedState:
    """What an import has added, as counts. kept: parts that were newer on this machine."""

    notes: int = 0
    records: int = 0
    secrets: list[str] = field(default_factory=list)
    findings: int = 0
    audits: int = 0
    last_runs: int = 0
    steps: int = 0
    kept: list[str] = field(default_factory=list)


def hash_document(document: Mapping[str, Any]) -> str:
    """Return the checksum of all that the document says."""
    rest = {name: value for name, value in document.items() if name != "checksum"}
    return hashlib.sha256(canonical_json(rest).encode()).hexdigest()


def collect_state() -> Document:
    """Return the state of this machine as the document that travels. Raise an error for a part that is damaged."""
    key = record_key()
    names = sorted(path.stem for path in (state_folder() / BELOW).glob("*.json"))
    secrets = {name: VersionStore(name, key).load() for name in names}
    document: Document = {
        "schema": SCHEMA,
        "made": utc_now(),
        "machine": machine_id(key),
        "receipts": receipts.export(),
        "ledger": Ledger(key).export_records(),
        "key_versions": {name: versions.to_document(_without_seals(one), 0) for name, one in secrets.items() if one},
        "audits": audit_history.export(),
        "last_runs": last_runs.export(),
        "done_steps": done_steps.read_marks(),
    }
    return {**document, "checksum": hash_document(document)}


def _without_seals(secret: Secret) -> Secret:
    """Return the secret without the hashes that only this machine can open."""
    return replace(secret, versions=tuple(replace(version, sealed="") for version in secret.versions))


def write_state(file: Path) -> Document:
    """Write the state to a new file that only its owner can read. Return the document. Raise AccountError."""
    document = collect_state()
    content = json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(handle)
    except FileExistsError:
        raise AccountError(f"{file} already exists: name another file, or move it away") from None
    except OSError as error:
        raise AccountError(f"{file}: {errno_name(error)}. Name another file") from None
    return document


def read_state(file: Path) -> Document:
    """Return the document of a file, checked as a whole before any of it is used. Raise AccountError."""
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise AccountError(f"{file}: {errno_name(error)}. Name a file that state export wrote") from None
    if len(content) > LARGEST:
        raise AccountError(f"{file} is too large ({LARGEST >> 20} MiB at most): {EXPORT_AGAIN}")
    try:
        return parse_document(content, SCHEMA, str(file), EXPORT_AGAIN, _check_document)
    except VersionError as error:
        raise AccountError(f"{file}: {error}") from None


def _check_document(document: Document) -> None:
    """Raise an error for a damaged part. Names of parts become names of files; the ledger checks its records."""
    if document["checksum"] != hash_document(document):
        raise ValueError("the checksum")
    for name, receipt in document["receipts"].items():
        if not RECEIPT.fullmatch(name):
            raise ValueError(name)
        receipts.check_copy(receipt, name, EXPORT_AGAIN)
    for name, labels in document["key_versions"].items():
        versions.from_document(labels, VersionStore(name, b"").name)
    for place, known in document["audits"]["known"].items():
        audit_history.check_findings(known)
        if not PLACE.fullmatch(place):
            raise ValueError(place)
    if not all(isinstance(line, dict) for line in (*document["ledger"], *document["audits"]["runs"])):
        raise ValueError("a line")
    for run in document["last_runs"]:
        last_runs.check_record(run)
    done_steps.check_marks(document["done_steps"])


def import_state(document: Document) -> ImportedState:
    """Add what another machine's document says and this machine does not know.

    Raise LedgerError, before anything is changed, if both machines have rotated a key since they knew the same. If it
    is killed in between, the same import continues.
    """
    key, done = record_key(), ImportedState()
    ledger = Ledger(key)
    here, there = ledger.export_records(), [dict(record) for record in document["ledger"]]
    new, own = _subtract(there, here), _subtract(here, there)
    conflicts = _rotated_secrets(new) & _rotated_secrets(own)
    if conflicts:
        names = ", ".join(sorted(conflicts))
        raise LedgerError(f"both machines have rotated {names} since their last common record: give it up on one first")
    if own:
        done.kept.append(f"the ledger, which has {count(len(own), 'record')} more on this machine")
    ledger.import_records(new)
    done.records = len(new)
    ahead = {record["secret"] for record in own} - {record["secret"] for record in new}
    for name, labels in document["key_versions"].items():
        sidecar, secret = VersionStore(name, key), versions.from_document(labels, name)
        known = sidecar.load()
        if known and (name in ahead or _without_seals(known) == secret):
            continue
        sidecar.write(_merge_versions(secret, known))
        done.secrets.append(name)
    for file, receipt in document["receipts"].items():
        done.notes += receipts.merge(file, receipt)
    done.findings, done.audits = audit_history.merge(document["audits"])
    done.last_runs = last_runs.merge(document["last_runs"])
    done.steps = done_steps.merge(document["done_steps"])
    return done


def _subtract(records: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records that are not among the others, in their order. Equal records count each."""
    left = Counter(canonical_json(record) for record in others)
    found = []
    for record in records:
        text = canonical_json(record)
        if left[text]:
            left[text] -= 1
        else:
            found.append(record)
    return found


def _rotated_secrets(records: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the secrets with a version that these records install and do not give up."""
    started = {(one["secret"], one["version"]) for one in records if one["step"] not in ("plan", "excuse", "abort")}
    given_up = {(one["secret"], one["version"]) for one in records if (one["step"], one["result"]) == ("abort", "ok")}
    return {secret for secret, _version in started - given_up}


def _merge_versions(secret: Secret, known: Secret | None) -> Secret:
    """Return the other machine's versions with what only this one knows: sealed hashes, and versions given up here."""
    if known is None:
        return secret
    seals, theirs = {version.id: version.sealed for version in known.versions}, {one.id for one in secret.versions}
    given_up = [one for one in known.versions if one.id not in theirs and one.label in ("retired", "dead", "purged")]
    merged = [replace(version, sealed=seals.get(version.id, "")) for version in secret.versions]
    return replace(secret, versions=(*given_up, *merged))
