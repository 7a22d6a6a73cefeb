# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What other runs are to know of rotations: which files an open one is about, and which old key is not proven dead."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from ...module_utils._core.errors import AccountError
from .._input import command_line
from .._secrets.version_store import Sidecar, known_secrets
from .._secrets.versions import Secret, Version, VersionError
from .._state.durable_files import StateError
from .._state.fingerprint_key import local_key
from .._validate.key_kinds import KEY_PAGES
from . import targets
from .ledger import Ledger, NewerLedger
from .next_step import playbook, resume, said_dead
from .standing import Situation, unrecorded

if TYPE_CHECKING:
    from .._roles.collect import Declared
    from .._state.signed_record import Record


SOON_DAYS = 30


class Reminder(NamedTuple):
    """A sentence, and the command for when it is done."""

    text: str
    command: str


def reminders() -> list[Reminder]:
    """Those of all keys, from the records alone."""
    known = known_secrets(bytes.fromhex(local_key()))
    records, found = _records(known)
    return [*found, *(one for secret in known for one in _of(Situation(secret.name, secret, records)))]


def _records(secrets: Iterable[Secret]) -> tuple[list[Record], list[Reminder]]:
    """The ledger where a rotation needs it, and what is wrong with it. Without records the labels still count."""
    if not any(one.labelled("pending", "previous", "retired") for one in secrets):
        return [], []
    look = shlex.join(command_line.command("ledger", ["verify"]))
    try:
        records = Ledger(bytes.fromhex(local_key())).records()
    except StateError as error:
        damaged = "" if isinstance(error, NewerLedger) else "The ledger of rotations is damaged: "
        return [], [Reminder(f"{damaged}{error}. Look at it", look)]
    lost = unrecorded(secrets, records)
    return records, [Reminder(f"{lost}. Look at it", look)] if lost else []


def left_alone(account: str, declared: Declared) -> Declared:
    """What is declared for an account without the files of rotations that are open. Raises AccountError."""
    try:
        return targets.left_alone(account, declared, pending_targets)
    except (StateError, VersionError) as error:
        raise AccountError(str(error)) from None


def pending_targets(name: str) -> tuple[str, ...]:
    """The targets of the open rotation of a secret."""
    key = bytes.fromhex(local_key())
    secret = Sidecar(name, key).secret()
    return Situation(name, secret, Ledger(key).records()).pending if secret and secret.one("pending") else ()


def open_targets(secret: Secret) -> tuple[str, ...]:
    """The targets of the open rotation of a secret; by its labels alone where the ledger cannot be read."""
    try:
        return pending_targets(secret.name)
    except StateError:
        return Situation(secret.name, secret, ()).pending


def _of(situation: Situation) -> Iterator[Reminder]:
    name, secret = situation.name, situation.secret
    if secret and secret.one("pending"):
        yield Reminder(
            f"A rotation of '{name}' is open, and onboarding leaves its files alone: go on with it", resume(name)
        )
    yield from _ending(secret)
    living = secret.labelled("previous", "retired") if secret else ()
    for one in living:
        page = KEY_PAGES[targets.service(name, one.targets)]
        yield Reminder(f"{_lives(situation, one)}: deactivate it at {page}, and say so", said_dead(name))


def _ending(secret: Secret | None) -> Iterator[Reminder]:
    """That the current key ends within a month, or has."""
    day = secret.current.expires[:10] if secret else ""
    left = (date.fromisoformat(day) - date.today()).days if secret and day else SOON_DAYS + 1
    if secret is None or left > SOON_DAYS:
        return
    ends = f"expires on {day}, {_in_days(left)}" if left >= 0 else f"has expired on {day}"
    page = KEY_PAGES[targets.service(secret.name, secret.current.targets)]
    yield Reminder(f"The key '{secret.name}' {ends}: make a new one at {page}, and bring it out", playbook(secret.name))


def _in_days(left: int) -> str:
    return {0: "today", 1: "in 1 day"}.get(left, f"in {left} days")


def _lives(situation: Situation, one: Version) -> str:
    """Which key it is, and since when it is not needed."""
    is_newest = situation.secret is not None and situation.secret.versions[-1].id == one.id  # and not current
    if situation.given_up(one.id) or is_newest:
        return f"The new key of '{situation.name}' that was given up{_since(situation, 'abort')} is not proven dead"
    return f"The old key of '{situation.name}', replaced{_since(situation, 'settle')}, is not proven dead"


def _since(situation: Situation, step: str) -> str:
    """' on 2026-11-21', where the ledger knows."""
    moments = [one.ts for one in situation.mine if (one.step, one.result) == (step, "ok")]
    return f" on {moments[-1][:10]}" if moments else ""
