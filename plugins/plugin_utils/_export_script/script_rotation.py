# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation on an account that no program may enter: its files are pending until a result shows the new key."""

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
    """The files of the account, as the last imported result showed them."""

    leftovers = 0

    def __init__(self, account: str, secret: Secret | None, files: Iterable[targets.SecretFile]) -> None:
        known = {secret.name: secret} if secret else {}
        marks = key_marks.account_marks(known, account, record_key())
        self.outcomes: dict[tuple[str, str], ResourceOutcome] = {}
        self._keys = exported_scripts.read_scripts(account)["keys"]
        self._paths = {file.target: file.path for file in files}
        self._marks = {version: mark for (_name, version), mark in marks.items()}

    def install(self, target: str, version: str) -> EffectReport:
        """Return once a result shows the version there; until then raise TargetUnreachable."""
        shown = set(self._keys.get(self._paths[target], []))
        if not shown or shown != {self._marks.get(version)}:
            raise TargetUnreachable
        return EffectReport("unknown")

    verify = read = install

    def put_back(self, target: str, version: str) -> None:
        """Return if a result shows another key there, else raise StepRefused: only the user can put a key back."""
        shown = set(self._keys.get(self._paths[target], []))
        if not shown or self._marks.get(version) in shown:
            raise StepRefused


def name_new_keys(account: str, declared: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Return the entries; those that an open rotation has to reach name its new key, NAME@VERSION."""
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
    return {**entry, "options": {**entry["options"], "secret": name}}


def _secret(entry: PlanEntry) -> str:
    return str(entry["options"].get("secret") or "")


def _new_version(account: str, name: str, entries: list[PlanEntry]) -> str:
    """Return the version that an open rotation installs, once a service accepted it; empty if there is none here."""
    secret = VersionStore(name, record_key()).load()
    made = secret.find_label("pending") if secret else None
    if made is None:
        return ""
    situation = Situation(name, secret, Ledger(record_key()).records())
    mine = {file.target for file in targets.find_files(account, name, entries)}
    is_proven = situation.last_seq("prove", made.id, "ok") and not situation.is_given_up(made.id)
    return made.id if is_proven and mine & set(situation.unsettled_targets(made.id)) else ""


def read_keys(entries: Iterable[PlanEntry], outcomes: Iterable[ResourceOutcome], part: str) -> dict[str, list[str]]:
    """Return the fingerprints that a result shows, by the path of the file that holds the keys."""
    found: dict[str, set[str]] = {}
    for entry, outcome in zip(entries, outcomes, strict=False):
        if _secret(entry) and outcome["status"] not in ("blocked", "failed", "unknown"):
            state = outcome["before"] if part == "audit" else outcome["after"]
            shown = {value for field, value in state.items() if field.rpartition(" ")[2] == "password"}
            found.setdefault(targets.path_of(entry), set()).update(shown)
    return {path: sorted(shown) for path, shown in found.items()}


def record_new_keys(account: str, entries: Iterable[PlanEntry]) -> list[str]:
    """Write into the ledger which targets of open rotations hold the new key. Return a sentence for each target."""
    holders: list[PlanEntry] = []
    for entry in entries:
        name = _secret(entry).partition("@")[0]
        if name:
            holders.append(_with_secret(entry, name))
    sentences = []
    for name in sorted(targets.secret_names(holders)):
        labels, book = VersionStore(name, record_key()), Ledger(record_key())
        secret, files = labels.load(), targets.find_files(account, name, holders)
        situation = Situation(name, secret, book.records(), now=utc_now())
        made = situation.new_version
        if made is None or made.label not in ("pending", "current") or situation.is_given_up(made.id):
            continue
        left = [file.target for file in files if file.target in situation.unsettled_targets(made.id)]
        delivery = Delivery(name, book, labels, ImportedTargets(account, secret, files))
        for target in left if situation.last_seq("prove", made.id, "ok") else ():
            delivery.deliver(target, RotationStep("spread", made.id, (target,)))
            verified = delivery.situation().states(made.id).get(target) == "verified"
            sentences.append(f"{target} {'holds the new key' if verified else 'does not hold the new key yet'}")
    return sentences
