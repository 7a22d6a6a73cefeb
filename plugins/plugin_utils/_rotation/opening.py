# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Begin a rotation or give it up: read and judge the new key, and check that what was requested is possible."""

from __future__ import annotations

from dataclasses import replace
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


class RotationOpening:
    """Begins one secret's rotation, or gives it up before its old key is gone."""

    rotation: Rotation  # set by the coordinator, since the effects of the rotation read the new key here

    def __init__(
        self, secret: str, service: str, targets: tuple[str, ...], options: RotationOptions, stdin: bytes
    ) -> None:
        """targets: those of the inventory; stdin: what was read there. Raises AccountError for invalid settings."""
        self._secret, self._service, self._targets = secret, service, targets
        self._options, self._stdin = options, stdin
        self.settings = options.validation_settings(service)
        self.effects = ControllerEffects(secret, service, self.settings, self._get_key, options.expires)

    def begin(self, situation: Situation) -> list[TargetCheck]:
        """Begin a rotation unless the new key is unfit. Raises AccountError if none may begin."""
        first, kind = self._check_may_begin(situation)
        if kind in versions.AT_ONCE and not self._options.key_file:
            self._open(kind, kind, first)  # the new key is to be made when all accounts are ready
            return []
        key, check = self._read_fit_key(situation, first)
        if key:
            version = self._open(version_kind(key), kind, first)
            SESSION.keep(versions.keyring_name(self._secret, version), key.value)
        return [check]

    def preview(self, situation: Situation) -> tuple[list[TargetCheck], bool]:
        """Judge the new key if this run was given one; return True if a rotation would begin. Raises as begin."""
        first, _kind = self._check_may_begin(situation)
        if not self._options.key_file:
            return [], True
        key, check = self._read_fit_key(situation, first)
        return [check], key is not None

    def give_up(self, situation: Situation) -> None:
        """Give up the open rotation, unless that was begun already. Raises AccountError if the old key is dead."""
        if situation.version and situation.is_given_up(situation.version):
            return
        old = situation.fallback_version
        if old and situation.possible_holders(situation.version):
            self._check_alive(old.id)
        self.rotation.give_up()

    def _check_alive(self, version: str) -> None:
        """Raise AccountError if the key that accounts would get back is refused by now."""
        try:
            found = self.effects.prove(version)
        except StepRefused as error:
            raise AccountError(f"the rotation was not given up, because the old key cannot be read: {error}") from None
        if found.verdict in ("invalid", "not_entitled"):
            raise AccountError(
                f"the rotation was not given up, because the old key no longer works: "
                f"{self.effects.sentences[version]}. Install the new key: {resume_command(self._secret)}"
            )

    def _check_may_begin(self, situation: Situation) -> tuple[str, str]:
        """Return fingerprint and kind of the current key. Raises AccountError if no rotation may begin."""
        reason = explain_no_begin(situation)
        if reason:
            raise AccountError(reason)
        if not self._targets:
            raise AccountError(
                f"no account has the key '{self._secret}' (keys of sandboxes are simulated): nothing was rotated"
            )
        if situation.secret:
            return situation.secret.current.fingerprint, situation.secret.current.kind
        try:
            value = SESSION.read_key(self._secret)[0]
        except MissingKey as error:
            raise AccountError(
                f"{error}; without the old key, hpc-onboard cannot check whether it still works"
            ) from None
        try:
            return fingerprint(value), version_kind(check_key(value, self._service))
        except MalformedKey:
            return fingerprint(value), ""

    def _get_key(self, user: str) -> CheckedKey:
        """Return the key that this run was given under this name; else read one now and check that it is valid."""
        value = SESSION.find_kept(user)
        if value:
            return check_key(value, self._service)
        hint = ""
        if self.rotation.situation().replaces_at_once:
            page = KEY_PAGES[self._service]
            hint = f"Every account is ready. Create the new key now, at {page}:\nthis revokes the old key.\n"
        try:
            key = self._read_key(hint)
            found = judge_key(key, self.settings)
            if found.verdict is not KeyVerdict.VALID:
                raise AccountError(f"the new key of '{self._secret}' is {found.verdict}: {found.sentence}")
        except AccountError as error:
            raise AccountError(f"{error}. Then: {resume_command(self._secret)}") from None
        return key

    def _read_key(self, hint: str = "") -> CheckedKey:
        return read_new_key(self._secret, self._service, self._options.key_file, self._stdin, hint)

    def _read_fit_key(self, situation: Situation, first: str) -> tuple[CheckedKey | None, TargetCheck]:
        """Return the new key, or None if it must not replace the first one, and the line that says why."""
        key = self._read_key()
        if fingerprint(key.value) == first:
            return None, make_check("new key", "ok", "is already the current key; nothing to do")
        found = judge_key(key, self.settings)
        text = f"{found.verdict}: {found.sentence}"
        if found.verdict is not KeyVerdict.VALID:
            return None, make_check("new key", "failed", text)
        lost = self._explain_lost_rights(found, situation)
        if lost:
            text = f"not_entitled: {lost}; create a key with the same services as the old key"
            return None, make_check("new key", "failed", text)
        return key, make_check("new key", "ok", text)

    def _explain_lost_rights(self, new: Judgement, situation: Situation) -> str:
        """Return what the old key opens and the new one does not, as their issuer says; empty if nothing is lost."""
        if self._service != NGC or ISSUER not in self.settings.levels:
            return ""
        current = situation.secret.current.id if situation.secret else versions.FIRST
        try:
            old = check_key(SESSION.read_key(versions.keyring_name(self._secret, current))[0], self._service)
        except (MissingKey, MalformedKey):
            return ""
        judged = (judge_key(old, replace(self.settings, levels=(ISSUER,))), new)
        before, after = ({k: v for one in found.findings for k, v in one.details.items()} for found in judged)
        if before.get("org") and after.get("org") and before["org"] != after["org"]:
            return f"it belongs to the organisation {after['org']}, but the old key to {before['org']}"
        if "products" not in after:
            return ""
        products = set(after["products"].split(", "))
        lost = [one for one in before.get("products", "").split(", ") if one and one not in products]
        return f"it has no access to {', '.join(lost)}, but the old key has" if lost else ""

    def _open(self, kind: str, first_kind: str, first: str) -> str:
        sealed = ""
        if not self.rotation.situation().secret:
            value = SESSION.read_key(self._secret)[0]  # which _check_may_begin has read
            sealed = key_marks.seal(value, self._secret, versions.FIRST, record_key())
        options = self._options
        return self.rotation.begin(kind, options.mode, first_kind, first, options.grace, sealed)
