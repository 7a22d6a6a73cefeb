# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb ledger: is the ledger as it was written, and where did a key ever go."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from ...module_utils._core.errors import AccountError
from .._rotation.ledger import Ledger, record_key
from .._rotation.standing import unrecorded
from .._secrets.key_marks import marks
from .._secrets.version_store import Sidecar, known_secrets
from .._secrets.versions import VersionError
from .._state.durable_files import StateError


def in_records(mark: str, ledger: Ledger) -> str:
    """The fingerprint that the records have of a key, for that or for one that an account shows of it."""
    records, key, wanted = ledger.records(), record_key(), f"key {mark.removeprefix('key ')}"
    secrets = {name: Sidecar(name, key).secret() for name in {one.secret for one in records}}
    for account in sorted({one.target.partition(":")[0] for one in records if one.target}):
        for (name, version), shown in marks({name: one for name, one in secrets.items() if one}, account, key).items():
            secret = secrets[name]
            if shown == wanted and secret:
                return secret.version(version).fingerprint
    return mark


FINGERPRINT = re.compile(r"(?:[a-z0-9-]+:)?[0-9a-f]{12}(?:[0-9a-f]*)")


def main(arguments: Sequence[str], program: str) -> int:
    """Run the verb. 0, or 2 where the ledger does not fit or cannot be read, with the reason on standard error."""
    parser = argparse.ArgumentParser(
        prog=program, description="Whether the ledger of rotations is as it was written, and where a key ever went."
    )
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("verify", help="say the first line that is not as it was written")
    places = what.add_parser("who-has", help="list every target that a key ever went to")
    places.add_argument("fingerprint", help="twelve hexadecimal digits, as reports show them")
    wish = parser.parse_args(arguments)
    try:
        ledger = Ledger(record_key())
        if wish.what == "who-has":
            if not FINGERPRINT.fullmatch(wish.fingerprint):
                raise AccountError(f'"{wish.fingerprint}" is not a fingerprint: twelve hexadecimal digits, no key')
            found = ledger.who_has(in_records(wish.fingerprint, ledger))
            for target, state in found.items():
                print(f"{target}  {state}")
            if not found:
                print(f"no rotation from this machine has taken {wish.fingerprint} anywhere")
            return 0
        misfit, lost = ledger.verify(), ""
        if not misfit:
            lost = unrecorded(known_secrets(record_key()), ledger.records())
    except (AccountError, StateError, VersionError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    if misfit:
        print(f"{program}: line {misfit.line} does not fit: {misfit.why}", file=sys.stderr)
        return 2
    if lost:
        print(f"{program}: {lost}; put it back, or the next run of that rotation asks every account", file=sys.stderr)
        return 2
    print(f"{len(ledger.records())} records, each as it was written")
    return 0
