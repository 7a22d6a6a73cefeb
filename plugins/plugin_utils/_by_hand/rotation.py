# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation on an account that no program enters: its files are pending until an answer shows the key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .._rotation import targets
from .._rotation.adapters import Nothing
from .._rotation.delivery import Delivery
from .._rotation.ledger import Ledger, now, record_key
from .._rotation.next_step import Step
from .._rotation.ports import Found, Refused, Unreachable
from .._rotation.standing import Situation
from .._secrets import key_marks, versions
from .._secrets.version_store import Sidecar
from .._state import exports

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry
    from .._documents.outcome import Outcome
    from .._secrets.versions import Secret


class Shown(Nothing):
    """The files of such an account, as the last answer that was brought back showed them."""

    leftovers = 0

    def __init__(self, account: str, secret: Secret | None, files: Iterable[targets.File]) -> None:
        known = {secret.name: secret} if secret else {}
        marks = key_marks.marks(known, account, record_key())
        self.outcomes: dict[tuple[str, str], Outcome] = {}
        self._keys = exports.known(account)["keys"]
        self._paths = {file.target: file.path for file in files}
        self._marks = {version: mark for (_name, version), mark in marks.items()}

    def install(self, target: str, version: str) -> Found:
        """Whether a person has brought the version there: raises Unreachable until an answer shows it."""
        shown = set(self._keys.get(self._paths[target], []))
        if not shown or shown != {self._marks.get(version)}:
            raise Unreachable
        return Found("unknown")

    verify = read = install

    def put_back(self, target: str, version: str) -> None:
        """Only a person can; it is done where another key was seen there since."""
        shown = set(self._keys.get(self._paths[target], []))
        if not shown or self._marks.get(version) in shown:
            raise Refused


def with_versions(account: str, declared: Iterable[PlanEntry]) -> list[PlanEntry]:
    """The entries, those of files that an open rotation is to reach with the name of its new key."""
    entries = list(declared)
    news = {name: _new(account, name, entries) for name in targets.secrets(e for e in entries if _secret(e))}
    return [
        {**entry, "options": {**entry["options"], "secret": versions.username(_secret(entry), news[_secret(entry)])}}
        if news.get(_secret(entry))
        else entry
        for entry in entries
    ]


def _secret(entry: PlanEntry) -> str:
    return str(entry["options"].get("secret") or "")


def _new(account: str, name: str, entries: list[PlanEntry]) -> str:
    """The version that an open rotation brings out, once it is proven; empty where none is open for this account."""
    secret = Sidecar(name, record_key()).secret()
    made = secret.one("pending") if secret else None
    if made is None:
        return ""
    situation = Situation(name, secret, Ledger(record_key()).records())
    mine = {file.target for file in targets.files(account, name, entries)}
    is_proven = situation.last("prove", made.id, "ok") and not situation.given_up(made.id)
    return made.id if is_proven and mine & set(situation.unsettled(made.id)) else ""


def keys_seen(entries: Iterable[PlanEntry], outcomes: Iterable[Outcome], looked: bool) -> dict[str, list[str]]:
    """By the path of each file that holds keys: the fingerprints that an answer shows there.

    looked: nothing was changed.
    """
    found: dict[str, set[str]] = {}
    for entry, outcome in zip(entries, outcomes, strict=False):
        if _secret(entry) and outcome["status"] not in ("blocked", "failed", "unknown"):
            state = outcome["before"] if looked else outcome["after"]
            shown = {value for field, value in state.items() if field.rpartition(" ")[2] == "password"}
            found.setdefault(targets.path_of(entry), set()).update(shown)
    return {path: sorted(shown) for path, shown in found.items()}


def noted(account: str, entries: Iterable[PlanEntry]) -> list[str]:
    """Write into the ledger which targets of open rotations hold the new key by now; what is to be said of that."""
    holders: list[PlanEntry] = []
    for entry in entries:
        name = _secret(entry).partition("@")[0]
        if name:
            holders.append({**entry, "options": {**entry["options"], "secret": name}})
    said = []
    for name in sorted(targets.secrets(holders)):
        labels, book = Sidecar(name, record_key()), Ledger(record_key())
        secret, files = labels.secret(), targets.files(account, name, holders)
        situation = Situation(name, secret, book.records(), now=now())
        made = situation.made
        if made is None or made.label not in ("pending", "current") or situation.given_up(made.id):
            continue
        left = [file.target for file in files if file.target in situation.unsettled(made.id)]
        delivery = Delivery(name, book, labels, Shown(account, secret, files))
        for target in left if situation.last("prove", made.id, "ok") else ():
            delivery.deliver(target, Step("spread", made.id, (target,)))
            verified = delivery.situation().states(made.id).get(target) == "verified"
            said.append(f"{target} {'holds the new key' if verified else 'does not hold the new key yet'}")
    return said
