# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an account is told of a key's versions, and the next step where it holds one that must not be replaced."""

from __future__ import annotations

import os
import re
import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._secrets.key_marks import marks
from .._secrets.version_store import Sidecar
from .._secrets.versions import VersionError
from .._state.durable_files import StateError
from .._state.fingerprint_key import local_key, machine_id

if TYPE_CHECKING:
    from .._documents.answer import Rotations
    from .._documents.outcome import Outcome
    from .._secrets.versions import Secret


def known(user: str, account: str) -> Rotations:
    """What this machine knows of the versions of a key, with their fingerprints as that account shows them.

    user: the key's name, or NAME@VERSION. Raises AccountError.
    """
    name, _at, version = user.partition("@")
    key = bytes.fromhex(local_key())
    try:
        secret = Sidecar(name, key).secret()
        versions = sorted(marks({name: secret}, account, key).values()) if secret else []
        return {**of_secret(secret, version, machine_id(key)), "versions": versions}
    except (StateError, VersionError) as error:
        raise AccountError(str(error)) from None


def of_secret(secret: Secret | None, version: str, machine: str) -> Rotations:
    """What a machine with these labels knows, which installs the version; none named: the current one."""
    if secret is None:
        return {"sequence": 0, "known": [], "mark": None}
    one = secret.version(version) if version else secret.current
    before = [other.sequence for other in secret.versions if other.label != "pending"]
    found: Rotations = {"sequence": max(before), "known": [other.id for other in secret.versions], "mark": None}
    if one.sequence:
        found["mark"] = {
            "sequence": one.sequence,
            "rotation": one.id,
            "machine": one.machine,
            "controller": re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename)[:63] if one.machine == machine else "",
            "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    return found


def explained(outcome: Outcome, account: str) -> Outcome:
    """Return the outcome of a key that stays, with the next step: another machine rotated it, or no version fits."""
    from .._input import command_line  # few are behind

    mark = outcome["evidence"].get("rotated")
    kept = "a private copy is kept, and offboarding puts it back"
    if not mark and outcome["capability"] == "module":
        return {**outcome, "reason": f"{outcome['reason']}. To replace it, set replace: true in the task ({kept})"}
    if not mark:
        tags = [] if outcome["capability"] == "resources" else ["--tags", outcome["capability"]]
        again = shlex.join(
            command_line.command("onboard", ["-l", account, *tags, *command_line.replacing(command_line.started())])
        )
        reason = f"{outcome['reason']}. To replace it: {again} ({kept})"
        return {**outcome, "reason": reason}
    where = mark["controller"] or f"the machine {mark['machine']}"
    brought, taken = (shlex.join(command_line.command("state", [verb, "FILE"])) for verb in ("export", "import"))
    reason = (
        f"{where} rotated the key '{mark['secret']}' on {mark['when'][:10]}, and this machine does not know of it, so"
        f" what is there stays: {brought} there, then {taken} here; or store the new key here: keyring set hpc.onboard"
        f" {mark['secret']}"
    )
    return {**outcome, "reason": reason}
