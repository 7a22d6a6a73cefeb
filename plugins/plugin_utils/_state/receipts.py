# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""This machine's copies of the receipts on accounts (module_utils/_receipt/notes.py).

A receipt is the account's own record of what hpc-onboard created there. A note describes one resource in the receipt:
"made" is True if hpc-onboard created the resource, and "identity" names it in plans. A sandbox is a folder on this
machine that simulates an account; it has a receipt of its own.

A copy shows which resources are no longer declared, and replaces a receipt that the account has lost. It contains no
key. Without the copy, an audit cannot find some causes. A copy that is damaged or of another version is never replaced.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .durable_files import StateError
from .fingerprint_key import state_folder
from .state_document import Document, StateDocument, account_file, check_document

if TYPE_CHECKING:
    from collections.abc import Collection

    from .._documents.answer import AccountReceipt, Notes, ReceiptNote

SCHEMA = "hpc.onboard/receipt/1.0"  # same as in module_utils/_receipt/notes.py, whose import takes time
FOLDER = "receipts"
FILE_NAME = re.compile(r"[A-Za-z0-9_%+@-][A-Za-z0-9_.%+@-]{0,250}\.json")  # of a copy, see account_file()
ADVICE = "rename or move the file, then copy the receipt of the account again with `hpc-onboard audit`"


def check_copy(document: object, name: str, advice: str) -> None:
    """Raise StateError if a document from another machine is not a receipt.

    name: of the document's file. advice: what to do about a damaged document.
    """
    check_document(document, SCHEMA, f"the receipt {name}", advice, _check)


def _check(document: Document) -> None:
    """Raise ValueError, KeyError, TypeError or AttributeError unless all fields that are read later are usable.

    The look-ups and conversions raise these exceptions; their results are not needed.
    """
    for rotation in document["keys"].values():
        int(rotation["sequence"]), str(rotation["when"])
    for note in document["resources"].values():
        dict(note["options"]), dict(note["keyed"]), list(note["clusters"]), str(note["kind"]), bool(note["made"])
        str(note["identity"]), dict(note["hashes"])


def _document(name: str) -> StateDocument:
    """Return the copy in the file of that name, to read or write it; the file may be missing."""
    return StateDocument(FOLDER, name, SCHEMA, ADVICE, _check)


def read_receipt(account: str, is_sandbox: bool) -> Document:
    """Return the copy of an account's receipt; {} without a copy. Raise StateError."""
    return _document(account_file(account, is_sandbox)).read() or {}


def read_notes(account: str, is_sandbox: bool) -> Notes:
    """Return the notes in the copy of an account's receipt, by key; {} without a copy. Raise StateError."""
    notes: Notes = read_receipt(account, is_sandbox).get("resources", {})
    return notes


def has_receipt(account: str, is_sandbox: bool) -> bool:
    """Return True if a copy exists, even if it cannot be read."""
    return (state_folder() / FOLDER / account_file(account, is_sandbox)).is_file()


def has_resources(account: str, is_sandbox: bool) -> bool:
    """Return True if the copy of an account's receipt lists a resource that hpc-onboard created, or is damaged."""
    try:
        # a note with "for" is about a folder around a resource
        return any(note["made"] and not note.get("for") for note in read_notes(account, is_sandbox).values())
    except StateError:
        return True


def find_lost_notes(account: str, is_sandbox: bool, receipt: AccountReceipt | None, planned: Collection[str]) -> Notes:
    """Return the notes of the copy if it has a created resource that the receipt lacks or attributes to the user.

    Then either the receipt was lost, or another machine offboarded the account. A run with these notes finds out which,
    from what exists on the account (module_utils/_receipt/lost_receipt.py). receipt: as the account sent it after a
    run; None if the account sent none. planned: identities in the plan of the run, which need no further check. Return
    {} if receipt and copy agree, or the receipt is empty. Raise StateError.
    """
    on_account = receipt["notes"] if receipt else {}
    if not on_account:
        return {}  # offboarding reads the copy itself
    notes = read_notes(account, is_sandbox)

    def is_doubtful(key: str, note: ReceiptNote) -> bool:
        """Return True if the receipt lacks the note's resource, or attributes it to the user."""
        in_receipt = on_account.get(key)
        if in_receipt is None:  # the run itself checks a planned resource
            return note["identity"] not in planned
        # according to the receipt, the user made the resource, but its content is the one in the copy
        return not in_receipt["made"] and in_receipt["hashes"] == note["hashes"]

    # a note with "for" is about a folder around a resource, and proves nothing
    created = {key: note for key, note in notes.items() if note["made"] and not note.get("for")}
    return notes if any(is_doubtful(key, note) for key, note in created.items()) else {}


def keep_receipt(account: str, is_sandbox: bool, receipt: AccountReceipt, removed: Collection[str] = ()) -> str | None:
    """Copy the receipt of an account, as the account sent it. Return a warning if that is not possible, else None.

    An account without notes was offboarded by another machine, or has lost its receipt. Then only the copy shows who
    created the resources there, so the copy keeps all notes except those of `removed`, identities that this run
    offboarded.
    """
    copy = _document(account_file(account, is_sandbox))
    try:
        former = copy.read() or {"schema": SCHEMA, "resources": {}, "keys": {}}
        notes = {key: note for key, note in former["resources"].items() if note["identity"] not in removed}
        # a note with "for" is about a folder around a resource, and does not show that resources are left
        if receipt["notes"] or all(note.get("for") for note in notes.values()):
            notes = receipt["notes"]
        document = {"schema": SCHEMA, "resources": notes, "keys": receipt["keys"]}
        if document != former:
            copy.write(document)
    except StateError as error:
        return f"the receipt of {account} could not be copied to this machine: {error}"
    return None


def export() -> dict[str, Document]:
    """Return all copies, by the names of their files. Files with other names are skipped. Raise StateError."""
    names = sorted(path.name for path in (state_folder() / FOLDER).glob("*.json") if FILE_NAME.fullmatch(path.name))
    return {name: _document(name).read() or {} for name in names}  # {}: another run has just removed the file


def list_key_targets(secret: str) -> set[str]:
    """Return ACCOUNT:RESOURCE_TYPE for each resource in the copies with the key of this name. Raise StateError.

    Sandboxes are skipped, because their keys are only simulated.
    """
    return {
        f"{file.removesuffix('.json')}:{note['kind']}"
        for file, document in export().items()
        for note in document.get("resources", {}).values()
        if note.get("secret") == secret and not file.endswith(".sandbox.json")
    }


def merge(name: str, other: Document) -> int:
    """Add another machine's copy to the file of that name; notes of this machine stay.

    Return the number of new notes. Raise StateError.
    """
    copy = _document(name)
    own = copy.read() or {"schema": SCHEMA, "resources": {}, "keys": {}}
    # by name of the key: its last rotation (replacement) on the account; the later one stays. Each machine counts its
    # own rotations, so only the time shows which one is later
    keys = dict(own["keys"])
    for secret, rotation in other["keys"].items():
        own_rotation = own["keys"].get(secret, rotation)
        keys[secret] = max(rotation, own_rotation, key=lambda candidate: str(candidate["when"]))
    merged = {"schema": SCHEMA, "resources": {**other["resources"], **own["resources"]}, "keys": keys}
    if merged != own:
        copy.write(merged)
    return len(merged["resources"]) - len(own["resources"])
