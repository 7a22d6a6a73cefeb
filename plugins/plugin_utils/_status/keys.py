# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of the user's keys in the records of this machine: age, expiry date, and open rotations.

A rotation replaces a key by a new version on all accounts. It is open until all accounts have the new version.
"""

from __future__ import annotations

from datetime import date

from .._rotation.next_step import resume_command
from .._rotation.reminders import list_open_targets, list_reminders
from .._secrets.version_store import VersionStore, list_names
from .._secrets.versions import Secret
from .._state.durable_files import StateError
from .._state.fingerprint_key import local_key
from .standing import KeyReminder, KeyStatus

KeyStates = tuple[list[KeyStatus], list[KeyReminder], dict[str, set[str]]]
"""The states of the keys, the reminders, and for each key with an open rotation the accounts of this rotation."""


def read_key_states(today: date) -> KeyStates:
    """Return the states of the keys that were ever rotated. A key without a readable record gets a reminder instead."""
    keys: list[KeyStatus] = []
    rotations: dict[str, set[str]] = {}
    reminders: list[KeyReminder] = []
    for name in list_names():
        try:
            # local_key() is this machine's own secret, by which it recognises its records
            secret = VersionStore(name, bytes.fromhex(local_key())).load()
        except StateError as error:
            reminders.append({"text": str(error), "command": ""})
            continue
        if secret:  # None without a record
            status = _describe_key(secret, today)
            keys.append(status)
            if status["open"]:
                # a target is a file with the key, named ACCOUNT:RESOURCE_TYPE
                rotations[name] = {target.partition(":")[0] for target in list_open_targets(secret)}
    reminders += [{"text": reminder.text, "command": reminder.command} for reminder in list_reminders()]
    return keys, reminders, rotations


def _describe_key(secret: Secret, today: date) -> KeyStatus:
    """Return the status of a key: of its current version, and whether a rotation to a new version is open."""
    current = secret.current
    is_open = secret.find_label("pending") is not None  # the label of a new key until all accounts have it
    since, expires = current.issued, current.expires
    return {
        "name": secret.name,
        "kind": current.kind,
        "since": since,
        "days": (today - date.fromisoformat(since)).days if since else None,
        "expires": expires,
        "left": (date.fromisoformat(expires) - today).days if expires else None,
        "open": is_open,
        "command": resume_command(secret.name) if is_open else "",
    }
