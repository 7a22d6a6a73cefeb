# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The query for the Slurm accounts of a user's jobs, which texts such as job scripts name."""

from typing import List

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._options.file_options import SchedulerOptions
from .offers import MEMORY_KEY, REPORTED, choose_account, get_offers

ACCOUNTS = {"slurm_account": "gpu", "slurm_cpu_account": "cpu"}  # name of a placeholder in texts -> purpose of its jobs


class Scheduler(SchedulerOptions, Resource):
    """A query that precedes the files that need its result. Its state never differs from the desired state.

    Both states are empty, so that nothing is ever changed. host.account.facts stores results for other resources.
    """

    WAITS = False  # the query depends on no other resource

    def with_expanded_paths(self, host: Host) -> "Resource":
        """Query Slurm, store the result in host.account.facts, and return this resource. Options: see choose_account().

        A run calls this method of all resources before it starts child processes, so that each process has the result.
        """
        setting, likely, suffixes = (self.options[name] for name in ("account", "likely", "suffixes"))
        offers = get_offers(host, setting, suffixes.values())
        for name, purpose in ACCOUNTS.items():
            choice = choose_account(offers, setting, likely, suffixes, purpose)
            # if a site requires no Slurm account, jobs run without one, and a missing account needs no explanation
            needs_account = setting or suffixes or self.options["required"] == "yes"
            host.account.facts[name] = {"value": choice.account, "why": choice.why if needs_account else ""}
        return super().with_expanded_paths(host)

    def touches(self, host: Host) -> List[str]:
        return []  # the query depends on no path

    def desired(self, host: Host) -> State:
        return {}

    def inspect(self, host: Host) -> State:
        return {}

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return {slurm: the offers} if Slurm was queried in this run; {} in a sandbox, a simulated account."""
        offers = host.account.facts[MEMORY_KEY]  # see offers.py
        return {"slurm": {name: offers[name] for name in REPORTED}} if offers.get("asked") and not host.root else {}

    def remarks(self, host: Host) -> List[str]:
        """Return why the user's Slurm accounts are unknown, if jobs need an account, and none was set or found."""
        if self.options["required"] != "yes" or host.root:  # a sandbox (host.root) has no Slurm
            return []
        offers, has_account = host.account.facts[MEMORY_KEY], bool(host.account.facts["slurm_account"]["value"])
        if has_account or offers["accounts"] is not None:  # the texts that need an account report why it is missing
            return []
        return ["your Slurm accounts are unknown: %s" % "; ".join(offers["missed"])]

    def apply(self, host: Host) -> None:
        """Raise AccountError. The engine does not call this, because the state never differs."""
        raise AccountError("%s: this resource is a query and changes nothing" % self.identity)
