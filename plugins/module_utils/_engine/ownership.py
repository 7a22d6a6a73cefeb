# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide for each resource whose removal is declared if it is removed, kept, or restored as the user had it.

What hpc-onboard created, according to the receipt, is removed. What the user had stays: unchanged, or with its former
values restored. A note in the receipt describes a resource: "made" if hpc-onboard created it, "replaced" if it is in
the place of the user's own, else adopted: it existed before. "was" has former values that hpc-onboard changed.
"""

from typing import Dict, Mapping, Optional

from .._core.errors import AccountError
from .._core.resource import FAILURES, Outcome, Resource, State
from .._core.values import FORMER
from .._receipt import former_copies, notes, receipt
from .isolation import Document
from .restored_key import RestoredKey
from .restored_thing import RestoredThing
from .task import KeptResources, Task

ADOPTED = "this resource existed before hpc-onboard managed it"
LOST = (
    "the receipt on the account is missing, so hpc-onboard does not remove this key (%s). Check the key, and remove it"
    " yourself if you no longer need it"
)
DOUBLED = (
    "the file has several entries for this key, and hpc-onboard created one of them: keep one entry, then run"
    " hpc-onboard again"
)


def decide_removals(task: Task) -> Task:
    """Return the task with a decision on each resource whose removal is declared.

    A resource that stays gets a final outcome in Task.kept, so that the run skips the resource. A resource that gets
    the user's former values back is replaced by a RestoredKey or a RestoredThing. The run removes all others.
    """
    observation = task.examine_all(final_outcomes={})
    if observation.receipt["status"] in FAILURES:  # it is unknown who created the resources, so all of them stay
        unchanged = [Outcome(resource.identity, before={}, after={}).document() for resource in task.resources]
        blocked = {position: receipt.make_blocked_outcome(outcome) for position, outcome in enumerate(unchanged)}
        return task._replace(kept=KeptResources(blocked, observation.receipt["after"]))
    own_notes = notes.parse_notes(observation.receipt["after"])
    copied_notes = task.make_host().receipt_copy  # the notes as the user's machine has them
    # the account has lost its receipt; a rotation may have begun a new one, with the note of its own folder alone
    is_lost = not own_notes.keys() - {notes.folder_key(receipt.CONFIG_FOLDER)} and bool(copied_notes)
    all_notes: Mapping[str, Document] = dict(copied_notes, **own_notes) if is_lost else own_notes
    final_outcomes: Dict[int, Document] = {}  # of the resources that stay, by position
    restored: Dict[int, Resource] = {}  # what replaces resources with former values of the user, by position
    for position, (resource, examined) in enumerate(zip(task.resources, observation.outcomes)):
        note = all_notes.get(resource.note_key, {})
        if _has_second_entry(resource, note, examined["before"]):
            final_outcomes[position] = Outcome.of_failure(resource.identity, "blocked", DOUBLED).document()
            continue
        why_kept = _why_kept(task, resource, note, all_notes, examined["before"], is_lost)
        if why_kept and _is_key_in_place(task, resource, note):
            why_kept = None  # a killed run restored the user's key, but did not remove the copy
        restored_resource = _make_restored_resource(task, resource, note, why_kept)
        is_existing_key = resource.IS_RESTORED and examined["before"]
        if why_kept and is_lost and is_existing_key:  # hpc-onboard may have written this key
            final_outcomes[position] = Outcome.of_failure(resource.identity, "blocked", LOST % why_kept).document()
        elif restored_resource:
            restored[position] = restored_resource
        elif why_kept:
            final_outcomes[position] = _make_skipped_outcome(resource, examined, why_kept)
    resources = [restored.get(position, resource) for position, resource in enumerate(task.resources)]
    kept = KeptResources(final_outcomes, observation.receipt["after"], frozenset(restored))
    return task._replace(resources=resources, kept=kept)


def _is_key_in_place(task: Task, resource: Resource, note: Document) -> bool:
    """Return True if this is a key that hpc-onboard replaced, and the user's former key is in its place again."""
    if not resource.IS_RESTORED or not note.get("replaced"):
        return False
    host = task.make_host()
    try:
        return RestoredKey(resource, note).with_expanded_paths(host).is_in_place(host)
    except AccountError:
        return False  # the outcome of the RestoredKey reports the error


def _make_restored_resource(
    task: Task, resource: Resource, note: Document, why_kept: Optional[str]
) -> Optional[Resource]:
    """Return the resource that restores what the user had in place of this one; None if nothing is to be restored.

    note: of the resource; {} without a note. why_kept: as _why_kept() returns it.
    """
    # hpc-onboard replaced the user's key, or changed the modes of the key's file
    is_modified = note.get("replaced") or (note.get("was") and not note["made"])
    if resource.IS_RESTORED and why_kept in (None, ADOPTED) and is_modified:
        return RestoredKey(resource, note)
    # the user's own file was moved away for this resource
    if resource.IS_MOVABLE and not why_kept and former_copies.has_copy(task.make_host(), resource):
        return RestoredThing(resource)
    return None


def _make_skipped_outcome(resource: Resource, examined: Document, why_kept: str) -> Document:
    """Return the outcome of a resource that stays unchanged. examined: its outcome before the decision."""
    outcome = Outcome(resource.identity, before={}, after={})
    if examined["before"] or examined["status"] in FAILURES:  # a missing resource needs no remark
        outcome.remarks = ["%s: not removed, because %s" % (resource.identity, why_kept)]
    return outcome.document()


def _has_second_entry(resource: Resource, note: Document, found: State) -> bool:
    """Return True if the file has an entry of the user next to hpc-onboard's entry: a removal would remove both.

    note: of the resource; {} without a note. found: the resource's present state.
    """
    is_written = note.get("made") or note.get("replaced")
    # these fields are numbers of entries, as text
    has_several_entries = any(found.get(field, "1") != "1" for field in notes.NUMBERS)
    return bool(resource.IS_RESTORED and is_written and has_several_entries)


def _why_kept(
    task: Task, resource: Resource, note: Document, all_notes: Mapping[str, Document], found: State, is_lost: bool
) -> Optional[str]:
    """Return why a resource stays although its removal is declared; None if the run removes or restores the resource.

    note: of the resource; {} without a note. all_notes: of all resources, by key. found: the resource's present state.
    is_lost: True if the account has lost its receipt, so that the notes are those of the user's machine.
    """
    clusters = notes.list_other_clusters(all_notes, resource.note_key, task.cluster)
    if clusters:
        return "this resource is also set up for %s" % " and ".join(clusters)
    if not note:
        return "the receipt does not show that hpc-onboard created this resource"
    key_id = notes.fingerprint_key_id(task.plan["fingerprint_key"])
    keeps_edits = resource.KEEPS_USER_EDITS or is_lost  # without a receipt, only equal content shows who created it
    if keeps_edits and (note["made"] or note.get("replaced")) and notes.is_changed_by_user(note, found, key_id):
        has_copy = note.get("replaced") and former_copies.has_copy(task.make_host(), resource)
        hint = "; your former content is in ~/%s" % FORMER if has_copy else ""
        return "this resource has been changed since hpc-onboard wrote it" + hint
    return None if note["made"] else ADOPTED
