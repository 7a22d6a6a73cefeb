# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is taken out of an account again, and in which order: keys first, then other things, then what they lay in.

Whether a thing is ours to take out is decided on the account, by its receipt.
"""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from ...module_utils._formats.key_files import START_UPS
from ...module_utils._receipt.notes import belongs_to, folder_key
from ...module_utils._receipt.receipt import ABOVE
from ...module_utils._resources.kept_key import KeptKey
from .plan import KINDS, asked_of, key_of

if TYPE_CHECKING:
    from .._documents.answer import Notes
    from .._documents.declaration import Note, PlanEntry
    from .._roles.collect import Declared

AROUND = ("directory", "storage_link")  # kinds that other things may lie below
LONGEST = 4096  # characters of a path; no system takes more, and the notes of an account may hold any


def to_take_out(
    declared: Sequence[PlanEntry],
    chosen: Iterable[PlanEntry],
    notes: Notes,
    cluster: str,
    staying: Container[str] = (),
) -> list[PlanEntry]:
    """The entries of a plan that takes out what was chosen of what is declared, and what is noted and declared no more.

    With each thing go the folders that were made for it. staying: roles of which it is not known what they declare,
    and whose things are not to go.
    """
    things = [entry for entry in chosen if "state" in asked_of(entry["kind"]).OPTIONS]  # and not what is only asked
    undeclared_now = [one for one in undeclared(declared, notes, cluster) if one["capability"] not in staying]
    entries = [*map(absent, things), *undeclared_now]
    return in_order(with_folders(entries, notes, cluster))


def refusals(chosen: Declared) -> list[Note]:
    """Return the notes of the roles whose settings are refused: the receipt alone says what is theirs."""
    text = "its settings are refused ({}); what the receipt lists of it is taken out"
    return [
        {"capability": name, "code": "settings_refused", "text": text.format(reason)}
        for name, reason in chosen.refused.items()
    ]


def has_more(entries: Iterable[PlanEntry], than: Iterable[PlanEntry]) -> bool:
    """Whether these entries are about something that the others are not."""
    return not {key_of(entry) for entry in entries} <= {key_of(entry) for entry in than}


def undeclared(declared: Iterable[PlanEntry], notes: Notes, cluster: str) -> list[PlanEntry]:
    """The entries of what is noted on an account for this cluster and not declared any more, as they are taken out."""
    known = {key_of(entry) for entry in declared}
    return [entry for key, entry in _noted(notes, cluster) if key not in known and not notes[key].get("for")]


def with_folders(entries: Iterable[PlanEntry], notes: Notes, cluster: str) -> list[PlanEntry]:
    """The entries in their order, before each the folders that were made for it, and before all those of other things.

    The folder of the receipt itself goes with the receipt.
    """
    made: dict[str, list[PlanEntry]] = {}
    for key, entry in sorted(_noted(notes, cluster)):
        if notes[key].get("for") and key != folder_key(ABOVE):
            made.setdefault(notes[key]["for"], []).append(entry)
    here = [one for entry in entries for one in (*made.pop(key_of(entry), ()), entry)]
    return [*(one for others in made.values() for one in others), *here]


def _noted(notes: Notes, cluster: str) -> Iterator[tuple[str, PlanEntry]]:
    """The entries of what is noted for a cluster, as they would be taken out."""
    for key, note in notes.items():
        try:
            entry = absent({"kind": note["kind"], "capability": note["capability"], "options": note["options"]})
            mine = belongs_to(notes, key, cluster)
        except (KeyError, TypeError, AttributeError):
            continue
        if mine and _is_one_of_ours(key, entry):
            yield key, entry


def foreign(notes: Notes) -> list[str]:
    """The keys of notes that are not such as we make: a hand has written them."""
    found = []
    for key, note in notes.items():
        try:
            entry = absent({"kind": note["kind"], "capability": note["capability"], "options": note["options"]})
        except (KeyError, TypeError, AttributeError):
            entry = None
        if entry is None or not _is_one_of_ours(key, entry):
            found.append(key)
    return found


def _is_one_of_ours(key: str, entry: PlanEntry) -> bool:
    """Whether a note is such as we make: the account has told it, and it may have told anything."""
    try:
        return entry["kind"] in KINDS and key_of(entry) == key and not _claims_start_up(entry)
    except (AccountError, TypeError, ValueError, AttributeError):
        return False


def _claims_start_up(entry: PlanEntry) -> bool:
    """Return True if an entry claims a whole start-up file. Only own_file may: the user asked for it.

    This machine does not know the home, so the end of a path counts, however it leads there.
    """
    path = posixpath.normpath(str(entry["options"].get("path", "")))
    return entry["kind"] != "own_file" and path.endswith(tuple(f"/{name}" for name in START_UPS))


def absent(entry: PlanEntry) -> PlanEntry:
    """The entry of a thing that is not to be there."""
    options = {name: value for name, value in entry["options"].items() if name not in ("secret", "password")}
    return {**entry, "options": {**options, "state": "absent"}}


def in_order(entries: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Return the entries in the order of their removal: keys, other things, then the folders and links around them.

    Of the same kind the one declared last goes first; a folder or a link waits for all that lies below its path.
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
