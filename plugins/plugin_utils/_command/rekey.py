# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb rekey: another passphrase for the encrypted file, or the same at today's cost."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._secrets.file_errors import StoreError, shown
from .._secrets.file_format import ARGON2ID, SCRYPT
from .._secrets.file_on_disk import NotWritten
from .._secrets.keyring_backend import Keyring

KDFS = {"argon2id": ARGON2ID, "scrypt": SCRYPT}


def main(arguments: Sequence[str], program: str) -> int:
    """Run the verb. 0 done, 2 not done, with the reason on standard error."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Give the encrypted file of hpc.onboard's keys another passphrase, a new salt and today's cost.",
    )
    parser.add_argument("--keep-passphrase", action="store_true", help="renew salt and cost only")
    parser.add_argument("--kdf", choices=sorted(KDFS), help="scrypt, for machines whose library lacks Argon2id")
    options = parser.parse_args(arguments)
    keyring = Keyring()
    try:
        keyring.store().rekey(KDFS.get(options.kdf), ask_new=not options.keep_passphrase)
    except (StoreError, NotWritten) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    print(f"{shown(keyring.path)} has a new salt{'' if options.keep_passphrase else ' and a new passphrase'}.")
    return 0
