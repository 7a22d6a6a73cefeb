# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine knows of the user's keys by name: their age, their last day, and rotations that are under way."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from .._rotation.next_step import resume_command
from .._rotation.reminders import list_reminders, open_targets
from .._secrets.version_store import VersionStore
from .._secrets.versions import Secret, VersionError
from .._state.durable_files import StateError
from .._state.fingerprint_key import local_key
from .standing import KeyStatus, Reminded

Looked = tuple[list[KeyStatus], list[Reminded], dict[str, set[str]]]


def look(names: Sequence[str], today: date) -> Looked:
    """The keys of these names, what is to be said of them, and key -> accounts of its open rotation."""
    found: list[KeyStatus] = []
    open_on: dict[str, set[str]] = {}
    said: list[Reminded] = []
    for name in names:
        try:
            secret = VersionStore(name, bytes.fromhex(local_key())).load()
        except (StateError, VersionError) as error:
            said.append({"text": str(error), "command": ""})
            continue
        if secret:
            found.append(_key(secret, today))
            if found[-1]["open"]:
                open_on[name] = {target.partition(":")[0] for target in open_targets(secret)}
    told: list[Reminded] = [{"text": one.text, "command": one.command} for one in list_reminders()]
    return found, said + told, open_on


def _key(secret: Secret, today: date) -> KeyStatus:
    current = secret.current
    since, expires, is_open = current.issued[:10], current.expires[:10], secret.find_label("pending") is not None
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
