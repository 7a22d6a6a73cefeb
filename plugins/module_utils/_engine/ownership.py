# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide what happens to each resource whose removal is declared, by the receipt and by what is there.

What hpc-onboard created is removed. What the user had stays: unchanged, or with its former values restored.
"""

from typing import Dict, Mapping, Optional

from .._core.resource import FAILURES, Outcome, Resource, State, examine
from .._core.values import FORMER, note_key
from .._receipt import former_copies, notes, receipt
from .isolation import Document
from .restored_key import RestoredKey
from .restored_thing import RestoredThing
from .task import KeptResources, Task

ADOPTED = "it existed before hpc-onboard"
LOST = (
    "the receipt on the account is missing, and this key differs from this machine's copy of the receipt (%s). Check"
    " the key, and remove it yourself"
)
DOUBLED = "the file has several entries for this key, and hpc-onboard created one of them; keep one, then run again"


def settle_kept(task: Task) -> Task:
    """Return the task with the outcomes of what stays, and with a RestoredKey for what gets former values back."""
    seen = task.run_all(task.make_host, examine, False, {})
    own = notes.parse_notes(seen.receipt["after"])
    copied = task.make_host().receipt_copy
    is_lost = not own.keys() - {notes.folder_key(receipt.ABOVE)} and bool(copied)  # a rotation begins a new receipt
    noted: Mapping[str, Document] = dict(copied, **own) if is_lost else own
    settled: Dict[int, Document] = {}
    resources = list(task.resources)
    for at, resource in enumerate(task.resources):
        before = seen.documents[at]["before"]
        note = noted.get(note_key(resource.KIND, resource.identity), {})
        if seen.receipt["status"] in FAILURES:  # who created it is unknown
            settled[at] = receipt.blocked_outcome(Outcome(resource.identity, {}, {}).document())
            continue
        if _is_doubled(resource, note, before):
            settled[at] = Outcome.of_failure(resource.identity, "blocked", DOUBLED).document()
            continue
        why = _why_it_stays(task, resource, note, noted, before, is_lost)
        if why is not None and resource.IS_RESTORED and note.get("replaced") and _is_back(task, resource, note):
            why = None
        if is_lost and why is not None and resource.IS_RESTORED and before:
            settled[at] = Outcome.of_failure(resource.identity, "blocked", LOST % why).document()
            continue
        is_modified = note.get("replaced") or (note.get("was") and not note["made"])
        if resource.IS_RESTORED and why in (None, ADOPTED) and is_modified:
            resources[at] = RestoredKey(resource, note)
        elif resource.IS_MOVABLE and why is None and former_copies.has_copy(task.make_host(), resource):
            resources[at] = RestoredThing(resource)
        elif why is not None:
            outcome = Outcome(resource.identity, {}, {})
            if before or seen.documents[at]["status"] in FAILURES:
                outcome.remarks = ["%s: not removed, because %s" % (resource.identity, why)]
            settled[at] = outcome.document()
    restored = frozenset(at for at, one in enumerate(resources) if one is not task.resources[at])
    return task._replace(resources=resources, kept=KeptResources(settled, seen.receipt["after"], restored))


def _is_back(task: Task, resource: Resource, note: Document) -> bool:
    """Return True if a replaced key of the user's is in its place, and its copy is left over."""
    host = task.make_host()
    return RestoredKey(resource, note).bound(host).is_in_place(host)


def _is_doubled(resource: Resource, note: Document, found: State) -> bool:
    """Return True if the user added an entry to the one that hpc-onboard wrote: removing would remove both."""
    is_written = note.get("made") or note.get("replaced")
    return bool(resource.IS_RESTORED and is_written and any(found.get(field, "1") != "1" for field in notes.NUMBERS))


def _why_it_stays(
    task: Task, resource: Resource, note: Document, noted: Mapping[str, Document], found: State, is_lost: bool
) -> Optional[str]:
    """Return why a resource stays although its removal is declared; None if it is removed."""
    others = notes.other_clusters(noted, note_key(resource.KIND, resource.identity), task.cluster)
    if others:
        return "it is also set up for %s" % " and ".join(others)
    if not note:
        return "the receipt does not show that hpc-onboard created it"
    own = notes.fingerprint_key_id(task.plan["fingerprint_key"])
    is_edited = resource.KEEPS_USER_EDITS or is_lost  # without a receipt, only equal content shows who created it
    if is_edited and (note["made"] or note.get("replaced")) and notes.is_changed_by_user(note, found, own):
        former = "; your former content is in ~/%s" % FORMER
        kept = former if note.get("replaced") and former_copies.has_copy(task.make_host(), resource) else ""
        return "it was changed since hpc-onboard wrote it" + kept
    return None if note["made"] else ADOPTED
