# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand state: carry the state of this machine to another one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ...module_utils._core.errors import AccountError
from .._rotation.ledger import LedgerError
from .._secrets.versions import VersionError
from .._state.signed_record import RecordError
from .._state_export import state_file
from .._text.amounts import count

TROUBLE = (AccountError, VersionError, RecordError)


def main(arguments: Sequence[str], program: str) -> int:
    """Run the subcommand. Return 0, or 2 with the reason on standard error."""
    parser = argparse.ArgumentParser(
        prog=program, description="Carry the state of your accounts from this machine to another one."
    )
    subcommands = parser.add_subparsers(dest="subcommand", required=True)
    out = subcommands.add_parser("export", help="write the state of this machine to a new file; no keys")
    back = subcommands.add_parser("import", help="add from such a file what this machine does not know")
    back.add_argument("--checksum", default="", help="refuse a file with another checksum; state export prints it")
    for subcommand in (out, back):
        subcommand.add_argument("file", type=Path)
    options = parser.parse_args(arguments)
    try:
        for line in (
            _export(options.file) if options.subcommand == "export" else _import(options.file, options.checksum)
        ):
            print(line)
    except LedgerError as error:
        print(f"{program}: nothing was imported: {error}", file=sys.stderr)
        return 2
    except TROUBLE as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    return 0


def _export(file: Path) -> list[str]:
    document = state_file.write_state(file)
    parts = [
        count(len(document["receipts"]), "receipt"),
        f"{count(len(document['ledger']), 'record')} of the ledger",
        f"versions of {count(len(document['key_versions']), 'key')}",
        "the history of audits",
        f"the results of {count(len(document['last_runs']), 'run')}",
        "the manual steps that you marked as done",
    ]
    return [
        f"Wrote {file} (mode 600): {', '.join(parts)}. It holds no key.",
        f"Its checksum is {document['checksum']}. Compare it with the one that the import prints.",
        "Keys stay in the keyring of this machine. Store them on the other one: keyring set hpc.onboard NAME",
    ]


def _import(file: Path, checksum: str) -> list[str]:
    document = state_file.read_state(file)
    if checksum and checksum != document["checksum"]:
        raise AccountError(f"{file} has the checksum {document['checksum']}, not {checksum}: copy it again")
    done = state_file.import_state(document)
    new = [
        f"{count(done.notes, 'note')} of receipts",
        f"{count(done.records, 'record')} of the ledger, signed by this machine",
        f"versions of {', '.join(done.secrets) or 'no key'}",
        f"{count(done.findings, 'finding')} and {count(done.audits, 'audit')}",
        f"the results of {count(done.last_runs, 'run')}",
        f"{count(done.steps, 'manual step')} that you marked as done",
    ]
    kept = [f"Unchanged on this machine: {part}." for part in done.kept]
    return [f"The checksum of {file} is {document['checksum']}.", f"Added: {'; '.join(new)}.", *kept]
