# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand rekey: change the passphrase, salt and cost of the encrypted key file.

While the file is unlocked, its encryption key is held in memory (held_key).
"""

from __future__ import annotations

import argparse

from .._secrets.file_errors import NotWritten, StoreError, display_path
from .._secrets.file_format import ARGON2ID, SCRYPT
from .._secrets.keyring_backend import Keyring
from .._unlocked import held_key
from .accounts import CommandError

KDFS = {"argon2id": ARGON2ID, "scrypt": SCRYPT}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand."""
    parser.add_argument(
        "--keep-passphrase",
        action="store_true",
        help="keep the passphrase; renew the salt and the key-derivation settings",
    )
    parser.add_argument(
        "--kdf", choices=sorted(KDFS), help="key-derivation function; use scrypt on machines without Argon2id"
    )


def run(options: argparse.Namespace) -> int:
    """Encrypt the key file again, lock it, and return exit code 0.

    Raises CommandError if the file cannot be opened or written.
    """
    keyring = Keyring()
    try:
        # without --kdf, rekey() chooses the key derivation
        keyring.locked_store().rekey(KDFS.get(options.kdf), ask_new=not options.keep_passphrase)
    except (StoreError, NotWritten) as error:
        raise CommandError(str(error)) from None
    was_unlocked = held_key.drop(keyring.path)
    print(f"{display_path(keyring.path)} has a new salt{'' if options.keep_passphrase else ' and a new passphrase'}.")
    if was_unlocked:
        print("The file is locked again. To unlock the file, run: hpc-onboard keyring unlock")
    return 0
