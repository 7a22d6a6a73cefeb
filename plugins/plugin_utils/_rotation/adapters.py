# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The effects of a rotation: on this machine (ControllerEffects), and on one account, in one round trip.

A rotation replaces a key, the secret, on all accounts. A version is one value of the secret, which is in the keyring
and has an id. A target is one file with the secret on one account. The verdict is the response of the services to a
key. The account reports an outcome for each file, with evidence: further observations by name.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from ...module_utils._core.resource import FAILURES
from ...module_utils._formats.key_forms import NGC
from .._input.diagnostics import is_day
from .._secrets import key_marks, versions
from .._secrets.backends import SERVICE
from .._secrets.session import SESSION, MissingKey
from .._secrets.version_store import VersionStore
from .._secrets.versions import KeyVersion
from .._state.fingerprint_key import machine_id
from .._validate.key_kinds import KEY_PAGES, CheckedKey, MalformedKey, check_key
from .._validate.validate import ValidationSettings, judge_key
from .._validate.verdict import Judgement, KeyVerdict
from .ledger import record_key, utc_now
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

    Work = Literal["preview", "examine", "reconcile"]  # on the account; "preview" sends no real key
    RoundTrip = Callable[[list[SecretFile], str, Work], list[ResourceOutcome]]

DIFFERENT_KEY = "the file contains a different key or no key"


def version_kind(key: CheckedKey) -> str:
    """Return the kind of a version with this key: one of versions.KINDS."""
    # "personal" also stands for NGC's service keys, which have the same form
    return "legacy" if key.is_legacy else "personal" if key.service == NGC else "token"


def fingerprint(value: str) -> str:
    """Return the fingerprint of a key in this machine's records, a short keyed hash.

    The fingerprints that accounts report are different (key_marks.py).
    """
    return hmac.digest(record_key(), value.encode(), "sha256").hex()[:12]


def holds_key(outcome: ResourceOutcome) -> bool:
    """Return True if an examined file has the desired key in every place, of which there must be at least one.

    outcome: of the file; "before" and "after" are its actual and its desired state.
    """
    places = [field for field in outcome["after"] if field.rpartition(" ")[2] == "password"]  # "MACHINE password"
    return bool(places) and all(outcome["before"].get(field) == outcome["after"][field] for field in places)


class ControllerEffects(RotationEffects):
    """The effects that this machine takes itself: read and change the keyring, and ask the services about a key."""

    def __init__(
        self,
        name: str,
        service: str,
        settings: ValidationSettings,
        get_new_key: Callable[[str], CheckedKey],
        last_day: str,
    ) -> None:
        """name: of the secret. service: that the key is for. settings: for tests of the key.

        get_new_key: takes the name of the key in the keyring, and returns the key. last_day: of the new key, as the
        user set it, or empty.
        """
        self._name, self._service, self._settings, self._get_new_key = name, service, settings, get_new_key
        self._given_day = last_day
        self._days: dict[str, str] = {}  # by version: as the issuer reported it; empty: ask the user
        self.sentences: dict[str, str] = {}  # by version: the last response of services or keyring, in words

    def last_day(self, version: str) -> str:
        """Return the last day of the version, as the user set it or the issuer reported it; empty if unknown.

        If the key expires on an unreported day, ask the user.
        """
        day = self._given_day or self._days.get(version)
        if day == "":  # the key expires, but the issuer did not report the day
            return ask_last_day(self._name, KEY_PAGES[NGC])  # only a personal key, of NGC: see _keep_last_day
        return day or ""  # None: the key does not expire, or its issuer was not asked

    def store_key(self, version: str) -> KeyVersion:
        """Store the key of the version in the keyring, and return the record of the version.

        The user is asked only if the keyring does not have the key. Raise StepRefused if the keyring failed, or has an
        invalid key.
        """
        keyring_name = versions.keyring_name(self._name, version)
        try:
            stored = SESSION.read_keyring(keyring_name)
            key = check_key(stored, self._service) if stored else self._get_new_key(keyring_name)
            if not stored:
                SESSION.store(keyring_name, key.value)
        except (MissingKey, MalformedKey) as error:
            raise self._refuse(version, error) from None
        signing_key = record_key()
        # the encrypted hash of the key, from which this machine calculates the fingerprints that accounts report
        sealed = key_marks.encrypt_hash(key.value, self._name, version, signing_key)
        return KeyVersion(
            version,
            version_kind(key),
            issued=utc_now()[:10],  # the user has just created the key
            fingerprint=fingerprint(key.value),
            sealed=sealed,
            machine=machine_id(signing_key),
        )

    def test_key(self, version: str) -> EffectReport:
        """Return the verdict of the services on the version; the evidence may have the HTTP status of a response.

        Store the sentence of the services, and the key's last day, in this object. A refusal of an old key is trusted
        only if every service that was asked refuses it and accepts the current key at the same time; otherwise the
        verdict is inconclusive. Raise StepRefused if one of the two keys cannot be read.
        """
        try:
            return self._test_key(version)
        except (MissingKey, MalformedKey) as error:
            raise self._refuse(version, error) from None

    def _test_key(self, version: str) -> EffectReport:
        """Do the work of test_key(). Raise MissingKey or MalformedKey if one of the two keys cannot be read."""
        secret = VersionStore(self._name, record_key()).load()  # None before the first rotation
        current = secret.current.id if secret else versions.FIRST
        key = self._read_key(version)
        if version != current and key.value == self._read_key(current).value:  # stored under the wrong name
            keyring_name = versions.keyring_name(self._name, version)
            raise MissingKey(
                f"the keyring has the current key as '{keyring_name}', which is the name of the replaced key. To "
                f"store the replaced key, run: keyring set {SERVICE} {keyring_name}"
            )
        judgement = judge_key(key, self._settings)
        self.sentences[version] = judgement.sentence
        self._keep_last_day(version, key, judgement)
        is_refused_old_key = judgement.verdict is KeyVerdict.INVALID and version != current
        # is_dead: every service that was asked refuses the key
        if is_refused_old_key and not (judgement.is_dead and self._is_valid(current)):
            return EffectReport("inconclusive")
        http_status = next((finding.status for finding in judgement.findings if finding.status), None)
        return EffectReport(str(judgement.verdict), {"http_status": http_status} if http_status else {})

    def _keep_last_day(self, version: str, key: CheckedKey, judgement: Judgement) -> None:
        """Keep the last day that the services reported, or "" for a valid key that expires on an unreported day.

        key: of the version. judgement: of the services on this key.
        """
        days = [finding.details["expires"] for finding in judgement.findings if "expires" in finding.details]
        day = days[0][:10] if days else ""
        is_valid_personal_key = judgement.verdict is KeyVerdict.VALID and version_kind(key) == "personal"
        if is_day(day):
            self._days[version] = day
        elif is_valid_personal_key:  # the issuers of other keys report the day, or their keys do not expire
            self._days[version] = ""

    def _read_key(self, version: str) -> CheckedKey:
        """Return the key of the version in the keyring. Raise MissingKey or MalformedKey."""
        value, _warnings = SESSION.read_key(versions.keyring_name(self._name, version))
        return check_key(value, self._service)

    def _is_valid(self, version: str) -> bool:
        """Return True if the services accept the version. Raise MissingKey or MalformedKey."""
        return judge_key(self._read_key(version), self._settings).verdict is KeyVerdict.VALID

    def remove_key(self, version: str) -> None:
        """Remove the key of the version from the keyring; a missing key is not an error. Raise StepRefused."""
        try:
            SESSION.store(versions.keyring_name(self._name, version), None)  # None removes the key
        except MissingKey as error:  # the keyring failed
            raise self._refuse(version, error) from None

    def _refuse(self, version: str, error: Exception) -> StepRefused:
        """Return the exception for a step that failed on this machine, and store its reason for the report."""
        self.sentences[version] = str(error)
        return StepRefused(str(error))


class AccountEffects(RotationEffects):
    """The effects of one step on the files of one account, all in one round trip."""

    def __init__(self, name: str, files: list[SecretFile], current: str, round_trip: RoundTrip) -> None:
        """name: of the secret. files: with the secret, on this account. current: the id of the current version.

        round_trip: takes files, the name of their new key in the keyring, and the work; returns an outcome per file.
        """
        self._name, self._files, self._current, self._round_trip = name, files, current, round_trip
        self.outcomes: dict[tuple[str, str], ResourceOutcome] = {}  # by target and version
        self.leftovers = 0  # set by the caller's search: the places on the account that still contain the old key

    def _find_outcome(self, target: str, version: str, work: Work) -> ResourceOutcome:
        """Return the outcome of the target's file for a version. The version's first call sends all files at once.

        work: what the account does: preview the change, examine the file, or write the key ("reconcile").
        """
        if (target, version) not in self.outcomes:
            for file, outcome in zip(self._files, self._send(self._files, version, work), strict=True):
                self.outcomes[file.target, version] = outcome
        return self.outcomes[target, version]

    def _send(self, files: list[SecretFile], version: str, work: Work) -> list[ResourceOutcome]:
        """Send files to the account, and return one outcome for each. Raise StepRefused if the key is missing.

        version: whose key is sent. work: see _find_outcome().
        """
        try:
            return self._round_trip(files, versions.keyring_name(self._name, version), work)
        except MissingKey as error:
            raise StepRefused(str(error)) from None

    def probe(self, target: str) -> EffectReport:
        """Check that a new key could be written to the file. Nothing is changed."""
        # the version does not matter for a preview, which sends a placeholder key
        return self._effect_report(self._find_outcome(target, self._current, "preview"))

    def install(self, target: str, version: str) -> EffectReport:
        """Write the version, read the file again, and test the key there. After a failure the file is unchanged."""
        return self._effect_report(self._find_outcome(target, version, "reconcile"))

    verify = install  # after install, this is the same outcome: the account has also tested the key

    def read(self, target: str, version: str) -> EffectReport:
        """Return the verdict on the target's file, which has the version. Raise StepRefused for another key or none."""
        outcome = self._find_outcome(target, version, "examine")
        _require_known_key(outcome)
        if not holds_key(outcome):
            raise StepRefused(DIFFERENT_KEY)
        return EffectReport(outcome["evidence"].get("verdict", "unknown"))

    def put_back(self, target: str, version: str) -> None:
        """Replace the version by the current version, in the file of this target only."""
        files = [file for file in self._files if file.target == target]  # exactly one
        (outcome,) = self._send(files, self._current, "reconcile")
        self.outcomes[target, version] = outcome
        self._effect_report(outcome)  # raises if the file was not written

    def _effect_report(self, outcome: ResourceOutcome) -> EffectReport:
        """Return the verdict of an outcome. Raise StepRefused or OutcomeUnknown if the file was not written."""
        has_newer_key = outcome["evidence"].get("rotated")  # another machine has rotated the key in the file
        if has_newer_key and outcome["status"] != "unknown":  # an unknown outcome raises OutcomeUnknown below
            raise RotatedElsewhere(str(outcome["reason"]))
        _require_known_key(outcome)
        if outcome["status"] in FAILURES:
            raise StepRefused(str(outcome["reason"]))
        verdict = outcome["evidence"].get("verdict", "unknown")
        return EffectReport(verdict, {"leftovers": self.leftovers} if self.leftovers else {})


def _require_known_key(outcome: ResourceOutcome) -> None:
    """Raise OutcomeUnknown for an unknown outcome, or KeyNotHeld if the file has no key or an unknown key."""
    if outcome["status"] == "unknown":
        raise OutcomeUnknown
    held = outcome["evidence"].get("held")  # "none" or "key FINGERPRINT"; only if the key is not a known version
    if held:
        raise KeyNotHeld(held.removeprefix("key "))
