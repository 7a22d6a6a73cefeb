# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The coordinator of a rotation: it takes the steps that need no account, and requests the others from the accounts.

A rotation replaces a key, the secret, on all accounts. A target is one file with the secret on one account. A version
is one value of the secret, named by an id. A target is excused if the rotation continues without it. The steps are:

plan: check that the targets can be written. take, prove: store the new key, and test it. canary, spread: write the new
key to one target, then to the others. settle: read the targets again, and make the new key current. grace: wait for
jobs that use the old key. retire: the user deactivates the old key. prove_dead, purge: test that the services refuse
the old key, and remove it from the keyring. abort: cancel the rotation.

A run can stop at any time: the state of the rotation is in its records, and the next run continues from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._input.command_line import describe_options
from .._input.diagnostics import nearest
from .._secrets import versions
from .._secrets.version_store import VersionStore
from .._state import receipts
from .._validate.key_kinds import KEY_PAGES
from . import messages
from .ledger import TIME_FORMAT, Ledger, record_key, utc_now
from .new_key import ask_yes_no
from .next_step import RotationStep, next_step
from .opening import RotationOpening
from .options import RotationOptions
from .situation import COMPROMISED, Situation
from .steps import Rotation
from .targets import service_of

if TYPE_CHECKING:
    from .._documents.result import TargetCheck
    from .._documents.rotation import RequestedStep, RotationState

ACCOUNT_STEPS = ("plan", "canary", "spread", "settle", "retire", "abort")  # steps that need the accounts
READING_STEPS = ("plan", "settle")  # steps that a run requests once, even if some accounts do not respond


class Coordinator:
    """Takes the controller's steps of one secret's rotation, and requests the other steps from the accounts."""

    def __init__(
        self, secret: str, targets: tuple[str, ...], options: RotationOptions, stdin: bytes, by_hand: tuple[str, ...]
    ) -> None:
        """secret: the name of the key. targets: the files with the key, from the inventory. options: of the user.

        stdin: the content of standard input. by_hand: accounts that no program may log in to.
        """
        self._secret, self._targets, self._options, self._by_hand = secret, targets, options, by_hand
        self._store, self._ledger = VersionStore(self._secret, record_key()), Ledger(record_key())
        stored = self._store.load()
        # the service depends on the type of the targets; an open rotation may outlast its targets in the inventory
        recorded_targets = [target for version in (stored.versions if stored else ()) for target in version.targets]
        self._service = service_of(self._secret, self._targets or recorded_targets)
        self._opening = RotationOpening(self._secret, self._service, self._targets, self._options, stdin)
        self._effects = self._opening.effects
        self._registry = self._opening.account_registry()
        parts = (self._secret, self._ledger, self._store, self._effects, self._targets)
        rotation = Rotation(*parts, canary=self._options.canary, clock=utc_now())
        grace = self._options.grace or rotation.situation().grace_seconds  # a later run may omit the option
        # the end of the grace period if the rotation settles in this run
        grace_until = (datetime.now(UTC) + timedelta(seconds=grace)).strftime(TIME_FORMAT) if grace else ""
        self._rotation = self._opening.rotation = replace(rotation, grace_until=grace_until)

    # Steps

    def preview(self) -> RotationState:
        """Check the new key if the user gave a file, and request a preview from the accounts. Nothing is changed.

        Excused targets are skipped. Accounts that no program may log in to get only a row of the report.
        """
        self._check_target_names()
        situation = self._rotation.situation()
        checks: list[TargetCheck] = []
        if not self._options.give_up:
            if not self._is_continuation(situation):
                checks, can_begin = self._opening.preview(situation)
                if not can_begin:
                    return self._result(checks, step={})  # the accounts have nothing to do
            elif not (step := next_step(situation)).name:  # no rotation is open, or nothing is left to do
                return self._report([], step)
        included = [target for target in self._targets if target not in self._options.excuse]
        manual_targets = [target for target in included if target.partition(":")[0] in self._by_hand]
        checks += [
            messages.make_check(target, "warning", messages.describe_pending(target), is_target=True)
            for target in manual_targets
        ]
        targets = [target for target in included if target not in manual_targets]
        version = self._previewed_version(situation)
        return self._result(checks, {"name": "preview", "version": version, "targets": targets})

    def _previewed_version(self, situation: Situation) -> str:
        """Return the id of the version that this run would write; empty if that version, or its key, does not exist."""
        if self._options.give_up:  # a cancellation writes the old version again
            return situation.fallback_version.id if situation.fallback_version else ""
        new = situation.new_version
        if new is None or situation.is_cancelled(new.id) or not self._is_continuation(situation):
            return ""
        return new.id if new.label in ("pending", "current") else ""  # other versions are out of use

    def take_steps(self, previous: RotationState | None, is_last: bool) -> RotationState:
        """Take every step that needs no account, and request the next one from the accounts. Return the new state.

        At the end of the run, or if the next step is not for the accounts, report the rotation instead. previous: the
        state whose request the accounts have just handled in this run; None at the start, which begins a rotation if
        none is open. is_last: no task of the accounts follows in this run.
        """
        with self._store.lock_rotation():
            checks = [] if previous else self._start()
            if any(check["status"] == "failed" for check in checks):  # the new key is not suitable
                return self._result(checks, step={})
            requested = previous.get("asked", {}) if previous else {}
            step = self._take_own_steps(requested, is_last)
            step = self._rotation.block_if_refused(step)  # no target confirms a key that is refused
            if is_last or not self._is_for_accounts(step, requested):
                return self._report(checks, step)
            request: RequestedStep = {"name": step.name, "version": step.version, "targets": list(step.targets)}
            return {**self._result(checks, request), "asked": request}  # the next call reads "asked"

    def _take_own_steps(self, requested: RequestedStep, is_last: bool) -> RotationStep:
        """Take steps until the next step has to wait for accounts, user or time, or has no effect. Return that step.

        requested: the step that the accounts have just handled, or {}. is_last: see take_steps().
        """
        last: RotationStep | None = None  # if the same step comes twice, it had no effect
        while True:
            step = next_step(self._rotation.situation())
            if step.name == "grace" and self._options.retired:  # the user has deactivated the old key early
                self._rotation.end_grace()
                continue
            if step == last or not step.name or self._has_to_wait(step, requested, is_last):
                return step
            self._rotation.take_step(self._limit_plan(step))
            last = step

    def _has_to_wait(self, step: RotationStep, requested: RequestedStep, is_last: bool) -> bool:
        """Return True if the step has to wait for the accounts, the user or time.

        requested: the step that the accounts have just handled in this run, or {}. is_last: see take_steps().
        """
        was_requested = step.name in READING_STEPS and requested.get("name") == step.name
        is_first_plan = step.name == "plan" and not was_requested  # since an earlier run, accounts may be ready
        if step.obstacle and not is_first_plan:
            return True
        if step.name in ACCOUNT_STEPS and step.targets:
            return not was_requested  # after the request, this machine records the accounts that did not respond
        if step.name == "grace":  # jobs may still use the old key
            return True
        return step.name == "retire" and step.is_manual and not self._is_deactivated(step, is_last)

    def _is_deactivated(self, step: RotationStep, is_last: bool) -> bool:
        """Return True if the user reports that the key is deactivated: with --retired, or at the terminal.

        The user is asked only about a compromised key, because the same run then continues with the new key. The last
        call in a run (is_last) cannot continue, so it does not ask.
        """
        if self._options.retired:
            return True
        secret = self._rotation.situation().secret
        is_compromised = secret is not None and step.version == secret.current.id  # other keys are replaced first
        if is_last or not is_compromised:
            return False
        page = KEY_PAGES[self._service]
        question = f"Deactivate the old key of '{self._secret}' now at {page}\nDid you deactivate the key? (yes/no): "
        return ask_yes_no(question)

    def _limit_plan(self, step: RotationStep) -> RotationStep:
        """Return the step. Limit a plan to the targets whose accounts did not respond.

        When this machine takes the limited plan, it records these targets as unreachable.
        """
        if step.name != "plan":
            return step
        states = self._rotation.situation().states(step.version)
        return replace(step, targets=tuple(target for target in step.targets if states.get(target) == "unknown"))

    def _start(self) -> list[TargetCheck]:
        """Begin, continue or cancel a rotation, as the options request. Return rows for the report."""
        checks: list[TargetCheck] = []
        if self._rotation.recover():  # the ledger, which records all steps, had lost an open rotation
            checks.append(messages.make_check("ledger", "warning", messages.RECOVERED))
        self._check_target_names()
        situation = self._rotation.situation()
        if self._options.give_up:
            self._opening.cancel(situation)
        elif not self._is_continuation(situation):
            checks += self._opening.begin(situation)
        for target in self._options.excuse:
            self._rotation.excuse(target)
        if self._options.give_up:
            return checks
        self._rotation.recheck_absent_targets()  # onboarding may have written the key to them since the last run
        if self._needs_new_reads():  # after this record, every target counts as unread
            self._rotation.note("settle", "begun", self._rotation.situation().version)
        return checks

    def _needs_new_reads(self) -> bool:
        """Return True if this run settles the rotation, or ends with a report, and so must read each target again."""
        situation = self._rotation.situation()
        step, new = next_step(situation), situation.new_version
        waits_for_user = step.name == "retire" and step.is_manual and not self._options.retired
        ends_with_report = step.name == "grace" or waits_for_user
        is_installed = new is not None and new.label == "current"  # otherwise, no target should have the new key
        return step.name == "settle" or (ends_with_report and is_installed)

    def _check_target_names(self) -> None:
        """Raise AccountError for an option that names an unknown target."""
        situation = self._rotation.situation()
        known_targets = {*self._targets, *situation.states(situation.version)}
        for flag, targets in (("--canary", (self._options.canary,)), ("--excuse", self._options.excuse)):
            for target in filter(None, targets):  # without the option, the canary is empty
                if target not in known_targets:
                    raise AccountError(
                        f"{describe_options('rotate', flag, target)}: {target!r} is not a target of this rotation; "
                        f"{nearest(target, known_targets)} Nothing was done"
                    )

    def _is_continuation(self, situation: Situation) -> bool:
        """Return True if this run begins no rotation, because of rotate_resume or rotate_retired.

        With rotate_retired, a rotation begins only if none is open, and if the user has given a new key or has called
        the old key compromised: then the user has deactivated the old key before the rotation.
        """
        options = self._options
        may_begin = not options.retired or options.key_file or options.mode == COMPROMISED
        return options.resume or not may_begin or (options.retired and bool(next_step(situation).name))

    # Results

    def _report(self, checks: list[TargetCheck], step: RotationStep) -> RotationState:
        """Return the state with these rows, and with a row for each target and for the remaining work.

        step: the next step, which this run did not complete.
        """
        situation = self._rotation.situation()
        sentence = self._effects.sentences.get(step.version, "")
        remaining = messages.describe_remaining_work(situation, step, self._service, sentence, self._options.key_file)
        checks += messages.list_target_checks(situation, self._by_hand)
        if situation.mode == COMPROMISED:
            checks += messages.list_exposure_checks(situation, self._find_holders(situation))
        return self._result([*checks, *remaining.checks], step={}, command=remaining.command)

    def _find_holders(self, situation: Situation) -> set[str]:
        """Return the targets that had, or may have had, the old key: in the ledger, or by the receipts of accounts."""
        old = situation.old_version
        recorded = self._ledger.who_has(old.fingerprint) if old and old.fingerprint else {}
        return {*recorded, *receipts.list_key_targets(self._secret)}

    def _is_for_accounts(self, step: RotationStep, requested: RequestedStep) -> bool:
        """Return True if the step is to be requested from the accounts; a run requests each step once.

        requested: the step that the accounts have just handled, or {}.
        """
        is_blocked = step.obstacle and step.name != "plan"  # a plan checks if its obstacle still exists
        if step.name not in ACCOUNT_STEPS or not step.targets or is_blocked:
            return False
        was_requested = (step.name, step.version) == (requested.get("name"), requested.get("version"))
        # "settle" found that a target has lost the new key: this run reports the target, and the next run installs it
        has_changed_target = (step.name, requested.get("name")) == ("spread", "settle")
        return not (was_requested or has_changed_target)

    def _result(self, checks: Sequence[TargetCheck], step: RequestedStep, command: str = "") -> RotationState:
        """Return the state with these rows. step: to request from the accounts, or {}. command: to continue with.

        In the state, "then" is this command, "current" is the id of the current version (FIRST before the first
        rotation), and "wanted" are the targets that should get the new key.
        """
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
            "registry": self._registry,
        }
