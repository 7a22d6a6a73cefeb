# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""This machine's copy of what is noted on each account (see module_utils/_receipt/notes.py).

It is what tells of things that are not declared any more, and stands in where the account's own notes are gone.
Nothing here is a key, and losing it costs an answer to "who changed that?", not more. One that is damaged, or that a
newer version wrote, is neither taken for an empty one nor replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import state_folder

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.answer import Mark, Notes, Receipt, ReceiptNote

Document = dict[str, Any]
"""A receipt as it lies in a file: of any version, and with what later ones have added (receipt.schema.json)."""

FOLDER = "receipts"
SCHEMA = "hpc.onboard/receipt/2.1"  # as module_utils/_receipt/notes.py writes it
NOW_WHAT = "move it away, then copy the receipt of the account again: hpc-onboard audit"


def file_name(account: str, sandbox: bool) -> str:
    """What a file about an account is called, here and in other folders of this machine's state."""
    name = re.sub(r"[^A-Za-z0-9_.@+-]", lambda found: f"%{ord(found[0]):04x}", account)
    return f"{name}{'.sandbox' if sandbox else ''}.json"


def document(account: str, sandbox: bool) -> Document:
    """This machine's copy of the receipt of an account, in the words of this version; {} where there is none.

    Raises AccountError where it is damaged or a newer version wrote it.
    """
    return _read(state_folder() / FOLDER / file_name(account, sandbox), account)


def _read(path: Path, account: str) -> Document:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if found["schema"] == SCHEMA else _of_other_version(found, path.name)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise AccountError(f"{path}: {error.strerror}: put that right, then run again") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise AccountError(f"{path}, the copy of the receipt of {account}, is damaged: {NOW_WHAT}") from None


def _of_other_version(found: Document, name: str) -> Document:
    from ansible_collections.hpc.onboard.plugins.module_utils._core.document_version import (
        refusal,  # most are of this version
    )
    from ansible_collections.hpc.onboard.plugins.module_utils._receipt.notes import upgraded

    why = refusal(found["schema"], SCHEMA, f"{name} below {state_folder() / FOLDER}", NOW_WHAT)
    if why:
        raise AccountError(why)
    return upgraded(found)


def check(found: Document, name: str) -> None:
    """Raise AccountError where a document is no receipt of a version that is read."""
    try:
        for note in _of_other_version(dict(found), name)["resources"].values():
            dict(note["options"]), dict(note["keyed"]), list(note["clusters"]), str(note["kind"]), bool(note["made"])
    except (KeyError, TypeError, AttributeError, ValueError):
        raise AccountError(f"{name} is no receipt") from None


def is_kept(account: str, sandbox: bool) -> bool:
    """Whether this machine has a copy of the receipt of an account, whatever it says."""
    return (state_folder() / FOLDER / file_name(account, sandbox)).is_file()


def kept(account: str, sandbox: bool) -> Notes:
    """The notes that this machine has of an account. Raises AccountError as document() does."""
    notes: Notes = document(account, sandbox).get("resources", {})
    return notes


def disowned(account: str, sandbox: object, receipt: Receipt | None) -> Notes:
    """Return the notes here, if the receipt on the account was lost: what was created is noted as the user's there.

    If another machine offboarded the account, its receipt is gone too, but so are its links and scripts: a key alone
    may be one that the user wrote since then. It shows a loss only if nothing else was created there.
    """
    told = receipt["notes"] if receipt else {}
    if all(note["made"] for note in told.values()):
        return {}
    found = kept(account, bool(sandbox))
    created = {key: note for key, note in found.items() if note["made"] and not note.get("for")}
    shows_loss = {key: note for key, note in created.items() if not note["keyed"]} or created
    is_lost = any(
        key in told and not told[key]["made"] and told[key]["hashes"] == note["hashes"]
        for key, note in shows_loss.items()
    )
    return found if is_lost else {}


def keep(account: str, sandbox: bool, receipt: Receipt) -> str | None:
    """Have the notes and marks of an account here, too. Gives a warning where they cannot be kept."""
    try:
        before = document(account, sandbox)
    except AccountError as error:
        return f"what was written on {account} is not noted here: {error}"
    if before.get("schema", SCHEMA) == SCHEMA and all(
        before.get(name, {}) == found for name, found in _parts(receipt).items()
    ):
        return None
    from ansible_collections.hpc.onboard.plugins.plugin_utils._state import durable_files

    try:
        _write(file_name(account, sandbox), joined(before, receipt))
    except durable_files.StateError as error:
        return f"what was written on {account} could not be noted here: {error}"
    return None


def exported() -> dict[str, Document]:
    """All copies of receipts here, by their files' names. Raises AccountError as document() does."""
    folder = state_folder() / FOLDER
    return {path.name: _read(path, path.stem) for path in sorted(folder.glob("*.json"))} if folder.is_dir() else {}


def merge(name: str, other: Document) -> int:
    """Add to the copy of that file's name what another machine's has; what is here stays. How many notes were new.

    Raises AccountError and StateError.
    """
    from ansible_collections.hpc.onboard.plugins.module_utils._receipt.notes import upgraded

    mine, theirs = _read(state_folder() / FOLDER / name, name), upgraded(dict(other))
    keys = {**theirs["keys"], **mine.get("keys", {})}
    for secret, mark in theirs["keys"].items():
        keys[secret] = max(mark, keys[secret], key=lambda one: int(one["sequence"]))
    whole = {**theirs, **mine, "resources": {**theirs["resources"], **mine.get("resources", {})}, "keys": keys}
    if whole != mine:
        _write(name, {**whole, "schema": mine.get("schema", theirs["schema"])})
    return len(whole["resources"]) - len(mine.get("resources", {}))


def _write(name: str, whole: Document) -> None:
    """Put a copy in the place of the one of that file's name. Raises StateError."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._state import durable_files  # most runs change nothing

    text = json.dumps(whole, indent=1, sort_keys=True)
    with durable_files.told(FOLDER), durable_files.folder(FOLDER) as at:
        durable_files.replace(at, name, text.encode() + b"\n")


def _parts(receipt: Receipt) -> dict[str, Mapping[str, ReceiptNote | Mark]]:
    """The parts of a copy, as an answer tells them."""
    return {"resources": receipt["notes"], "keys": receipt["keys"]}


def joined(before: Document, receipt: Receipt) -> Document:
    """A copy brought up to date; what a later version has written into it stays with what is still there."""
    from ansible_collections.hpc.onboard.plugins.module_utils._core.document_version import (
        LATER,  # most runs change nothing
        compare,
    )

    said = before.get("schema")
    merged: Document = {**before, "schema": said if compare(said, SCHEMA) == LATER else SCHEMA}
    for name, found in _parts(receipt).items():
        old = before.get(name, {})
        merged[name] = {key: {**old.get(key, {}), **note} for key, note in found.items()}
    return merged
