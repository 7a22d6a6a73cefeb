# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of the tasks of a rotation: each account's share, and a coordinator that could not begin.

The coordinator, on this machine, decides the next step for all accounts; its result has the kind "rotation_lead". A
share is the part of a step for the files of one account. A target is one file with the key on one account.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...module_utils._core.resource import CHANGES, FAILURES
from .._delivery.result import describe_modes
from .._input.command_line import describe_options
from .._input.diagnostics import nearest
from .adapters import DIFFERENT_KEY, holds_key
from .ledger import NO_KEY
from .messages import STATE_TEXTS, make_check
from .next_step import RotationStep, rotate_command
from .situation import SETTLED, UNTOUCHED
from .targets import SecretFile

if TYPE_CHECKING:
    from .._documents.outcome import ResourceOutcome
    from .._documents.result import AccountRemark
    from .._documents.rotation import LeadTitle, ShareResult

GOOD_STATES = ("staged", *SETTLED)  # of a target after its share of a step that cancels nothing


def explain_no_secret(secret: str, secrets: set[str]) -> str:
    """Return why no rotation is possible, or "".

    secret: the name that the user gave, or empty. secrets: the names of the keys of all accounts.
    """
    if not secrets and not secret:
        return "no account has a key that can be rotated (the keys of sandboxes are only simulated)"
    # if the accounts have no keys any more, a key that the user names may still have an open rotation
    if not secrets or secret in secrets:
        return ""
    if not secret:
        commands = "; ".join(rotate_command(name) for name in sorted(secrets))
        names = ", ".join(sorted(secrets))
        return f"name the key to rotate. The accounts have these keys: {names}. Run one of: {commands}"
    return f"no account has the key '{secret}': {nearest(secret, secrets)} Nothing was rotated"


def build_failed_result(secret: str, reason: str) -> LeadTitle:
    """Return the result of a coordinator that could not begin. secret: the name of the key, or empty."""
    return {
        "changed": False,
        "failed": True,
        "msg": reason,
        "kind": "rotation_lead",
        "checks": [make_check("rotation", "failed", reason)],
        "title": f"rotation of {secret or 'a key'}",
        "then": "",  # no command continues the rotation
    }


def _reported_outcome(outcome: ResourceOutcome, step: str) -> ResourceOutcome:
    """Return the outcome with the status to report: the steps plan and settle only examine, and change nothing.

    step: the name of the step.
    """
    if outcome["status"] not in CHANGES or step not in ("plan", "settle"):
        return outcome
    if step == "plan" or holds_key(outcome):  # a plan expects the old key, and "settle" the new key
        return {**outcome, "status": "ok"}
    return {**outcome, "status": "failed", "reason": DIFFERENT_KEY}


def build_share_result(
    step: RotationStep,
    files: list[SecretFile],
    outcomes: Mapping[tuple[str, str], ResourceOutcome],
    states: Mapping[str, str],
) -> ShareResult:
    """Return the result of one account's share of a step.

    files: of the account. outcomes: by target and version. states: of all targets, after the step. A file without a key
    is not reported.
    """
    with_key = [outcome for outcome in outcomes.values() if outcome["evidence"].get("held") != NO_KEY]
    reported = [_reported_outcome(outcome, step.name) for outcome in with_key]
    good_states = UNTOUCHED if step.name == "abort" else GOOD_STATES
    bad_targets = [file.target for file in files if states.get(file.target) not in good_states]
    result: ShareResult = {
        "kind": "rotation_share",
        "changed": any(outcome["status"] in CHANGES for outcome in reported),
        "failed": bool(bad_targets),
        "msg": "; ".join(f"{target}: {STATE_TEXTS[states.get(target, 'unknown')]}" for target in bad_targets)
        or step.name,
    }
    remarks = _list_mode_remarks(reported)
    # without outcomes, the console prints the message
    return {**result, "outcomes": reported, "notes": [], "remarks": remarks} if reported else result


def _list_mode_remarks(outcomes: list[ResourceOutcome]) -> list[AccountRemark]:
    """Return a remark for each mode (permissions) of a file or folder that the rotation makes private."""
    return [{"capability": "rotate", "text": text} for outcome in outcomes for text in describe_modes(outcome)]


def build_preview_result(secret: str, files: list[SecretFile], outcomes: list[ResourceOutcome]) -> ShareResult:
    """Return the result of one account's share of a preview. A file without the key is only mentioned in a remark.

    secret: the name of the key. outcomes: one for each file, in the same order.
    """
    pairs = list(zip(files, outcomes, strict=True))
    keyless = [file for file, outcome in pairs if outcome["evidence"].get("held") == NO_KEY]
    reported = [_add_excuse_option(outcome, file.target) for file, outcome in pairs if file not in keyless]
    failed = [outcome for outcome in reported if outcome["status"] in FAILURES]
    remarks: list[AccountRemark] = [
        {
            "capability": "rotate",
            "text": f"{file.path} does not contain the key '{secret}'; there is nothing to replace",
        }
        for file in keyless
    ]
    remarks += _list_mode_remarks(reported)
    return {
        "kind": "rotation_share",
        "changed": any(outcome["status"] in CHANGES for outcome in reported),
        "failed": bool(failed),
        "msg": "; ".join(f"{outcome['identity']}: {outcome['reason']}" for outcome in failed) or "previewed",
        "outcomes": reported,
        "notes": [],
        "remarks": remarks,
    }


def _add_excuse_option(outcome: ResourceOutcome, target: str) -> ResourceOutcome:
    """Return the outcome; for an unknown key, with the option that lets a rotation continue without the target."""
    if not outcome["evidence"].get("held"):  # the account sets "held" only for an unknown key, or for none
        return outcome
    excuse = describe_options("rotate", "--excuse", target)
    return {**outcome, "reason": f"{outcome['reason']}; to continue without this file, add: {excuse}"}
