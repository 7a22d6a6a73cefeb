# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Note the resources that a run is about to create in the receipt first, and let the run create no others.

Between preview and run, the account may change: another run removes something, or a file system responds again. A
resource that the preview would not create has no note, so the receipt could not show that hpc-onboard created it. Such
a resource waits for the next run. A loop is a function that examines or reconciles one resource.
"""

from typing import Dict, List

from .._core.host import Host
from .._core.resource import CHANGES, FAILURES, Outcome, Resource, examine, is_in_progress
from .._receipt import receipt
from .isolation import Document
from .plan import Loop
from .task import Observation, Task

CHANGED_SINCE = "the resource has changed since this run began; run hpc-onboard again"


def select_outcomes_to_note(observation: Observation, preview: Observation) -> List[Document]:
    """Return the outcomes to note before anything is created, with the folders that will be created for them.

    observation: the outcomes of the examination, without changes. preview: the expected outcomes of the run. Both
    differ for a resource that depends on another one: only the preview shows that the run will change or block it.
    """
    planned = []
    for present, expected in zip(observation.outcomes, preview.outcomes):
        will_change = expected["status"] in CHANGES and present["status"] not in CHANGES
        will_wait = expected["status"] == "blocked" and present["status"] in CHANGES
        # such as a link whose target an earlier resource would have created: the preview has the true reason
        will_fail = expected["status"] == "failed" and present["status"] == "blocked"
        # the receipt's own folders are noted when the receipt is written
        folders = [folder for folder in expected["folders"] if folder not in receipt.FOLDERS]
        planned.append(dict(expected if will_change or will_wait or will_fail else present, folders=folders))
    return planned


def restrict_to_planned(loop: Loop, task: Task, observation: Observation, preview: Observation) -> Loop:
    """Return a loop that only examines the resources that the preview would not change; others go through the loop.

    A resource that differs although no change was expected fails. Removals are not restricted: they need no new note.
    """
    held_back: Dict[str, str] = {}  # key of a resource's note -> why the resource must not be changed
    pairs = zip(preview.outcomes, observation.outcomes)
    for entry, resource, (expected, present) in zip(task.plan["resources"], task.resources, pairs):
        if entry["options"].get("state") != "absent" and expected["status"] not in CHANGES:
            reasons = (outcome["reason"] for outcome in (expected, present) if outcome["status"] in FAILURES)
            held_back[resource.note_key] = next(reasons, CHANGED_SINCE)

    def run_or_examine(resource: Resource, host: Host) -> Outcome:
        """Take a resource through the loop, or only examine the resource if it is held back."""
        reason = held_back.get(resource.note_key)
        if reason is None:
            return loop(resource, host)
        outcome = examine(resource, host)
        if outcome.fields and not outcome.reason and not is_in_progress(outcome):
            outcome.status, outcome.reason = "failed", reason
        return outcome

    return run_or_examine
