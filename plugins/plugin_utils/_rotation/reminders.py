# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What other runs report about rotations: the files of an open one, and old keys that are not proven dead."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from ...module_utils._core.errors import AccountError
from .._input import command_line
from .._secrets.version_store import VersionStore, read_all_secrets
from .._secrets.versions import KeyVersion, Secret, VersionError
from .._state.durable_files import StateError
from .._state.fingerprint_key import local_key
from .._validate.key_kinds import KEY_PAGES
from . import targets
from .ledger import Ledger, NewerLedger
from .next_step import resume_command, retired_command, rotate_command
from .situation import Situation, describe_lost_ledger

if TYPE_CHECKING:
    from .._roles.collect import DeclaredResources
    from .._state.signed_record import Record


SOON_DAYS = 30


class Reminder(NamedTuple):
    """A sentence, and the command that follows."""

    text: str
    command: str


def list_reminders() -> list[Reminder]:
    """Return the reminders of all keys, from the records alone."""
    secrets = read_all_secrets(bytes.fromhex(local_key()))
    records, found = _read_ledger(secrets)
    return [*found, *(one for secret in secrets for one in _remind_of(Situation(secret.name, secret, records)))]


def _read_ledger(secrets: Iterable[Secret]) -> tuple[list[Record], list[Reminder]]:
    """Return the records if a rotation needs them, and what is wrong with the ledger; labels count without it."""
    if not any(one.with_labels("pending", "previous", "retired") for one in secrets):
        return [], []
    verify = shlex.join(command_line.command_for("ledger", ["verify"]))
    try:
        records = Ledger(bytes.fromhex(local_key())).records()
    except StateError as error:
        damaged = "" if isinstance(error, NewerLedger) else "The ledger of rotations is damaged: "
        return [], [Reminder(f"{damaged}{error}. Check it", verify)]
    lost = describe_lost_ledger(secrets, records)
    return records, [Reminder(f"{lost}. Check it", verify)] if lost else []


def without_open_rotations(account: str, declared: DeclaredResources) -> DeclaredResources:
    """Return what is declared for an account without the files of open rotations. Raises AccountError."""
    try:
        return targets.without_pending_files(account, declared, read_pending_targets)
    except (StateError, VersionError) as error:
        raise AccountError(str(error)) from None


def read_pending_targets(name: str) -> tuple[str, ...]:
    """Return the targets of the open rotation of a secret; none if none is open."""
    key = bytes.fromhex(local_key())
    secret = VersionStore(name, key).load()
    if secret is None or not secret.find_label("pending"):
        return ()
    return Situation(name, secret, Ledger(key).records()).pending_targets


def open_targets(secret: Secret) -> tuple[str, ...]:
    """Return the targets of the open rotation of a secret; by its labels alone if the ledger cannot be read."""
    try:
        return read_pending_targets(secret.name)
    except StateError:
        return Situation(secret.name, secret, ()).pending_targets


def _remind_of(situation: Situation) -> Iterator[Reminder]:
    name, secret = situation.name, situation.secret
    if secret is None:
        return
    if secret.find_label("pending"):
        text = f"A rotation of '{name}' is open, so onboarding does not change the files with this key. Continue it"
        yield Reminder(text, resume_command(name))
    yield from _remind_of_expiry(secret)
    for one in secret.with_labels("previous", "retired"):
        page = KEY_PAGES[targets.service_of(name, one.targets)]
        text = f"{_describe_living_key(situation, one)}: deactivate it at {page}, and report that"
        yield Reminder(text, retired_command(name))


def _remind_of_expiry(secret: Secret) -> Iterator[Reminder]:
    """Yield a reminder if the current key expires within a month, or has expired."""
    day = secret.current.expires[:10]
    days = (date.fromisoformat(day) - date.today()).days if day else SOON_DAYS + 1
    if days > SOON_DAYS:
        return
    when = {0: "today", 1: "in 1 day"}.get(days, f"in {days} days")
    expiry = f"expires on {day}, {when}" if days >= 0 else f"has expired on {day}"
    page = KEY_PAGES[targets.service_of(secret.name, secret.current.targets)]
    text = f"The key '{secret.name}' {expiry}: create a new key at {page}, and rotate it"
    yield Reminder(text, rotate_command(secret.name))


def _describe_living_key(situation: Situation, one: KeyVersion) -> str:
    """Return which key it is, and since when it is not needed."""
    is_newest = situation.versions[-1].id == one.id  # and not current
    if situation.is_given_up(one.id) or is_newest:
        return f"The new key of '{situation.name}' that was given up{_since(situation, 'abort')} may still work"
    return f"The old key of '{situation.name}', replaced{_since(situation, 'settle')}, may still work"


def _since(situation: Situation, step: str) -> str:
    """Return ' on 2026-11-21' if the ledger knows the day."""
    moments = [one.ts for one in situation.own_records if (one.step, one.result) == (step, "ok")]
    return f" on {moments[-1][:10]}" if moments else ""
