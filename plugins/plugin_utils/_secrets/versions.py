# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions of a secret and their labels: which one is current, pending or previous.

Every change is a function from one Secret to the next that refuses an invalid one. The value of a version is in the
keyring under NAME@VERSION; the value that a user stored by hand stays under NAME alone and is the version "first".
Nothing here touches a value, a file or the clock.

    pending -> current -> previous -> retired -> dead -> purged
    pending -> retired (aborted; the key that was made has to be deactivated all the same)
    current -> pending, previous -> current (given up after it was current, while the one before lives)
"""

from __future__ import annotations

import hmac
import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...module_utils._core import document_version
from .._state import signed_record

SCHEMA = "hpc.onboard/labels/1.0"
FIRST = "first"
LABELS = ("pending", "current", "previous", "retired", "dead", "purged")
KINDS = ("personal", "service", "legacy", "token")
AT_ONCE = ("legacy",)  # a new key of this kind revokes the one before at once
MOMENT = rf"(20\d\d-[01]\d-[0-3]\d|{signed_record.TIME})?"
TEXTS = {
    "id": signed_record.VERSION,
    "kind": "|".join(KINDS),
    "issued": MOMENT,
    "expires": MOMENT,
    "fingerprint": f"({signed_record.FINGERPRINT})?",
    "label": "|".join(LABELS),
    "sealed": f"({signed_record.DIGEST})?",
    "machine": f"({signed_record.MACHINE})?",
}

_START_ANEW = "move the file away without deleting it; the ledger shows which version each account has"


class VersionError(Exception):
    """A change of labels that is not allowed, or a record of them that is invalid."""


@dataclass(frozen=True)
class KeyVersion:
    """What is known about a version besides its value. Days are YYYY-MM-DD, or UTC times, or empty.

    fingerprint: what represents the value in this machine's records; sealed: what the fingerprints of accounts are
    made from (key_marks.py). sequence: which rotation of this secret made it, 0 for the one before all; machine: the id
    of the machine that led that rotation.
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
        return tuple(one for one in self.versions if one.label in labels)

    def find_label(self, label: str) -> KeyVersion | None:
        """Return the version with a label that one version has at most."""
        return next(iter(self.with_labels(label)), None)

    @property
    def current(self) -> KeyVersion:
        """The version that onboarding installs."""
        return self.with_labels("current")[0]

    def find_version(self, version: str) -> KeyVersion:
        """Return the version with this id. Raises VersionError."""
        for one in self.versions:
            if one.id == version:
                return one
        raise VersionError(f"the secret '{self.name}' does not have this version")


def new_id() -> str:
    """Return an id for a version to be made; it says nothing about the key."""
    return str(uuid.uuid4())


def keyring_name(name: str, version: str) -> str:
    """Return the name under which the keyring keeps the value of a version."""
    return name if version == FIRST else f"{name}@{version}"


def find_flaw(secret: Secret) -> str:
    """Return why the versions contradict each other: one is current, at most one pending and one previous."""
    count = {label: len(secret.with_labels(label)) for label in LABELS}
    if count["current"] != 1:
        return f"{count['current']} versions are current; exactly one must be"
    for label in ("pending", "previous"):
        if count[label] > 1:
            return f"{count[label]} versions are {label}; at most one may be"
    if len({one.id for one in secret.versions}) != len(secret.versions):
        return "two versions have the same id"
    return ""


def check_secret(secret: Secret) -> Secret:
    """Return the same secret if it is valid. Raises VersionError."""
    what = f"a version of '{secret.name}'"
    try:
        signed_record.check_texts({"name": secret.name}, {"name": signed_record.NAME}, "the record of a secret")
        for one in secret.versions:
            signed_record.check_texts(vars(one), TEXTS, what)
            if isinstance(one.sequence, bool) or not isinstance(one.sequence, int) or one.sequence < 0:
                raise VersionError(f"{what}: 'sequence' is invalid; expected a whole number (0 or more)")
            for target in one.targets:
                signed_record.check_texts({"targets": target}, {"targets": signed_record.TARGET}, what)
    except signed_record.RecordError as error:
        raise VersionError(str(error)) from None
    flaw = find_flaw(secret)
    if flaw:
        raise VersionError(f"the versions of '{secret.name}' are contradictory: {flaw}")
    return secret


def adopt(name: str, kind: str, fingerprint: str = "", targets: tuple[str, ...] = (), sealed: str = "") -> Secret:
    """Return the secret whose value a user stored by hand; the value stays where it is."""
    first = KeyVersion(FIRST, kind, "current", fingerprint=fingerprint, targets=targets, sealed=sealed)
    return check_secret(Secret(name, (first,)))


def begin(secret: Secret, pending: KeyVersion) -> Secret:
    """Add a pending version, whose value is in the keyring already, as that of the next rotation.

    A previous version that still lives is retired then, to be deactivated like the one after it.
    """
    if secret.find_label("pending"):
        raise VersionError(
            f"a rotation of '{secret.name}' is already open: finish it with --resume or cancel it "
            f"with --abort, then start another"
        )
    for one in secret.with_labels("previous"):
        secret = retire(secret, one.id)
    sequence = max(pending.sequence, next_sequence(secret.versions))
    added = replace(pending, label="pending", sequence=sequence)
    return check_secret(replace(secret, versions=(*secret.versions, added)))


def next_sequence(known: tuple[KeyVersion, ...]) -> int:
    """Return the number of the next rotation."""
    return 1 + max((one.sequence for one in known), default=0)


def promote(secret: Secret, version: str, targets: tuple[str, ...]) -> Secret:
    """Make the pending version current, on these targets, and the current one previous."""
    changed = _relabel(secret, secret.current.id, "current", "previous")
    return check_secret(_relabel(changed, version, "pending", "current", targets=targets))


def set_last_day(secret: Secret, version: str, day: str) -> Secret:
    """Set the last day of a version, as its issuer or its user reports it."""
    label = secret.find_version(version).label
    return check_secret(_relabel(secret, version, label, label, expires=day))


def step_down(secret: Secret, version: str) -> Secret:
    """Make the current version, which is given up, pending again, and the one before it current."""
    previous = secret.find_label("previous")
    if previous is None:
        raise VersionError(f"the key '{secret.name}' has no previous version to restore")
    changed = _relabel(secret, version, "current", "pending")
    return check_secret(_relabel(changed, previous.id, "previous", "current"))


def retire(secret: Secret, version: str) -> Secret:
    """Mark the previous version as one to be deactivated; its value is kept until it is dead."""
    return check_secret(_relabel(secret, version, "previous", "retired"))


def abort(secret: Secret, version: str) -> Secret:
    """Give up the pending version; the key that was made for it has to be deactivated."""
    return check_secret(_relabel(secret, version, "pending", "retired"))


def mark_dead(secret: Secret, version: str) -> Secret:
    """Mark the retired version as refused where it was made."""
    return check_secret(_relabel(secret, version, "retired", "dead"))


def purge(secret: Secret, version: str) -> Secret:
    """Mark the dead version as removed from the keyring."""
    return check_secret(_relabel(secret, version, "dead", "purged"))


def _relabel(secret: Secret, version: str, before: str, after: str, **changed: Any) -> Secret:
    """Change the label of a version, and other fields. Raises VersionError if it has another label before."""
    found = secret.find_version(version)
    if found.label != before:
        raise VersionError(
            f"a version of '{secret.name}' is {found.label}, not {before}, so it cannot become {after}: run the "
            f"rotation with --resume, which shows its state"
        )
    versions = tuple(replace(one, label=after, **changed) if one is found else one for one in secret.versions)
    return replace(secret, versions=versions)


def to_document(secret: Secret, seq: int) -> dict[str, Any]:
    """Return the document of a secret, without a signature; seq counts the writes."""
    versions = [{**asdict(one), "targets": list(one.targets)} for one in secret.versions]
    return {"schema": SCHEMA, "seq": seq, "secret": secret.name, "versions": versions}


def serialize(secret: Secret, seq: int, key: bytes) -> bytes:
    """Return the signed document of a secret as it is kept."""
    head = to_document(secret, seq)
    return (json.dumps({**head, "mac": _mac(head, key)}, indent=1, sort_keys=True) + "\n").encode()


def _mac(document: Mapping[str, Any], key: bytes) -> str:
    signing = signed_record.derive_subkey(key, "versions")
    return hmac.digest(signing, signed_record.canonical_json(document).encode(), "sha256").hex()


def deserialize(content: bytes, name: str, key: bytes) -> tuple[Secret, int]:
    """Return the secret of that name and the number of the write. Raises VersionError if it was changed since."""
    what = f"the record of the versions of '{name}'"
    try:
        document = json.loads(content)
        mac = document.pop("mac")
        if not hmac.compare_digest(_mac(document, key), mac) or document["secret"] != name:
            raise VersionError(f"{what} was edited, or written with another key; {_START_ANEW}")
        return from_document(document, name), int(document["seq"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise VersionError(f"{what} is damaged; {_START_ANEW}") from None


def from_document(document: Mapping[str, Any], name: str) -> Secret:
    """Return the secret of that name. Raises VersionError, or what a damaged document raises."""
    what = f"the record of the versions of '{name}'"
    reason = document_version.refusal(document["schema"], SCHEMA, what, _START_ANEW)
    if reason:
        raise VersionError(reason)
    versions = tuple(KeyVersion(**{**found, "targets": tuple(found["targets"])}) for found in document["versions"])
    return check_secret(Secret(name, versions))
