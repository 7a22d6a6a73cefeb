# SPDX-License-Identifier: GPL-3.0-or-later
"""What Slurm says of an account, beside what accounts file and profile say."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.slurm_rights import SlurmRights
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import examine

P1 = {"name": "p1", "qos": ["opp"], "default_qos": "opp"}
P2 = {"name": "p2", "qos": ["opp", "test"], "default_qos": "opp"}
CPU = {"name": "def-pi_cpu", "qos": ["opp"], "default_qos": "opp"}
SUFFIXES = {"cpu": "_cpu", "gpu": "_gpu"}
GPU = [{"name": "gpu", "gpus": ["a100"]}]


def looked(accounts: Any, there: Any = GPU, missed: Any = (), **options: Any) -> Any:
    account = Account("/", "/bin/sh", {})
    known = {"accounts": accounts, "default": "p1", "partitions": there, "missed": list(missed), "fresh": True}
    account.facts["slurm"] = known
    host = Host(account, b"k" * 32)
    return examine(SlurmRights(SlurmRights.with_defaults(options)).with_expanded_paths(host), host)


@pytest.mark.parametrize(
    ("accounts", "options", "field"),
    [
        ([P1], {"account": "gone"}, "JOB-001 gone"),
        ([], {}, "JOB-001 Slurm account"),
        ([P1, P2], {}, "JOB-004 Slurm account"),
        ([CPU, {**CPU, "name": "other_cpu"}], {"suffixes": SUFFIXES}, "JOB-004 Slurm account"),
        ([CPU], {"suffixes": SUFFIXES, "account": "def-pi"}, "JOB-001 def-pi"),
        ([P1], {"qos": ["cpu"]}, "JOB-003 cpu"),
        ([P1], {"used": ["old"], "partitions": ["old", "gpu"]}, "JOB-002 old"),
        ([P1], {"partitions": ["old", "gpu"]}, "JOB-002 the profile's other partitions"),
    ],
)
def test_what_is_not_as_written_down_is_found(accounts: Any, options: Any, field: str) -> None:
    assert list(looked(accounts, **options).before) == [field]


def test_what_is_in_order_is_silent() -> None:
    seen = looked([P1, P2], account="p2", qos=["test"], used=["gpu"], partitions=["gpu"])
    assert (seen.before, seen.remarks) == ({}, [])


@pytest.mark.parametrize("chosen", ["", "def-pi"])
def test_a_pair_of_accounts_is_in_order(chosen: str) -> None:
    pair = [CPU, {**CPU, "name": "def-pi_gpu"}]
    assert looked(pair, account=chosen, suffixes=SUFFIXES).before == {}
    assert looked([CPU], suffixes=SUFFIXES).before == {}, "who has no GPU time needs no account for it"


def test_a_partition_that_jobs_are_sent_to_is_worse() -> None:
    seen = looked([P1], used=["old"], partitions=["old", "older"])
    assert seen.evidence["severities"] == {"JOB-002 old": "medium"}
    assert "older" in seen.before["JOB-002 the profile's other partitions"]


def test_what_is_not_known_is_no_finding() -> None:
    never = looked(None, None, ["not found: sacctmgr"], account="p1", qos=["cpu"], used=["old"])
    assert (never.before, never.remarks) == ({}, [])  # where it never answered
    seen = looked([P1], None, ["failed: sinfo"], account="p1", used=["old"])
    assert seen.before == {}
    assert seen.remarks == ["some queries to Slurm failed: failed: sinfo"]
    assert looked([dict(P1, qos=[])], qos=["cpu"]).before == {}  # sshare knows no qualities of service
