# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a person can do before an account is whole, as far as a result shows that it is not done yet.

A cluster's profile lists its human steps in order, and says by which sign each is seen done: 'reached', the
account was reached; 'key', the keyring has the key that 'secret' names; 'link', the path of the storage area is
known. A step without a sign can never be seen done; it is named as long as one behind it is open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import (
        AccountResult,
        ManualStep,
        Unreached,
    )

Told = Mapping[str, Any]  # of a cluster's profile, which its schema describes
SECRET = "ngc"  # whose step it is that says no more than that a key is missing


def left(cluster: Told, result: AccountResult | Unreached) -> list[ManualStep]:
    """The steps {text, url} of the cluster's profile that are left after that result of converge."""
    steps: list[Told] = cluster.get("human_steps", [])
    if "unreachable" in result:
        return [_told(step) for step in _before_reaching(steps)]
    return [_told(step) for step in steps if _is_open(step, result)]


def _before_reaching(steps: list[Told]) -> list[Told]:
    """All up to the last one that is seen done when the account is reached, without those for later."""
    last = max((at for at, step in enumerate(steps) if step.get("done") == "reached"), default=-1)
    return [step for step in steps[: last + 1] if step.get("done", "reached") == "reached"]


def _is_open(step: Told, result: AccountResult) -> bool:
    if step.get("done") == "key":
        return any(outcome.get("missing_secret") == step.get("secret", SECRET) for outcome in result["outcomes"])
    if step.get("done") == "link":
        return any(note["code"] == "path_unknown" and note["area"] == step["area"] for note in result["notes"])
    return False


def _told(step: Told) -> ManualStep:
    text: ManualStep = {"text": str(step["text"])}
    return {**text, "url": str(step["url"])} if step.get("url") else text


def of_account(variables: Mapping[str, Any], result: AccountResult | Unreached) -> list[ManualStep]:
    """The steps that are left for the account that has these variables; none for a sandbox."""
    if not variables.get("account") or variables["account"].get("sandbox"):
        return []
    return left(variables.get("cluster") or {}, result)
