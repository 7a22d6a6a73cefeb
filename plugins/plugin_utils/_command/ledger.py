# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand ledger: verify the rotation record, and show where a key was installed.

A rotation replaces a key on all accounts. The ledger is a file on this machine with a record of each step, such as the
installation of a version of the key at a target (a file of an account). The machine's own secret key signs the records.
A fingerprint identifies a key without revealing it.
"""

from __future__ import annotations

import argparse
import re

from ...module_utils._core.errors import AccountError
from .._rotation.ledger import Ledger, record_key
from .._rotation.situation import describe_lost_ledger
from .._secrets.key_marks import list_account_marks
from .._secrets.version_store import VersionStore, read_all_secrets
from .._text.amounts import count
from .accounts import CommandError

FINGERPRINT = re.compile(r"(?:key )?[0-9a-f]{12,}")  # as reports show it


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the parts and options of the subcommand."""
    parts = parser.add_subparsers(dest="part", required=True, metavar="verify|who-has")
    parts.add_parser("verify", help="check all records, and report the first one that was changed")
    who_has = parts.add_parser("who-has", help="list every target where a key was installed")
    who_has.add_argument(
        "fingerprint", metavar="FINGERPRINT", help="the 12 hexadecimal digits that identify the key in reports"
    )


def run(options: argparse.Namespace) -> int:
    """Verify the ledger or list the targets. Raises CommandError if the ledger is damaged or cannot be read."""
    try:
        ledger = Ledger(record_key())
        return _list_targets(options.fingerprint, ledger) if options.part == "who-has" else _verify(ledger)
    except AccountError as error:
        raise CommandError(str(error)) from None


def _list_targets(fingerprint: str, ledger: Ledger) -> int:
    """Print the targets that had the key and their states, and return exit code 0.

    Raises CommandError for a text that is not a fingerprint.
    """
    if not FINGERPRINT.fullmatch(fingerprint):
        text = "expected at least 12 hexadecimal digits, not the key"
        raise CommandError(f'"{fingerprint}" is not a fingerprint; {text}')
    states = ledger.who_has(to_ledger_fingerprint(fingerprint, ledger))
    for target, state in states.items():
        print(f"{target}  {state}")
    if not states:
        print(f"No rotation from this machine installed the key {fingerprint.removeprefix('key ')}.")
    return 0


def _verify(ledger: Ledger) -> int:
    """Print the number of records, and return exit code 0. Raises CommandError for a changed or missing record."""
    if misfit := ledger.find_misfit():  # the first line that does not fit the lines before it
        problem = "cannot be checked" if misfit.is_newer else "is not valid"
        raise CommandError(f"line {misfit.line} of the ledger {problem}: {misfit.reason}")
    # rotations that the stored keys show to be open, but that have no record
    if lost := describe_lost_ledger(read_all_secrets(record_key()), ledger.records()):
        raise CommandError(
            f"{lost}. Restore the ledger from a backup. Otherwise, the next run of each missing rotation checks every "
            "account"
        )
    print(f"{count(len(ledger.records()), 'record')}, all unchanged")
    return 0


def to_ledger_fingerprint(fingerprint: str, ledger: Ledger) -> str:
    """Return the fingerprint that the records of the ledger contain for a key.

    fingerprint: the same, or the fingerprint that an account shows, which is different on each account.
    """
    records, key = ledger.records(), record_key()  # key: of this machine
    digits = fingerprint.removeprefix("key ")
    stored = {name: VersionStore(name, key).load() for name in {record.secret for record in records}}
    secrets = {name: secret for name, secret in stored.items() if secret}  # name of a key -> its versions
    for account in sorted({record.target.partition(":")[0] for record in records if record.target}):
        for (name, version), shown_mark in list_account_marks(secrets, account, key).items():
            if shown_mark == f"key {digits}":
                return secrets[name].find_version(version).fingerprint
    return digits  # no account shows it, so it is the fingerprint of the records
