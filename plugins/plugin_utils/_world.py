# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rotation does outside of its own records: the keyring, the issuer, and the accounts.

Controller does what is done on this machine; Account does what is done on one account, in one trip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import FAILURES
from ansible_collections.hpc.onboard.plugins.module_utils._resources.rotated_key import VERDICT
from ansible_collections.hpc.onboard.plugins.plugin_utils import _versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._key_forms import Key, Malformed, recognised
from ansible_collections.hpc.onboard.plugins.plugin_utils._keys import SESSION, MissingKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._outside import Found, Refused, Unanswered
from ansible_collections.hpc.onboard.plugins.plugin_utils._targets import File
from ansible_collections.hpc.onboard.plugins.plugin_utils._verdicts import Settings, judged
from ansible_collections.hpc.onboard.plugins.plugin_utils._versions import Version

Trip = Callable[[list[File], str, bool], list[dict[str, Any]]]


def kind_of(key: Key) -> str:
    """The kind of a version, for its label."""
    return "legacy" if key.legacy else "personal" if key.service == "ngc" else "token"


class Nothing:
    """What a side of a rotation cannot do is never asked of it."""

    def probe(self, target: str) -> Found:
        """Not from here."""
        raise Refused

    install = verify = probe  # type: ignore[assignment]

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

    def forget(self, version: str) -> None:
        """Not from here."""
        raise Refused


class Controller(Nothing):
    """The keyring and the services that are asked from this machine."""

    def __init__(
        self, name: str, service: str, settings: Settings, new: Callable[[str], Key], fingerprint: Callable[[str], str]
    ) -> None:
        self._name, self._service, self._settings, self._new, self._fingerprint = (
            name,
            service,
            settings,
            new,
            fingerprint,
        )
        self.sentences: dict[str, str] = {}

    def take(self, version: str) -> Version:
        """The key of the version: from the keyring if it is there, else asked for and stored."""
        user = _versions.username(self._name, version)
        try:
            stored = SESSION.stored(user)
            key = recognised(stored, self._service) if stored else self._new(user)
            if not stored:
                SESSION.store(user, key.value)
        except (MissingKey, Malformed) as error:
            raise Refused(str(error)) from None
        return Version(version, kind_of(key), fingerprint=self._fingerprint(key.value))

    def prove(self, version: str) -> Found:
        """What the services say of the version; dead only where every one that was asked says so."""
        try:
            value, _warnings = SESSION.value(_versions.username(self._name, version))
            found = judged(recognised(value, self._service), self._settings)
        except (MissingKey, Malformed) as error:
            raise Refused(str(error)) from None
        self.sentences[version] = found.sentence
        status = next((one.status for one in found.findings if one.status), None)
        evidence: dict[str, str | int] = {"http_status": status} if status else {}
        return Found(str(found.verdict), evidence)

    def forget(self, version: str) -> None:
        """Take the value out of the keyring, if it is there."""
        try:
            SESSION.store(_versions.username(self._name, version), None)
        except MissingKey as error:
            raise Refused(str(error)) from None


class Account(Nothing):
    """One account: all its files in one trip, whose outcomes answer for each of them."""

    def __init__(self, name: str, files: list[File], current: Callable[[], str], trip: Trip) -> None:
        self._name, self._files, self._current, self._trip = name, files, current, trip
        self.outcomes: dict[tuple[str, str], dict[str, Any]] = {}

    def _outcome(self, target: str, version: str, look: bool) -> dict[str, Any]:
        """What came of the file; the first file that is asked for takes all of them there."""
        if (target, version) not in self.outcomes:
            user = _versions.username(self._name, version)
            try:
                outcomes = self._trip(self._files, user, look)
            except MissingKey as error:
                raise Refused(str(error)) from None
            for file, outcome in zip(self._files, outcomes, strict=True):
                self.outcomes[file.target, version] = outcome
        return self.outcomes[target, version]

    def probe(self, target: str) -> Found:
        """Whether the file could be written, foreseen with the key that is current."""
        return self._told(self._outcome(target, self._current(), True))

    def install(self, target: str, version: str) -> Found:
        """Write the version, read it back, and have it tried; or the file is as it was."""
        return self._told(self._outcome(target, version, False))

    def verify(self, target: str, version: str) -> Found:
        """What came of trying it."""
        return self._told(self._outcome(target, version, False))

    def put_back(self, target: str, version: str) -> None:
        """Write the current version in place of this one."""
        self.outcomes.clear()
        self._told(self._outcome(target, self._current(), False))

    def _told(self, outcome: Mapping[str, Any]) -> Found:
        if outcome["status"] == "not_measured":
            raise Unanswered
        if outcome["status"] in FAILURES:
            raise Refused(str(outcome["reason"]))
        words = [remark for remark in outcome.get("remarks", []) if remark.startswith(VERDICT)]
        verdict = words[0].removeprefix(VERDICT + ": ").split(" ")[0] if words else "not_measured"
        return Found(verdict)
