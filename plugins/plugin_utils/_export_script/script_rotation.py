# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rotation on an account that forbids automation: its targets are open until a result shows the new key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

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

    leftovers = 0

    def __init__(self, account: str, secret: Secret | None, files: Iterable[targets.SecretFile]) -> None:
        known = {secret.name: secret} if secret else {}
        marks = key_marks.account_marks(known, account, record_key())
        self.outcomes: dict[tuple[str, str], ResourceOutcome] = {}
        self._keys = exported_scripts.read_scripts(account)["keys"]
        self._paths = {file.target: file.path for file in files}
        self._marks = {version: mark for (_name, version), mark in marks.items()}

    def install(self, target: str, version: str) -> EffectReport:
        """Return if the result shows only this version in the target, else raise TargetUnreachable."""
        marks = set(self._keys.get(self._paths[target], []))
        if not marks or marks != {self._marks.get(version)}:
            raise TargetUnreachable
        return EffectReport("unknown")

    verify = read = install  # the user installs the key, so each of these only compares

    def put_back(self, target: str, version: str) -> None:
        """Return if the result shows a different key in the target, else raise StepRefused: users restore keys."""
        marks = set(self._keys.get(self._paths[target], []))
        if not marks or self._marks.get(version) in marks:
            raise StepRefused


def name_new_keys(account: str, declared: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Return the entries; targets of an open rotation get the name of the new key, NAME@VERSION."""
    entries = list(declared)
    secrets = targets.secret_names(entry for entry in entries if _secret(entry))
    new_versions = {name: _new_version(account, name, entries) for name in secrets}
    return [
        _with_secret(entry, versions.keyring_name(_secret(entry), new_versions[_secret(entry)]))
        if new_versions.get(_secret(entry))
        else entry
        for entry in entries
    ]


def _with_secret(entry: PlanEntry, name: str) -> PlanEntry:
    """Return the entry with this name of its key."""
    return {**entry, "options": {**entry["options"], "secret": name}}


def _secret(entry: PlanEntry) -> str:
    """Return the name of an entry's key; empty for an entry without a key."""
    return str(entry["options"].get("secret") or "")


def _new_version(account: str, name: str, entries: list[PlanEntry]) -> str:
    """Return the version that an open rotation installs on this account, if a service accepted it; else empty."""
    secret = VersionStore(name, record_key()).load()
    pending = secret.find_label("pending") if secret else None
    if pending is None:  # no rotation is open
        return ""
    situation = Situation(name, secret, Ledger(record_key()).records())
    own_targets = {file.target for file in targets.find_files(account, name, entries)}
    is_proven = situation.last_seq("prove", pending.id, "ok") and not situation.is_cancelled(pending.id)
    return pending.id if is_proven and own_targets & set(situation.unsettled_targets(pending.id)) else ""


def read_keys(entries: Iterable[PlanEntry], outcomes: Iterable[ResourceOutcome], part: str) -> dict[str, list[str]]:
    """Return the fingerprints of keys in a result, by the path of their file.

    part: of the script; an audit changes nothing, so that its keys are in "before".
    """
    found: dict[str, set[str]] = {}
    for entry, outcome in zip(entries, outcomes, strict=False):
        if _secret(entry) and outcome["status"] not in ("blocked", "failed", "unknown"):
            state = outcome["before"] if part == "audit" else outcome["after"]
            is_key = {field: field.rpartition(" ")[2] == "password" for field in state}  # "MACHINE password"
            found.setdefault(targets.path_of(entry), set()).update(state[field] for field in state if is_key[field])
    return {path: sorted(marks) for path, marks in found.items()}


def record_new_keys(account: str, entries: Iterable[PlanEntry]) -> list[str]:
    """Record in the ledger which targets of open rotations have the new key. Return a sentence for each target."""
    with_keys = [_with_secret(entry, _secret(entry).partition("@")[0]) for entry in entries if _secret(entry)]
    sentences = []
    for name in sorted(targets.secret_names(with_keys)):
        versions_of_key, ledger = VersionStore(name, record_key()), Ledger(record_key())
        secret, files = versions_of_key.load(), targets.find_files(account, name, with_keys)
        situation = Situation(name, secret, ledger.records(), clock=utc_now())
        new = situation.new_version
        if new is None or new.label not in ("pending", "current") or situation.is_cancelled(new.id):
            continue
        unsettled = [file.target for file in files if file.target in situation.unsettled_targets(new.id)]
        delivery = Delivery(name, ledger, versions_of_key, ImportedTargets(account, secret, files))
        for target in unsettled if situation.last_seq("prove", new.id, "ok") else ():
            delivery.deliver(target, RotationStep("spread", new.id, (target,)))
            is_verified = delivery.situation().states(new.id).get(target) == "verified"
            missing = f"{target} does not have the new key yet"
            sentences.append(f"{target} has the new key" if is_verified else missing)
    return sentences
