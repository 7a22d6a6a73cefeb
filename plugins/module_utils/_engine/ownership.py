# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the things that are to go are not ours to take out, by what is noted on the account and by what is there."""

from typing import Dict, Optional

from .._core.resource import FAILURES, Outcome, Resource, State, examine
from .._receipt import notes, receipt
from .isolation import Document
from .task import Alone, Task


def left_alone(task: Task) -> Alone:
    """What is left alone: we did not make it, or other clusters need it as well."""
    seen = task.gone_through(task.real, examine, False, {})
    noted, found = notes.read(seen.receipt["after"]), {}  # type: Dict[str, Document], Dict[int, Document]
    for position, (entry, resource) in enumerate(zip(task.plan["resources"], task.resources)):
        there = seen.documents[position]
        if seen.receipt["status"] in FAILURES:  # whose it is cannot be known
            found[position] = receipt.held_back(Outcome(resource.identity, {}, {}).document())
            continue
        why = _why_it_stays(task, entry, resource, noted, there["before"])
        if why is not None:
            is_there = there["before"] or there["status"] in FAILURES
            found[position] = receipt.left_alone(resource.identity, why if is_there else "")
    return Alone(found, seen.receipt["after"])


def _why_it_stays(
    task: Task, entry: Document, resource: Resource, noted: Dict[str, Document], found: State
) -> Optional[str]:
    """Why a thing is not ours to take out, though that is asked for; None where it is."""
    key = notes.key(entry, resource.identity)
    others = notes.others(noted, key, task.cluster)
    if others:
        return "set up for %s, too" % " and ".join(others)
    if not notes.is_made(noted, entry, resource.identity):
        return "not made by us, or not noted as such"
    if resource.EDITED_IS_THEIRS and notes.is_theirs(noted[key], found, notes.own_key(task.plan["fingerprint_key"])):
        return "changed since we made it"
    return None
