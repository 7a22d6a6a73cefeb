# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether jobs can be submitted as accounts file and profile say: Slurm account, quality of service, partitions."""

from typing import Any, Dict, List

from .._core.host import Host
from .._jobs import slurm_offers
from .base import Look

UNUSED = "the profile's other partitions"


class SlurmRights(Look):
    """What Slurm says of this account now, beside what is written down."""

    KIND = "slurm_rights"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "account": {"type": "str", "default": ""},  # that the person has chosen
        "likely": {"type": "str", "default": ""},  # the project, where the site names accounts so
        "partitions": {"type": "list", "elements": "str", "default": []},  # all of the profile
        "used": {"type": "list", "elements": "str", "default": []},  # those that jobs are sent to
        "qos": {"type": "list", "elements": "str", "default": []},  # those that jobs ask for
    }

    def name(self) -> str:
        return "Slurm"

    def bound(self, host: Host) -> "Look":
        """The watch, when Slurm has been asked: before any child is forked."""
        slurm_offers.learn(host)
        return super().bound(host)

    def look(self, host: Host) -> None:
        """Compare."""
        offers = slurm_offers.learn(host)
        chosen = slurm_offers.choice(offers, self.options["account"], self.options["likely"])
        if offers["missed"] and any(offers[name] is not None for name in ("accounts", "partitions")):
            # Where it never answered, nothing can have drifted; status says so.
            self.miss("Slurm could not be asked, or not for all: %s" % "; ".join(offers["missed"]))
        if chosen.why:
            several = not self.options["account"] and offers["accounts"]
            self.find("JOB-004" if several else "JOB-001", self.options["account"] or "Slurm account", chosen.why)
        allowed = slurm_offers.qos_of(offers, chosen.account)
        for qos in self.options["qos"] if allowed is not None else []:
            if qos not in (allowed or []):
                text = "jobs of %s may not ask for this quality of service; there are: %s"
                self.find("JOB-003", qos, text % (chosen.account, ", ".join(allowed or [])))
        if offers["partitions"] is not None:
            self._partitions([one["name"] for one in offers["partitions"]])

    def _partitions(self, there: List[str]) -> None:
        named = ", ".join(there) or "none"
        for name in self.options["used"]:
            if name not in there:
                text = "jobs are sent to this partition, and Slurm shows you none of that name; there are: %s"
                self.find("JOB-002", name, text % named, "medium")
        gone = [name for name in self.options["partitions"] if name not in there + self.options["used"]]
        if gone:
            self.find("JOB-002", UNUSED, "Slurm shows you none of these: %s; there are: %s" % (", ".join(gone), named))

    def evidence(self, before: Dict[str, str], host: Host) -> Dict[str, Any]:
        """How bad what was found is, and what Slurm offers."""
        offers = host.account.found[slurm_offers.FOUND]
        told = {name: offers[name] for name in ("accounts", "default", "partitions", "missed")}
        return dict(super().evidence(before, host), slurm=told)
