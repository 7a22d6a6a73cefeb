# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rotation does outside of its own records: the keyring, the issuer, and the accounts.

Controller does what is done on this machine; Account does what is done on one account, in one trip.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from ...module_utils._core.resource import FAILURES
from ...module_utils._formats.key_forms import NGC
from .._secrets import key_marks, versions
from .._secrets.session import SESSION, MissingKey
from .._secrets.version_store import Sidecar
from .._secrets.versions import Version
from .._state.fingerprint_key import machine_id
from .._validate.key_kinds import KEY_PAGES, CheckedKey, MalformedKey, check_key
from .._validate.validate import ValidationSettings, judge_key
from .._validate.verdict import Judgement, KeyVerdict
from .ledger import record_key
from .new_key import asked_day
from .ports import Found, NotHeld, Outdated, Refused, Unanswered, Unreachable
from .targets import File

if TYPE_CHECKING:
    from .._documents.outcome import ResourceOutcome

    Work = Literal["foresee", "examine", "reconcile"]  # of the engine; it foresees with a key that is nobody's
    Trip = Callable[[list[File], str, Work], list[ResourceOutcome]]

DAY = r"20\d\d-[01]\d-[0-3]\d"


def kind_of(key: CheckedKey) -> str:
    """The kind of a version, for its label."""
    return "legacy" if key.is_legacy else "personal" if key.service == "ngc" else "token"


def fingerprint(value: str) -> str:
    """What stands for a key in the records of this machine; each account shows another one (key_marks.py)."""
    return hmac.digest(record_key(), value.encode(), "sha256").hex()[:12]


def holds_key(outcome: ResourceOutcome) -> bool:
    """Whether a file that was only looked at holds the key, at every place that is wanted."""
    places = [field for field in outcome["after"] if field.rpartition(" ")[2] == "password"]
    return bool(places) and all(outcome["before"].get(field) == outcome["after"][field] for field in places)


def _check_held(outcome: ResourceOutcome) -> None:
    """Raise NotHeld where a file holds no key, or one that is not known."""
    held = outcome["evidence"].get("held")
    if held:
        raise NotHeld(held.removeprefix("key "))


class Nothing:
    """What a side of a rotation cannot do is never asked of it."""

    def probe(self, target: str) -> Found:
        """Not from here: an account that did not answer for itself could not be reached."""
        raise Unreachable

    def install(self, target: str, version: str) -> Found:
        """Not from here."""
        raise Unreachable

    verify = read = install

    def take(self, version: str) -> Version:
        """Not from here."""
        raise Refused

    def prove(self, version: str) -> Found:
        """Not from here."""
        raise Refused

    def put_back(self, target: str, version: str) -> None:
        """Not from here."""
        raise Refused

    def deactivate(self, version: str) -> None:
        """A person does it where the key was made; that it was said to be done is why this is called."""

    reactivate = deactivate

    def last_day(self, version: str) -> str:
        """Not known from here."""
        return ""

    def forget(self, version: str) -> None:
        """Not from here."""
        raise Refused


class Controller(Nothing):
    """The keyring and the services that are asked from this machine."""

    def __init__(self, name: str, service: str, settings: ValidationSettings, new: Callable[[str], CheckedKey]) -> None:
        """new: gives the new key, for the keyring username that it is to have."""
        self._name, self._service, self._settings, self._new = name, service, settings, new
        self.sentences: dict[str, str] = {}
        self.said_day = ""  # the last day of the new key, as a person says
        self._days: dict[str, str] = {}
        self._dated: set[str] = set()  # versions that were proven here, and of which it is worth asking

    def last_day(self, version: str) -> str:
        """As a person has said, else as the issuer did; else a person is asked, of a key that the issuer takes."""
        known = self.said_day or self._days.get(version, "")
        return asked_day(self._name, KEY_PAGES[NGC]) if not known and version in self._dated else known

    def _current(self) -> str:
        secret = Sidecar(self._name, record_key()).secret()
        return secret.current.id if secret else versions.FIRST

    def take(self, version: str) -> Version:
        """The key of the version: from the keyring if it is there, else asked for and stored."""
        user = versions.username(self._name, version)
        try:
            stored = SESSION.stored(user)
            key = check_key(stored, self._service) if stored else self._new(user)
            if not stored:
                SESSION.store(user, key.value)
        except (MissingKey, MalformedKey) as error:
            raise Refused(str(error)) from None
        own = record_key()
        sealed = key_marks.sealed(key.value, self._name, version, own)
        mark = fingerprint(key.value)
        return Version(version, kind_of(key), fingerprint=mark, sealed=sealed, machine=machine_id(own))

    def prove(self, version: str) -> Found:
        """What the services say of the version; dead only where every one that was asked says so."""
        try:
            value, _warnings = SESSION.value(versions.username(self._name, version))
            key = check_key(value, self._service)
            found = judge_key(key, self._settings)
        except (MissingKey, MalformedKey) as error:
            raise Refused(str(error)) from None
        self.sentences[version] = found.sentence
        said = next((one.details["expires"] for one in found.findings if "expires" in one.details), "")
        self._days[version] = said[:10] if re.fullmatch(DAY, said[:10]) else ""
        if found.verdict is KeyVerdict.VALID and self._service == NGC and not key.is_legacy:
            self._dated.add(version)  # others say it, or never end
        if found.verdict is KeyVerdict.INVALID and version != self._current() and not self._control(found):
            return Found("inconclusive")
        status = next((one.status for one in found.findings if one.status), None)
        evidence: dict[str, str | int] = {"http_status": status} if status else {}
        return Found(str(found.verdict), evidence)

    def _control(self, found: Judgement) -> bool:
        """Whether a refusal can be believed: all who were asked refuse, and in the same minute take the current key."""
        value, _warnings = SESSION.value(versions.username(self._name, self._current()))
        return found.is_dead and judge_key(check_key(value, self._service), self._settings).verdict is KeyVerdict.VALID

    def forget(self, version: str) -> None:
        """Take the value out of the keyring, if it is there."""
        try:
            SESSION.store(versions.username(self._name, version), None)
        except MissingKey as error:
            raise Refused(str(error)) from None


class Account(Nothing):
    """One account: all its files in one trip, whose outcomes answer for each of them."""

    def __init__(self, name: str, files: list[File], current: Callable[[], str], trip: Trip) -> None:
        self._name, self._files, self._current, self._trip = name, files, current, trip
        self.outcomes: dict[tuple[str, str], ResourceOutcome] = {}
        self.leftovers = 0  # places on the account where the replaced key still stands, as far as was looked

    def _outcome(self, target: str, version: str, work: Work) -> ResourceOutcome:
        """What came of the file; the first file that is asked for takes all of them there."""
        if (target, version) not in self.outcomes:
            user = versions.username(self._name, version)
            try:
                outcomes = self._trip(self._files, user, work)
            except MissingKey as error:
                raise Refused(str(error)) from None
            for file, outcome in zip(self._files, outcomes, strict=True):
                self.outcomes[file.target, version] = outcome
        return self.outcomes[target, version]

    def probe(self, target: str) -> Found:
        """Whether another key could be written to the file: foreseen, nothing is changed."""
        return self._told(self._outcome(target, self._current(), "foresee"))

    def install(self, target: str, version: str) -> Found:
        """Write the version, read it back, and have it tried; or the file is as it was."""
        return self._told(self._outcome(target, version, "reconcile"))

    def verify(self, target: str, version: str) -> Found:
        """What came of trying it."""
        return self._told(self._outcome(target, version, "reconcile"))

    def read(self, target: str, version: str) -> Found:
        """Whether the file holds the version, whatever else of it differs."""
        outcome = self._outcome(target, version, "examine")
        if outcome["status"] == "unknown":
            raise Unanswered
        _check_held(outcome)
        if not holds_key(outcome):
            raise Refused("another key than the new one stands there, or none")
        return Found(outcome["evidence"].get("verdict", "unknown"))

    def put_back(self, target: str, version: str) -> None:
        """Write the current version in place of this one, in this file alone."""
        user = versions.username(self._name, self._current())
        try:
            (outcome,) = self._trip([file for file in self._files if file.target == target], user, "reconcile")
        except MissingKey as error:
            raise Refused(str(error)) from None
        self.outcomes[target, version] = outcome
        self._told(outcome)

    def _told(self, outcome: ResourceOutcome) -> Found:
        if outcome["status"] == "unknown":
            raise Unanswered
        if outcome["evidence"].get("rotated"):
            raise Outdated(str(outcome["reason"]))
        _check_held(outcome)
        if outcome["status"] in FAILURES:
            raise Refused(str(outcome["reason"]))
        verdict = outcome["evidence"].get("verdict", "unknown")
        return Found(verdict, {"leftovers": self.leftovers} if self.leftovers else {})
