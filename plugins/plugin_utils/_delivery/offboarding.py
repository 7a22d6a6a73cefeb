# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is removed from an account, in which order: keys first, then other things, then the folders and links around.

The account decides by its receipt whether hpc-onboard created a thing, so that it may be removed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from ...module_utils._formats.key_files import START_UPS
from ...module_utils._receipt.notes import belongs_to, folder_key
from ...module_utils._receipt.receipt import ABOVE
from ...module_utils._resources.kept_key import KeptKey
from .._input import extra_vars
from .._input.agreement import Agreement
from .plan import KINDS, key_of, options_class

if TYPE_CHECKING:
    from .._documents.answer import Notes, ReceiptNote
    from .._documents.declaration import Note, PlanEntry
    from .._roles.collect import DeclaredResources

AGREEMENT = Agreement(
    "an offboarding",
    {
        "offboard_only": extra_vars.read_choice("everything", "undeclared"),
        "offboard_capabilities": extra_vars.read_any,
        "offboard_sure": extra_vars.read_bool,
    },
    "offboard_sure",
    "Remove this? [y/N] ",
    "nothing was removed",
)
AROUND = ("directory", "storage_link")  # resource types that other things may be below
LONGEST = 4096  # characters of a path: no system allows more, but an account's receipt may contain any


def plan_removal(
    declared: Sequence[PlanEntry],
    chosen: Iterable[PlanEntry],
    notes: Notes,
    cluster: str,
    staying: Container[str] = (),
) -> list[PlanEntry]:
    """Return the plan that removes the chosen things, and those of the receipt that are no longer declared.

    Folders that were created for a thing are removed with it. staying: roles that could not be read, so that nothing
    of theirs counts as no longer declared.
    """
    things = [entry for entry in chosen if "state" in options_class(entry["kind"]).OPTIONS]  # the others are queries
    orphans = [entry for entry in list_undeclared(declared, notes, cluster) if entry["capability"] not in staying]
    return order_removal(add_folders([*map(as_absent, things), *orphans], notes, cluster))


def refusal_notes(chosen: DeclaredResources) -> list[Note]:
    """Return a note for each role whose settings are invalid: only its things in the receipt are removed."""
    text = "its settings are invalid ({}); its resources in the receipt are removed anyway"
    return [
        {"capability": name, "code": "settings_refused", "text": text.format(reason)}
        for name, reason in chosen.refused.items()
    ]


def has_more(entries: Iterable[PlanEntry], than: Iterable[PlanEntry]) -> bool:
    """Return True if an entry is about a thing that is not in the other plan."""
    return not {key_of(entry) for entry in entries} <= {key_of(entry) for entry in than}


def list_undeclared(declared: Iterable[PlanEntry], notes: Notes, cluster: str) -> list[PlanEntry]:
    """Return the removals of things that the receipt notes for this cluster and that are no longer declared."""
    keys = {key_of(entry) for entry in declared}
    return [entry for key, entry in _list_removals(notes, cluster) if key not in keys and not notes[key].get("for")]


def add_folders(entries: Iterable[PlanEntry], notes: Notes, cluster: str) -> list[PlanEntry]:
    """Return the entries, each after the folders that were created for it; folders of other things come first.

    The folder of the receipt itself is not among them: it is removed with the receipt.
    """
    folders: dict[str, list[PlanEntry]] = {}
    for key, entry in sorted(_list_removals(notes, cluster)):
        if notes[key].get("for") and key != folder_key(ABOVE):
            folders.setdefault(notes[key]["for"], []).append(entry)
    own = [one for entry in entries for one in (*folders.pop(key_of(entry), ()), entry)]
    return [*(folder for others in folders.values() for folder in others), *own]


def _list_removals(notes: Notes, cluster: str) -> Iterator[tuple[str, PlanEntry]]:
    """Yield the keys of the notes that count for a cluster, each with the entry that removes its thing."""
    for key, note in notes.items():
        entry = _read_note(key, note)
        with suppress(KeyError, TypeError, AttributeError):  # of another note, which may contain anything, too
            if entry and belongs_to(notes, key, cluster):
                yield key, entry


def list_forged(notes: Notes) -> list[str]:
    """Return the keys of notes that hpc-onboard cannot have written."""
    return [key for key, note in notes.items() if not _read_note(key, note)]


def _read_note(key: str, note: ReceiptNote) -> PlanEntry | None:
    """Return the entry that removes the thing of a note; None if hpc-onboard cannot have written the note.

    Notes come from the account, which may send anything.
    """
    try:
        entry = as_absent({"kind": note["kind"], "capability": note["capability"], "options": note["options"]})
        is_valid = entry["kind"] in KINDS and key_of(entry) == key and not _claims_start_up(entry)
    except (AccountError, KeyError, TypeError, ValueError, AttributeError):
        return None
    return entry if is_valid else None


def _claims_start_up(entry: PlanEntry) -> bool:
    """Return True if an entry claims a whole start-up file. Only own_file may: the user asked for it.

    This machine does not know the home, so only the end of a path is compared.
    """
    path = posixpath.normpath(str(entry["options"].get("path", "")))
    return entry["kind"] != "own_file" and path.endswith(tuple(f"/{name}" for name in START_UPS))


def as_absent(entry: PlanEntry) -> PlanEntry:
    """Return the entry that removes the thing of an entry."""
    options = {name: value for name, value in entry["options"].items() if name not in ("secret", "password")}
    return {**entry, "options": {**options, "state": "absent"}}


def order_removal(entries: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Return the entries in the order of removal: keys, other things, then the folders and links around them.

    Within each of these groups, the last one declared comes first; a folder or link comes after everything below it.
    """
    reverse = list(entries)[::-1]
    things = [entry for entry in reverse if entry["kind"] not in AROUND]
    things.sort(key=lambda entry: not issubclass(KINDS[entry["kind"]], KeptKey))
    return [*things, *_deepest_first([entry for entry in reverse if entry["kind"] in AROUND])]


def _deepest_first(entries: Sequence[PlanEntry]) -> list[PlanEntry]:
    """Return folders and links in their order, but each after the last one below its path."""
    last: dict[str, int] = {}
    for position, entry in enumerate(entries):
        path = _path(entry)
        last[path] = position
        if len(path) <= LONGEST:
            last.update(dict.fromkeys(map(str, PurePosixPath(path).parents), position))
    return sorted(entries, key=lambda entry: (last[_path(entry)], -len(_path(entry))))


def _path(entry: PlanEntry) -> str:
    return str(PurePosixPath(entry["options"]["path"]))
