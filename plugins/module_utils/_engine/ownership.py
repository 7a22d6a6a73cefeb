# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of each thing that is to go, by what is noted on the account and by what is there.

What hpc-onboard created is removed. What the user had stays: as it is, or with what was changed of it put back.
"""

from typing import Dict, Mapping, Optional

from .._core.resource import FAILURES, Outcome, Resource, State, examine, noted_as
from .._receipt import former, notes, receipt
from .isolation import Document
from .put_back import PutBack
from .task import Alone, Task

ADOPTED = "it existed before hpc-onboard"
LOST = (
    "the receipt on the account is gone, and this key is not as this machine's copy of the receipt has it (%s); look at"
    " it, and remove it yourself"
)
DOUBLED = "the file has several entries for this key, and hpc-onboard created one of them; keep one, then run again"


def sorted_out(task: Task) -> Task:
    """Return the task with what stays settled, and with a PutBack in the place of what gets something back."""
    seen = task.gone_through(task.real, examine, False, {})
    own: Mapping[str, Document] = notes.read(seen.receipt["after"])
    found: Dict[int, Document] = {}
    copied = task.real().copied
    is_lost = not own.keys() - {notes.folder_key(receipt.ABOVE)} and bool(copied)  # a rotation begins a new receipt
    noted = dict(copied, **own) if is_lost else own
    resources = list(task.resources)
    for position, (entry, resource) in enumerate(zip(task.plan["resources"], task.resources)):
        there = seen.documents[position]
        if seen.receipt["status"] in FAILURES:  # whose it is cannot be known
            found[position] = receipt.held_back(Outcome(resource.identity, {}, {}).document())
            continue
        note = noted.get(notes.key(entry, resource.identity), {})
        if _is_doubled(resource, note, there["before"]):
            found[position] = Outcome.unmet(resource.identity, "blocked", DOUBLED).document()
            continue
        why = _why_it_stays(task, resource, note, noted, there["before"], is_lost)
        if is_lost and why is not None and resource.IS_PUT_BACK and there["before"]:
            found[position] = Outcome.unmet(resource.identity, "blocked", LOST % why).document()
            continue
        if resource.IS_PUT_BACK and why in (None, ADOPTED) and _is_changed(note):
            resources[position] = PutBack(resource, note)
        elif why is not None:
            is_there = there["before"] or there["status"] in FAILURES
            found[position] = receipt.left_alone(resource.identity, why if is_there else "")
    changed = frozenset(at for at, one in enumerate(resources) if one is not task.resources[at])
    return task._replace(resources=resources, alone=Alone(found, seen.receipt["after"], changed))


def _is_doubled(resource: Resource, note: Document, found: State) -> bool:
    """Return True if the user added an entry to the one that hpc-onboard wrote: removing would remove both."""
    is_written = note.get("made") or note.get("replaced")
    return bool(resource.IS_PUT_BACK and is_written and any(found.get(field, "1") != "1" for field in notes.NUMBERS))


def _is_changed(note: Document) -> bool:
    """Return True if something of the user's was changed: another key replaced, or a mode of what was adopted."""
    return bool(note.get("replaced") or (note.get("was") and not note["made"]))


def _why_it_stays(
    task: Task, resource: Resource, note: Document, noted: Mapping[str, Document], found: State, is_lost: bool
) -> Optional[str]:
    """Return why a thing stays though it is to go; None where it goes."""
    others = notes.others(noted, noted_as(resource.KIND, resource.identity), task.cluster)
    if others:
        return "set up for %s, too" % " and ".join(others)
    if not note:
        return "hpc-onboard did not create it, or the receipt does not say so"
    own = notes.own_key(task.plan["fingerprint_key"])
    is_edited = resource.EDITED_IS_THEIRS or is_lost  # without a receipt, equal content is all that shows whose it is
    if is_edited and (note["made"] or note.get("replaced")) and notes.is_theirs(note, found, own):
        kept = "; your former key is in ~/%s" % former.FOLDER if note.get("replaced") else ""
        return "changed since hpc-onboard wrote it" + kept
    return None if note["made"] else ADOPTED
