# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a person can do before an account is whole, as far as a result shows that it is not done yet.

A cluster's profile lists its human steps in order, and says by which sign each is seen done: 'reached', the
account was reached; 'key', the keyring has the key that 'secret' names; 'link', the path of the storage area is
known. A step without a sign can never be seen done; it is named as long as one behind it is open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Step = dict[str, str]
SECRET = "ngc"  # whose step it is that says no more than that a key is missing


def left(cluster: Mapping[str, Any], result: Mapping[str, Any]) -> list[Step]:
    """The steps {text, url} of the cluster's profile that are left after that result of converge."""
    steps: list[Mapping[str, Any]] = cluster.get("human_steps", [])
    if result.get("unreachable"):
        return [_told(step) for step in _before_reaching(steps)]
    if "outcomes" not in result:
        return []
    return [_told(step) for step in steps if _is_open(step, result)]


def _before_reaching(steps: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All up to the last one that is seen done when the account is reached, without those for later."""
    last = max((at for at, step in enumerate(steps) if step.get("done") == "reached"), default=-1)
    return [step for step in steps[: last + 1] if step.get("done", "reached") == "reached"]


def _is_open(step: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    if step.get("done") == "key":
        return any(outcome.get("missing_secret") == step.get("secret", SECRET) for outcome in result["outcomes"])
    if step.get("done") == "link":
        notes = [note for note in result.get("notes", []) if note["code"] == "path_unknown"]
        return any(note["area"] == step["area"] for note in notes)
    return False


def _told(step: Mapping[str, Any]) -> Step:
    return {name: str(step[name]) for name in ("text", "url") if step.get(name)}


def of_account(variables: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, list[Step]]:
    """What converge adds to its result for the account that has these variables; nothing for a sandbox."""
    if not variables.get("account") or variables["account"].get("sandbox"):
        return {}
    found = left(variables.get("cluster") or {}, result)
    return {"human_steps": found} if found else {}
