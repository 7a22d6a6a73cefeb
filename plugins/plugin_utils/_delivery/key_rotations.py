# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions of a key, as a plan describes them to an account, and advice if the account does not replace a key.

A rotation replaces a key by a new version. By this description, the account recognises a key that another machine has
rotated, and does not replace that key.
"""

from __future__ import annotations

import os
import re
import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from .._input import command_line
from .._secrets.key_marks import list_account_marks
from .._secrets.version_store import VersionStore
from .._secrets.versions import FIRST
from .._state.fingerprint_key import local_key, machine_id

if TYPE_CHECKING:
    from .._documents.answer import KeyRotations
    from .._documents.outcome import NewerRotation, ResourceOutcome
    from .._secrets.versions import Secret


def describe_rotations(keyring_name: str, account: str) -> KeyRotations:
    """Return the recorded versions of a key, with their fingerprints as that account shows them.

    keyring_name: NAME of the key, or NAME@VERSION. Raise StateError if the record cannot be read.
    """
    name, _at, version = keyring_name.partition("@")
    fingerprint_key = bytes.fromhex(local_key())
    secret = VersionStore(name, fingerprint_key).load()
    fingerprints = sorted(list_account_marks({name: secret}, account, fingerprint_key).values()) if secret else []
    return {**describe_secret(secret, version, machine_id(fingerprint_key)), "versions": fingerprints}


def describe_secret(secret: Secret | None, version: str, machine: str) -> KeyRotations:
    """Return the recorded versions of a key without fingerprints.

    secret: the key's record; None if the key was never rotated. version: the id of the version to install; empty for
    the current version. machine: the id of this machine. In the result, `known` has the ids of all versions, and `mark`
    names the rotation that created the version to install.
    """
    if secret is None:
        return {"known": [], "mark": None}
    to_install = secret.find_version(version) if version else secret.current
    rotations: KeyRotations = {"known": [recorded.id for recorded in secret.versions], "mark": None}
    if to_install.sequence:  # 0: the key was stored by hand, not by a rotation
        was_rotated_here = to_install.machine == machine
        host_name = re.sub(r"[^A-Za-z0-9.-]", "-", os.uname().nodename)[:63]  # the longest name of a host
        rotations["mark"] = {
            "sequence": to_install.sequence,
            "rotation": to_install.id,
            "machine": to_install.machine,
            "controller": host_name if was_rotated_here else "",  # the name of another machine is unknown
            "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    return rotations


def explain_kept_key(outcome: ResourceOutcome, account: str) -> ResourceOutcome:
    """Return the outcome of a key that was not replaced, with the reason and advice.

    Either another machine has rotated the key, or this machine does not know it. account: the name of the account.
    """
    mark = outcome["evidence"].get("rotated")
    if mark:  # another machine has rotated the key
        return {**outcome, "reason": _explain_rotated_key(mark)}
    copy_note = "hpc-onboard keeps a private copy of your file, and offboarding restores the file"
    if outcome["capability"] == "module":  # a task of a playbook declares the key
        return {
            **outcome,
            "reason": f"{outcome['reason']}. To replace the key, set replace: true in the task ({copy_note})",
        }
    # The setting "resources" belongs to no role, so no tag selects its resources
    tags = [] if outcome["capability"] == "resources" else ["--tags", outcome["capability"]]
    replace = shlex.join(command_line.command_for("onboard", ["-l", account, *tags, "--replace"]))
    return {**outcome, "reason": f"{outcome['reason']}. To replace the key, run: {replace} ({copy_note})"}


def _explain_rotated_key(mark: NewerRotation) -> str:
    """Return why a key was not replaced that another machine has rotated, and what to do. mark: of the rotation."""
    name, rotated_by = mark["secret"], mark["controller"] or f"the machine {mark['machine']}"
    export_command, import_command = (
        shlex.join(command_line.command_for("state", [action, "FILE"])) for action in ("export", "import")
    )
    secret = VersionStore(name, bytes.fromhex(local_key())).load()
    if secret and secret.current.id != FIRST:  # the current version is not stored under the plain name
        rotate = shlex.join(command_line.command_for("rotate", [] if name == "ngc" else ["--secret", name]))
        other_way = f"if both machines have rotated the key, run {rotate} on this machine and enter the new key"
    else:
        other_way = f"store the new key on this machine: keyring set hpc.onboard {name}"
    return (
        f"{rotated_by} rotated the key '{name}' on {mark['when'][:10]}, but this machine has no record "
        f"of the rotation, so the key was not changed. Run {export_command} on that machine, then {import_command} "
        f"on this one; or {other_way}"
    )
