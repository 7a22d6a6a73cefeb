# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""This machine's copies of the receipts on accounts (see module_utils/_receipt/notes.py).

A copy tells which things are no longer declared, and replaces a receipt that was lost on the account. It holds no key;
if it is lost, an audit cannot tell some causes. A copy that is damaged or of another format is never replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .durable_files import StateError
from .fingerprint_key import state_folder
from .state_document import Document, StateDocument, account_file, check_document

if TYPE_CHECKING:
    from collections.abc import Collection

    from .._documents.answer import AccountReceipt, Notes, ReceiptNote

SCHEMA = "hpc.onboard/receipt/1.0"  # as module_utils/_receipt/notes.py writes it; importing that takes time
FOLDER = "receipts"
ADVICE = "move it away, then copy the receipt of the account again: hpc-onboard audit"


def check_copy(document: object, name: str, advice: str) -> None:
    """Raise StateError if a document of another machine is not a receipt. name: of its file."""
    check_document(document, SCHEMA, f"the receipt {name}", advice, _check)


def _check(document: Document) -> None:
    dict(document["keys"])
    for note in document["resources"].values():
        dict(note["options"]), dict(note["keyed"]), list(note["clusters"]), str(note["kind"]), bool(note["made"])


def _document(name: str) -> StateDocument:
    return StateDocument(FOLDER, name, SCHEMA, ADVICE, _check)


def read_receipt(account: str, sandbox: bool) -> Document:
    """Return the copy of an account's receipt, or {} if there is none. Raise StateError."""
    return _document(account_file(account, sandbox)).read() or {}


def read_notes(account: str, sandbox: bool) -> Notes:
    """Return the notes in the copy of an account's receipt. Raise StateError."""
    notes: Notes = read_receipt(account, sandbox).get("resources", {})
    return notes


def has_receipt(account: str, sandbox: bool) -> bool:
    """Return True if there is a copy, even one that cannot be read."""
    return (state_folder() / FOLDER / account_file(account, sandbox)).is_file()


def find_lost_notes(account: str, sandbox: object, receipt: AccountReceipt | None, planned: Collection[str]) -> Notes:
    """Return the notes of the copy if it calls a thing created that the receipt has no more, or calls the user's.

    Either the receipt was lost, or another machine offboarded the account: what is left there tells, which a run with
    these notes looks at (module_utils/_receipt/lost_receipt.py). planned: the identities of what the run was about; it
    knew what to do with them. Return {} if the receipt and the copy agree, or the receipt has no notes: then the copy
    stays, and offboarding reads it. Raise StateError.
    """
    on_account = receipt["notes"] if receipt else {}
    if not on_account:
        return {}
    notes = read_notes(account, bool(sandbox))

    def is_doubtful(key: str, note: ReceiptNote) -> bool:
        own = on_account.get(key)
        if own is None:
            return note["identity"] not in planned
        return not own["made"] and own["hashes"] == note["hashes"]

    created = {key: note for key, note in notes.items() if note["made"] and not note.get("for")}
    return notes if any(is_doubtful(key, note) for key, note in created.items()) else {}


def keep_receipt(account: str, sandbox: bool, receipt: AccountReceipt, removed: Collection[str] = ()) -> str | None:
    """Copy the receipt of an account. Return a warning if that is not possible.

    An account without notes was offboarded by another machine, or has lost its receipt. Then the copy alone shows who
    created what is left there: it keeps all notes but those of `removed`, the identities that this run offboarded.
    """
    kept = _document(account_file(account, sandbox))
    try:
        known = kept.read() or {"schema": SCHEMA, "resources": {}, "keys": {}}
        left = {key: note for key, note in known["resources"].items() if note["identity"] not in removed}
        if receipt["notes"] or all(note.get("for") for note in left.values()):
            left = receipt["notes"]
        document = {"schema": SCHEMA, "resources": left, "keys": receipt["keys"]}
        if document != known:
            kept.write(document)
    except StateError as error:
        return f"the receipt of {account} could not be copied to this machine: {error}"
    return None


def export() -> dict[str, Document]:
    """Return all copies, by the names of their files. Raise StateError."""
    folder = state_folder() / FOLDER
    names = sorted(path.name for path in folder.glob("*.json")) if folder.is_dir() else []
    return {name: _document(name).read() or {} for name in names}


def merge(name: str, other: Document) -> int:
    """Add another machine's copy to the file of that name; notes of this machine stay. Return how many are new.

    Raise StateError.
    """
    kept = _document(name)
    known = kept.read() or {"schema": SCHEMA, "resources": {}, "keys": {}}
    keys = {**other["keys"], **known["keys"]}
    for secret, mark in other["keys"].items():
        keys[secret] = max(mark, keys[secret], key=lambda one: int(one["sequence"]))
    merged = {"schema": SCHEMA, "resources": {**other["resources"], **known["resources"]}, "keys": keys}
    if merged != known:
        kept.write(merged)
    return len(merged["resources"]) - len(known["resources"])
