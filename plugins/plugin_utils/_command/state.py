# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb state: what this machine remembers of your accounts, to another machine and back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ...module_utils._core.errors import AccountError
from .._rotation.ledger import LedgerError
from .._secrets.versions import VersionError
from .._state.durable_files import StateError
from .._state.signed_record import RecordError
from .._text.amounts import count
from .._transfer import state_file

TROUBLE = (AccountError, StateError, VersionError, RecordError)


def main(arguments: Sequence[str], program: str) -> int:
    """Run the verb. 0 done, 2 not done, with the reason on standard error."""
    parser = argparse.ArgumentParser(
        prog=program, description="Take what this machine remembers of your accounts to another machine."
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    out = verbs.add_parser("export", help="write receipts, ledger, labels and audit history to a new file; no keys")
    back = verbs.add_parser("import", help="take over from such a file what this machine does not know yet")
    back.add_argument("--checksum", default="", help="refuse a file that does not have it; export says it")
    for verb in (out, back):
        verb.add_argument("file", type=Path)
    wish = parser.parse_args(arguments)
    try:
        for line in _export(wish.file) if wish.verb == "export" else _import(wish.file, wish.checksum):
            print(line)
    except LedgerError as error:
        print(f"{program}: nothing was imported: {error}", file=sys.stderr)
        return 2
    except TROUBLE as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    return 0


def _export(file: Path) -> list[str]:
    document = state_file.export(file)
    held = f"{count(len(document['receipts']), 'receipt')}, {count(len(document['ledger']), 'record')} of the ledger"
    return [
        f"{file} (mode 600): {held}, labels of {count(len(document['labels']), 'key')}, what audits remember,"
        f" how {count(len(document['last_runs']), 'run')} ended, which steps you said are done. No key.",
        f"Its checksum is {document['checksum']}: compare it with what the import says.",
        "Keys stay in this machine's keyring: store them on the other machine with keyring set.",
    ]


def _import(file: Path, wanted: str) -> list[str]:
    document = state_file.read(file)
    if wanted and wanted != document["checksum"]:
        raise AccountError(f"{file} has the checksum {document['checksum']}, not the one that you named: get it again")
    done = state_file.adopt(document)
    new = [
        f"{count(done.notes, 'note')} of receipts",
        f"{count(done.records, 'record')} of the ledger, signed anew",
        f"labels of {', '.join(done.secrets) or 'no key'}",
        f"{count(done.findings, 'finding')} and {count(done.runs, 'run')} of audits",
        f"how {count(done.last_runs, 'run')} ended",
        f"{count(done.steps, 'step')} of yours that you did",
    ]
    kept = [f"Kept as it is here: {one}." for one in done.kept]
    return [f"The checksum of {file} is {document['checksum']}.", f"New here: {'; '.join(new)}.", *kept]
