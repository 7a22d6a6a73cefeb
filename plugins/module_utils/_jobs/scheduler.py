# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the batch system lets this account do: found out for what is made from it, and never changed."""

from typing import List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._options.file_options import SchedulerOptions
from . import slurm_offers

TOLD = ("accounts", "default", "partitions", "missed")


class Scheduler(SchedulerOptions, Resource):
    """It is always as wanted: what waits for a choice says so itself. It comes before that in a plan."""

    WAITS = False

    def bound(self, host: Host) -> "Resource":
        """This one, when Slurm has been asked: before any child is forked, for what comes later in the plan."""
        wish = self.options["account"]
        offers = slurm_offers.learn(host, wish)
        chosen = slurm_offers.choice(offers, wish, self.options["likely"])
        why = chosen.why if wish or self.options["required"] == "yes" else ""
        host.account.found["slurm_account"] = {"value": chosen.account, "why": why}
        return super().bound(host)

    def touches(self, host: Host) -> List[str]:
        return []

    def desired(self, host: Host) -> State:
        return {}

    def inspect(self, host: Host) -> State:
        return {}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        return None

    def evidence(self, before: State, host: Host) -> Evidence:
        """What Slurm offers, where it was asked in this run."""
        offers = host.account.found[slurm_offers.FOUND]
        return {"slurm": {name: offers[name] for name in TOLD}} if offers.get("asked") and not host.root else {}

    def remarks(self, host: Host) -> List[str]:
        if self.options["required"] != "yes" or host.root or host.account.found["slurm_account"]["value"]:
            return []
        offers = host.account.found[slurm_offers.FOUND]
        if offers["accounts"] is not None:
            return []
        return ["which Slurm accounts are yours is not known: %s" % "; ".join(offers["missed"])]

    def apply(self, host: Host) -> None:
        raise AccountError("%s: this is only looked at" % self.identity)
