# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lead a rotation: take the steps that need no account, and say what the accounts have to do.

It can run any number of times: where the rotation is, the records say, not the run.
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
from .._secrets.version_store import VersionStore
from .._validate.key_kinds import KEY_PAGES
from . import messages
from .ledger import TIME_FORMAT, Ledger, record_key, utc_now
from .new_key import confirm
from .next_step import RotationStep, next_step
from .opening import RotationOpening
from .options import RotationOptions
from .situation import Situation
from .steps import Rotation
from .targets import service_of

if TYPE_CHECKING:
    from .._documents.result import TargetCheck
    from .._documents.rotation import RegistryQuestion, RequestedStep, RotationState

ACCOUNTS = ("plan", "canary", "spread", "settle", "retire", "abort")  # steps that accounts have a share in
LOOKS = ("plan", "settle")  # those that a run takes once, whichever accounts responded


class RotationRequest(NamedTuple):
    """What a run is about. targets: those of the inventory; by_hand: the accounts that no program may enter."""

    secret: str
    targets: tuple[str, ...]
    options: RotationOptions = RotationOptions()
    stdin: bytes = b""
    by_hand: tuple[str, ...] = ()


class Coordinator:
    """Leads one secret's rotation as far as this machine can take it."""

    def __init__(self, request: RotationRequest) -> None:
        self._secret, self._targets, self._options, stdin, self._by_hand = request
        self._store, self._ledger = VersionStore(self._secret, record_key()), Ledger(record_key())
        known = self._store.load()
        before = [target for one in (known.versions if known else ()) for target in one.targets]
        self._service = service_of(self._secret, self._targets or before)
        self._opening = RotationOpening(self._secret, self._service, self._targets, self._options, stdin)
        self._effects = self._opening.effects
        canary = self._options.canary
        rotation = Rotation(self._secret, self._ledger, self._store, self._effects, self._targets, canary, utc_now())
        grace = self._options.grace or rotation.situation().grace_seconds
        until = (datetime.now(UTC) + timedelta(seconds=grace)).strftime(TIME_FORMAT) if grace else ""
        self._rotation = self._opening.rotation = replace(rotation, grace_until=until)

    # What is done

    def preview(self) -> RotationState:
        """Judge the new key if one is given, and have each account preview its share; nothing is kept or changed."""
        self._check_target_names()
        now = self._rotation.situation()
        checks: list[TargetCheck] = []
        if not self._options.give_up and not self._continues(now):
            checks, begins = self._opening.preview(now)
            if not begins:
                return self._result(checks, {})
        asked = [one for one in self._targets if one not in self._options.excuse]
        pending = [one for one in asked if one.partition(":")[0] in self._by_hand]
        checks += [
            messages.make_check(target, "warning", messages.describe_pending(target), True) for target in pending
        ]
        targets = [target for target in asked if target not in pending]
        return self._result(checks, {"name": "foresee", "version": self._previewed_version(now), "targets": targets})

    def _previewed_version(self, now: Situation) -> str:
        """Return the version that this run would write; empty for one whose key is not made yet."""
        if self._options.give_up:
            return now.fallback_version.id if now.fallback_version else ""
        new = now.new_version
        is_continued = self._continues(now) and new and not now.is_given_up(now.version)
        return now.version if is_continued and new and new.label in ("pending", "current") else ""

    def take_steps(self, after: RotationState | None, is_last: bool) -> RotationState:
        """Take every step that needs no account, and begin a rotation if none is open.

        after: the result of the coordinator before in this run, whose step the accounts have had their share in.
        is_last: nothing follows in this run, so what is not done is a failure. That is so, too, if no account has a
        share in the next step; the result names none then.
        """
        with self._store.lock_rotation():
            checks = [] if after else self._begin()
            if any(check["status"] == "failed" for check in checks):
                return self._result(checks, {})
            asked = after.get("asked", {}) if after else {}
            step = self._rotation.unless_refused(self._take_own_steps(asked, is_last))
            if is_last or not self._is_share(step, asked):
                return self._report(checks, step)
            share: RequestedStep = {"name": step.name, "version": step.version, "targets": list(step.targets)}
            return {**self._result(checks, share), "asked": share}

    def _take_own_steps(self, asked: RequestedStep, is_last: bool) -> RotationStep:
        """Take steps until one is for the accounts, the user or time, or brings nothing; return that one."""
        before: RotationStep | None = None
        while True:
            step = next_step(self._rotation.situation())
            if step.name == "grace" and self._options.retired:
                self._rotation.end_grace()
                continue
            if step == before or not step.name or self._is_for_others(step, asked, is_last):
                return step
            self._rotation.take_step(self._own_part(step))
            before = step

    def _is_for_others(self, step: RotationStep, asked: RequestedStep, is_last: bool) -> bool:
        """Return True if the step waits for the accounts, the user or time."""
        is_looked = step.name in LOOKS and asked.get("name") == step.name
        if step.obstacle and (step.name != "plan" or is_looked):
            return True
        if step.name in ACCOUNTS and step.targets:
            return not is_looked
        return step.name == "grace" or (
            step.name == "retire" and step.is_manual and not self._is_deactivated(step, is_last)
        )

    def _is_deactivated(self, step: RotationStep, is_last: bool) -> bool:
        """Return True if the user says that the key is deactivated; asks them in time for a compromised key."""
        secret = self._rotation.situation().secret
        if self._options.retired or is_last or secret is None or step.version != secret.current.id:
            return self._options.retired
        page = KEY_PAGES[self._service]
        return confirm(f"Deactivate the old key of '{self._secret}' now, at {page}\nDid you deactivate it? (yes/no): ")

    def _own_part(self, step: RotationStep) -> RotationStep:
        """Return a plan with the targets whose accounts reported nothing: those are unreachable."""
        if step.name != "plan":
            return step
        states = self._rotation.situation().states(step.version)
        return replace(step, targets=tuple(one for one in step.targets if states.get(one) == "unknown"))

    def _begin(self) -> list[TargetCheck]:
        """Begin a rotation, give it up, or continue."""
        checks: list[TargetCheck] = []
        if self._rotation.recover():
            checks.append(messages.make_check("ledger", "warning", messages.RECOVERED))
        self._check_target_names()
        situation = self._rotation.situation()
        if self._options.give_up:
            self._opening.give_up(situation)
            return checks
        if not self._continues(situation):
            checks += self._opening.begin(situation)
        for target in self._options.excuse:
            self._rotation.excuse(target)
        self._rotation.ask_again()
        if self._must_read_again():
            self._rotation.note("settle", "begun", self._rotation.situation().version)
        return checks

    def _must_read_again(self) -> bool:
        """Return True if this run would report targets by what an earlier run has read there."""
        situation = self._rotation.situation()
        step, new = next_step(situation), situation.new_version
        waits = step.name == "grace" or (step.name == "retire" and step.is_manual and not self._options.retired)
        return step.name == "settle" or (waits and new is not None and new.label == "current")

    def _check_target_names(self) -> None:
        """Raise AccountError for an unknown target in the options."""
        now = self._rotation.situation()
        known = {*self._targets, *now.states(now.version)} - {""}
        options = (("rotate_canary", (self._options.canary,)), ("rotate_excuse", self._options.excuse))
        for name, targets in options:
            for target in filter(None, targets):
                if target not in known:
                    raise AccountError(
                        f"{name}: {target!r} is not a target of this rotation; "
                        f"{nearest(target, known)} Nothing was done"
                    )

    def _continues(self, situation: Situation) -> bool:
        """Return True if this run continues a rotation: resume says so, or that the old key is deactivated."""
        return self._options.resume or (self._options.retired and bool(next_step(situation).name))

    # What is reported

    def _report(self, checks: list[TargetCheck], step: RotationStep) -> RotationState:
        situation = self._rotation.situation()
        old = situation.old_version
        ever = self._ledger.who_has(old.fingerprint) if old and old.fingerprint else {}
        sentence = self._effects.sentences.get(step.version, "")
        rest = messages.describe_rest(situation, step, self._service, sentence, self._options.key_file)
        checks += messages.check_targets(situation, self._by_hand)
        checks += messages.check_exposure(situation, ever)
        return self._result([*checks, *rest.checks], {}, rest.command)

    def _is_share(self, step: RotationStep, asked: RequestedStep) -> bool:
        """Return True if the accounts take this step now: each step is asked for once a run."""
        if step.name not in ACCOUNTS or not step.targets or (step.obstacle and step.name != "plan"):
            return False
        if (step.name, step.version) == (asked.get("name"), asked.get("version")):
            return False
        return (step.name, asked.get("name")) != ("spread", "settle")  # a changed key is reported before it is fixed

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
            "registry": self._account_registry(),
        }

    def _account_registry(self) -> RegistryQuestion:
        """Return the registry as the accounts ask it."""
        if self._service != NGC:
            return {}
        settings = self._opening.settings
        image, file = settings.registry_image(settings.canary or settings.image), settings.transport.ca_file
        return {
            "address": f"https://{image.registry}",
            "repository": image.repository,
            "realms": list(image.allowed),
            "ca": Path(file).read_text(encoding="ascii") if file else "",
        }
