# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rotation of a key on an account that forbids automation. The user runs an exported script there.

The targets of a rotation are the files on accounts that contain the key. The ledger records the steps of the rotation,
such as "prove" (a service accepts the new key) and "spread" (targets get the new key). A target is unsettled until the
ledger has the result "verified". On this account, that is when an imported result of the script shows the new key.

A key is known by its fingerprint, the mark: the account reports it, and this machine calculates it for each version.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .._delivery.result import FAILURES
from .._rotation import targets
from .._rotation.delivery import Delivery
from .._rotation.ledger import Ledger, record_key, utc_now
from .._rotation.next_step import RotationStep
from .._rotation.ports import EffectReport, RotationEffects, StepRefused, TargetUnreachable
from .._rotation.situation import Situation
from .._secrets import key_marks, versions
from .._secrets.version_store import VersionStore
from .._state import exported_scripts

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry
    from .._documents.outcome import ResourceOutcome
    from .._secrets.versions import Secret


class ImportedTargets(RotationEffects):
    """The key files of an account, as the last imported result showed them."""

    leftovers = 0  # number of places that still contain the old key; results do not show them

    def __init__(self, account: str, secret: Secret | None, files: Iterable[targets.SecretFile]) -> None:
        """account: USER@CLUSTER. secret: the versions of the key, or None if it was never rotated.

        files: the account's files with this key.
        """
        secrets = {secret.name: secret} if secret else {}
        marks = key_marks.list_account_marks(secrets, account, record_key())
        self.outcomes: dict[tuple[str, str], ResourceOutcome] = {}  # stays empty: nothing is sent to the account
        self._marks_by_path = exported_scripts.read_scripts(account)["keys"]
        self._paths = {file.target: file.path for file in files}
        self._marks = {version: mark for (_name, version), mark in marks.items()}  # of this key's versions

    def install(self, target: str, version: str) -> EffectReport:
        """Succeed if the result shows only this version in the target, else raise TargetUnreachable."""
        marks = set(self._marks_by_path.get(self._paths[target], []))
        if not marks or marks != {self._marks.get(version)}:  # no result, or a different key in a place of the file
            raise TargetUnreachable
        return EffectReport("unknown")  # the result does not show whether a service accepts the key

    verify = read = install  # the user installs the key, so each of these only compares

    def put_back(self, target: str, version: str) -> None:
        """Succeed if the result shows a different key in the target, else raise StepRefused."""
        marks = set(self._marks_by_path.get(self._paths[target], []))
        if not marks or self._marks.get(version) in marks:
            raise StepRefused  # only the user can restore the old key


def name_new_keys(account: str, declared: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Return the entries of an account's plan. Those with a key in an open rotation get the new key: NAME@VERSION.

    The script then asks the user for the new key.
    """
    entries = list(declared)
    names = targets.secret_names(entry for entry in entries if _key_name(entry))
    new_versions = {name: _find_new_version(account, name, entries) for name in names}
    renamed = []
    for entry in entries:
        version = new_versions.get(_key_name(entry))
        new_name = versions.keyring_name(_key_name(entry), version) if version else ""
        renamed.append(_with_key_name(entry, new_name) if new_name else entry)
    return renamed


def _with_key_name(entry: PlanEntry, name: str) -> PlanEntry:
    """Return the entry with a different name of its key."""
    return {**entry, "options": {**entry["options"], "secret": name}}


def _key_name(entry: PlanEntry) -> str:
    """Return the name of an entry's key; empty for an entry without a key."""
    return str(entry["options"].get("secret") or "")


def _find_new_version(account: str, name: str, entries: list[PlanEntry]) -> str:
    """Return the version that an open rotation installs on this account, if a service accepted it; else empty.

    name: of the key. entries: the plan of the account, by which its targets are found.
    """
    secret = VersionStore(name, record_key()).load()
    pending = secret.find_label("pending") if secret else None
    if pending is None:  # no rotation is open
        return ""
    situation = Situation(name, secret, Ledger(record_key()).records())
    if not situation.last_seq("prove", pending.id, "ok") or situation.is_cancelled(pending.id):
        return ""  # no service has accepted the new key, or the rotation is cancelled
    account_targets = {file.target for file in targets.find_files(account, name, entries)}
    return pending.id if account_targets & set(situation.unsettled_targets(pending.id)) else ""


def read_keys(entries: Iterable[PlanEntry], outcomes: Iterable[ResourceOutcome], part: str) -> dict[str, list[str]]:
    """Return the fingerprints of keys in a result, by the path of their file; failed outcomes are skipped.

    entries: of the plan. outcomes: of these entries, in the same order. part: "onboard", "audit" or "offboard". An
    audit changes nothing, so the keys are in the states before.
    """
    marks_by_path: dict[str, set[str]] = {}
    for entry, outcome in zip(entries, outcomes, strict=True):
        if _key_name(entry) and outcome["status"] not in FAILURES:
            state = outcome["before"] if part == "audit" else outcome["after"]
            # a field with a key is "password" or "MACHINE password"
            marks = {value for field, value in state.items() if field.rpartition(" ")[2] == "password"}
            marks_by_path.setdefault(targets.path_of(entry), set()).update(marks)
    return {path: sorted(marks) for path, marks in marks_by_path.items()}


def record_new_keys(account: str, entries: Iterable[PlanEntry]) -> list[str]:
    """Record in the ledger which targets of open rotations have the new key, as the last imported result shows.

    Return a sentence for each target that had not been verified yet. entries: of the account's plan.
    """
    # names without a version, as find_files() expects them
    with_keys = [_with_key_name(entry, _key_name(entry).partition("@")[0]) for entry in entries if _key_name(entry)]
    sentences = []
    for name in sorted(targets.secret_names(with_keys)):
        store, ledger = VersionStore(name, record_key()), Ledger(record_key())
        secret, files = store.load(), targets.find_files(account, name, with_keys)
        situation = Situation(name, secret, ledger.records(), clock=utc_now())
        new = situation.new_version
        # "current": the rotation has switched to the new key, but some targets may still lack it
        if new is None or new.label not in ("pending", "current") or situation.is_cancelled(new.id):
            continue  # no rotation of this key is open
        unsettled = [file.target for file in files if file.target in situation.unsettled_targets(new.id)]
        delivery = Delivery(name, ledger, store, ImportedTargets(account, secret, files))
        is_proven = situation.last_seq("prove", new.id, "ok")  # a service has accepted the new key
        for target in unsettled if is_proven else ():
            delivery.deliver(target, RotationStep("spread", new.id, (target,)))
            is_verified = delivery.situation().states(new.id).get(target) == "verified"
            sentences.append(f"{target} {'has the new key' if is_verified else 'does not have the new key yet'}")
    return sentences
