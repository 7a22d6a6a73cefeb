# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a rotation begins and how it is given up: the new key is had and judged, and what was asked for is possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from ...module_utils._formats.key_forms import NGC
from .._secrets import key_marks, versions
from .._secrets.session import SESSION, MissingKey
from .._validate.key_kinds import KEY_PAGES, CheckedKey, MalformedKey, check_key
from .._validate.validate import judge_key
from .._validate.verdict import ISSUER, Judgement, KeyVerdict
from . import messages as words
from .adapters import Controller, fingerprint, kind_of
from .ledger import record_key
from .new_key import new_key
from .next_step import may_begin, resume
from .options import Wishes
from .ports import Refused
from .standing import Situation
from .steps import Rotation

if TYPE_CHECKING:
    from .._documents.result import CheckStatus, TargetCheck


class Opening:
    """The beginning of one secret's rotation, and its end before it is settled."""

    rotation: Rotation  # given by who made this one, since its outside asks for the new key here

    def __init__(self, secret: str, service: str, targets: tuple[str, ...], wishes: Wishes, stdin: bytes) -> None:
        """targets: those that the inventory has; stdin: what came there. Raises AccountError for wrong settings."""
        self._secret, self._service, self._targets, self._wishes, self._stdin = secret, service, targets, wishes, stdin
        self.settings = wishes.settings(service)
        self.outside = Controller(secret, service, self.settings, self.at_hand)
        self.outside.said_day = wishes.expires

    # -- the new key ---------------------------------------------------------------------------

    def new(self, hint: str = "") -> CheckedKey:
        """The new key: what was given on standard input, in a file, or what a person types."""
        return new_key(self._secret, self._service, self._wishes.key_file, self._stdin, hint)

    def at_hand(self, user: str) -> CheckedKey:
        """The key that this run was given; else one that is asked for now, and is good."""
        value = SESSION.kept(user)
        if value:
            return check_key(value, self._service)
        try:
            key = self.new(self._hint())
            found = judge_key(key, self.settings)
            if found.verdict is not KeyVerdict.VALID:
                raise AccountError(f"the new key of '{self._secret}' was not taken ({found.verdict}): {found.sentence}")
        except AccountError as error:
            raise AccountError(f"{error}. Then: {resume(self._secret)}") from None
        return key

    def _hint(self) -> str:
        """What a person is told who makes the new key only now."""
        if not self.rotation.situation().at_once:
            return ""
        return (
            f"Every account is ready. Make the new key now, at {KEY_PAGES[self._service]}:\nthe old one ends with it.\n"
        )

    def given_up(self, situation: Situation) -> list[TargetCheck]:
        """Give the open rotation up, unless that was begun already."""
        if situation.version and situation.given_up(situation.version):
            return []
        old = situation.way_back
        if old and situation.possible_holders(situation.version):
            self._old_key_lives(old.id)
        self.rotation.give_up()
        return []

    def _old_key_lives(self, version: str) -> None:
        """What accounts are to get back must not be refused by now. Raises AccountError."""
        try:
            found = self.outside.prove(version)
        except Refused as error:
            raise AccountError(f"not given up, since the old key is not at hand: {error}") from None
        if found.verdict in ("invalid", "not_entitled"):
            sentence = self.outside.sentences[version]
            then = resume(self._secret)
            raise AccountError(f"not given up, since the old key is dead: {sentence}. The new one is needed: {then}")

    def check_targets(self) -> None:
        """A rotation of nothing would end well."""
        if not self._targets:
            text = f"no account holds the key '{self._secret}' (sandboxes only pretend to): nothing is rotated"
            raise AccountError(text)

    def opened(self, situation: Situation) -> list[TargetCheck]:
        """Begin a rotation, unless the new key is not fit for it. Raises AccountError where none may begin."""
        first, kind = self._before(situation)
        if kind in versions.AT_ONCE and not self._wishes.key_file:
            self._open(kind, kind, first)  # the new one is not to be made before all accounts are ready
            return []
        key, found = self._fit(situation, first)
        if key:
            version = self._open(kind_of(key), kind, first)
            SESSION.keep(versions.username(self._secret, version), key.value)
        return [found]

    def foreseen(self, situation: Situation) -> tuple[list[TargetCheck], bool]:
        """Judge the new key if this run was given one, and return whether a rotation would begin. Raises as opened."""
        first, _kind = self._before(situation)
        if not self._wishes.key_file:
            return [], True
        key, found = self._fit(situation, first)
        return [found], key is not None

    def _before(self, situation: Situation) -> tuple[str, str]:
        """Return fingerprint and kind of the key that is to be replaced. Raises AccountError where none may be."""
        why = may_begin(situation)
        if why:
            raise AccountError(why)
        self.check_targets()
        return self._first(situation)

    def _fit(self, situation: Situation, first: str) -> tuple[CheckedKey | None, TargetCheck]:
        """Return the new key, or None for one that must not replace the first one, and the line that says why."""
        key = self.new()
        if fingerprint(key.value) == first:
            return None, words.check("new key", "ok", "is the current one already; nothing is to be done")
        found = judge_key(key, self.settings)
        if found.verdict is not KeyVerdict.VALID:
            return None, judgement_check(found)
        less = self._opens_less(found, situation)
        if less:
            text = f"not_entitled: {less}; make one with the services of the old one"
            return None, words.check("new key", "failed", text)
        return key, judgement_check(found)

    def _opens_less(self, new: Judgement, situation: Situation) -> str:
        """What the old key opens and the new one does not, as their issuer says; nothing where it does not tell."""
        if self._service != NGC or ISSUER not in self.settings.levels:
            return ""
        current = situation.secret.current.id if situation.secret else versions.FIRST
        try:
            old = check_key(SESSION.value(versions.username(self._secret, current))[0], self._service)
        except (MissingKey, MalformedKey):
            return ""
        before, after = told_by_issuer(judge_key(old, replace(self.settings, levels=(ISSUER,)))), told_by_issuer(new)
        if before.get("org") and after.get("org") and before["org"] != after["org"]:
            return f"it is of the organisation {after['org']}, and the old one of {before['org']}"
        there = set(after.get("products", "").split(", "))
        gone = [
            one for one in before.get("products", "").split(", ") if one and "products" in after and one not in there
        ]
        return f"it does not open {', '.join(gone)}, which the old one does" if gone else ""

    def _open(self, kind: str, first_kind: str, first: str) -> str:
        sealed = ""
        if not self.rotation.situation().secret:
            value = SESSION.value(self._secret)[0]  # that _first has read
            sealed = key_marks.sealed(value, self._secret, versions.FIRST, record_key())
        return self.rotation.begin(kind, self._wishes.mode, first_kind, first, self._wishes.grace, sealed)

    def _first(self, situation: Situation) -> tuple[str, str]:
        """Fingerprint and kind of the key that is current."""
        if situation.secret:
            return situation.secret.current.fingerprint, situation.secret.current.kind
        try:
            value = SESSION.value(self._secret)[0]
        except MissingKey as error:
            raise AccountError(f"{error}; without the old key nobody can say when it is dead") from None
        try:
            return fingerprint(value), kind_of(check_key(value, self._service))
        except MalformedKey:
            return fingerprint(value), ""


def told_by_issuer(found: Judgement) -> Mapping[str, str]:
    """What the issuer says of a key beside its verdict."""
    return next((one.details for one in found.findings if one.level == ISSUER), {})


def judgement_check(found: Judgement) -> TargetCheck:
    """What the services say of the new key, as a line of the table."""
    status: CheckStatus = "ok" if found.verdict is KeyVerdict.VALID else "failed"
    return words.check("new key", status, f"{found.verdict}: {found.sentence}")
