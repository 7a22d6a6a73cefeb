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

from ...module_utils._core.errors import AccountError
from ...module_utils._formats.key_forms import NGC
from .._input.diagnostics import nearest
from .._secrets import versions
from .._secrets.version_store import Sidecar
from .._validate.key_kinds import KEY_PAGES
from . import messages as words
from . import targets as _targets
from .ledger import Ledger, now, record_key
from .new_key import confirmed
from .next_step import Step, next_step
from .opening import Opening
from .options import Wishes
from .standing import Situation
from .steps import Rotation

if TYPE_CHECKING:
    from .._documents.result import TargetCheck
    from .._documents.rotation import RegistryQuestion, RequestedStep, RotationState

ACCOUNTS = ("plan", "canary", "spread", "settle", "retire", "abort")  # steps that accounts have a share in
LOOKS = ("plan", "settle")  # that are one look a run, whoever answered


class Given(NamedTuple):
    """What a run is about: the targets that the inventory has, the wishes, and what came on standard input.

    by_hand: the accounts that no program enters.
    """

    secret: str
    targets: tuple[str, ...]
    wishes: Wishes = Wishes()
    stdin: bytes = b""
    by_hand: tuple[str, ...] = ()


class Lead:
    """One secret's rotation, as far as this machine takes it."""

    def __init__(self, given: Given) -> None:
        self._secret, self._targets, self._wishes, self._stdin, self._by_hand = given
        self._labels, self._ledger = Sidecar(self._secret, record_key()), Ledger(record_key())
        known = self._labels.secret()
        before = [target for one in (known.versions if known else ()) for target in one.targets]
        self._service = _targets.service(self._secret, self._targets or before)
        self._opening = Opening(self._secret, self._service, self._targets, self._wishes, self._stdin)
        self._settings, self._outside = self._opening.settings, self._opening.outside
        parts = (self._secret, self._ledger, self._labels, self._outside, self._targets, self._wishes.canary, now())
        self._rotation = Rotation(*parts)
        grace = self._wishes.grace or self._rotation.situation().grace
        until = (datetime.now(UTC) + timedelta(seconds=grace)).strftime("%Y-%m-%dT%H:%M:%SZ") if grace else ""
        self._rotation = self._opening.rotation = Rotation(*parts, until)

    # -- what is done --------------------------------------------------------------------------

    def foreseen(self) -> RotationState:
        """Judge the new key where one is given, and let each account foresee its share; nothing is kept or changed."""
        self._check_words()
        now = self._rotation.situation()
        is_begun = self._wishes.give_up or self._goes_on(now)
        checks, goes_on = ([], True) if is_begun else self._opening.foreseen(now)
        if not goes_on:
            return self._result(checks, {})
        asked = [one for one in self._targets if one not in self._wishes.excuse]
        pending = [one for one in asked if one.partition(":")[0] in self._by_hand]
        checks += [words.check(target, "warning", words.pending(target), True) for target in pending]
        targets = [target for target in asked if target not in pending]
        return self._result(checks, {"name": "foresee", "version": self._in_view(now), "targets": targets})

    def _in_view(self, now: Situation) -> str:
        """Return the version that this run would write; empty for one whose key nobody has made yet."""
        if self._wishes.give_up:
            return now.way_back.id if now.way_back else ""
        goes_on = self._goes_on(now) and now.made and not now.given_up(now.version)
        return now.version if goes_on and now.made and now.made.label in ("pending", "current") else ""

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

    def _is_for_others(self, step: Step, asked: RequestedStep, last: bool) -> bool:
        """Whether accounts are to do it, a person, or time."""
        looked = step.name in LOOKS and asked.get("name") == step.name
        if step.obstacle and (step.name != "plan" or looked):
            return True
        if step.name in ACCOUNTS and step.targets:
            return not looked
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
        recovered = [words.check("ledger", "warning", words.RECOVERED)] if self._rotation.recover() else []
        return [*recovered, *self._opened()]

    def _opened(self) -> list[TargetCheck]:
        self._check_words()
        situation = self._rotation.situation()
        if self._wishes.give_up:
            return self._opening.given_up(situation)
        checks = [] if self._goes_on(situation) else self._opening.opened(situation)
        for target in self._wishes.excuse:
            self._rotation.excuse(target)
        self._rotation.ask_again()
        if self._is_to_read_again():
            self._rotation.note("settle", "begun", self._rotation.situation().version)
        return checks

    def _is_to_read_again(self) -> bool:
        """Whether this run would speak of targets by what an earlier one has seen of them."""
        situation = self._rotation.situation()
        step, made = next_step(situation), situation.made
        waits = step.name == "grace" or (step.name == "retire" and step.person and not self._wishes.retired)
        return step.name == "settle" or (waits and made is not None and made.label == "current")

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

    # -- what is said --------------------------------------------------------------------------

    def _told(self, checks: list[TargetCheck], step: Step, asked: RequestedStep, last: bool) -> RotationState:
        situation = self._rotation.situation()
        share: RequestedStep = {"name": step.name, "version": step.version, "targets": list(step.targets)}
        new = (step.name, step.version) != (asked.get("name"), asked.get("version"))  # each is asked once a run
        found_otherwise = (step.name, asked.get("name")) == ("spread", "settle")  # it is said before it is fixed
        ours = step.name in ACCOUNTS and step.targets and new and not found_otherwise
        ours = ours and (step.name == "plan" or not step.obstacle)
        if not last:
            share = share if ours else {}
            return {**self._result(checks, share), "asked": share or asked}
        old = situation.replaced
        ever = self._ledger.who_has(old.fingerprint) if old and old.fingerprint else ()
        sentence, key = self._outside.sentences.get(step.version, ""), self._wishes.key_file
        left = words.left(situation, step, self._service, KEY_PAGES, sentence, key)
        shown = [*words.targets(situation, self._by_hand), *words.places(situation, ever), *left.checks]
        return self._result([*checks, *shown], {}, left.command)

    def _result(self, checks: Sequence[TargetCheck], step: RequestedStep, command: str = "") -> RotationState:
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

    def _asked_there(self) -> RegistryQuestion:
        """The registry as the accounts ask it."""
        if self._service != NGC:
            return {}
        place = self._settings.registry_image(self._settings.canary or self._settings.image)
        file = self._settings.transport.ca_file
        return {
            "address": f"https://{place.registry}",
            "repository": place.repository,
            "realms": list(place.allowed),
            "ca": Path(file).read_text(encoding="ascii") if file else "",
        }
