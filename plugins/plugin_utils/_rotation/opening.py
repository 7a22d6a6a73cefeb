# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The beginning and the cancellation of a rotation: check the old and the new key before anything is recorded.

A rotation replaces a key, the secret, on all accounts. A version is one value of the secret, named by an id; its value
is in the keyring. A target is one file with the secret on one account. The kind of a key is one of versions.KINDS, such
as "legacy": a new key of this kind revokes the old key at once. A situation is the state of the last rotation.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from ...module_utils._formats.key_forms import NGC
from .._secrets import key_marks, versions
from .._secrets.session import SESSION, MissingKey
from .._validate.key_kinds import KEY_PAGES, CheckedKey, MalformedKey, check_key
from .._validate.validate import judge_key
from .._validate.verdict import ISSUER, Judgement, KeyVerdict
from .adapters import ControllerEffects, fingerprint, version_kind
from .ledger import record_key
from .messages import make_check
from .new_key import read_new_key
from .next_step import explain_no_begin, resume_command
from .options import RotationOptions
from .ports import StepRefused
from .situation import Situation
from .steps import Rotation

if TYPE_CHECKING:
    from .._documents.result import TargetCheck
    from .._documents.rotation import RegistryQuestion


class RotationOpening:
    """Begins the rotation of one secret, or cancels it while the old key is still valid."""

    rotation: Rotation  # set by the coordinator, which creates it with the effects of this object

    def __init__(
        self, secret: str, service: str, targets: tuple[str, ...], options: RotationOptions, stdin: bytes
    ) -> None:
        """secret: the name of the key. service: that the key is for. targets: in the inventory.

        options: of the user. stdin: the content of standard input, which may be the new key. Raise AccountError for
        invalid settings.
        """
        self._secret, self._service, self._targets = secret, service, targets
        self._options, self._stdin = options, stdin
        self.settings = options.validation_settings(service)  # for tests of a key by the services
        # reads and changes the keyring, and asks the services about keys
        self.effects = ControllerEffects(secret, service, self.settings, self._get_new_key, options.expires)

    def begin(self, situation: Situation) -> list[TargetCheck]:
        """Begin a rotation if the new key is suitable. Return rows for the report. Raise AccountError.

        A new key that revokes the old one at once is not read yet: the user creates it when all accounts are ready.
        """
        old_fingerprint, old_kind = self._read_current_key(situation)
        if old_kind in versions.AT_ONCE and not self._options.key_file:
            expected_kind = old_kind  # the new key does not exist yet
            self._record_beginning(expected_kind, old_kind, old_fingerprint)
            return []
        key, check = self._read_suitable_key(situation, old_fingerprint)
        if key:
            version = self._record_beginning(version_kind(key), old_kind, old_fingerprint)
            # keep the key in memory: the accounts look for it, and the step "take" of this run stores it in the keyring
            SESSION.keep(versions.keyring_name(self._secret, version), key.value)
        return [check]

    def preview(self, situation: Situation) -> tuple[list[TargetCheck], bool]:
        """Return rows for the report, and True if a rotation would begin. Raise AccountError.

        The new key is checked only if it is in a file: a preview asks nothing.
        """
        old_fingerprint, _kind = self._read_current_key(situation)
        if not self._options.key_file:
            return [], True
        key, check = self._read_suitable_key(situation, old_fingerprint)
        if key:
            SESSION.keep(versions.keyring_name(self._secret, ""), key.value)  # the accounts look for it
        return [check], key is not None

    def cancel(self, situation: Situation) -> None:
        """Begin to cancel the open rotation. Raise AccountError if accounts would get back a refused old key."""
        # an earlier run began to cancel the rotation: this run only continues
        if situation.version and situation.is_cancelled(situation.version):
            return
        old = situation.fallback_version
        # if no account has the new key, no account gets the old key back, so the old key is not tested
        if old and situation.possible_holders(situation.version):
            self._require_old_key_works(old.id)
        self.rotation.cancel()

    def account_registry(self) -> RegistryQuestion:
        """Return the registry that the accounts test the key with; {} for a key of another service than NGC.

        repository: of the image that the test requests, a private one if set. realms: hosts that may get the key. ca:
        the content of the file with certificates, or empty. Raise AccountError if the file cannot be read.
        """
        if self._service != NGC:
            return {}
        settings = self.settings
        image, file = settings.registry_image(settings.canary or settings.image), settings.transport.ca_file
        try:
            # bundles of certificates have comments, which ssl accepts only in ASCII
            certificates = Path(file).read_bytes().decode("ascii", "ignore") if file else ""
        except OSError as error:
            raise AccountError(
                f"the CA file {file} cannot be read ({error.strerror}). Set a different CA file"
            ) from None
        return {
            "address": f"https://{image.registry}",
            "repository": image.repository,
            "realms": list(image.token_hosts),
            "ca": certificates,
        }

    def _require_old_key_works(self, old_version: str) -> None:
        """Raise AccountError if the old key cannot be read, or the services refuse it. old_version: its id."""
        try:
            report = self.effects.test_key(old_version)
        except StepRefused as error:
            raise AccountError(f"the rotation was not cancelled, because the old key cannot be read: {error}") from None
        if report.verdict in ("invalid", "not_entitled"):
            raise AccountError(
                f"the rotation was not cancelled, because the old key no longer works: "
                f"{self.effects.sentences[old_version]}. To install the new key, run: {resume_command(self._secret)}"
            )

    def _read_current_key(self, situation: Situation) -> tuple[str, str]:
        """Return the fingerprint (a short keyed hash) and the kind of the current key; the kind is "" if malformed.

        Raise AccountError if no rotation can begin.
        """
        reason = explain_no_begin(situation)
        if reason:
            raise AccountError(reason)
        if not self._targets:
            raise AccountError(
                f"no account has the key '{self._secret}' (the keys of sandboxes are only "
                "simulated), so nothing was rotated"
            )
        if situation.secret:
            return situation.secret.current.fingerprint, situation.secret.current.kind
        # before the first rotation, nothing is recorded about the key
        try:
            value, _warnings = SESSION.read_key(self._secret)
        except MissingKey as error:
            raise AccountError(
                f"{error}; hpc-onboard needs the old key to check whether that key still works"
            ) from None
        try:
            return fingerprint(value), version_kind(check_key(value, self._service))
        except MalformedKey:
            return fingerprint(value), ""

    def _get_new_key(self, keyring_name: str) -> CheckedKey:
        """Return the new key. If this run has not read the key yet, read it. Raise AccountError unless it is valid.

        keyring_name: of the new key.
        """
        value = SESSION.find_kept(keyring_name)
        if value:
            return check_key(value, self._service)
        hint = ""
        if self.rotation.situation().replaces_at_once:
            page = KEY_PAGES[self._service]
            hint = f"Every account is ready. Create the new key now at {page}\nThe new key revokes the old key.\n"
        try:
            key = self._read_key(hint)
            judgement = judge_key(key, self.settings)
            if judgement.verdict is not KeyVerdict.VALID:
                raise AccountError(f"the new key of '{self._secret}' is {_describe_verdict(judgement)}")
        except AccountError as error:
            raise AccountError(f"{error}. To continue the rotation, run: {resume_command(self._secret)}") from None
        return key

    def _read_key(self, hint: str = "") -> CheckedKey:
        """Read the new key. hint: to show before the question at the terminal."""
        return read_new_key(self._secret, self._service, self._options.key_file, self._stdin, hint)

    def _read_suitable_key(self, situation: Situation, old_fingerprint: str) -> tuple[CheckedKey | None, TargetCheck]:
        """Return the new key, or None for a key that must not replace the old key; and a row for the report."""
        key = self._read_key()
        if fingerprint(key.value) == old_fingerprint:
            return None, make_check("new key", "ok", "the new key is already the current key; nothing to do")
        judgement = judge_key(key, self.settings)
        text = _describe_verdict(judgement)
        if judgement.verdict is not KeyVerdict.VALID:
            return None, make_check("new key", "failed", text)
        lost = self._explain_lost_rights(judgement, situation)
        if lost:
            text = f"not entitled: {lost}; create a key with access to the same services as the old key"
            return None, make_check("new key", "failed", text)
        return key, make_check("new key", "ok", text)

    def _explain_lost_rights(self, new: Judgement, situation: Situation) -> str:
        """Return a text about the access that the old key has and the new key lacks, as the issuer reports; or "".

        A key of a different organisation counts as a loss of access. new: the judgement of the new key, with the
        issuer's details.
        """
        if self._service != NGC or ISSUER not in self.settings.levels:
            return ""  # the issuer was not asked, or reports no rights
        current = situation.secret.current.id if situation.secret else versions.FIRST
        try:
            value, _warnings = SESSION.read_key(versions.keyring_name(self._secret, current))
            old = check_key(value, self._service)
        except (MissingKey, MalformedKey):
            return ""  # the rights of the old key are unknown
        only_issuer = replace(self.settings, levels=(ISSUER,))
        old_details = _merge_details(judge_key(old, only_issuer))
        new_details = _merge_details(new)
        old_organisation, new_organisation = old_details.get("org"), new_details.get("org")
        if old_organisation and new_organisation and old_organisation != new_organisation:
            return (
                f"the new key belongs to the organisation {new_organisation}, but the old key "
                f"belongs to {old_organisation}"
            )
        if "products" not in new_details:
            return ""  # the issuer did not report the access of the new key
        products = new_details["products"].split(", ")
        lost = [name for name in old_details.get("products", "").split(", ") if name and name not in products]
        return f"the new key lacks access to {', '.join(lost)}, which the old key has" if lost else ""

    def _record_beginning(self, kind: str, old_kind: str, old_fingerprint: str) -> str:
        """Record that a rotation begins, and return the id of its new version.

        kind: of the new key. old_kind, old_fingerprint: of the current key.
        """
        sealed = ""
        if not self.rotation.situation().secret:  # the first rotation also records the encrypted hash of the old key
            value, _warnings = SESSION.read_key(self._secret)  # _read_current_key has read the key, too
            sealed = key_marks.encrypt_hash(value, self._secret, versions.FIRST, record_key())
        options = self._options
        return self.rotation.begin(
            kind,
            mode=options.mode,
            first_kind=old_kind,
            fingerprint=old_fingerprint,
            grace=options.grace,
            sealed=sealed,
        )


def _describe_verdict(judgement: Judgement) -> str:
    """Return the verdict in words, and the sentence of the services: "not entitled: ..."."""
    return f"{judgement.verdict.replace('_', ' ')}: {judgement.sentence}"


def _merge_details(judgement: Judgement) -> dict[str, str]:
    """Return the details of all findings; for the same name, the last finding wins."""
    return {name: value for finding in judgement.findings for name, value in finding.details.items()}
