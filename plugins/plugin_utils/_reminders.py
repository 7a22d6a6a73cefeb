# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run that used keys says last while an old one is not proven dead. Nothing is asked of anybody for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ansible_collections.hpc.onboard.plugins.plugin_utils import _targets
from ansible_collections.hpc.onboard.plugins.plugin_utils._durable import StateError
from ansible_collections.hpc.onboard.plugins.plugin_utils._fingerprints import local_key, state_folder
from ansible_collections.hpc.onboard.plugins.plugin_utils._issuers import KEY_PAGES
from ansible_collections.hpc.onboard.plugins.plugin_utils._ledger import Ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import said_dead
from ansible_collections.hpc.onboard.plugins.plugin_utils._sidecar import Sidecar
from ansible_collections.hpc.onboard.plugins.plugin_utils._situation import Situation
from ansible_collections.hpc.onboard.plugins.plugin_utils._versions import Version, VersionError


class Reminder(NamedTuple):
    """A sentence, and the command for when it is done."""

    text: str
    command: str


def reminders() -> list[Reminder]:
    """One for each key that may live on, from the records alone; what cannot be read is said where it is needed."""
    found: list[Reminder] = []
    for file in sorted((state_folder() / "secrets").glob("*.json")):
        try:
            found += _of(file.stem)
        except (StateError, VersionError):
            continue
    return found


def _of(name: str) -> Iterator[Reminder]:
    key = bytes.fromhex(local_key())
    secret = Sidecar(name, key).secret()
    living = secret.labelled("previous", "retired") if secret else ()
    situation = Situation(name, secret, Ledger(key).records() if living else ())
    for one in living:
        page = KEY_PAGES[_targets.service(name, one.targets)]
        yield Reminder(f"{_lives(situation, one)}: deactivate it at {page}, then:", said_dead(name))


def _lives(situation: Situation, one: Version) -> str:
    """Which key it is, and since when it is not needed."""
    if situation.given_up(one.id):
        return f"The new key of '{situation.name}' that was given up{_since(situation, 'abort')} is not proven dead"
    return f"The old key of '{situation.name}', replaced{_since(situation, 'settle')}, is not proven dead"


def _since(situation: Situation, step: str) -> str:
    """' on 2026-11-21', where the ledger knows."""
    moments = [one.ts for one in situation.mine if (one.step, one.result) == (step, "ok")]
    return f" on {moments[-1][:10]}" if moments else ""
