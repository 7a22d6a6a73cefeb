# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lead of a rotation: takes the steps that need no account, and says what the accounts are to do.

It can be run any number of times; where the rotation is stands in its records, not in the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils import _versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._exchange import Transport
from ansible_collections.hpc.onboard.plugins.plugin_utils._judgement import Judgement, Verdict
from ansible_collections.hpc.onboard.plugins.plugin_utils._key_forms import Key, Malformed, recognised
from ansible_collections.hpc.onboard.plugins.plugin_utils._keys import SESSION, MissingKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._ledger import Ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._new_key import new_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import (
    RESUME,
    Step,
    may_begin,
    next_step,
    state,
    table,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._sidecar import Sidecar
from ansible_collections.hpc.onboard.plugins.plugin_utils._situation import COMPROMISED, SCHEDULED, Situation
from ansible_collections.hpc.onboard.plugins.plugin_utils._steps import Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._targets import File
from ansible_collections.hpc.onboard.plugins.plugin_utils._verdicts import Settings, judged
from ansible_collections.hpc.onboard.plugins.plugin_utils._world import Controller, fingerprint, kind_of, record_key

WISHES = (
    "rotate_key_file",
    "rotate_resume",
    "rotate_mode",
    "rotate_retired",
    "rotate_registry",
    "rotate_image",
    "rotate_canary_image",
    "rotate_issuer",
    "rotate_realms",
    "rotate_ca_file",
    "rotate_levels",
    "rotate_canary",
    "rotate_excuse",
)
SERVICES = {"wandb": "wandb", "huggingface": "huggingface"}
PAGE = "https://org.ngc.nvidia.com/setup/api-keys"
WORDS = {
    "unknown": "what it holds is not known.",
    "staged": "ready, holds the old key.",
    "installed": "holds the new key, not tried yet.",
    "verified": "holds the new key, and the registry takes it as its reader finds it.",
    "failed": "not replaced, or the registry refuses the key there.",
    "rolled_back": "as it was before.",
    "unreachable": "could not be reached.",
    "excused": "excused.",
}
UNTRIED = "holds the new key; it could not be tried at the registry from there."
ACCOUNTS = ("plan", "canary", "spread", "retire")  # steps that accounts have a share in


class Lead:
    """One secret's rotation, as far as this machine takes it."""

    def __init__(self, secret: str, targets: list[str], wishes: Mapping[str, Any], given: bytes) -> None:
        self._secret, self._targets, self._wishes, self._given = secret, tuple(targets), wishes, given
        self._service = SERVICES.get(secret, "ngc")
        self._settings = self._chosen()
        self._outside = Controller(secret, self._service, self._settings, self._at_hand)
        canary = str(wishes.get("rotate_canary") or "")
        self._labels = Sidecar(secret, record_key())
        self._ledger = Ledger(record_key())
        self._rotation = Rotation(secret, self._ledger, self._labels, self._outside, self._targets, canary)

    def _chosen(self) -> Settings:
        """The services that are asked, with NVIDIA's as defaults."""
        wish, chosen = self._wishes, Settings()
        file = wish.get("rotate_ca_file")
        levels = wish.get("rotate_levels")
        issuer = {"ngc": "issuer"}.get(self._service, self._service)
        issuers: dict[str, Any] = {issuer: wish["rotate_issuer"]} if wish.get("rotate_issuer") else {}
        try:
            return Settings(
                levels=tuple(levels) if levels is not None else chosen.levels,
                **issuers,
                registry=wish.get("rotate_registry") or chosen.registry,
                image=wish.get("rotate_image") or chosen.image,
                canary=wish.get("rotate_canary_image") or chosen.canary,
                realms=tuple(wish.get("rotate_realms") or ()),
                transport=Transport(ca_file=str(file) if file else None),
            )
        except ValueError as error:
            raise AccountError(f"the settings of the rotation: {error}") from None

    # -- the new key ---------------------------------------------------------------------------

    def _new(self) -> Key:
        """The new key: what was given on standard input, in a file, or what a person types."""
        return new_key(self._secret, self._service, str(self._wishes.get("rotate_key_file") or ""), self._given)

    def _at_hand(self, user: str) -> Key:
        """The key that this run was given, else one that is asked for."""
        value = SESSION.kept(user)
        return recognised(value, self._service) if value else self._new()

    # -- what is done --------------------------------------------------------------------------

    def foreseen(self) -> dict[str, Any]:
        """Judge the new key where one is given, and say what would be done; nothing is kept or changed."""
        checks = []
        if self._wishes.get("rotate_key_file"):
            checks.append(_judgement_check("new key", judged(self._new(), self._settings)))
        text = "holds the key; it would be replaced."
        checks += [{"name": target, "status": "ok", "text": text, "next": ""} for target in self._targets]
        return self._result(checks, {})

    def taken(self, after: Mapping[str, Any], last: bool) -> dict[str, Any]:
        """Take every step that needs no account, beginning a rotation where none is open.

        after: the result of the lead before in this run, whose step the accounts have had their share in. last:
        nothing follows in this run, so what is not done is a failure.
        """
        with self._labels.rotating():
            return self._led(after, last)

    def _led(self, after: Mapping[str, Any], last: bool) -> dict[str, Any]:
        checks = [] if after else self._begun()
        for target in () if after else self._wishes.get("rotate_excuse") or ():
            if target not in self._targets:
                raise AccountError(f"rotate_excuse: {target!r} is no target; there are: {', '.join(self._targets)}")
            self._rotation.excuse(str(target))
        if any(check["status"] == "failed" for check in checks):
            return self._result(checks, {})
        before: Step | None = None
        while True:
            step = next_step(self._rotation.situation())
            if step == before or not step.name or step.obstacle or self._is_for_others(step, after.get("step") or {}):
                break
            self._rotation.take_step(step)
            before = step
        return self._told(checks, self._rotation.unless_refused(step), last)

    def _is_for_others(self, step: Step, before: Mapping[str, Any]) -> bool:
        """Whether accounts are to do it, a person, or time. A plan is one look, whoever answered."""
        if step.name in ACCOUNTS and step.targets:
            return not (step.name == "plan" and before.get("name") == "plan")
        return step.name == "grace" or (
            step.name == "retire" and step.person and not self._wishes.get("rotate_retired")
        )

    def _begun(self) -> list[dict[str, str]]:
        situation = self._rotation.situation()
        if self._wishes.get("rotate_resume"):
            return []
        why = may_begin(situation)
        if why:
            raise AccountError(why)
        if not self._targets:
            raise AccountError(
                f"no account holds the key '{self._secret}' (sandboxes only pretend to): nothing is rotated"
            )
        key = self._new()
        first = situation.secret.current.fingerprint if situation.secret else self._first()
        if fingerprint(key.value) == first:
            text = "is the current one already; nothing is to be done."
            return [{"name": "new key", "status": "ok", "text": text, "next": ""}]
        found = judged(key, self._settings)
        check = _judgement_check("new key", found)
        if found.verdict is not Verdict.VALID:
            return [{**check, "status": "failed"}]
        mode = COMPROMISED if self._wishes.get("rotate_mode") == COMPROMISED else SCHEDULED
        version = self._rotation.begin(kind_of(key), mode, self._first_kind(), first)
        SESSION.keep(_versions.username(self._secret, version), key.value)
        return [check]

    def _first(self) -> str:
        """The fingerprint of the key that was stored by hand."""
        try:
            return fingerprint(SESSION.value(self._secret)[0])
        except MissingKey as error:
            raise AccountError(f"{error}; without the old key nobody can say when it is dead") from None

    def _first_kind(self) -> str:
        try:
            return kind_of(recognised(SESSION.value(self._secret)[0], self._service))
        except (MissingKey, Malformed):
            return ""

    # -- what is said --------------------------------------------------------------------------

    def _told(self, checks: list[dict[str, str]], step: Step, last: bool) -> dict[str, Any]:
        situation = self._rotation.situation()
        if last:
            checks = [*checks, *self._targets_told(situation), *self._places(situation), *self._open(step)]
        ours = step.name in ACCOUNTS and step.targets and not step.obstacle
        share = {"name": step.name, "version": step.version, "targets": list(step.targets)} if ours else {}
        return self._result(checks, share)

    def _targets_told(self, situation: Situation) -> list[dict[str, str]]:
        """Each target and what is known of it; what was not tried there is never called verified."""
        mine = [one for one in situation.mine if one.version == situation.version]
        verdicts = {one.target: one.verdict for one in mine}
        return [
            {
                "name": row.target,
                "status": "ok" if row.settled else "warning",
                "text": UNTRIED if row.state == "verified" and verdicts[row.target] != "valid" else WORDS[row.state],
                "next": "",
            }
            for row in table(situation)
        ]

    def _places(self, situation: Situation) -> list[dict[str, str]]:
        """Of a compromised key, every place that it ever went to."""
        if situation.mode != COMPROMISED or situation.secret is None:
            return []
        gone = [one for one in situation.secret.versions if one.label in ("previous", "retired", "dead", "purged")]
        ever = sorted({place for one in gone if one.fingerprint for place in self._ledger.who_has(one.fingerprint)})
        ever += sorted({place for one in gone for place in one.targets} - set(ever))
        text = f"was at {', '.join(ever)}." if ever else "was at no place that is known."
        return [{"name": "the old key", "status": "warning", "text": text, "next": ""}]

    def _open(self, step: Step) -> list[dict[str, str]]:
        """What is left, as a check: nothing, an obstacle, or what a person does next."""
        name, again = "rotation", RESUME.format(name=self._secret)
        word = state(self._rotation.situation())
        if not step.name:
            return [{"name": name, "status": "ok", "text": f"{word}; nothing is left to do.", "next": ""}]
        if step.obstacle:
            return [{"name": name, "status": "failed", "text": f"{step.obstacle}.", "next": again}]
        if step.name == "retire" and step.person:
            text = f"{word}: deactivate the old key where it was made ({PAGE}), then say so."
            return [{"name": name, "status": "warning", "text": text, "next": f"{again} -e rotate_retired=true"}]
        sentence = self._outside.sentences.get(step.version, "")
        text = f"{word}; what follows is {step.name}." + (f" {sentence}" if sentence else "")
        return [{"name": name, "status": "failed", "text": text, "next": again}]

    def _result(self, checks: list[dict[str, str]], step: Mapping[str, Any]) -> dict[str, Any]:
        situation = self._rotation.situation()
        failed = [check for check in checks if check["status"] == "failed"]
        return {
            "changed": False,
            "failed": bool(failed),
            "msg": "; ".join(f"{check['name']}: {check['text']}" for check in failed or checks),
            "checks": checks,
            "title": f"rotation of {self._secret}",
            "step": dict(step),
            "current": situation.secret.current.id if situation.secret else _versions.FIRST,
            "wanted": list(self._targets),
            "registry": self._asked_there(),
        }

    def _asked_there(self) -> dict[str, Any]:
        """The registry as the accounts ask it."""
        place = self._settings.place(self._settings.canary or self._settings.image)
        file = self._settings.transport.ca_file
        return {
            "address": f"https://{place.registry}",
            "repository": place.repository,
            "realms": list(place.allowed),
            "ca": Path(file).read_text(encoding="ascii") if file else "",
        }


def _judgement_check(name: str, found: Judgement) -> dict[str, str]:
    status = "ok" if found.verdict is Verdict.VALID else "failed"
    return {"name": name, "status": status, "text": f"{found.verdict}: {found.sentence}", "next": ""}


def share_result(
    step: Step, files: list[File], outcomes: Mapping[Any, Mapping[str, Any]], states: Mapping[str, str]
) -> dict[str, Any]:
    """The result of one account's share: the outcomes of its files."""
    shown = [dict(outcome) for outcome in outcomes.values()]
    bad = [file.target for file in files if states.get(file.target) not in ("staged", "verified", "excused")]
    result = {
        "changed": any(outcome["status"] in ("missing", "different") for outcome in shown) and step.name != "plan",
        "failed": bool(bad),
        "msg": " ".join(f"{target}: {WORDS[states.get(target, 'unknown')]}" for target in bad) or step.name,
    }
    return {**result, "outcomes": shown, "notes": [], "remarks": []} if shown else result  # else the message is told
