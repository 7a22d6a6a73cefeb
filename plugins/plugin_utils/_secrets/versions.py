# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions of a secret and their labels: which version is current, pending or previous.

Each change is a function that returns a new Secret, or raises StateError if the labels do not allow the change. The
value of a version is in the keyring under NAME@VERSION; the value that the user stored is under NAME, and is the
version "first". This module accesses no values, no files and no clock. A rotation replaces the key of a secret, and
begins with a pending version. The parameter `version` of the functions is the id of a version.

    pending -> current -> previous -> retired -> dead -> purged
    pending -> retired (cancelled; the new key still has to be deactivated)
    current -> pending, previous -> current (cancelled after it was current, while the previous key is still valid)
"""

from __future__ import annotations

import hmac
import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

from ...module_utils._core import document_version
from .._state import signed_record
from .._state.durable_files import StateError

SCHEMA = "hpc.onboard/labels/1.0"
FIRST = "first"  # id of the version that existed before the first rotation
LABELS = ("pending", "current", "previous", "retired", "dead", "purged")
KINDS = ("personal", "service", "legacy", "token")  # of keys: three kinds of NGC keys, and tokens of other services
AT_ONCE = ("legacy",)  # creating a new key of this kind revokes the old key immediately
DAY = r"(20\d\d-[01]\d-[0-3]\d)?"
TEXTS = {  # field of a version -> pattern of its text
    "id": signed_record.VERSION,
    "kind": "|".join(KINDS),
    "issued": DAY,
    "expires": DAY,
    "fingerprint": f"({signed_record.FINGERPRINT})?",
    "label": "|".join(LABELS),
    "sealed": f"({signed_record.DIGEST})?",
    "machine": f"({signed_record.MACHINE})?",
}

_START_AGAIN = "rename or move the file, but do not delete it; the ledger shows which version each account has"


@dataclass(frozen=True)
class KeyVersion:
    """A version without its value. kind: one of KINDS. issued, expires: YYYY-MM-DD, or empty.

    fingerprint: of the value, in the records of this machine. targets: the files on accounts that contain the value.
    sealed: encrypted hash of the value, for fingerprints on accounts (key_marks.py). sequence: number of the rotation
    that created the version; 0 for the first version. machine: id of the machine that ran this rotation.
    """

    id: str
    kind: str
    label: str = "pending"
    issued: str = ""
    expires: str = ""
    fingerprint: str = ""
    targets: tuple[str, ...] = ()
    sealed: str = ""
    sequence: int = 0
    machine: str = ""


@dataclass(frozen=True)
class Secret:
    """A secret by name and all its versions, oldest first."""

    name: str
    versions: tuple[KeyVersion, ...]

    def with_labels(self, *labels: str) -> tuple[KeyVersion, ...]:
        """Return the versions with one of these labels, oldest first."""
        return tuple(version for version in self.versions if version.label in labels)

    def find_label(self, label: str) -> KeyVersion | None:
        """Return the first version with a label, or None. Meant for labels that only one version can have."""
        return next(iter(self.with_labels(label)), None)

    @property
    def current(self) -> KeyVersion:
        """Return the version that onboarding installs; a secret always has one."""
        return self.with_labels("current")[0]

    def find_version(self, version: str) -> KeyVersion:
        """Return the version with this id. Raise StateError."""
        for candidate in self.versions:
            if candidate.id == version:
                return candidate
        raise StateError(f"the secret '{self.name}' does not have the version '{version}'")


def new_id() -> str:
    """Return a random id for a new version."""
    return str(uuid.uuid4())


def keyring_name(name: str, version: str) -> str:
    """Return the name of a version's value in the keyring."""
    return name if version == FIRST else f"{name}@{version}"


def find_flaw(secret: Secret) -> str:
    """Return how the labels or ids of the versions contradict each other; "" if they do not."""
    count = {label: len(secret.with_labels(label)) for label in LABELS}
    if count["current"] != 1:
        return f"{count['current']} versions are current; exactly one must be current"
    for label in ("pending", "previous"):
        if count[label] > 1:
            return f"{count[label]} versions are {label}; at most one may be {label}"
    if len({version.id for version in secret.versions}) != len(secret.versions):
        return "two versions have the same ID"
    return ""


def check_secret(secret: Secret) -> Secret:
    """Return the secret unchanged if it is valid, else raise StateError."""
    subject = f"a version of '{secret.name}'"
    signed_record.check_texts({"name": secret.name}, {"name": signed_record.NAME}, "the record of a secret")
    for version in secret.versions:
        signed_record.check_texts(vars(version), TEXTS, subject)
        for day in filter(None, (version.issued, version.expires)):
            try:
                date.fromisoformat(day)
            except ValueError:
                raise StateError(f"{subject} has a date that does not exist") from None
        if not signed_record.is_integer(version.sequence, least=0):
            raise StateError(f"{subject}: 'sequence' is invalid; expected a whole number (0 or more)")
        for target in version.targets:
            signed_record.check_texts({"targets": target}, {"targets": signed_record.TARGET}, subject)
    flaw = find_flaw(secret)
    if flaw:
        raise StateError(f"the versions of '{secret.name}' contradict each other: {flaw}")
    return secret


def adopt(name: str, kind: str, fingerprint: str = "", targets: tuple[str, ...] = (), sealed: str = "") -> Secret:
    """Return a new secret. Its first version is the value that the user stored in the keyring under this name.

    kind, fingerprint, targets, sealed: of this version.
    """
    first = KeyVersion(FIRST, kind, "current", fingerprint=fingerprint, targets=targets, sealed=sealed)
    return check_secret(Secret(name, (first,)))


def add_pending(secret: Secret, pending: KeyVersion) -> Secret:
    """Add the version of the next rotation, whose value must be in the keyring. Retire the previous version, if any."""
    if secret.find_label("pending"):
        raise StateError(
            f"a rotation of '{secret.name}' is already open. Finish it with --resume or cancel it "
            f"with --give-up, then start a new rotation"
        )
    for previous in secret.with_labels("previous"):
        secret = retire(secret, previous.id)
    new_version = replace(pending, label="pending", sequence=next_sequence(secret.versions))
    return check_secret(replace(secret, versions=(*secret.versions, new_version)))


def next_sequence(versions: tuple[KeyVersion, ...]) -> int:
    """Return the number of the next rotation. versions: all versions of the secret."""
    return 1 + max((version.sequence for version in versions), default=0)


def promote(secret: Secret, version: str, targets: tuple[str, ...]) -> Secret:
    """Make the pending version current, on these targets, and the current version previous."""
    changed = _relabel(secret, secret.current.id, "current", "previous")
    return _relabel(changed, version, "pending", "current", targets=targets)


def set_last_day(secret: Secret, version: str, day: str) -> Secret:
    """Set the last day of a version, as the key's issuer or the user reports it: YYYY-MM-DD."""
    label = secret.find_version(version).label
    return _relabel(secret, version, label, label, expires=day)


def step_down(secret: Secret, version: str) -> Secret:
    """Make the current version pending again, and the previous version current: the first step to cancel a rotation."""
    previous = secret.find_label("previous")
    if previous is None:
        raise StateError(f"the key '{secret.name}' has no previous version to restore")
    changed = _relabel(secret, version, "current", "pending")
    return _relabel(changed, previous.id, "previous", "current")


def retire(secret: Secret, version: str) -> Secret:
    """Mark the previous version as retired: it has to be deactivated. Its value stays in the keyring."""
    return _relabel(secret, version, "previous", "retired")


def abort(secret: Secret, version: str) -> Secret:
    """Mark the pending version as retired, to cancel a rotation: its key has to be deactivated."""
    return _relabel(secret, version, "pending", "retired")


def mark_dead(secret: Secret, version: str) -> Secret:
    """Mark the retired version as dead: its issuer refuses the key."""
    return _relabel(secret, version, "retired", "dead")


def purge(secret: Secret, version: str) -> Secret:
    """Mark the dead version as removed from the keyring."""
    return _relabel(secret, version, "dead", "purged")


def _relabel(secret: Secret, version: str, before: str, after: str, **fields: Any) -> Secret:
    """Return the secret with the label of a version changed from `before` to `after`, and with other fields set.

    version: the id of the version. Raise StateError if its label is not `before`.
    """
    former = secret.find_version(version)
    if former.label != before:
        raise StateError(
            f"this step needs a version of '{secret.name}' with the label {before}, but its label is {former.label}. "
            "To see the state of the rotation, run the rotation with --resume"
        )
    relabelled = replace(former, label=after, **fields)
    return replace(secret, versions=tuple(relabelled if other is former else other for other in secret.versions))


def to_document(secret: Secret, seq: int) -> dict[str, Any]:
    """Return the document of a secret, without its signature. seq: how often the document was written."""
    versions = [{**asdict(version), "targets": list(version.targets)} for version in secret.versions]
    return {"schema": SCHEMA, "seq": seq, "secret": secret.name, "versions": versions}


def serialize(secret: Secret, seq: int, key: bytes) -> bytes:
    """Return the signed document of a secret. seq: how often it was written. key: this machine's secret key."""
    document = to_document(secret, seq)
    return (json.dumps({**document, "mac": _mac(document, key)}, indent=1, sort_keys=True) + "\n").encode()


def _mac(document: Mapping[str, Any], key: bytes) -> str:
    """Return the signature of a document that has no signature yet. key: this machine's secret key."""
    subkey = signed_record.derive_subkey(key, "versions")
    return hmac.digest(subkey, signed_record.canonical_json(document).encode(), "sha256").hex()


def deserialize(content: bytes, name: str, key: bytes) -> tuple[Secret, int]:
    """Return the secret, and how often its record was written. Raise StateError if the record is not intact.

    content: the record. name: of the secret. key: this machine's secret key, which has signed the record.
    """
    subject = f"the record of the versions of '{name}'"
    try:
        document = json.loads(content)
        mac = document.pop("mac")
        if not hmac.compare_digest(_mac(document, key), mac) or document["secret"] != name:
            raise StateError(f"{subject} was edited, or written with a different key; {_START_AGAIN}")
        return from_document(document, name), int(document["seq"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StateError(f"{subject} is damaged; {_START_AGAIN}") from None


def from_document(document: Mapping[str, Any], name: str) -> Secret:
    """Return the secret in a document without signature. name: of the secret.

    Raise StateError, or KeyError, TypeError or ValueError for a damaged document.
    """
    subject = f"the record of the versions of '{name}'"
    reason = document_version.refusal(document["schema"], SCHEMA, subject, _START_AGAIN)
    if reason:
        raise StateError(reason)
    versions = tuple(KeyVersion(**{**member, "targets": tuple(member["targets"])}) for member in document["versions"])
    return check_secret(Secret(name, versions))
