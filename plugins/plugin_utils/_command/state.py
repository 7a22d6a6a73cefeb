# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand state: copy the state of this machine to another machine.

The state consists of records: receipts (of the resources that hpc-onboard created on accounts), the ledger (of
rotations, which replace keys), and the records of audits, runs and manual steps.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ...module_utils._core.errors import AccountError
from .._rotation.ledger import LedgerError
from .._state_export import state_file
from .._text.amounts import count
from .accounts import CommandError, read_path


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the parts and options of the subcommand."""
    parts = parser.add_subparsers(dest="part", required=True, metavar="export|import")
    export = parts.add_parser("export", help="write this machine's state, except keys, to a new file")
    import_ = parts.add_parser("import", help="add the records that this machine lacks")
    import_.add_argument(
        "--checksum",
        default="",
        help="the checksum that `state export` printed; a file with a different checksum is refused",
    )
    export.add_argument("file", metavar="FILE", type=read_path, help="the file to write")
    import_.add_argument("file", metavar="FILE", type=read_path, help="the file that state export wrote")


def run(options: argparse.Namespace) -> int:
    """Export or import the state, and return exit code 0. Raises CommandError."""
    is_export = options.part == "export"
    try:
        print(*(_export(options.file) if is_export else _import(options.file, options.checksum)), sep="\n")
    except LedgerError as error:
        raise CommandError(str(error) if is_export else f"nothing was imported: {error}") from None
    except AccountError as error:
        raise CommandError(str(error)) from None
    return 0


def _export(file: Path) -> list[str]:
    """Write the state of this machine to a file, and return the lines to print."""
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
        f"Wrote {file} (mode 600): {', '.join(parts)}. The file contains no keys.",
        f"The checksum is {document['checksum']}. The import must print the same checksum.",
        "Keys stay in the keyring of this machine. To store a key on the other machine, run on that machine: "
        "keyring set hpc.onboard NAME",
    ]


def _import(file: Path, checksum: str) -> list[str]:
    """Add the state in a file to the state of this machine, and return the lines to print.

    checksum: the expected one; empty to accept any. Raises CommandError for a different checksum.
    """
    document = state_file.read_state(file)
    if checksum and checksum != document["checksum"]:
        raise CommandError(f"{file} has the checksum {document['checksum']}, not {checksum}. Copy the file again")
    imported = state_file.import_state(document)
    added = [
        f"{count(imported.notes, 'resource')} in receipts",  # a note describes one resource
        f"{count(imported.records, 'record')} of the ledger, signed by this machine",
        f"versions of {', '.join(imported.secrets) or 'no keys'}",
        f"{count(imported.findings, 'finding')} and {count(imported.audits, 'audit')}",
        f"the results of {count(imported.last_runs, 'run')}",
        f"{count(imported.steps, 'manual step')} that you marked as done",
    ]
    # parts that are newer on this machine
    kept = [f"Unchanged on this machine: {part}." for part in imported.kept]
    warnings = [f"Warning: {warning}." for warning in imported.warnings]
    return [f"The checksum of {file} is {document['checksum']}.", f"Added: {'; '.join(added)}.", *kept, *warnings]
