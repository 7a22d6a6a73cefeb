# SPDX-License-Identifier: GPL-3.0-or-later
"""How long onboarding takes when there is nothing to do, and an audit, beside the least that any Ansible run can take.

Whole processes over real ssh, each with a connection of its own, in turn (A B A B ...) within one run, so
that a ratio holds when the machine's speed drifts. Printed, never asserted: python -m tests.bench
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.bench import audits
from tests.bench.rivals import builtin_playbook, pyinfra_files
from tests.integration.runs import REPOSITORY, keyring_environment
from tests.testbed import Testbed
from tests.testbed.proxy import Proxy

Run = Callable[[], None]


def seconds(run: Run) -> float:
    """The wall time of one whole process."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def paired(name: str, first: Run, second: Run, rounds: int) -> None:
    """Print the medians of both, and the median of the ratios pair by pair."""
    first()
    second()
    pairs = [(seconds(first), seconds(second)) for _round in range(rounds)]
    one, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(a / b for a, b in pairs)
    spread = f"({ratios[0]:.2f} to {ratios[-1]:.2f}, {rounds} pairs)"
    print(f"{name:<30} {one:7.2f} s {other:7.2f} s {statistics.median(ratios):6.2f} x  {spread}", flush=True)


class Bench:
    """The runs that are compared, over one testbed."""

    def __init__(self, bed: Any) -> None:
        self.bed = bed
        self.environment = {**keyring_environment(Path(bed.folder)), "PYTHONDONTWRITEBYTECODE": ""}

    def run(
        self,
        *command: str,
        program: str = "ansible-playbook",
        environment: Mapping[str, str] | None = None,
        may_fail: bool = False,
    ) -> Run:
        """A run that must succeed; its connections are closed after it, outside the time that counts for nobody."""

        def run() -> None:
            own = {**self.environment, **(environment or {})}
            done = self.bed.ansible(*command, cwd=REPOSITORY, env=own, program=program, timeout=1800)
            if done.returncode and not may_fail:
                raise SystemExit(f"{program} {' '.join(command)}: {done.stdout}{done.stderr}")

        return run

    def onboard(self, inventory: Path) -> Run:
        """onboard.yml, all accounts."""
        return self.run("onboard.yml", "-i", str(inventory))

    def audit(self, inventory: Path, environment: Mapping[str, str] | None = None, may_fail: bool = False) -> Run:
        """audit.yml, all accounts, the report in every format; findings are no failure here."""
        wishes = json.dumps({"audit_output": str(self.bed.folder / "report"), "audit_fail_on": "never"})
        order = ("audit.yml", "-i", str(inventory), "-e", wishes)
        return self.run(*order, environment=environment, may_fail=may_fail)

    def raw(self, inventory: Path) -> Run:
        """The floor: one connection and one command that does nothing."""
        return self.run("accounts", "-i", str(inventory), "-m", "raw", "-a", "true", program="ansible")

    def through(self, proxy: Proxy, account: Any) -> Path:
        """An accounts file that leads through a proxy, the account set up."""
        variables = {
            "ansible_host": "127.0.0.1",
            "ansible_port": proxy.port,
            "ansible_ssh_common_args": f"-F {self.bed.ssh_config} -o HostKeyAlias={account.cluster.name}",
        }
        inventory: Path = self.bed.accounts_file([account], settings={account.name: {"vars": variables}})
        self.onboard(inventory)()
        return inventory


def floors(bench: Bench, rounds: int) -> None:
    """Onboarding with nothing to do against raw, for one account, twenty, and one that is far away."""
    bed = bench.bed
    print(f"{'nothing to do, 10 resources':<30} {'onboard':>9} {'raw true':>9}  {'ratio':>7}")
    for number in (1, 20):
        inventory = bed.accounts_file([bed.new_account("dfki") for _one in range(number)])
        bench.onboard(inventory)()
        paired(f"{number} account{'s' if number > 1 else ''}", bench.onboard(inventory), bench.raw(inventory), rounds)
    account = bed.new_account("dfki")
    with Proxy(account.host, account.port, delay_ms=75) as proxy:
        inventory = bench.through(proxy, account)
        paired("1 account, 150 ms round trip", bench.onboard(inventory), bench.raw(inventory), rounds)
    with Proxy(account.host, account.port) as proxy:
        inventory = bench.through(proxy, account)
        proxy.reset()
        bench.onboard(inventory)()
        onboard = proxy.bytes_up
        proxy.reset()
        bench.raw(inventory)()
        print(f"bytes sent for one account: {onboard:,} with ssh's own, raw sends {proxy.bytes_up:,}")


def rivals(bench: Bench, rounds: int) -> None:
    """The same end state by other means, nothing to do, against onboarding."""
    bed = bench.bed
    account = bed.new_account("dfki")
    inventory = bed.accounts_file([account])
    bench.onboard(inventory)()
    playbook = builtin_playbook(bed.folder, account)
    pyinfra = pyinfra_files(bed.folder, account, bed.key, bed.folder / "known_hosts")
    print(f"\n{'the same by other means':<30} {'other':>9} {'onboard':>9}  {'ratio':>7}")
    builtin = bench.run(str(playbook), "-i", str(inventory))
    paired("builtin tasks", builtin, bench.onboard(inventory), rounds)
    paired("pyinfra", bench.run(*pyinfra, program="pyinfra"), bench.onboard(inventory), rounds)


def main() -> None:
    """Bring the testbed up, and print one line for each comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=list(PARTS), action="append")
    wishes = parser.parse_args()
    with Testbed() as bed:
        for name, part in PARTS.items():
            if name in (wishes.only or PARTS):
                part(Bench(bed), wishes.rounds)


PARTS: dict[str, Callable[[Bench, int], None]] = {
    "onboard": floors,
    "rivals": lambda bench, rounds: rivals(bench, max(3, rounds // 2)),
    "audit": lambda bench, rounds: audits.growth(bench, max(3, rounds // 2)),
    "hung": lambda bench, _rounds: audits.hung(bench),
}


if __name__ == "__main__":
    main()
