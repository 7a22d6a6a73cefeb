# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a removal: keys first, then other resources, then the folders and links that contain them.

The account decides by its receipt if a resource was created by hpc-onboard, so that it may be removed. The receipt has
a note about each such resource, under a key (type and identity). The note of a folder that was created only as the
parent of another resource has the key of that resource in its field `for`.
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
from ...module_utils._receipt.receipt import CONFIG_FOLDER
from ...module_utils._resources.kept_key import KeptKey
from .._input import extra_vars
from .._input.agreement import Agreement
from .plan import KINDS, key_of, options_class

if TYPE_CHECKING:
    from .._documents.answer import Notes, ReceiptNote
    from .._documents.declaration import Note, PlanEntry
    from .._roles.collect import DeclaredResources

AGREEMENT = Agreement(
    owner="an offboarding",
    readers={
        "offboard_only": extra_vars.read_choice("everything", "undeclared"),
        "offboard_capabilities": extra_vars.read_any,
        "offboard_sure": extra_vars.read_bool,
    },
    sure="offboard_sure",
    question="Remove this? [y/N] ",
    not_done="nothing was removed",
)
CONTAINERS = ("directory", "storage_link")  # resource types below whose path other resources may be
LONGEST = 4096  # characters of a path: no system allows more, but an account's receipt may contain any


def plan_removal(
    declared: Sequence[PlanEntry],
    chosen: Iterable[PlanEntry],
    notes: Notes,
    cluster: str,
    refused_roles: Container[str] = (),
) -> list[PlanEntry]:
    """Return the plan that removes the chosen resources, and those of the receipt that are no longer declared.

    Folders that were created for a resource are removed with it. declared: all declared resources. chosen: those of
    them that the user wants to remove. notes: of the receipt. cluster: the id of the account's cluster. refused_roles:
    roles with invalid settings. Which of their resources are no longer declared is unknown, so these resources stay.
    """
    removable = [entry for entry in chosen if "state" in options_class(entry["kind"]).OPTIONS]  # the others are queries
    undeclared = list_undeclared(declared, notes, cluster)
    orphans = [entry for entry in undeclared if entry["capability"] not in refused_roles]
    return order_removal(add_folders([*map(as_absent, removable), *orphans], notes, cluster))


def make_refusal_notes(chosen: DeclaredResources) -> list[Note]:
    """Return a note for each role with invalid settings: only its resources in the receipt are removed.

    chosen: the declared resources that the user wants to remove, and the refused roles.
    """
    text = "the role's settings are invalid ({}); the role's resources in the receipt are removed anyway"
    return [
        {"capability": name, "code": "settings_refused", "text": text.format(reason)}
        for name, reason in chosen.refused.items()
    ]


def has_more(entries: Iterable[PlanEntry], others: Iterable[PlanEntry]) -> bool:
    """Return True if the first plan (entries) has an entry for a resource that the second (others) does not mention."""
    return not {key_of(entry) for entry in entries} <= {key_of(entry) for entry in others}


def list_undeclared(declared: Iterable[PlanEntry], notes: Notes, cluster: str) -> list[PlanEntry]:
    """Return the entries that remove the receipt's resources of this cluster which are no longer declared.

    Folders that were created for a resource are omitted, because they are never declared (see add_folders).
    """
    keys = {key_of(entry) for entry in declared}
    return [entry for key, entry in _list_removals(notes, cluster) if key not in keys and not notes[key].get("for")]


def add_folders(entries: Iterable[PlanEntry], notes: Notes, cluster: str) -> list[PlanEntry]:
    """Return the entries, and entries that remove the folders which were created for resources.

    The folders of an entry's resource come before the entry, the folders of other resources before all entries. The
    folder of the receipt is omitted, because it is removed with the receipt.
    """
    folders: dict[str, list[PlanEntry]] = {}
    for key, entry in sorted(_list_removals(notes, cluster)):
        if notes[key].get("for") and key != folder_key(CONFIG_FOLDER):  # the folder of the receipt
            folders.setdefault(notes[key]["for"], []).append(entry)
    with_folders: list[PlanEntry] = []
    for entry in entries:
        with_folders += [*folders.pop(key_of(entry), ()), entry]
    return [*(folder for remaining in folders.values() for folder in remaining), *with_folders]


def _list_removals(notes: Notes, cluster: str) -> Iterator[tuple[str, PlanEntry]]:
    """Yield the key of each note that belongs to a cluster, with the entry that removes the note's resource.

    cluster: its id.
    """
    for key, note in notes.items():
        entry = _read_note(key, note)
        with suppress(KeyError, TypeError, AttributeError):  # belongs_to reads other notes, too, which may be forged
            if entry and belongs_to(notes, key, cluster):
                yield key, entry


def list_forged(notes: Notes) -> list[str]:
    """Return the keys of notes that hpc-onboard cannot have written."""
    return [key for key, note in notes.items() if not _read_note(key, note)]


def _read_note(key: str, note: ReceiptNote) -> PlanEntry | None:
    """Return the entry that removes the resource of a note; None if hpc-onboard cannot have written the note.

    Notes come from the account, which may send anything.
    """
    try:
        entry = as_absent({"kind": note["kind"], "capability": note["capability"], "options": note["options"]})
        is_valid = entry["kind"] in KINDS and key_of(entry) == key and not _removes_start_up_file(entry)
    except (AccountError, KeyError, TypeError, ValueError, AttributeError):
        return None
    return entry if is_valid else None


def _removes_start_up_file(entry: PlanEntry) -> bool:
    """Return True if an entry would remove a whole start-up file. Only an own_file may, because the user sets its path.

    The home directory is unknown on this machine, so only the end of the path is compared.
    """
    path = posixpath.normpath(str(entry["options"].get("path", "")))
    return entry["kind"] != "own_file" and path.endswith(tuple(f"/{name}" for name in START_UPS))


def as_absent(entry: PlanEntry) -> PlanEntry:
    """Return the entry that removes this entry's resource, without its key, which a removal does not need."""
    options = {name: value for name, value in entry["options"].items() if name not in ("secret", "password")}
    return {**entry, "options": {**options, "state": "absent"}}


def as_present(entry: PlanEntry) -> PlanEntry:
    """Return the entry of a resource that as_absent() would remove, as its role has declared it, without its key."""
    return {**entry, "options": {**entry["options"], "state": "present"}}


def order_removal(entries: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Return the entries in the order of removal: keys, other resources, then the folders and links that contain them.

    Within each of these groups, the last one declared comes first; a folder or link comes after everything below it.
    """
    reverse = list(entries)[::-1]
    contained = [entry for entry in reverse if entry["kind"] not in CONTAINERS]
    contained.sort(key=lambda entry: not issubclass(KINDS[entry["kind"]], KeptKey))  # keys first
    return [*contained, *_order_by_depth([entry for entry in reverse if entry["kind"] in CONTAINERS])]


def _order_by_depth(entries: Sequence[PlanEntry]) -> list[PlanEntry]:
    """Return folders and links in the given order, but each after all others below its path."""
    last: dict[str, int] = {}  # path -> position of the last entry with this path or a path below it
    for position, entry in enumerate(entries):
        path = _path(entry)
        last[path] = position
        if len(path) <= LONGEST:
            last.update(dict.fromkeys(map(str, PurePosixPath(path).parents), position))
    # a folder and the last entry below it have the same position, so the longer path comes first
    return sorted(entries, key=lambda entry: (last[_path(entry)], -len(_path(entry))))


def _path(entry: PlanEntry) -> str:
    """Return the path of a folder or link without repeated or final slashes, so that paths can be compared."""
    return str(PurePosixPath(entry["options"]["path"]))
