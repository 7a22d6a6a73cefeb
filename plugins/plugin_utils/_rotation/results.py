# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of a rotation's tasks: an account's share, and a coordinator that could not begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...module_utils._core.resource import CHANGES, FAILURES
from .._delivery.result import describe_modes
from .._input.command_line import describe_options
from .._input.diagnostics import nearest
from .adapters import holds_key
from .ledger import NO_KEY
from .messages import WORDS, make_check
from .next_step import RotationStep, rotate_command
from .targets import SecretFile

if TYPE_CHECKING:
    from .._documents.outcome import ResourceOutcome
    from .._documents.result import AccountRemark
    from .._documents.rotation import LeadTitle, ShareResult

GOOD = {"abort": ("rolled_back", "staged", "excused", "absent")}
GOOD_ELSE = ("staged", "verified", "excused", "absent")


def explain_no_secret(secret: str, secrets: set[str]) -> str:
    """Return why no rotation is possible: no secret is named, or no account holds it; empty if one is possible."""
    if not secrets or secret in secrets:
        return "" if secret else "name a key: no account has one (keys of sandboxes are simulated)"
    if not secret:
        commands = "; ".join(rotate_command(name) for name in sorted(secrets))
        return f"name the key to replace. These accounts have {', '.join(sorted(secrets))}: {commands}"
    return f"no account has the key '{secret}': {nearest(secret, secrets)} Nothing was done"


def refused_lead(secret: str, reason: str) -> LeadTitle:
    """Return the result of a coordinator that could not begin."""
    return {
        "changed": False,
        "failed": True,
        "msg": reason,
        "kind": "rotation_lead",
        "checks": [make_check("rotation", "failed", reason)],
        "title": f"rotation of {secret or 'a key'}",
        "then": "",
    }


def _as_shown(outcome: ResourceOutcome, step: str) -> ResourceOutcome:
    """Return the outcome as it is reported: a step that only looks changes nothing."""
    if outcome["status"] not in CHANGES or step not in ("plan", "settle"):
        return outcome
    if step == "plan" or holds_key(outcome):
        return {**outcome, "status": "ok"}
    return {**outcome, "status": "failed", "reason": "it contains a different key, or none"}


def share_result(
    step: RotationStep,
    files: list[SecretFile],
    outcomes: Mapping[tuple[str, str], ResourceOutcome],
    states: Mapping[str, str],
) -> ShareResult:
    """Return the result of one account's share: the outcomes of its files."""
    shown = [_as_shown(one, step.name) for one in outcomes.values() if one["evidence"].get("held") != NO_KEY]
    good = GOOD.get(step.name, GOOD_ELSE)
    bad = [file.target for file in files if states.get(file.target) not in good]
    result: ShareResult = {
        "kind": "rotation_share",
        "changed": any(outcome["status"] in CHANGES for outcome in shown),
        "failed": bool(bad),
        "msg": " ".join(f"{target}: {WORDS[states.get(target, 'unknown')]}" for target in bad) or step.name,
    }
    remarks = _describe_all_modes(shown)
    # without outcomes, the console prints the message
    return {**result, "outcomes": shown, "notes": [], "remarks": remarks} if shown else result


def _describe_all_modes(outcomes: list[ResourceOutcome]) -> list[AccountRemark]:
    """Return a note for each mode of the user's that a rotated key makes private."""
    return [{"capability": "rotate", "text": text} for outcome in outcomes for text in describe_modes(outcome)]


def preview_result(secret: str, files: list[SecretFile], outcomes: list[ResourceOutcome]) -> ShareResult:
    """Return an account's share of a preview: what would be written, what stays, and which files hold no key."""
    pairs = list(zip(files, outcomes, strict=True))
    bare = [file for file, outcome in pairs if outcome["evidence"].get("held") == NO_KEY]
    shown = [_with_excuse(outcome, file.target) for file, outcome in pairs if file not in bare]
    bad = [outcome for outcome in shown if outcome["status"] in FAILURES]
    remarks: list[AccountRemark] = [
        {"capability": "rotate", "text": f"{file.path} does not contain the key '{secret}'; nothing to replace"}
        for file in bare
    ]
    remarks += _describe_all_modes(shown)
    return {
        "kind": "rotation_share",
        "changed": any(outcome["status"] in CHANGES for outcome in shown),
        "failed": bool(bad),
        "msg": "; ".join(f"{outcome['identity']}: {outcome['reason']}" for outcome in bad) or "foreseen",
        "outcomes": shown,
        "notes": [],
        "remarks": remarks,
    }


def _with_excuse(outcome: ResourceOutcome, target: str) -> ResourceOutcome:
    """Return the outcome of an unknown key with the setting that lets a rotation continue without it."""
    if not outcome["evidence"].get("held"):
        return outcome
    excuse = describe_options("rotate", "--excuse", target)
    return {**outcome, "reason": f"{outcome['reason']}; to continue without it: {excuse}"}
