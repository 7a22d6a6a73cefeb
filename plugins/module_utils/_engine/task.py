# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values that the engine's steps pass on: the task, and the observations on the account."""

from typing import Any, Callable, Dict, FrozenSet, List, Mapping, NamedTuple, Optional

from .._core.host import Host
from .._core.resource import CHANGES, Resource, State, examine
from .._receipt import notes, receipt, rotations
from .isolation import Document, Pass, run_isolated
from .plan import Loop

News = Mapping[str, Optional[Document]]  # the changes of a receipt, by key: see notes.merge_changes


class Observation(NamedTuple):
    """The outcomes of one pass: of the receipt, as it was found, and of the resources."""

    receipt: Document
    documents: List[Document]
    has_drafts: bool  # a killed run has left drafts


class KeptResources(NamedTuple):
    """What stays although its removal is declared: outcomes by position, and the receipt that decided it.

    restored: positions of resources that stay and get the user's former values back.
    """

    documents: Dict[int, Document]
    receipt: State
    restored: FrozenSet[int] = frozenset()


class Task(NamedTuple):
    """A plan, its resources, and how to reach the account."""

    plan: Mapping[str, Any]
    resources: List[Resource]
    make_host: Callable[[], Host]
    seconds: float  # for one resource
    key_guard: rotations.KeyGuard
    kept: KeptResources = KeptResources({}, {})

    @property
    def cluster(self) -> str:
        """Return the id of the account's cluster; others may share its home."""
        return str(self.plan.get("cluster") or "")

    def examine_only(self, resources: List[Resource]) -> List[Document]:
        """Return the outcomes of examining these resources."""
        return run_isolated(resources, Pass(self.make_host, examine, False, self.seconds), {})

    def run_all(
        self, make_host: Callable[[], Host], loop: Loop, locked: bool, settled: Dict[int, Document]
    ) -> Observation:
        """Take everything through a loop, in one child. The receipt is first, so that it waits for nothing that fails.

        settled: outcomes by position of resources that are not touched again.
        """
        own = [receipt.Receipt({})]  # type: List[Resource]
        if self.plan.get("only_made"):
            from .._receipt.stale_drafts import StaleDrafts  # few runs remove anything

            own.append(StaleDrafts(self.resources))
        shifted = {position + len(own): document for position, document in settled.items()}
        guarded = Pass(make_host, self.key_guard.guard_keys(loop), locked, self.seconds, 1)
        documents = run_isolated(own + self.resources, guarded, shifted)
        has_drafts = len(own) > 1 and documents[1]["status"] in CHANGES
        return Observation(documents[0], documents[len(own) :], has_drafts)


def mark_adopted(task: Task, seen: Observation) -> None:
    """Add to the outcomes which resources were there before hpc-onboard, by the receipt of this run or its copy."""
    things = [at for at, resource in enumerate(task.resources) if resource.IS_KEPT]
    noted = notes.parse_notes(seen.receipt["after"]) or task.make_host().receipt_copy
    recorded = notes.parse_notes(seen.receipt["before"])
    notes.mark_adopted([(task.plan["resources"][at], seen.documents[at]) for at in things], noted, recorded)
