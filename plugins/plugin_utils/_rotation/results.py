# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of the parts of a rotation that took no lead: an account's share, and a lead that could not begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import CHANGES, FAILURES
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.result import tightened
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import nearest
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.adapters import holds_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import NO_KEY
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.messages import WORDS, check
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import Step, playbook
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.targets import File

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import Outcome
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import Ended, Remark
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.rotation import LeadTitle, Share

GOOD = {"abort": ("rolled_back", "staged", "excused", "absent")}
GOOD_ELSE = ("staged", "verified", "excused", "absent")


def no_secret(secret: str, secrets: set[str]) -> str:
    """Why no rotation is of this secret: none is named, or no account holds it; with what there is. Else nothing."""
    if not secrets or secret in secrets:
        return "" if secret else "no secret is named, and no account holds any (sandboxes only pretend to)"
    if not secret:
        commands = "; ".join(playbook(name) for name in sorted(secrets))
        return f"name the key that is to be replaced: these accounts hold {', '.join(sorted(secrets))}: {commands}"
    return f"no account holds the key '{secret}': {nearest(secret, secrets)} Nothing was done"


def refused(secret: str, why: str) -> LeadTitle:
    """The result of a lead that could not lead."""
    checks = [check("rotation", "failed", why)]
    title = f"rotation of {secret or 'a key'}"
    ended: Ended = {"changed": False, "failed": True, "msg": why}
    return {**ended, "kind": "rotation_lead", "checks": checks, "title": title, "then": ""}


def _looked(outcome: Outcome, step: str) -> Outcome:
    """The outcome as it is shown: of a step that only looks, nothing was changed."""
    if outcome["status"] not in CHANGES or step not in ("plan", "settle"):
        return outcome
    if step == "plan" or holds_key(outcome):
        return {**outcome, "status": "in_place"}
    return {**outcome, "status": "failed", "reason": "another key than the new one stands there, or none"}


def share_result(
    step: Step, files: list[File], outcomes: Mapping[tuple[str, str], Outcome], states: Mapping[str, str]
) -> Share:
    """The result of one account's share: the outcomes of its files."""
    shown = [_looked(outcome, step.name) for outcome in outcomes.values() if outcome["evidence"].get("held") != NO_KEY]
    good = GOOD.get(step.name, GOOD_ELSE)
    bad = [file.target for file in files if states.get(file.target) not in good]
    result: Share = {
        "kind": "rotation_share",
        "changed": any(outcome["status"] in CHANGES for outcome in shown),
        "failed": bool(bad),
        "msg": " ".join(f"{target}: {WORDS[states.get(target, 'unknown')]}" for target in bad) or step.name,
    }
    remarks: list[Remark] = [{"capability": "rotate", "text": text} for one in shown for text in tightened(one)]
    return {**result, "outcomes": shown, "notes": [], "remarks": remarks} if shown else result  # else: the message


def foreseen(secret: str, files: list[File], outcomes: list[Outcome]) -> Share:
    """Return the share of one account in a preview: what would be written, what stays, and which files hold no key."""
    pairs = list(zip(files, outcomes, strict=True))
    bare = [file for file, outcome in pairs if outcome["evidence"].get("held") == NO_KEY]
    shown = [_with_way_on(outcome, file.target) for file, outcome in pairs if file not in bare]
    bad = [outcome for outcome in shown if outcome["status"] in FAILURES]
    remarks: list[Remark] = [
        {"capability": "rotate", "text": f"{file.path} holds no key '{secret}', so none is replaced"} for file in bare
    ]
    remarks += [{"capability": "rotate", "text": text} for one in shown for text in tightened(one)]
    return {
        "kind": "rotation_share",
        "changed": any(outcome["status"] in CHANGES for outcome in shown),
        "failed": bool(bad),
        "msg": "; ".join(f"{outcome['identity']}: {outcome['reason']}" for outcome in bad) or "foreseen",
        "outcomes": shown,
        "notes": [],
        "remarks": remarks,
    }


def _with_way_on(outcome: Outcome, target: str) -> Outcome:
    """Return the outcome of an unknown key with the setting that lets a rotation go on without it."""
    if not outcome["evidence"].get("held"):
        return outcome
    return {**outcome, "reason": f"{outcome['reason']}; go on without it: -e rotate_excuse={target}"}
