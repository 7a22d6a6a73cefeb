# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations in other subcommands: reminders of open rotations, old keys and expiry; and files that onboarding skips.

A rotation replaces a key, the secret, on all accounts. A target is one file with the secret on one account. A version
is one value of the secret. Its label is "pending" during the rotation to this version, then "current", and "previous"
or "retired" after the next rotation or a cancellation. The ledger is the list of all steps of rotations.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from .._input import command_line
from .._secrets.version_store import VersionStore, read_all_secrets
from .._secrets.versions import KeyVersion, Secret
from .._state.durable_files import StateError
from .._state.fingerprint_key import local_key
from .._validate.key_kinds import KEY_PAGES
from . import targets
from .ledger import Ledger, LedgerError, NewerLedger
from .next_step import resume_command, retired_command, rotate_command
from .situation import Situation, describe_lost_ledger

if TYPE_CHECKING:
    from .._documents.declaration import Note
    from .._roles.collect import DeclaredResources
    from .._state.signed_record import Record


SOON_DAYS = 30


class Reminder(NamedTuple):
    """A request to the user, and the command to run."""

    text: str
    command: str


def list_reminders() -> list[Reminder]:
    """Return the reminders of all keys, from the records of this machine."""
    secrets = read_all_secrets(bytes.fromhex(local_key()))
    records, reminders = _read_ledger(secrets)
    for secret in secrets:
        reminders += _list_key_reminders(secret, Situation(secret.name, secret, records))
    return reminders


def _read_ledger(secrets: Iterable[Secret]) -> tuple[list[Record], list[Reminder]]:
    """Return the records, and a reminder if they cannot be used; ([], []) if no rotation needs the ledger."""
    if not any(secret.with_labels("pending", "previous", "retired") for secret in secrets):
        return [], []
    verify = shlex.join(command_line.command_for("ledger", ["verify"]))
    try:
        records = Ledger(bytes.fromhex(local_key())).records()
    except StateError as error:
        problem = "is damaged" if isinstance(error, LedgerError) else "cannot be read"  # such as a wrong mode
        reason = str(error) if isinstance(error, NewerLedger) else f"The ledger of rotations {problem}: {error}"
        return [], [Reminder(f"{reason}. Check the ledger", verify)]
    lost = describe_lost_ledger(secrets, records)
    return records, [Reminder(f"{lost}. Check the ledger", verify)] if lost else []


def skip_open_rotations(account: str, declared: DeclaredResources) -> DeclaredResources:
    """Return the declared resources without the files of open rotations, which only the rotation changes.

    The result has a note to the user for each role and key whose files are skipped. account: USER@CLUSTER, as in the
    names of targets. Raise StateError.
    """
    skipped: dict[int, str] = {}  # position of the entry -> name of the secret
    for secret in targets.secret_names(entry for entry in declared.resources if entry["options"].get("secret")):
        pending = read_pending_targets(secret)
        files = targets.find_files(account, secret, declared.resources)
        paths = {file.path for file in files if file.target in pending}
        for position, entry in enumerate(declared.resources):
            if entry["options"].get("secret") == secret and targets.path_of(entry) in paths:
                skipped[position] = secret
    roles = {(declared.resources[position]["capability"], secret) for position, secret in skipped.items()}
    notes: list[Note] = [
        {"capability": role, "code": "rotation_open", "text": f"unchanged: a rotation of '{secret}' is open"}
        for role, secret in sorted(roles)
    ]
    kept = [entry for position, entry in enumerate(declared.resources) if position not in skipped]
    return declared._replace(resources=kept, notes=[*declared.notes, *notes])


def read_pending_targets(name: str) -> tuple[str, ...]:
    """Return the targets of the open rotation of a secret; () if no rotation is open. name: of the secret."""
    key = bytes.fromhex(local_key())
    secret = VersionStore(name, key).load()
    if secret is None or not secret.find_label("pending"):
        return ()
    return Situation(name, secret, Ledger(key).records()).pending_targets


def list_open_targets(secret: Secret) -> tuple[str, ...]:
    """Return the targets of the open rotation of a secret. If the ledger cannot be read, use the labels alone."""
    try:
        return read_pending_targets(secret.name)
    except StateError:
        return Situation(secret.name, secret, ()).pending_targets


def _list_key_reminders(secret: Secret, situation: Situation) -> Iterator[Reminder]:
    """Yield the reminders of one key: its open rotation, its expiry, and old versions to deactivate."""
    name = secret.name
    if secret.find_label("pending"):
        text = (
            f"A rotation of '{name}' is open, so onboarding does not change the files with this "
            "key. Continue the rotation"
        )
        yield Reminder(text, resume_command(name))
    yield from _list_expiry_reminders(secret)
    for version in secret.with_labels("previous", "retired"):
        page = KEY_PAGES[targets.service_of(name, version.targets)]
        text = (
            f"{_describe_replaced_key(situation, version)}. Deactivate the key at {page}, then report the deactivation"
        )
        yield Reminder(text, retired_command(name))


def _list_expiry_reminders(secret: Secret) -> Iterator[Reminder]:
    """Yield a reminder if the current key expires within a month, or has expired."""
    day = secret.current.expires
    if not day:  # the key never expires, or on an unknown day
        return
    days = (date.fromisoformat(day) - date.today()).days
    if days > SOON_DAYS:
        return
    when = {0: "today", 1: "in 1 day"}.get(days, f"in {days} days")
    expiry = f"expires on {day}, {when}" if days >= 0 else f"expired on {day}"
    page = KEY_PAGES[targets.service_of(secret.name, secret.current.targets)]
    text = f"The key '{secret.name}' {expiry}. Create a new key at {page}, then start a rotation"
    yield Reminder(text, rotate_command(secret.name))


def _describe_replaced_key(situation: Situation, version: KeyVersion) -> str:
    """Return a sentence about a key that is no longer needed, with the day when it was replaced or cancelled."""
    name = situation.name
    is_newest = situation.versions[-1].id == version.id  # and not current, so its rotation was cancelled
    if situation.is_cancelled(version.id) or is_newest:
        return f"The new key of '{name}', whose rotation was cancelled{_format_day(situation, 'abort')}, may still work"
    return f"The old key of '{name}', replaced{_format_day(situation, 'settle')}, may still work"


def _format_day(situation: Situation, step: str) -> str:
    """Return " on YYYY-MM-DD", the day when the step was last completed; empty if the ledger has no such record.

    step: "settle", which makes a new version current, or "abort", which cancels a rotation.
    """
    times = [record.ts for record in situation.own_records if (record.step, record.result) == (step, "ok")]
    return f" on {times[-1][:10]}" if times else ""
