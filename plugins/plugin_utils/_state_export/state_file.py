# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Export the state of this machine to a file, and import it on another: receipts, ledger, key versions, audits, runs.

A receipt lists what hpc-onboard created on an account; each of its notes describes one resource. The ledger is the list
of all steps of rotations; a rotation replaces a key, also called a secret, on all accounts with a new version. The
sealed hash of a version is its hash, encrypted with the secret key of one machine.

The file contains no key, and so no signatures of the ledger: records are verified at export and signed again at import.
A person who can change the file in between can change the records, so both machines print its checksum for the user to
compare. Fingerprints in the file are keyed hashes of twelve digits, and sealed hashes are not exported, so that no
guess at a key can be tested with the file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...module_utils._core.errors import AccountError, errno_name
from .._rotation.ledger import Ledger, LedgerError, record_key, utc_now
from .._secrets import versions
from .._secrets.version_store import VersionStore, list_names
from .._secrets.versions import Secret
from .._state import audit_history, done_steps, last_runs, receipts, signed_record
from .._state.durable_files import StateError
from .._state.fingerprint_key import machine_id
from .._state.signed_record import canonical_json
from .._state.state_document import Document, parse_document
from .._text.amounts import count

SCHEMA = "hpc.onboard/state-export/1.0"
LARGEST = 256 * 1024 * 1024  # bytes of an exported file
EXPORT_AGAIN = "export it again on the other machine"


@dataclass
class ImportedState:
    """The numbers of items that an import has added.

    notes: of receipts. records: of the ledger. secrets: names of the keys with new versions. findings, audits: of the
    audit history. steps: marks that a manual step is done. kept: descriptions of parts that stay, because this machine
    has newer ones. warnings: about damaged files, which were renamed.
    """

    notes: int = 0
    records: int = 0
    secrets: list[str] = field(default_factory=list)
    findings: int = 0
    audits: int = 0
    last_runs: int = 0
    steps: int = 0
    kept: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def hash_document(document: Mapping[str, Any]) -> str:
    """Return the checksum of the document without its field `checksum`."""
    content = {name: value for name, value in document.items() if name != "checksum"}
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def collect_state() -> Document:
    """Return the document with the state of this machine. Raise StateError for a damaged part."""
    key = record_key()
    secrets = {name: VersionStore(name, key).load() for name in list_names()}  # keys that were ever rotated
    document: Document = {
        "schema": SCHEMA,
        "made": utc_now(),
        "machine": machine_id(key),
        "receipts": receipts.export(),
        "ledger": Ledger(key).export_records(),
        "key_versions": {
            # seq: the number of a write, which is valid on one machine only
            name: versions.to_document(_remove_seals(secret), seq=0)
            for name, secret in secrets.items()
            if secret
        },
        "audits": audit_history.export(),
        "last_runs": last_runs.export(),
        "done_steps": done_steps.read_marks(),
    }
    return {**document, "checksum": hash_document(document)}


def _remove_seals(secret: Secret) -> Secret:
    """Return the secret without its sealed hashes, which only this machine can open."""
    return replace(secret, versions=tuple(replace(version, sealed="") for version in secret.versions))


def write_state(file: Path) -> Document:
    """Write the state to a new file that only its owner can read. Return the document. Raise AccountError."""
    document = collect_state()
    content = json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(handle)
        except OSError:  # such as a full disk
            file.unlink()
            raise
    except FileExistsError:
        raise AccountError(
            f"{file} already exists: choose a different name, or rename or move the existing file"
        ) from None
    except OSError as error:
        raise AccountError(f"could not write {file} ({errno_name(error)}). Choose a different file") from None
    return document


def read_state(file: Path) -> Document:
    """Return the document in a file, after a check of all its parts. Raise AccountError."""
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise AccountError(
            f"could not read {file} ({errno_name(error)}). Choose a file written by `hpc-onboard state export`"
        ) from None
    if len(content) > LARGEST:
        raise AccountError(
            f"{file} is too large (limit: {LARGEST >> 20} MiB). Choose a file written by `hpc-onboard state export`"
        )
    return parse_document(content, SCHEMA, str(file), EXPORT_AGAIN, partial(_check_document, file=file))


def _check_document(document: Document, file: Path) -> None:
    """Raise StateError for a damaged part, or, as parse_document() expects, one of NOT_VALID for a damaged file."""
    if document["checksum"] != hash_document(document):
        raise ValueError("the checksum")
    for name, receipt in document["receipts"].items():  # name: of a file, so it must not contain a slash
        if not receipts.FILE_NAME.fullmatch(name):
            raise ValueError(name)
        receipts.check_copy(receipt, name, EXPORT_AGAIN)
    try:
        for name, secret_document in document["key_versions"].items():
            VersionStore(name, key=b"")  # raises StateError for an invalid name
            versions.from_document(secret_document, name)
        audit_history.check_export(document["audits"], EXPORT_AGAIN)
        signed_record.check_exported(document["ledger"])
    except StateError as error:
        raise StateError(f"{file}: {error}") from None
    for run in document["last_runs"]:
        last_runs.check_record(run)
    done_steps.check_marks(document["done_steps"])


def import_state(document: Document) -> ImportedState:
    """Add the state in another machine's document that this machine lacks. Return the numbers of new items.

    Raise LedgerError, before any change, if both machines have rotated a key since their last common record. An import
    that was interrupted can be repeated.
    """
    key, imported = record_key(), ImportedState()
    newer_here = _import_records(Ledger(key), document["ledger"], imported)
    for name, secret_document in document["key_versions"].items():
        store, secret = VersionStore(name, key), versions.from_document(secret_document, name)
        own_secret = store.load()
        if own_secret and (name in newer_here or _remove_seals(own_secret) == secret):
            continue  # the versions on this machine are newer, or the same
        if own_secret and _has_unknown_version_in_use(own_secret, secret):  # the ledger of this machine was lost
            imported.kept.append(f"the versions of {name}, of which the other machine lacks one that is in use")
            continue
        store.write(_merge_versions(secret, own_secret))
        imported.secrets.append(name)
    for file, receipt in document["receipts"].items():
        imported.notes += receipts.merge(file, receipt)
    imported.findings, imported.audits, imported.warnings = audit_history.merge(document["audits"])
    imported.last_runs = last_runs.merge(document["last_runs"])
    imported.steps = done_steps.merge(document["done_steps"])
    return imported


def _import_records(ledger: Ledger, document_records: Sequence[Mapping[str, Any]], imported: ImportedState) -> set[str]:
    """Add the other machine's new records to the ledger, and their number to imported.

    Return the names of the secrets of which only this machine has later records. Raise LedgerError, before any change,
    if both machines have rotated a key. document_records: the other machine's.
    """
    records, other_records = ledger.export_records(), [dict(record) for record in document_records]
    new_records, only_here = _subtract(other_records, records), _subtract(records, other_records)
    conflicts = _rotated_secrets(new_records) & _rotated_secrets(only_here)
    if conflicts:
        names = ", ".join(sorted(conflicts))
        raise LedgerError(
            f"both machines have rotated {names} since their last common record, so their records cannot be combined. "
            "If the last rotation on one machine can still be cancelled, run `hpc-onboard rotate --give-up` there, and "
            "export and import the state again. Otherwise, run `hpc-onboard rotate` on this machine and enter the key "
            "that the accounts have now"
        )
    if only_here:
        imported.kept.append(f"the ledger, which has {count(len(only_here), 'record')} that the other machine lacks")
    ledger.import_records(new_records)
    imported.records = len(new_records)
    return {record["secret"] for record in only_here} - {record["secret"] for record in new_records}


def _subtract(records: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records that are not among the others, in their order. Equal records are matched one to one.

    records, others: of two ledgers, as export_records() returns them.
    """
    unmatched = Counter(canonical_json(record) for record in others)
    missing = []
    for record in records:
        text = canonical_json(record)
        if unmatched[text]:
            unmatched[text] -= 1
        else:
            missing.append(record)
    return missing


def _rotated_secrets(records: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of the secrets with a version that these records of the ledger start and do not cancel.

    A version is started by its first step after the plan; before that step, it has no key. The step "excuse", which
    omits a target from the rotation, starts no version.
    """
    started, cancelled = set(), set()
    for record in records:
        version = (record["secret"], record["version"])
        if record["step"] not in ("plan", "excuse", "abort"):
            started.add(version)
        elif (record["step"], record["result"]) == ("abort", "ok"):  # the rotation was cancelled
            cancelled.add(version)
    return {secret for secret, _version in started - cancelled}


def _has_unknown_version_in_use(own_secret: Secret, secret: Secret) -> bool:
    """Return True if the other machine lacks a version of this machine that accounts may have.

    secret: the versions from the other machine. own_secret: the versions on this machine.
    """
    known_ids = {version.id for version in secret.versions}
    return any(version.id not in known_ids for version in own_secret.with_labels("pending", "current", "previous"))


def _merge_versions(secret: Secret, own_secret: Secret | None) -> Secret:
    """Return the other machine's versions, with the sealed hashes and the cancelled versions of this machine.

    secret: the versions from the other machine. own_secret: the versions on this machine, or None.
    """
    if own_secret is None:
        return secret
    seals = {version.id: version.sealed for version in own_secret.versions}
    merged = [replace(version, sealed=seals.get(version.id, "")) for version in secret.versions]
    imported_ids = {version.id for version in merged}
    # a cancelled rotation leaves a version that only this machine knows, with a label of old versions
    out_of_use = own_secret.with_labels("retired", "dead", "purged")
    cancelled = [version for version in out_of_use if version.id not in imported_ids]
    return replace(secret, versions=(*cancelled, *merged))
