# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values that the steps of the engine exchange: the task, and the outcomes found on the account.

A plan is the JSON document that says what a run does on an account; each of its entries describes a resource. The
receipt is the account's record of what hpc-onboard created, with a note for each resource. A draft is a file or
folder under a temporary name. A loop is a function that examines or reconciles one resource and returns the outcome.
"""

from typing import Any, Callable, Dict, FrozenSet, List, Mapping, NamedTuple, Optional

from .._core.host import Host
from .._core.resource import CHANGES, Resource, State, examine
from .._core.values import note_key
from .._receipt import notes, receipt, rotations
from .examining_host import ExaminingHost
from .isolation import Document, Pass, run_isolated
from .plan import Loop

NoteChanges = Mapping[str, Optional[Document]]  # changed notes of a receipt, by key: see notes.merge_changes


class Observation(NamedTuple):
    """The outcomes of one pass, as JSON objects: of the receipt, and of each resource of the plan, in order.

    The receipt's "before" and "after" are its content: see notes.parse_notes.
    """

    receipt: Document
    outcomes: List[Document]
    has_drafts: bool  # a killed run has left drafts

    def has_changes(self) -> bool:
        """Return True if a run would change or remove something."""
        return self.has_drafts or any(outcome["status"] in CHANGES for outcome in self.outcomes)

    def job_steps(self) -> List[Any]:
        """Return the step of each resource's background job; None for a resource without a job."""
        return [outcome["progress"] and outcome["progress"].get("step") for outcome in self.outcomes]


class KeptResources(NamedTuple):
    """The decisions of an offboarding run about the resources that it does not simply remove.

    outcomes: of the resources that stay, by position in the plan. receipt: the state of the receipt when the run
    decided. restored: positions of the resources that get the user's former values back.
    """

    outcomes: Dict[int, Document]
    receipt: State
    restored: FrozenSet[int] = frozenset()


class Task(NamedTuple):
    """A plan, its resources in the same order, and what is needed to examine or reconcile them."""

    plan: Mapping[str, Any]
    resources: List[Resource]
    make_host: Callable[[], Host]
    seconds: float  # for one resource
    key_guard: rotations.KeyGuard  # decides which keys on the account must not be replaced
    kept: KeptResources = KeptResources(outcomes={}, receipt={})

    @property
    def cluster(self) -> str:
        """Return the id of the account's cluster, or "". Other clusters may share the home and the receipt."""
        return str(self.plan.get("cluster") or "")

    def examine_only(self, resources: List[Resource]) -> List[Document]:
        """Examine these resources, and return their outcomes."""
        return run_isolated(resources, Pass(self.make_host, examine, locked=False, seconds=self.seconds))

    def examine_all(self, final_outcomes: Mapping[int, Document]) -> Observation:
        """Examine the receipt and all resources of the plan, as run_all() does, and change nothing."""
        return self.run_all(
            lambda: ExaminingHost(self.make_host()), examine, locked=False, final_outcomes=final_outcomes
        )

    def run_all(
        self, make_host: Callable[[], Host], loop: Loop, locked: bool, final_outcomes: Mapping[int, Document]
    ) -> Observation:
        """Take the receipt, then all resources of the plan through a loop, and return their outcomes.

        The receipt is first, so that it does not wait for a failed resource. locked: hold the account's lock.
        final_outcomes: the outcomes, by position in the plan, of resources that are not accessed again.
        """
        leading: List[Resource] = [receipt.Receipt(changes={})]  # in front of the plan's resources
        if self.plan.get("only_made"):
            from .._receipt.stale_drafts import StaleDrafts  # imported late: few runs remove anything

            leading.append(StaleDrafts(self.resources))
        final_outcomes = {position + len(leading): outcome for position, outcome in final_outcomes.items()}
        guarded_loop = self.key_guard.guard_keys(loop)
        # the first resource, the receipt, stores its notes on the host for all others
        guarded_pass = Pass(make_host, guarded_loop, locked, self.seconds, prerequisites=1)
        outcomes = run_isolated(leading + self.resources, guarded_pass, final_outcomes)
        has_drafts = len(leading) > 1 and outcomes[1]["status"] in CHANGES
        return Observation(outcomes[0], outcomes[len(leading) :], has_drafts)


def mark_adopted(task: Task, observation: Observation) -> None:
    """Set the evidence "adopted" of each resource that is up to date and existed before hpc-onboard managed it.

    The value is "equal", unless the resource itself has set "equivalent" for a different form with the same effect. The
    evidence "recorded" shows that an earlier run has noted the resource. Without a receipt, the copy of its notes on
    the user's machine decides. Resources that do not remain on the account, such as test jobs, are skipped.
    """
    notes_after = notes.parse_notes(observation.receipt["after"]) or task.make_host().receipt_copy
    notes_before = notes.parse_notes(observation.receipt["before"])
    for resource, entry, outcome in zip(task.resources, task.plan["resources"], observation.outcomes):
        if not resource.IS_KEPT:
            continue
        key = note_key(entry["kind"], outcome["identity"])
        note, evidence = notes_after.get(key, {}), outcome["evidence"]
        is_up_to_date = outcome["status"] == "ok" and outcome["after"] and entry["options"].get("state") != "absent"
        if is_up_to_date and not note.get("made") and not note.get("replaced"):
            evidence.setdefault("adopted", "equal")
            if key in notes_before:
                evidence["recorded"] = True
        else:
            evidence.pop("adopted", None)
