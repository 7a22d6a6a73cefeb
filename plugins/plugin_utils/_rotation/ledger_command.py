# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command hpc-onboard-ledger: is the ledger as it was written, and where did a key ever go."""

from __future__ import annotations

import argparse
import sys

from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.adapters import record_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError


def main() -> None:
    """Run the command. Exit code 0, or 1 where the ledger does not fit."""
    parser = argparse.ArgumentParser(prog="hpc-onboard-ledger", description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("verify", help="say the first line that is not as it was written")
    places = what.add_parser("who-has", help="list every target that a key ever went to")
    places.add_argument("fingerprint", help="twelve hexadecimal digits, as reports show them")
    wish = parser.parse_args()
    try:
        ledger = Ledger(record_key())
        if wish.what == "who-has":
            for target, state in ledger.who_has(wish.fingerprint).items():
                print(f"{target}  {state}")
            return
        misfit = ledger.verify()
    except StateError as error:
        sys.exit(str(error))
    if misfit:
        sys.exit(f"line {misfit.line} does not fit: {misfit.why}")
    print(f"{len(ledger.records())} records, each as it was written")
