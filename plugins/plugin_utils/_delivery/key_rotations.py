# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an account needs to know of a key's versions, and the advice where it keeps one that must not be replaced."""

from __future__ import annotations

import os
import re
import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .._input import command_line
from .._secrets.key_marks import account_marks
from .._secrets.version_store import VersionStore
from .._secrets.versions import VersionError
from .._state.durable_files import StateError
from .._state.fingerprint_key import local_key, machine_id

if TYPE_CHECKING:
    from .._documents.answer import KeyRotations
    from .._documents.outcome import ResourceOutcome
    from .._secrets.versions import Secret


def describe_rotations(user: str, account: str) -> KeyRotations:
    """Return what this machine knows of the versions of a key, with their fingerprints as that account shows them.

    user: the key's name, or NAME@VERSION. Raise AccountError if the record cannot be read.
    """
    name, _at, version = user.partition("@")
    key = bytes.fromhex(local_key())
    try:
        secret = VersionStore(name, key).load()
        fingerprints = sorted(account_marks({name: secret}, account, key).values()) if secret else []
        return {**describe_secret(secret, version, machine_id(key)), "versions": fingerprints}
    except (StateError, VersionError) as error:
        raise AccountError(str(error)) from None


def describe_secret(secret: Secret | None, version: str, machine: str) -> KeyRotations:
    """Return the same of a key's record, for a machine that installs that version, or the current one if it is ""."""
    if secret is None:
        return {"sequence": 0, "known": [], "mark": None}
    installed = secret.find_version(version) if version else secret.current
    rotations: KeyRotations = {
        "sequence": max(other.sequence for other in secret.versions if other.label != "pending"),
        "known": [other.id for other in secret.versions],
        "mark": None,
    }
    if installed.sequence:
        is_own = installed.machine == machine
        rotations["mark"] = {
            "sequence": installed.sequence,
            "rotation": installed.id,
            "machine": installed.machine,
            "controller": re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename)[:63] if is_own else "",
            "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    return rotations


def explain_kept_key(outcome: ResourceOutcome, account: str) -> ResourceOutcome:
    """Return the outcome of a key that was not replaced, with the advice: rotated elsewhere, or unknown here."""
    mark = outcome["evidence"].get("rotated")
    if mark:
        where = mark["controller"] or f"the machine {mark['machine']}"
        export, imported = (
            shlex.join(command_line.command_for("state", [word, "FILE"])) for word in ("export", "import")
        )
        reason = (
            f"{where} rotated the key '{mark['secret']}' on {mark['when'][:10]}, but this machine has no record of "
            f"that, so the key was not changed. Run {export} on that machine, then {imported} on this one; or store "
            f"the new key on this machine: keyring set hpc.onboard {mark['secret']}"
        )
        return {**outcome, "reason": reason}
    copy = "a private copy of your file is kept, and offboarding restores it"
    if outcome["capability"] == "module":
        return {**outcome, "reason": f"{outcome['reason']}. To replace it, set replace: true in the task ({copy})"}
    tags = [] if outcome["capability"] == "resources" else ["--tags", outcome["capability"]]
    again = shlex.join(command_line.command_for("onboard", ["-l", account, *tags, "--replace"]))
    return {**outcome, "reason": f"{outcome['reason']}. To replace it: {again} ({copy})"}
