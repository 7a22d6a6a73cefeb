# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand keyring: unlock the encrypted key file for some hours, lock it, or show its state.

While the file is unlocked, its encryption key is held in memory (held_key), by the kernel or a process: the holder.
"""

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
DEFAULT_SECONDS = 8 * 3600
LONGEST = 7 * 86400  # seconds for which the file may stay unlocked
UNLOCK_ADVICE = "To unlock the file for 8 hours, run: hpc-onboard keyring unlock"
LOCK_ADVICE = "To lock the file, run: hpc-onboard keyring lock"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the parts and options of the subcommand."""
    parts = parser.add_subparsers(dest="part", metavar="unlock|lock")
    unlock = parts.add_parser("unlock", help="ask for the passphrase, and keep the file unlocked")
    unlock.add_argument(
        "--for",
        dest="seconds",
        type=read_duration,
        default=DEFAULT_SECONDS,
        metavar="TIME",
        help="such as 30m, 8h or 2d; default: 8h",
    )
    parts.add_parser("lock", help="lock the file now")


def run(options: argparse.Namespace) -> int:
    """Unlock or lock the file, or show its state, and return exit code 0. Raises CommandError."""
    keyring = _find_keyring()
    try:
        # without a part, show the state
        run_part = {"unlock": _unlock, "lock": _lock}.get(options.part, _describe_state)
        print(run_part(keyring, options))
    except (StoreError, held_key.CannotHold) as error:
        raise CommandError(str(error)) from None
    return 0


def read_duration(text: str) -> int:
    """Return a duration such as 8h in seconds. Raises ArgumentTypeError."""
    match = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", text)
    seconds = int(match[1]) * UNITS[match[2]] if match else 0
    if not 0 < seconds <= LONGEST:
        raise argparse.ArgumentTypeError(f'invalid value "{text}"; expected a duration up to 7d, such as 30m, 8h or 2d')
    return seconds


def _find_keyring() -> Keyring:
    """Return the keyring of the encrypted file. Raises CommandError if the keys are in a different keyring."""
    try:
        backend, _warnings = backends.choose_backend()
    except backends.MissingKey as error:
        raise CommandError(str(error)) from None
    if not backends.is_own(backend):
        raise CommandError(
            f"This command is only for the encrypted key file, but your keys are in {backends.describe(backend)}. Use "
            "the program of that keyring to lock and unlock your keys."
        )
    keyring: Keyring = backend
    return keyring


def _unlock(keyring: Keyring, options: argparse.Namespace) -> str:
    """Ask for the passphrase, keep the file unlocked for the seconds of the option, and return the text to print."""
    opened = keyring.locked_store().unlock()
    held = held_key.hold(keyring.path, key_id=opened.header.key_id(), key=opened.key, seconds=options.seconds)
    return _describe_unlocked(keyring.path, held)


def _lock(keyring: Keyring, _options: argparse.Namespace) -> str:
    """Lock the file, and return the text to print. _options: not used; run() calls all parts in the same way."""
    was_unlocked = held_key.drop(keyring.path)
    return f"{display_path(keyring.path)} {'is now' if was_unlocked else 'was already'} locked."


def _describe_state(keyring: Keyring, _options: argparse.Namespace) -> str:
    """Return the text that describes the state of the file, locked or unlocked. _options: not used, as in _lock()."""
    held = held_key.find(keyring.path)
    if keyring.store().is_held() and held:  # the held key fits the file
        return _describe_unlocked(keyring.path, held)
    stale = f"{STALE}.\n" if held else ""  # STALE: the held key is that of a former passphrase
    return f"{stale}{display_path(keyring.path)} is locked. Each command asks for the passphrase. {UNLOCK_ADVICE}"


def _describe_unlocked(file: Path, held: held_key.HeldKey) -> str:
    """Return the text for an unlocked file: until when it stays unlocked, and where its encryption key is kept."""
    seconds_left = held.until - time.time()
    # a time of day alone is clear for the next hours only
    form = "%H:%M" if seconds_left < 2 * DEFAULT_SECONDS else "%a %d %b %H:%M"
    end, time_left = time.strftime(form, time.localtime(held.until)), format_duration(round(seconds_left))
    text = f"{display_path(file)} is unlocked until {end} ({time_left} left). The encryption key is in {held.holder}."
    return f"{text}\n{LOCK_ADVICE}"
