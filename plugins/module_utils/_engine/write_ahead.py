# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Note what a run is about to create before it does, and let it create nothing else.

Between the preview and the run the account may change: another run removes something, a folder answers only the second
time, a process ends. What was not previewed is not noted, so the receipt would not show that hpc-onboard created it: it
waits for the next run.
"""

from typing import Dict, List

from .._core.host import Host
from .._core.resource import CHANGES, FAILURES, Outcome, Resource, examine, is_in_progress
from .._core.values import note_key
from .._receipt import receipt
from .isolation import Document
from .plan import Loop
from .task import Observation, Task

CHANGED_SINCE = "the resource has changed since this run began; run again"


def plan_records(seen: Observation, ahead: Observation) -> List[Document]:
    """Return the outcomes to note before anything is created, with the folders that will be created for them.

    An outcome is the examined one, unless the resource depends on others: then the preview knows whether it will be
    missing or blocked. The receipt's own folders are noted with the receipt.
    """
    planned = []
    for one, preview in zip(seen.documents, ahead.documents):
        will_change = preview["status"] in CHANGES and one["status"] not in CHANGES
        will_wait = preview["status"] == "blocked" and one["status"] in CHANGES
        folders = [folder for folder in preview["folders"] if folder not in receipt.FOLDERS]
        planned.append(dict(preview if will_change or will_wait else one, folders=folders))
    return planned


def restrict_to_planned(loop: Loop, task: Task, seen: Observation, ahead: Observation) -> Loop:
    """Return the loop, which only examines a resource that the preview would not create or change."""
    held: Dict[str, str] = {}
    pairs = zip(ahead.documents, seen.documents)
    for entry, resource, (preview, one) in zip(task.plan["resources"], task.resources, pairs):
        if entry["options"].get("state") != "absent" and preview["status"] not in CHANGES:
            failed = [each for each in (preview, one) if each["status"] in FAILURES]
            held[note_key(resource.KIND, resource.identity)] = failed[0]["reason"] if failed else CHANGED_SINCE

    def restricted(resource: Resource, host: Host) -> Outcome:
        why = held.get(note_key(resource.KIND, resource.identity))
        if why is None:
            return loop(resource, host)
        outcome = examine(resource, host)
        if outcome.fields and not outcome.reason and not is_in_progress(outcome):
            outcome.status, outcome.reason = "failed", why
        return outcome

    return restricted
