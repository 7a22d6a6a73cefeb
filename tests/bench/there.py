# SPDX-License-Identifier: GPL-3.0-or-later
"""The work that an account has with a run: processor time of the engine beside a bare start of the same Python.

The very command and input that converge and audit send are run here, in a sandbox, without ssh: user and system time
of all processes, in turn with the start of a Python that only imports json. The goals: 2 x in onboarding, 3.5 x in an
audit. What is above them is mostly compiling: bytecode fits one version of Python, and nothing is kept on the account.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.integration.runs import KEY, REPOSITORY

ACCOUNT = "ada@dfki"
PAIRS = 20  # at least
FINGERPRINTS = "00" * 32
PYTHON = os.path.realpath(sys.executable)
BARE = [PYTHON, "-I", "-S", "-c", "import json"]
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def work(rounds: int) -> None:
    """Print the ratios of a look with nothing to do and of an audit."""
    sys.path.insert(0, str(REPOSITORY / "collections"))
    print(f"\n{'the account alone':<30} {'engine':>9} {'bare':>9}  {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        variables = _variables(Path(folder))
        onboarding, audit = _sent(variables)
        _processor_seconds(*onboarding)  # makes what is to be there
        for name, (order, data) in (("onboarding, nothing to do", onboarding), ("audit", audit)):
            pairs = [
                (_processor_seconds(order, data), _processor_seconds(BARE, b"")) for _pair in range(max(PAIRS, rounds))
            ]
            engine, bare = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
            ratios = sorted(one / other for one, other in pairs)
            spread = f"({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(pairs)} pairs)"
            print(
                f"{name:<30} {engine:6.1f} ms {bare:6.1f} ms {statistics.median(ratios):6.2f} x  {spread}", flush=True
            )


def _processor_seconds(order: list[str], data: bytes) -> float:
    """User and system time of a program and of all that it starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(order, input=data, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _variables(folder: Path) -> Mapping[str, Any]:
    """What the inventory says of a practice account in that folder."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
    from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import build_hosts

    text = f"plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n  {ACCOUNT}:\n"
    return build_hosts(AccountsFile.parse(folder / "accounts.yml", text))[0].variables


def _sent(variables: Mapping[str, Any]) -> list[tuple[list[str], bytes]]:
    """The commands and inputs of an onboarding and of an audit."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import audit_checks
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan
    from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import collect
    from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES, ROLES

    declared = collect(ROLES, [], [], variables.get).resources
    entries = Plan.of(declared, lambda _name: KEY).entries
    looks = audit_checks.plan_checks(variables["cluster"], variables["account"], declared, {})
    common = {"fingerprint_key": FINGERPRINTS, "sandbox": variables["account"]["sandbox"], "seconds": 30}
    order = ["sh", "-c", payload.build_command(PYTHON, [])]
    return [
        (order, payload.build_payload({**common, "work": kind, "receipt": True, "resources": resources}, places))
        for kind, resources, places in (
            ("reconcile", entries, PLACES),
            ("examine", [*entries, *looks], payload.with_places(audit_checks.KINDS)),
        )
    ]
