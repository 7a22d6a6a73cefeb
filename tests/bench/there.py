# SPDX-License-Identifier: GPL-3.0-or-later
"""The work that an account has with a run: processor time of the engine beside a bare start of the same Python.

The very command and input that converge and audit send are run here, in a sandbox, without ssh: user and system time
of all processes, in turn with the start of a Python that only imports json. The last row is a Python with the standard
modules that an audit imports. The goals, where the account keeps the engine, are multiples of such a Python: 3 x in
onboarding, 4 x in an audit, login shells counted apart.
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
IMPORTS = (
    "import json, zlib, binascii, re, select, shlex, signal, pwd, grp, errno, base64, ctypes, fnmatch, string, struct"
)
WITH_IMPORTS = [PYTHON, "-I", "-S", "-c", IMPORTS]  # what an audit imports of Python's own modules
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def work(rounds: int) -> None:
    """Print the ratios of a look with nothing to do and of an audit."""
    sys.path.insert(0, str(REPOSITORY / "collections"))
    print(f"\n{'the account alone':<30} {'engine':>9} {'bare':>9}  {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        variables = _variables(Path(folder))
        home = _home(variables)
        orders = {**_sent(variables, home), "Python with the audit's imports": (WITH_IMPORTS, b"")}
        for name, (order, data) in orders.items():
            pairs = [
                (_processor_seconds(order, data, home), _processor_seconds(BARE, b"", home))
                for _pair in range(max(PAIRS, rounds))
            ]
            engine, bare = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
            ratios = sorted(one / other for one, other in pairs)
            spread = f"({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(pairs)} pairs)"
            print(
                f"{name:<30} {engine:6.1f} ms {bare:6.1f} ms {statistics.median(ratios):6.2f} x  {spread},"
                f" {len(data):7,d} bytes sent",
                flush=True,
            )


def _processor_seconds(order: list[str], data: bytes, home: str) -> float:
    """User and system time of a program and of all that it starts and waits for."""
    environment = {**ENVIRONMENT, "HOME": home}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(order, input=data, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _variables(folder: Path) -> Mapping[str, Any]:
    """What the inventory says of a practice account in that folder."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
    from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import build_hosts

    text = f"plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n  {ACCOUNT}:\n"
    return build_hosts(AccountsFile.parse(folder / "accounts.yml", text))[0].variables


def _sent(variables: Mapping[str, Any], home: str) -> dict[str, tuple[list[str], bytes]]:
    """The commands and inputs of an onboarding and of an audit, after a first onboarding that keeps the engine."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import audit_checks
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer, payload
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan, collect_places
    from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import collect_resources
    from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES, ROLES

    declared = collect_resources(ROLES, [], [], variables.get).resources
    entries = Plan.of(declared, lambda _name: KEY).entries
    looks, quiet = (
        audit_checks.plan_checks(variables["cluster"], variables["account"], declared, {}, shells)
        for shells in (True, False)
    )
    common = {"fingerprint_key": FINGERPRINTS, "sandbox": variables["account"]["sandbox"], "seconds": 30}
    order = ["sh", "-c", payload.build_command(PYTHON, [])]
    onboarding = {**common, "work": "reconcile", "receipt": True, "resources": entries}
    audit = {**common, "work": "examine", "receipt": True, "resources": [*entries, *looks]}
    no_shells = {**audit, "resources": [*entries, *quiet]}
    no_search = {**audit, "resources": [*entries, *(one for one in quiet if one["kind"] != "scattered_keys")]}
    first = payload.build_payload({**onboarding, "engine": "keep"}, PLACES)
    environment = {**ENVIRONMENT, "HOME": home}
    done = subprocess.run(order, input=first, env=environment, capture_output=True, text=False, check=True)
    kept = answer.parse(done.stdout.decode(), "", 0, ACCOUNT)["engine"]
    assert kept
    digests = {kept["python"]: kept["digest"]}
    places = collect_places(audit_checks.KINDS)
    return {
        "onboarding, nothing to do": (order, payload.build_short_payload(onboarding, PLACES, digests)),
        "audit": (order, payload.build_short_payload(audit, places, digests)),
        "audit, no shells": (order, payload.build_short_payload(no_shells, places, digests)),
        "audit, no shells, no contents": (order, payload.build_short_payload(no_search, places, digests)),
        "onboarding, engine not kept": (order, payload.build_payload(onboarding, PLACES)),
        "audit, engine not kept": (order, payload.build_payload(audit, places)),
    }


def _home(variables: Mapping[str, Any]) -> str:
    """Where the home of the practice account is on this machine: the folder of the kept engine is found by it."""
    sandbox = variables["account"]["sandbox"]
    return sandbox["root"] + sandbox["home"]
