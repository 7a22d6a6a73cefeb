# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions of a secret and their labels: which one is current, which one is to follow, which one went before.

Every change is a function from one Secret to the next that refuses what must not be. The value of a
version lies in the keyring under NAME@VERSION; the one that a person stored by hand stays under NAME
alone and is the version "first". Nothing here sees a value, a file or the clock.

    pending -> current -> previous -> retired -> dead -> purged
    pending -> retired (aborted; the key that was made is to be deactivated all the same)
    current -> pending, previous -> current (given up after it was current, while the one before lives)
    previous <- retired (activated again, since a target still needed it)
"""

from __future__ import annotations

import hmac
import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ...module_utils._core import document_version
from .._state import signed_record

SCHEMA = "hpc.onboard/labels/2.0"
FIRST = "first"
LABELS = ("pending", "current", "previous", "retired", "dead", "purged")
KINDS = ("personal", "service", "legacy", "token")
AT_ONCE = ("legacy",)  # a new one revokes the one before, at once
MOMENT = rf"(20\d\d-[01]\d-[0-3]\d|{signed_record.TIME})?"
SCOPE = r"[a-z][a-z0-9_-]{0,31}"
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

_WAY_OUT = "keep it for a look, move it away, and see in the ledger which version the accounts hold"


class VersionError(Exception):
    """A change of labels that must not be, or a record of them that does not hold together."""


@dataclass(frozen=True)
class Version:
    """What is known of a version besides its value. Days are YYYY-MM-DD, or moments of UTC, or empty.

    fingerprint: what stands for the value in the records of this machine; sealed: what the fingerprints that accounts
    show are made of (key_marks.py). sequence: which rotation of this secret made it, 0 for the one before all;
    machine: the id of the machine that led that rotation. more: fields of a later version, as JSON; they are kept.
    """

    id: str
    kind: str
    label: str = "pending"
    issued: str = ""
    expires: str = ""
    scope: tuple[str, ...] = ()
    fingerprint: str = ""
    targets: tuple[str, ...] = ()
    sealed: str = ""
    sequence: int = 0
    machine: str = ""
    more: str = ""


@dataclass(frozen=True)
class Secret:
    """A secret by name and all its versions, oldest first. more: fields of a later version, as JSON; they are kept."""

    name: str
    versions: tuple[Version, ...]
    more: str = ""

    def labelled(self, *labels: str) -> tuple[Version, ...]:
        """The versions with one of these labels, oldest first."""
        return tuple(one for one in self.versions if one.label in labels)

    def one(self, label: str) -> Version | None:
        """The version with this label, of which there is one at most."""
        return next(iter(self.labelled(label)), None)

    @property
    def current(self) -> Version:
        """The version that onboarding installs."""
        return self.labelled("current")[0]

    def version(self, wanted: str) -> Version:
        """The version with this id. Raises VersionError."""
        for one in self.versions:
            if one.id == wanted:
                return one
        raise VersionError(f"the secret '{self.name}' has no such version")


def new_id() -> str:
    """A name for a version that is to be; it says nothing of the key."""
    return str(uuid.uuid4())


def username(name: str, version: str) -> str:
    """Where the keyring keeps the value of a version."""
    return name if version == FIRST else f"{name}@{version}"


def flaw(secret: Secret) -> str:
    """What does not hold together, or nothing: exactly one current, at most one pending and one previous."""
    count = {label: len(secret.labelled(label)) for label in LABELS}
    if count["current"] != 1:
        return f"{count['current']} versions are current; exactly one must be"
    for label in ("pending", "previous"):
        if count[label] > 1:
            return f"{count[label]} versions are {label}; one may be"
    if len({one.id for one in secret.versions}) != len(secret.versions):
        return "two versions have the same id"
    return ""


def checked(secret: Secret) -> Secret:
    """The same, if it holds together and every field has its form. Raises VersionError."""
    try:
        signed_record.check_texts({"name": secret.name}, {"name": signed_record.NAME}, "the record of a secret")
        for one in secret.versions:
            signed_record.check_texts(vars(one), TEXTS, f"a version of '{secret.name}'")
            if isinstance(one.sequence, bool) or not isinstance(one.sequence, int) or one.sequence < 0:
                raise VersionError(f"a version of '{secret.name}': 'sequence' is no number from 0 up")
            for target in one.targets:
                signed_record.check_texts(
                    {"targets": target}, {"targets": signed_record.TARGET}, f"a version of '{secret.name}'"
                )
            for word in one.scope:
                signed_record.check_texts({"scope": word}, {"scope": SCOPE}, f"a version of '{secret.name}'")
    except signed_record.RecordError as error:
        raise VersionError(str(error)) from None
    why = flaw(secret)
    if why:
        raise VersionError(f"the versions of '{secret.name}' do not hold together: {why}")
    return secret


def adopt(name: str, kind: str, fingerprint: str = "", targets: tuple[str, ...] = (), sealed: str = "") -> Secret:
    """The secret of which a person stored the value by hand: it stays where it is."""
    first = Version(FIRST, kind, "current", fingerprint=fingerprint, targets=targets, sealed=sealed)
    return checked(Secret(name, (first,)))


def begin(secret: Secret, pending: Version) -> Secret:
    """With a pending version, whose value is in the keyring already. It is of the next rotation of the secret.

    A previous one that still lives is out of use by then, and waits to be deactivated beside the one after it.
    """
    if secret.one("pending"):
        raise VersionError(f"a rotation of '{secret.name}' is open: resume it, or give it up, then begin another")
    for one in secret.labelled("previous"):
        secret = retire(secret, one.id)
    next_one = max(pending.sequence, next_sequence(secret.versions))
    return checked(replace(secret, versions=(*secret.versions, replace(pending, label="pending", sequence=next_one))))


def next_sequence(known: tuple[Version, ...]) -> int:
    """Which rotation the next one is."""
    return 1 + max((one.sequence for one in known), default=0)


def promote(secret: Secret, wanted: str, targets: tuple[str, ...]) -> Secret:
    """The pending version becomes current, on these targets, and the current one previous."""
    moved = _moved(secret, secret.current.id, ("current",), "previous")
    moved = _moved(moved, wanted, ("pending",), "current")
    versions = tuple(replace(one, targets=targets) if one.id == wanted else one for one in moved.versions)
    return checked(replace(moved, versions=versions))


def ending(secret: Secret, wanted: str, day: str) -> Secret:
    """The version with its last day, as its issuer or its owner says."""
    secret.version(wanted)
    versions = tuple(replace(one, expires=day) if one.id == wanted else one for one in secret.versions)
    return checked(replace(secret, versions=versions))


def step_down(secret: Secret, wanted: str) -> Secret:
    """The current version, which is given up, is pending again, and the one before it current."""
    previous = secret.one("previous")
    if previous is None:
        raise VersionError(f"no version of '{secret.name}' is previous: there is no way back to one")
    moved = _moved(secret, wanted, ("current",), "pending")
    return checked(_moved(moved, previous.id, ("previous",), "current"))


def retire(secret: Secret, wanted: str) -> Secret:
    """The previous version is to be deactivated where it was made; its value is kept until it is dead."""
    return checked(_moved(secret, wanted, ("previous",), "retired"))


def reactivate(secret: Secret, wanted: str) -> Secret:
    """A retired version that a target still needs is previous again."""
    return checked(_moved(secret, wanted, ("retired",), "previous"))


def abort(secret: Secret, wanted: str) -> Secret:
    """The pending version is given up; the key that was made for it is to be deactivated."""
    return checked(_moved(secret, wanted, ("pending",), "retired"))


def dead(secret: Secret, wanted: str) -> Secret:
    """The retired version was seen to be refused where it was made."""
    return checked(_moved(secret, wanted, ("retired",), "dead"))


def purge(secret: Secret, wanted: str) -> Secret:
    """The value of the dead version is gone from the keyring."""
    return checked(_moved(secret, wanted, ("dead",), "purged"))


def _moved(secret: Secret, wanted: str, before: tuple[str, ...], after: str) -> Secret:
    one = secret.version(wanted)
    if one.label not in before:
        raise VersionError(
            f"a version of '{secret.name}' is {one.label}, not {before[0]}, so it cannot become {after}: look at the"
            " table of the rotation, then resume"
        )
    versions = tuple(replace(each, label=after) if each.id == wanted else each for each in secret.versions)
    return replace(secret, versions=versions)


def document(secret: Secret, seq: int) -> dict[str, Any]:
    """The secret as it is kept, without a signature; seq counts the writes."""
    lists = ({"scope": list(one.scope), "targets": list(one.targets)} for one in secret.versions)
    listed = [_with_more({**asdict(one), **more}) for one, more in zip(secret.versions, lists, strict=True)]
    return _with_more({"schema": SCHEMA, "seq": seq, "secret": secret.name, "versions": listed, "more": secret.more})


def text(secret: Secret, seq: int, key: bytes) -> bytes:
    """The secret as it is kept, signed."""
    head = document(secret, seq)
    return (json.dumps({**head, "mac": _mac(head, key)}, indent=1, sort_keys=True) + "\n").encode()


def _with_more(found: dict[str, Any]) -> dict[str, Any]:
    """A document with the fields of a later version in their places, and its schema if that is a later one."""
    more = json.loads(found.pop("more") or "{}")
    return {**found, **more}


def _more(found: Mapping[str, Any], known: set[str]) -> str:
    """The fields that are not known, as JSON; with the schema, where they make it a later one."""
    rest = {name: value for name, value in found.items() if name not in known}
    return signed_record.canonical(rest) if rest else ""


def _mac(found: Mapping[str, Any], key: bytes) -> str:
    signing = signed_record.subkey(key, "versions")
    return hmac.digest(signing, signed_record.canonical(found).encode(), "sha256").hex()


def parsed(content: bytes, name: str, key: bytes) -> tuple[Secret, int]:
    """The secret of that name and the number of the write, if it is as it was written. Raises VersionError."""
    advice = f"the record of the versions of '{name}'"
    try:
        found = json.loads(content)
        mac = found.pop("mac")
        if not hmac.compare_digest(_mac(found, key), mac) or found["secret"] != name:
            raise VersionError(f"{advice} was edited, or written with another key: do not go by it; {_WAY_OUT}")
        return of_document(found, name), int(found["seq"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise VersionError(f"{advice} cannot be read: it is damaged; {_WAY_OUT}") from None


def of_document(found: Mapping[str, Any], name: str) -> Secret:
    """The secret of that name in a document of any format that is read. Raises VersionError, and what damage raises."""
    why = document_version.refusal(found["schema"], SCHEMA, f"the record of the versions of '{name}'", _WAY_OUT)
    if why:
        raise VersionError(why)
    head = {"schema", "seq", "secret", "versions"}
    return checked(Secret(name, tuple(_version(one) for one in found["versions"]), _more(found, head)))


def _version(found: Mapping[str, Any]) -> Version:
    """A version of any format that is read; what is not known stays with it."""
    known = {one.name for one in fields(Version)} - {"more"}
    texts = {name: value for name, value in found.items() if name in known}
    lists = {"scope": tuple(found["scope"]), "targets": tuple(found["targets"])}
    return Version(**{**texts, **lists, "more": _more(found, known)})
