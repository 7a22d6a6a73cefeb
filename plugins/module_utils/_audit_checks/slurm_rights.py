# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check that Slurm still offers what the accounts file and the profile set: Slurm account, QOS, partitions."""

from typing import Any, Dict, List, Optional

from .._core.host import Host
from .._core.resource import Evidence, State
from .._slurm.offers import MEMORY_KEY, PURPOSES, REPORTED, choose_account, get_offers, list_qos
from .audit_check import AuditCheck

UNUSED = "the profile's other partitions"


class SlurmRights(AuditCheck):
    """The Slurm accounts, QOS and partitions in the settings that Slurm does not offer this account."""

    KIND = "slurm_rights"
    TITLE = "Slurm"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "account": {"type": "str", "default": ""},  # the one that the user has chosen
        "likely": {"type": "str", "default": ""},  # the project, if the site names Slurm accounts after projects
        "suffixes": {
            "type": "dict",
            "default": {},
        },  # purpose (jobs with or without GPUs) -> suffix of the account's name
        "partitions": {"type": "list", "elements": "str", "default": []},  # all of the profile
        "used": {"type": "list", "elements": "str", "default": []},  # the partitions to which jobs are submitted
        "qos": {"type": "list", "elements": "str", "default": []},  # those that the settings request
    }

    def bound(self, host: Host) -> "AuditCheck":
        get_offers(host)  # before the engine forks
        return super().bound(host)

    def run(self, host: Host) -> None:
        """Compare the Slurm account, QOS and partitions of the settings with Slurm's offers."""
        offers = get_offers(host)
        account, likely, suffixes = (self.options[name] for name in ("account", "likely", "suffixes"))
        purposes = list(suffixes and PURPOSES) or ["gpu"]
        chosen = [choose_account(offers, account, likely, suffixes, purpose) for purpose in purposes]
        if offers["missed"] and any(offers[name] is not None for name in ("accounts", "partitions")):
            # If every query failed, a remark would add nothing: status reports that Slurm is not available.
            self.skip("some queries to Slurm failed: %s" % "; ".join(offers["missed"]))
        missing = [choice for choice in chosen if choice.why]
        # Without a chosen account, one for either purpose is enough: a user may never run jobs with GPUs.
        if missing and (account or len(missing) == len(chosen)):
            must_choose = not account and offers["accounts"]
            self.report("JOB-004" if must_choose else "JOB-001", account or "Slurm account", missing[0].why)
        for name in sorted({choice.account for choice in chosen}):
            self._check_qos(name, list_qos(offers, name))
        if offers["partitions"] is not None:
            self._check_partitions([partition["name"] for partition in offers["partitions"]])

    def _check_qos(self, account: str, allowed: Optional[List[str]]) -> None:
        """Report each requested QOS that the Slurm account may not use. allowed: None if unknown."""
        for qos in self.options["qos"] if allowed is not None else []:
            if qos not in (allowed or []):
                text = "the Slurm account %s may not use this QOS; available: %s"
                self.report("JOB-003", qos, text % (account, ", ".join(allowed or [])))

    def _check_partitions(self, existing: List[str]) -> None:
        """Report missing partitions: each that jobs use, with higher severity, and the profile's others together."""
        available = ", ".join(existing) or "none"
        for name in self.options["used"]:
            if name not in existing:
                text = "jobs use this partition, but Slurm does not list it; available: %s"
                self.report("JOB-002", name, text % available, "medium")
        gone = [name for name in self.options["partitions"] if name not in existing + self.options["used"]]
        if gone:
            self.report("JOB-002", UNUSED, "Slurm does not list %s; available: %s" % (", ".join(gone), available))

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return the evidence of a check, and Slurm's offers as "slurm"."""
        offers = host.account.found[MEMORY_KEY]
        slurm = {name: offers.get(name) for name in REPORTED}
        return dict(super().evidence(before, host), slurm=slurm)
