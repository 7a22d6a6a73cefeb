# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lead of a rotation: takes the steps that need no account, and says what the accounts are to do.

It can be run any number of times; where the rotation is stands in its records, not in the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._formats.key_forms import NGC
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import nearest
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import messages as words
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import targets as _targets
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.adapters import Controller, fingerprint, kind_of
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger, now, record_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.new_key import confirmed, new_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import Step, may_begin, next_step, resume
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.options import Wishes
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ports import Refused
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.standing import Situation
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.steps import Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import key_marks, versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import SESSION, MissingKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import Sidecar
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.issuers import KEY_PAGES
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.key_kinds import Key, Malformed, recognised
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.validate import judged
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.verdict import Judgement, Verdict

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import CheckStatus, TargetCheck
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.rotation import Asked, Registry, RotationState

ACCOUNTS = ("plan", "canary", "spread", "retire", "abort")  # steps that accounts have a share in


class Given(NamedTuple):
    """What a run is about: the targets that the inventory has, the wishes, and what came on standard input."""

    secret: str
    targets: tuple[str, ...]
    wishes: Wishes = Wishes()
    stdin: bytes = b""


class Lead:
    """One secret's rotation, as far as this machine takes it."""

    def __init__(self, given: Given) -> None:
        self._secret, self._targets, self._wishes, self._stdin = given
        self._labels, self._ledger = Sidecar(self._secret, record_key()), Ledger(record_key())
        known = self._labels.secret()
        before = [target for one in (known.versions if known else ()) for target in one.targets]
        self._service = _targets.service(self._secret, self._targets or before)
        self._settings = self._wishes.settings(self._service)
        self._outside = Controller(self._secret, self._service, self._settings, self._at_hand)
        parts = (self._secret, self._ledger, self._labels, self._outside, self._targets, self._wishes.canary, now())
        self._rotation = Rotation(*parts)
        grace = self._wishes.grace or self._rotation.situation().grace
        until = (datetime.now(UTC) + timedelta(seconds=grace)).strftime("%Y-%m-%dT%H:%M:%SZ") if grace else ""
        self._rotation = Rotation(*parts, until)

    # -- the new key ---------------------------------------------------------------------------

    def _new(self, hint: str = "") -> Key:
        """The new key: what was given on standard input, in a file, or what a person types."""
        return new_key(self._secret, self._service, self._wishes.key_file, self._stdin, hint)

    def _at_hand(self, user: str) -> Key:
        """The key that this run was given; else one that is asked for now, and is good."""
        value = SESSION.kept(user)
        if value:
            return recognised(value, self._service)
        try:
            key = self._new(self._hint())
            found = judged(key, self._settings)
            if found.verdict is not Verdict.VALID:
                raise AccountError(f"the new key of '{self._secret}' was not taken ({found.verdict}): {found.sentence}")
        except AccountError as error:
            raise AccountError(f"{error}. Then: {resume(self._secret)}") from None
        return key

    def _hint(self) -> str:
        """What a person is told who makes the new key only now."""
        if not self._rotation.situation().at_once:
            return ""
        return (
            f"Every account is ready. Make the new key now, at {KEY_PAGES[self._service]}:\nthe old one ends with it.\n"
        )

    # -- what is done --------------------------------------------------------------------------

    def foreseen(self) -> RotationState:
        """Judge the new key where one is given, and say what would be done; nothing is kept or changed."""
        if not self._goes_on(self._rotation.situation()):
            self._check_targets()
        checks = [_judgement_check(judged(self._new(), self._settings))] if self._wishes.key_file else []
        checks += [words.check(target, "ok", "holds the key; it would be replaced", True) for target in self._targets]
        return self._result(checks, {})

    def taken(self, after: RotationState | None, last: bool) -> RotationState:
        """Take every step that needs no account, beginning a rotation where none is open.

        after: the result of the lead before in this run, whose step the accounts have had their share in. last:
        nothing follows in this run, so what is not done is a failure.
        """
        with self._labels.rotating():
            return self._led(after, last)

    def _led(self, after: RotationState | None, last: bool) -> RotationState:
        checks = [] if after else self._begun()
        if any(check["status"] == "failed" for check in checks):
            return self._result(checks, {})
        before: Step | None = None
        asked = after.get("asked", {}) if after else {}
        while True:
            step = next_step(self._rotation.situation())
            if step.name == "grace" and self._wishes.retired:
                self._rotation.end_grace()
                continue
            if step == before or not step.name or self._is_for_others(step, asked, last):
                break
            self._rotation.take_step(self._mine(step))
            before = step
        return self._told(checks, self._rotation.unless_refused(step), asked, last)

    def _is_for_others(self, step: Step, asked: Asked, last: bool) -> bool:
        """Whether accounts are to do it, a person, or time. A plan is one look, whoever answered."""
        planned = step.name == "plan" and asked.get("name") == "plan"
        if step.obstacle and (step.name != "plan" or planned):
            return True
        if step.name in ACCOUNTS and step.targets:
            return not planned
        return step.name == "grace" or (step.name == "retire" and step.person and not self._is_dead(step, last))

    def _is_dead(self, step: Step, last: bool) -> bool:
        """Whether a person says that the key is deactivated. Of a compromised one they are asked, in time."""
        current = self._rotation.situation().secret
        if self._wishes.retired or last or current is None or step.version != current.current.id:
            return self._wishes.retired
        page = KEY_PAGES[self._service]
        return confirmed(f"Deactivate the old key of '{self._secret}' now, at {page}\nIs it deactivated? (yes/no): ")

    def _mine(self, step: Step) -> Step:
        """Of a plan, the targets whose accounts have said nothing: they could not be reached."""
        states = self._rotation.situation().states(step.version)
        left = tuple(target for target in step.targets if states.get(target) == "unknown")
        return replace(step, targets=left) if step.name == "plan" else step

    def _begun(self) -> list[TargetCheck]:
        """Begin, give up, or go on."""
        self._check_words()
        situation = self._rotation.situation()
        if self._wishes.give_up:
            return self._given_up(situation)
        checks = [] if self._goes_on(situation) else self._opened(situation)
        for target in self._wishes.excuse:
            self._rotation.excuse(target)
        return checks

    def _check_words(self) -> None:
        """The targets that are named must be some."""
        known = {*self._targets, *self._rotation.situation().states(self._rotation.situation().version)} - {""}
        for name, wanted in (("rotate_canary", (self._wishes.canary,)), ("rotate_excuse", self._wishes.excuse)):
            for target in filter(None, wanted):
                if target not in known:
                    raise AccountError(f"{name}: {target!r} is no target; {nearest(target, known)} Nothing was done")

    def _goes_on(self, situation: Situation) -> bool:
        """Whether this run goes on with a rotation: it says so, or that the old key of an open one is dead."""
        return self._wishes.resume or (self._wishes.retired and bool(next_step(situation).name))

    def _given_up(self, situation: Situation) -> list[TargetCheck]:
        """Give the open rotation up, unless that was begun already."""
        if situation.version and situation.given_up(situation.version):
            return []
        current = situation.secret.current if situation.secret else None
        if current and current.id != situation.version and situation.possible_holders(situation.version):
            self._old_key_lives(current.id)
        self._rotation.give_up()
        return []

    def _old_key_lives(self, version: str) -> None:
        """What accounts are to get back must not be refused by now. Raises AccountError."""
        try:
            found = self._outside.prove(version)
        except Refused as error:
            raise AccountError(f"not given up, since the old key is not at hand: {error}") from None
        if found.verdict in ("invalid", "not_entitled"):
            sentence = self._outside.sentences[version]
            then = resume(self._secret)
            raise AccountError(f"not given up, since the old key is dead: {sentence}. The new one is needed: {then}")

    def _check_targets(self) -> None:
        """A rotation of nothing would end well."""
        if not self._targets:
            text = f"no account holds the key '{self._secret}' (sandboxes only pretend to): nothing is rotated"
            raise AccountError(text)

    def _opened(self, situation: Situation) -> list[TargetCheck]:
        why = may_begin(situation)
        if why:
            raise AccountError(why)
        self._check_targets()
        first, kind = self._first(situation)
        if kind in versions.AT_ONCE and not self._wishes.key_file:
            self._open(kind, kind, first)  # the new one is not to be made before all accounts are ready
            return []
        key = self._new()
        if fingerprint(key.value) == first:
            return [words.check("new key", "ok", "is the current one already; nothing is to be done")]
        found = judged(key, self._settings)
        if found.verdict is not Verdict.VALID:
            return [_judgement_check(found)]
        version = self._open(kind_of(key), kind, first)
        SESSION.keep(versions.username(self._secret, version), key.value)
        return [_judgement_check(found)]

    def _open(self, kind: str, first_kind: str, first: str) -> str:
        sealed = ""
        if not self._rotation.situation().secret:
            value = SESSION.value(self._secret)[0]  # that _first has read
            sealed = key_marks.sealed(value, self._secret, versions.FIRST, record_key())
        return self._rotation.begin(kind, self._wishes.mode, first_kind, first, self._wishes.grace, sealed)

    def _first(self, situation: Situation) -> tuple[str, str]:
        """Fingerprint and kind of the key that is current."""
        if situation.secret:
            return situation.secret.current.fingerprint, situation.secret.current.kind
        try:
            value = SESSION.value(self._secret)[0]
        except MissingKey as error:
            raise AccountError(f"{error}; without the old key nobody can say when it is dead") from None
        try:
            return fingerprint(value), kind_of(recognised(value, self._service))
        except Malformed:
            return fingerprint(value), ""

    # -- what is said --------------------------------------------------------------------------

    def _told(self, checks: list[TargetCheck], step: Step, asked: Asked, last: bool) -> RotationState:
        situation = self._rotation.situation()
        share: Asked = {"name": step.name, "version": step.version, "targets": list(step.targets)}
        new = (step.name, step.version) != (asked.get("name"), asked.get("version"))  # each is asked once a run
        ours = step.name in ACCOUNTS and step.targets and new and (step.name == "plan" or not step.obstacle)
        if not last:
            share = share if ours else {}
            return {**self._result(checks, share), "asked": share or asked}
        old = situation.replaced
        ever = self._ledger.who_has(old.fingerprint) if old and old.fingerprint else ()
        sentence, key = self._outside.sentences.get(step.version, ""), self._wishes.key_file
        left = words.left(situation, step, self._service, KEY_PAGES, sentence, key)
        shown = [*words.targets(situation), *words.places(situation, ever), *left.checks]
        return self._result([*checks, *shown], {}, left.command)

    def _result(self, checks: Sequence[TargetCheck], step: Asked, command: str = "") -> RotationState:
        situation = self._rotation.situation()
        failed = [check for check in checks if check["status"] == "failed"]
        return {
            "kind": "rotation_lead",
            "changed": False,
            "failed": bool(failed),
            "msg": "; ".join(f"{check['name']}: {check['text']}" for check in failed or checks),
            "checks": list(checks),
            "title": f"rotation of {self._secret}",
            "then": command,
            "step": step,
            "current": situation.secret.current.id if situation.secret else versions.FIRST,
            "wanted": list(self._targets),
            "registry": self._asked_there(),
        }

    def _asked_there(self) -> Registry:
        """The registry as the accounts ask it."""
        if self._service != NGC:
            return {}
        place = self._settings.place(self._settings.canary or self._settings.image)
        file = self._settings.transport.ca_file
        return {
            "address": f"https://{place.registry}",
            "repository": place.repository,
            "realms": list(place.allowed),
            "ca": Path(file).read_text(encoding="ascii") if file else "",
        }


def _judgement_check(found: Judgement) -> TargetCheck:
    status: CheckStatus = "ok" if found.verdict is Verdict.VALID else "failed"
    return words.check("new key", status, f"{found.verdict}: {found.sentence}")
