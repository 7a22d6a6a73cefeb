# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand keyring: unlock the encrypted key file for some hours, lock it, or show its state."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

from .._secrets import backends
from .._secrets.encrypted_file import STALE
from .._secrets.file_errors import StoreError, display_path
from .._secrets.keyring_backend import Keyring
from .._text.amounts import format_duration
from .._unlocked import held_key
from .accounts import CommandError

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
USUAL = 8 * 3600
LONGEST = 7 * 86400
UNLOCK = "to be asked once for 8 hours: hpc-onboard keyring unlock"
LOCK = "To lock it: hpc-onboard keyring lock"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the parts and options of the subcommand."""
    parts = parser.add_subparsers(dest="part", metavar="unlock|lock")
    unlock = parts.add_parser("unlock", help="ask for the passphrase, and keep the file unlocked")
    unlock.add_argument(
        "--for", dest="seconds", type=read_time, default=USUAL, metavar="TIME", help="as 30m, 8h or 2d; default: 8h"
    )
    parts.add_parser("lock", help="end that now")


def run(options: argparse.Namespace) -> int:
    """Unlock or lock the file, or show its state. Raises CommandError."""
    keyring = _find_keyring()
    try:
        print({"unlock": _unlock, "lock": _lock}.get(options.part, _describe)(keyring, options))
    except (StoreError, held_key.CannotHold) as error:
        raise CommandError(str(error)) from None
    return 0


def read_time(text: str) -> int:
    """Return the seconds of a text such as 8h. Raises ArgumentTypeError."""
    found = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", text)
    seconds = int(found[1]) * UNITS[found[2]] if found else 0
    if not 0 < seconds <= LONGEST:
        raise argparse.ArgumentTypeError(f'invalid value "{text}"; expected a duration up to 7d, such as 30m, 8h or 2d')
    return seconds


def _find_keyring() -> Keyring:
    """Return the encrypted file. Raises CommandError if keys are in another keyring."""
    try:
        backend, _warnings = backends.choose_backend()
    except backends.MissingKey as error:
        raise CommandError(str(error)) from None
    if not backends.is_own(backend):
        text = f"Your keys are in {backends.describe(backend)}, which you lock and unlock with its own program."
        raise CommandError(f"{text} This command is only for the encrypted file.")
    found: Keyring = backend
    return found


def _unlock(keyring: Keyring, options: argparse.Namespace) -> str:
    opened = keyring.locked_store().unlock()
    held = held_key.hold(keyring.path, opened.header.key_id(), opened.key, options.seconds)
    return _say_unlocked(keyring.path, held)


def _lock(keyring: Keyring, _options: argparse.Namespace) -> str:
    was_held = held_key.drop(keyring.path)
    return f"{display_path(keyring.path)} is locked{'' if was_held else '; it was not unlocked'}."


def _describe(keyring: Keyring, _options: argparse.Namespace) -> str:
    held = held_key.find(keyring.path)
    if keyring.store().is_held() and held:
        return _say_unlocked(keyring.path, held)
    stale = f"{STALE}.\n" if held else ""
    return f"{stale}{display_path(keyring.path)} is locked. Each command asks for the passphrase; {UNLOCK}"


def _say_unlocked(file: Path, held: held_key.HeldKey) -> str:
    left = held.until - time.time()
    end = time.strftime("%H:%M" if left < USUAL * 2 else "%a %d %b %H:%M", time.localtime(held.until))
    return (
        f"{display_path(file)} is unlocked until {end} ({format_duration(round(left))} left), by {held.holder}.\n{LOCK}"
    )
