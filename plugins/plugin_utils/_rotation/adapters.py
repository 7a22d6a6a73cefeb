# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The effects of a rotation: ControllerEffects on this machine, AccountEffects on one account, in one round trip."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from ...module_utils._core.resource import FAILURES
from ...module_utils._formats.key_forms import NGC
from .._secrets import key_marks, versions
from .._secrets.session import SESSION, MissingKey
from .._secrets.version_store import VersionStore
from .._secrets.versions import KeyVersion
from .._state.fingerprint_key import machine_id
from .._validate.key_kinds import KEY_PAGES, CheckedKey, MalformedKey, check_key
from .._validate.validate import ValidationSettings, judge_key
from .._validate.verdict import KeyVerdict
from .ledger import record_key
from .new_key import ask_last_day
from .ports import (
    EffectReport,
    KeyNotHeld,
    OutcomeUnknown,
    RotatedElsewhere,
    RotationEffects,
    StepRefused,
)
from .targets import SecretFile

if TYPE_CHECKING:
    from .._documents.outcome import ResourceOutcome

    Work = Literal["foresee", "examine", "reconcile"]  # of the engine; it foresees with a random key
    RoundTrip = Callable[[list[SecretFile], str, Work], list[ResourceOutcome]]

DAY = re.compile(r"20\d\d-[01]\d-[0-3]\d")


def version_kind(key: CheckedKey) -> str:
    """Return the kind of a version that has this key, for its label."""
    return "legacy" if key.is_legacy else "personal" if key.service == NGC else "token"


def fingerprint(value: str) -> str:
    """Return what represents a key in this machine's records; each account shows another one (key_marks.py)."""
    return hmac.digest(record_key(), value.encode(), "sha256").hex()[:12]


def holds_key(outcome: ResourceOutcome) -> bool:
    """Return True if an examined file holds the desired key in every place."""
    places = [field for field in outcome["after"] if field.rpartition(" ")[2] == "password"]
    return bool(places) and all(outcome["before"].get(field) == outcome["after"][field] for field in places)


class ControllerEffects(RotationEffects):
    """The keyring and the services that are asked from this machine."""

    def __init__(
        self,
        name: str,
        service: str,
        settings: ValidationSettings,
        get_new_key: Callable[[str], CheckedKey],
        last_day: str = "",
    ) -> None:
        """get_new_key: from the name that it gets in the keyring; last_day: as the user set it, or empty."""
        self._name, self._service, self._settings, self._get_new_key = name, service, settings, get_new_key
        self._given_day = last_day
        self._days: dict[str, str] = {}  # by version: as the issuer reported it; empty if the user may be asked
        self.sentences: dict[str, str] = {}  # by version: what the services last said about it

    def last_day(self, version: str) -> str:
        """Return the last day that the user set, else the issuer's; else ask the user at the terminal."""
        day = self._given_day or self._days.get(version)
        return ask_last_day(self._name, KEY_PAGES[NGC]) if day == "" else day or ""

    def take(self, version: str) -> KeyVersion:
        """Put the key of the version into the keyring. Asks for it only if it is not there yet."""
        user = versions.keyring_name(self._name, version)
        try:
            stored = SESSION.read_keyring(user)
            key = check_key(stored, self._service) if stored else self._get_new_key(user)
            if not stored:
                SESSION.store(user, key.value)
        except (MissingKey, MalformedKey) as error:
            raise StepRefused(str(error)) from None
        own = record_key()
        sealed = key_marks.seal(key.value, self._name, version, own)
        mark = fingerprint(key.value)
        return KeyVersion(version, version_kind(key), fingerprint=mark, sealed=sealed, machine=machine_id(own))

    def prove(self, version: str) -> EffectReport:
        """Return what the services say about the version.

        A refusal of an old key counts only if every service that was asked refuses it and accepts the current key in
        the same minute; otherwise the verdict is inconclusive.
        """
        try:
            key = self._read_key(version)
        except (MissingKey, MalformedKey) as error:
            raise StepRefused(str(error)) from None
        found = judge_key(key, self._settings)
        self.sentences[version] = found.sentence
        reported = next((one.details["expires"] for one in found.findings if "expires" in one.details), "")[:10]
        is_datable = found.verdict is KeyVerdict.VALID and self._service == NGC and not key.is_legacy
        if DAY.fullmatch(reported):
            self._days[version] = reported
        elif is_datable:  # the issuers of other keys report the day, or there is none
            self._days[version] = ""
        if found.verdict is KeyVerdict.INVALID:
            secret = VersionStore(self._name, record_key()).load()
            current = secret.current.id if secret else versions.FIRST
            if version != current and not (found.is_dead and self._is_valid(current)):
                return EffectReport("inconclusive")
        status = next((one.status for one in found.findings if one.status), None)
        return EffectReport(str(found.verdict), {"http_status": status} if status else {})

    def _read_key(self, version: str) -> CheckedKey:
        value, _warnings = SESSION.read_key(versions.keyring_name(self._name, version))
        return check_key(value, self._service)

    def _is_valid(self, version: str) -> bool:
        return judge_key(self._read_key(version), self._settings).verdict is KeyVerdict.VALID

    def forget(self, version: str) -> None:
        """Remove the value from the keyring, if it is there."""
        try:
            SESSION.store(versions.keyring_name(self._name, version), None)
        except MissingKey as error:
            raise StepRefused(str(error)) from None


class AccountEffects(RotationEffects):
    """The files of one account, all in one round trip."""

    def __init__(self, name: str, files: list[SecretFile], current: Callable[[], str], round_trip: RoundTrip) -> None:
        """current: returns the id of the current version."""
        self._name, self._files, self._current, self._round_trip = name, files, current, round_trip
        self.outcomes: dict[tuple[str, str], ResourceOutcome] = {}
        self.leftovers = 0  # places on the account that still hold the old key, as far as was searched

    def _outcome(self, target: str, version: str, work: Work) -> ResourceOutcome:
        """Return the outcome of a file; the first file that is asked about takes all of them along."""
        if (target, version) not in self.outcomes:
            for file, outcome in zip(self._files, self._send(self._files, version, work), strict=True):
                self.outcomes[file.target, version] = outcome
        return self.outcomes[target, version]

    def _send(self, files: list[SecretFile], version: str, work: Work) -> list[ResourceOutcome]:
        try:
            return self._round_trip(files, versions.keyring_name(self._name, version), work)
        except MissingKey as error:
            raise StepRefused(str(error)) from None

    def probe(self, target: str) -> EffectReport:
        """Check in a preview that another key could be written to the file; changes nothing."""
        return self._observe(self._outcome(target, self._current(), "foresee"))

    def install(self, target: str, version: str) -> EffectReport:
        """Write the version, read it back, and have it tried; on failure the file is as it was."""
        return self._observe(self._outcome(target, version, "reconcile"))

    verify = install  # the outcome is kept: the account has tried the key in the same round trip

    def read(self, target: str, version: str) -> EffectReport:
        """Check that the file holds the version, whatever else differs in it."""
        outcome = self._outcome(target, version, "examine")
        _check_known(outcome)
        if not holds_key(outcome):
            raise StepRefused("it contains a different key, or none")
        return EffectReport(outcome["evidence"].get("verdict", "unknown"))

    def put_back(self, target: str, version: str) -> None:
        """Write the current version in place of this one, in this file alone."""
        own = [file for file in self._files if file.target == target]
        (self.outcomes[target, version],) = self._send(own, self._current(), "reconcile")
        self._observe(self.outcomes[target, version])

    def _observe(self, outcome: ResourceOutcome) -> EffectReport:
        if outcome["evidence"].get("rotated") and outcome["status"] != "unknown":
            raise RotatedElsewhere(str(outcome["reason"]))
        _check_known(outcome)
        if outcome["status"] in FAILURES:
            raise StepRefused(str(outcome["reason"]))
        verdict = outcome["evidence"].get("verdict", "unknown")
        return EffectReport(verdict, {"leftovers": self.leftovers} if self.leftovers else {})


def _check_known(outcome: ResourceOutcome) -> None:
    """Raise OutcomeUnknown, or KeyNotHeld if the file holds no key or an unknown one."""
    if outcome["status"] == "unknown":
        raise OutcomeUnknown
    held = outcome["evidence"].get("held")
    if held:
        raise KeyNotHeld(held.removeprefix("key "))
