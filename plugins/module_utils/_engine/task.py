# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be done on the account, and what was seen there: what the steps of the engine hand to each other."""

from typing import Any, Callable, Dict, FrozenSet, List, Mapping, NamedTuple, Optional

from .._core.host import Host
from .._core.resource import CHANGES, Resource, State, examine
from .._receipt import receipt, rotations
from .isolation import Document, Pass, run_isolated
from .plan import Loop

News = Mapping[str, Optional[Document]]  # what is to be noted, by key: see notes.joined


class Observation(NamedTuple):
    """The outcomes of the receipt, as it was found, and of the resources."""

    receipt: Document
    documents: List[Document]
    drafts: bool  # whether a killed run has left drafts


class KeptResources(NamedTuple):
    """What stays though it is to go: the outcomes by position, and the receipt by which that was decided.

    put_back: the positions of what stays, and gets back what was changed of it.
    """

    documents: Dict[int, Document]
    receipt: State
    put_back: FrozenSet[int] = frozenset()


class Task(NamedTuple):
    """What is to be done: a plan, its resources, and how the account is looked at."""

    plan: Mapping[str, Any]
    resources: List[Resource]
    real: Callable[[], Host]
    seconds: float
    keyed: rotations.KeyGuard
    alone: KeptResources = KeptResources({}, {})

    @property
    def cluster(self) -> str:
        """The id of the cluster that this account is on; others may share its home."""
        return str(self.plan.get("cluster") or "")

    def looked(self, resources: List[Resource]) -> List[Document]:
        """The outcomes of a look that changes nothing."""
        return run_isolated(resources, Pass(self.real, examine, False, self.seconds), {})

    def gone_through(
        self, host: Callable[[], Host], loop: Loop, locked: bool, settled: Dict[int, Document]
    ) -> Observation:
        """Take all through a loop, in one child. The receipt is first, so that it waits for nothing that fails."""
        own = [receipt.Receipt({})] + self._drafts()  # type: List[Resource]
        behind = {position + len(own): document for position, document in settled.items()}
        documents = run_isolated(
            own + self.resources, Pass(host, self.keyed.guard_keys(loop), locked, self.seconds, 1), behind
        )
        return Observation(documents[0], documents[len(own) :], len(own) > 1 and documents[1]["status"] in CHANGES)

    def _drafts(self) -> List[Resource]:
        """What clears away after runs that were killed, where their work is not done again."""
        if not self.plan.get("only_made"):
            return []
        from .._receipt.stale_drafts import StaleDrafts  # here, because few runs take anything out

        return [StaleDrafts(self.resources)]
