# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether jobs can be submitted as accounts file and profile say: Slurm account, quality of service, partitions."""

from typing import Any, Dict, List, Optional

from .._core.host import Host
from .._core.resource import Evidence, State
from .._slurm.offers import MEMORY_KEY, PURPOSES, REPORTED, choose_account, get_offers, list_qos
from .audit_check import AuditCheck

UNUSED = "the profile's other partitions"


class SlurmRights(AuditCheck):
    """What Slurm offers this account now, compared with the settings."""

    KIND = "slurm_rights"
    TITLE = "Slurm"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "account": {"type": "str", "default": ""},  # that the user has chosen
        "likely": {"type": "str", "default": ""},  # the project, where the site names accounts so
        "suffixes": {"type": "dict", "default": {}},  # of the names of accounts, for jobs with GPUs and without
        "partitions": {"type": "list", "elements": "str", "default": []},  # all of the profile
        "used": {"type": "list", "elements": "str", "default": []},  # those that jobs are sent to
        "qos": {"type": "list", "elements": "str", "default": []},  # those that jobs request
    }

    def bound(self, host: Host) -> "AuditCheck":
        get_offers(host)  # before the engine forks
        return super().bound(host)

    def run(self, host: Host) -> None:
        offers = get_offers(host)
        account, likely, suffixes = (self.options[name] for name in ("account", "likely", "suffixes"))
        purposes = list(suffixes and PURPOSES) or ["gpu"]
        chosen = [choose_account(offers, account, likely, suffixes, purpose) for purpose in purposes]
        if offers["missed"] and any(offers[name] is not None for name in ("accounts", "partitions")):
            # Where Slurm never answered, nothing can have drifted; status says so.
            self.skip("Slurm could not be asked, or not for everything: %s" % "; ".join(offers["missed"]))
        missing = [one for one in chosen if one.why]
        if missing and (account or len(missing) == len(chosen)):  # jobs without a GPU need no account for GPUs
            several = not account and offers["accounts"]
            self.report("JOB-004" if several else "JOB-001", account or "Slurm account", missing[0].why)
        for name in sorted({one.account for one in chosen}):
            self._check_qos(name, list_qos(offers, name))
        if offers["partitions"] is not None:
            self._check_partitions([partition["name"] for partition in offers["partitions"]])

    def _check_qos(self, account: str, allowed: Optional[List[str]]) -> None:
        for qos in self.options["qos"] if allowed is not None else []:
            if qos not in (allowed or []):
                text = "account %s may not use this quality of service; available: %s"
                self.report("JOB-003", qos, text % (account, ", ".join(allowed or [])))

    def _check_partitions(self, existing: List[str]) -> None:
        available = ", ".join(existing) or "none"
        for name in self.options["used"]:
            if name not in existing:
                text = "jobs use this partition, but Slurm does not list it; available: %s"
                self.report("JOB-002", name, text % available, "medium")
        gone = [name for name in self.options["partitions"] if name not in existing + self.options["used"]]
        if gone:
            self.report("JOB-002", UNUSED, "Slurm does not list %s; available: %s" % (", ".join(gone), available))

    def evidence(self, before: State, host: Host) -> Evidence:
        offers = host.account.found[MEMORY_KEY]
        slurm = {name: offers.get(name) for name in REPORTED}
        return dict(super().evidence(before, host), slurm=slurm)
