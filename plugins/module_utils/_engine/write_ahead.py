# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run is about to make, as it is noted first; and that nothing else is made.

The look and the run behind it are not one moment: a process of ours may have been ended while it looked, a folder may
have answered only the second time, another run may have taken away what was there. What was not foreseen is not noted,
so nobody would own up to it: it waits for the next run.
"""

from typing import Dict, List

from .._core.host import Host
from .._core.resource import CHANGES, FAILURES, Outcome, Resource, examine, is_in_progress, note_key
from .._receipt import receipt
from .isolation import Document
from .plan import Loop
from .task import Observation, Task

WHY = "it is not as it was when this run began: run again"


def plan_records(seen: Observation, ahead: Observation) -> List[Document]:
    """The outcomes that are noted before anything is made, with the folders that are going to be made for them.

    A thing is as it was seen; but what will be lacking, or can be had, or cannot, only once the things before it are
    made, is as it was foreseen. The receipt's own folders are noted with the receipt.
    """
    return [
        dict(
            foreseen if _is_decided_later(one["status"], foreseen["status"]) else one,
            folders=[folder for folder in foreseen["folders"] if folder not in receipt.FOLDERS],
        )
        for one, foreseen in zip(seen.documents, ahead.documents)
    ]


def _is_decided_later(seen: str, foreseen: str) -> bool:
    return (foreseen in CHANGES and seen not in CHANGES) or (foreseen == "blocked" and seen in CHANGES)


def restrict_to_planned(loop: Loop, task: Task, seen: Observation, ahead: Observation) -> Loop:
    """The loop, in which a thing that was not foreseen to be made, or could not be, is only looked at."""
    held: Dict[str, str] = {}
    for entry, resource, one, foreseen in zip(task.plan["resources"], task.resources, seen.documents, ahead.documents):
        if entry["options"].get("state") != "absent" and foreseen["status"] not in CHANGES:
            failed = [each for each in (foreseen, one) if each["status"] in FAILURES]
            held[note_key(resource.KIND, resource.identity)] = failed[0]["reason"] if failed else WHY

    def taken(resource: Resource, host: Host) -> Outcome:
        why = held.get(note_key(resource.KIND, resource.identity))
        if why is None:
            return loop(resource, host)
        outcome = examine(resource, host)
        if outcome.fields and not outcome.reason and not is_in_progress(outcome):
            outcome.status, outcome.reason = "failed", why
        return outcome

    return taken
