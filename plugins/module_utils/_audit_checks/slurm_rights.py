# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check that Slurm still offers what the settings request: Slurm account, QOS, partitions.

The settings are the accounts file of the user and the profile, which describes the cluster. Slurm's offers are what
Slurm lets this account use.
"""

from typing import Any, Dict, List, Optional

from .._core.host import Host
from .._core.resource import Evidence, State
from .._slurm.offers import PURPOSES, REPORTED, choose_account, get_offers, list_qos
from .audit_check import AuditCheck

UNUSED = "the profile's other partitions"  # the place of the finding about partitions that no job uses


class SlurmRights(AuditCheck):
    """The Slurm accounts, QOS and partitions of the settings that Slurm does not offer to this account."""

    KIND = "slurm_rights"
    TITLE = "Slurm"
    NEEDS_SLURM = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        # the Slurm account that the user has chosen; empty without a choice
        "account": {"type": "str", "default": ""},
        # the project, if the site names Slurm accounts after projects
        "likely": {"type": "str", "default": ""},
        # purpose (jobs with or without GPUs) -> suffix of the Slurm account's name
        "suffixes": {"type": "dict", "default": {}},
        # all partitions of the profile
        "partitions": {"type": "list", "elements": "str", "default": []},
        # the partitions to which jobs are submitted
        "used": {"type": "list", "elements": "str", "default": []},
        # the QOS that the settings request
        "qos": {"type": "list", "elements": "str", "default": []},
    }

    def run(self, host: Host) -> None:
        """Compare the Slurm account, QOS and partitions of the settings with Slurm's offers."""
        offers = get_offers(host)
        account, likely, suffixes = (self.options[name] for name in ("account", "likely", "suffixes"))
        purposes = list(PURPOSES) if suffixes else ["gpu"]  # without suffixes, all purposes have the same account
        chosen = [choose_account(offers, account, likely, suffixes, purpose) for purpose in purposes]
        if offers["missed"] and any(offers[name] is not None for name in ("accounts", "partitions")):
            # If every query failed, a remark would add nothing: status reports that Slurm is not available.
            self.skip("some queries to Slurm failed: %s" % "; ".join(offers["missed"]))
        failed = [choice for choice in chosen if choice.why]  # why: the reason, if no account could be chosen
        # If the user has chosen no account, an account for one purpose is enough: many users never need GPUs.
        if failed and (account or len(failed) == len(chosen)):
            must_choose = not account and offers["accounts"]  # the user has Slurm accounts, but has chosen none
            self.report("JOB-004" if must_choose else "JOB-001", account or "Slurm account", failed[0].why)
        for name in sorted({choice.account for choice in chosen if choice.account}):
            self._check_qos(name, list_qos(offers, name))
        if offers["partitions"] is not None:
            self._check_partitions([partition["name"] for partition in offers["partitions"]])

    def _check_qos(self, account: str, allowed: Optional[List[str]]) -> None:
        """Report each requested QOS that the Slurm account may not use. allowed: None if unknown."""
        if allowed is None:
            return
        for qos in self.options["qos"]:
            if qos not in allowed:
                text = "the Slurm account %s may not use this QOS; available: %s"
                self.report("JOB-003", qos, text % (account, ", ".join(allowed)))

    def _check_partitions(self, existing: List[str]) -> None:
        """Report the partitions of the settings that do not exist.

        Each partition that jobs use is one finding, with a higher severity. The others are reported together.
        """
        available = ", ".join(existing) or "none"
        for name in self.options["used"]:
            if name not in existing:
                text = "jobs use this partition, but Slurm does not list it; available: %s"
                self.report("JOB-002", name, text % available, severity="medium")
        unused = [name for name in self.options["partitions"] if name not in existing + self.options["used"]]
        if unused:
            self.report("JOB-002", UNUSED, "Slurm does not list %s; available: %s" % (", ".join(unused), available))

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return the evidence of every check, and Slurm's offers as "slurm"."""
        offers = get_offers(host)
        slurm = {name: offers.get(name) for name in REPORTED}
        return dict(super().evidence(before, host), slurm=slurm)
