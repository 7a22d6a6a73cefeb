# SPDX-License-Identifier: GPL-3.0-or-later
"""How long onboarding takes when there is nothing to do, an audit and a rotation, beside the least of any Ansible run.

Its goals: 1, 20 and 100 accounts 1.15 x as long as raw at most, one that is 150 ms away 1.10 x. Twenty and more are
on one login host, which we ask for some at a time only; so does raw, told to.

Whole processes over real ssh, each with a connection of its own, in turn (A B A B ...) within one run, so
that a ratio holds when the machine's speed drifts. Printed, never asserted: python -m tests.bench
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import turns

from tests.bench import audits, scale, there
from tests.bench.rivals import builtin_playbook, pyinfra_files
from tests.integration.rotation.rotation_kills import Lane
from tests.integration.rotation.rotation_scene import staged
from tests.integration.runs import REPOSITORY, keyring_environment
from tests.testbed import Testbed
from tests.testbed.proxy import Proxy

Run = Callable[[], None]
CHANGED = "bin/usrun.sh"
STEPS = 3  # of a rotation's first run, each a trip to accounts: plan, canary, spread


def seconds(run: Run) -> float:
    """The wall time of one whole process."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def paired(name: str, first: Run, second: Run, rounds: int) -> None:
    """Print the medians of both, and the median of the ratios pair by pair."""
    first()
    second()
    pairs = [(audits.Taken(first), audits.Taken(second)) for _round in range(rounds)]
    work = statistics.median(one.work / other.work for one, other in pairs)
    compared(name, [(one.seconds, other.seconds) for one, other in pairs], f", {work:.2f} x the work here")


def compared(name: str, pairs: list[tuple[float, float]], more: str = "") -> None:
    """Print the medians of both, and the median of the ratios pair by pair."""
    one, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(a / b for a, b in pairs)
    spread = f"({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(pairs)} pairs)"
    print(f"{name:<30} {one:7.2f} s {other:7.2f} s {statistics.median(ratios):6.2f} x  {spread}{more}", flush=True)


class Bench:
    """The runs that are compared, over one testbed."""

    def __init__(self, bed: Any, environment: Mapping[str, str] | None = None) -> None:
        """environment: more of it, or another keyring than the test's own."""
        self.bed = bed
        own = keyring_environment(Path(bed.folder)) if environment is None else environment
        self.environment = {**own, "PYTHONDONTWRITEBYTECODE": ""}

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

    def raw(self, inventory: Path, *further: str) -> Run:
        """The floor: one connection and one command that does nothing. further: arguments of ansible."""
        return self.run("accounts", "-i", str(inventory), "-m", "raw", "-a", "true", *further, program="ansible")

    def through(self, proxy: Proxy, account: Any, is_set_up: bool = True) -> Path:
        """An accounts file that leads through a proxy. is_set_up: the account has been onboarded."""
        variables = {
            "ansible_host": "127.0.0.1",
            "ansible_port": proxy.port,
            "ansible_ssh_common_args": f"-F {self.bed.ssh_config} -o HostKeyAlias={account.cluster.name}",
        }
        inventory: Path = self.bed.accounts_file([account], settings={account.name: {"vars": variables}})
        if is_set_up:
            self.onboard(inventory)()
        return inventory


def floors(bench: Bench, rounds: int) -> None:
    """Onboarding with nothing to do against raw, for one account, twenty, and one that is far away."""
    bed = bench.bed
    bed.slurm("dfki")  # once asked, it is known for a day
    print(f"{'nothing to do, 10 resources':<30} {'onboard':>9} {'raw true':>9}  {'ratio':>7}")
    for number in (1, 20, 100):
        inventory = bed.accounts_file([bed.new_account("dfki") for _one in range(number)])
        bench.onboard(inventory)()
        raw = bench.raw(inventory, "--forks", str(turns.MOST))
        name = f"{number} accounts, {turns.MOST} at a time" if number > 1 else "1 account"
        paired(name, bench.onboard(inventory), raw, rounds)
    account = bed.new_account("dfki")
    with Proxy(account.host, account.port, delay_ms=75) as proxy:
        inventory = bench.through(proxy, account)
        paired("1 account, 150 ms away", bench.onboard(inventory), bench.raw(inventory), rounds)

        new = iter([bed.new_account("dfki") for _one in range(rounds + 1)])

        def change_one() -> None:
            account.path(CHANGED).unlink()
            bench.onboard(inventory)()

        def set_up() -> None:
            bench.onboard(bench.through(proxy, next(new), is_set_up=False))()

        paired("  and a file is written again", change_one, bench.raw(inventory), rounds)
        paired("  and all is new", set_up, bench.raw(inventory), rounds)
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


def rotations(bench: Bench, rounds: int) -> None:
    """A rotation against onboarding of the same accounts, step by step: a step is one trip to those who share in it."""
    with staged(bench.bed, Path(tempfile.mkdtemp(dir=bench.bed.folder)), ("lrz",) * 6) as stage:
        lane = Lane.of(stage)
        inventory = bench.bed.accounts_file(stage.accounts)
        whole, last = [], []
        for _round in range(rounds + 1):
            new = lane.begin()
            own = {**lane.stage.environment, "XDG_STATE_HOME": str(lane.state)}
            here = Bench(bench.bed, {**bench.environment, **own})
            rotate = here.run("rotate_ngc.yml", *stage.wanted(new, "key", {}))
            retire = here.run(
                "rotate_ngc.yml", *stage.wanted(None, "", {"rotate_resume": True, "rotate_retired": True})
            )
            whole.append((seconds(rotate) / STEPS, seconds(here.onboard(inventory))))
            stage.registry.revoke(lane.old)
            last.append((seconds(retire), seconds(here.onboard(inventory))))
            lane.old = new
    print(f"\n{'a rotation, 6 accounts':<30} {'rotate':>9} {'onboard':>9}  {'ratio':>7}")
    compared("plan to settle, one of 3 steps", whole[1:])
    compared("the last step, a run of its own", last[1:])


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
    "there": lambda _bench, rounds: there.work(rounds),
    "rivals": lambda bench, rounds: rivals(bench, max(3, rounds // 2)),
    "audit": lambda bench, rounds: audits.growth(bench, max(3, rounds // 2)),
    "rotate": lambda bench, rounds: rotations(bench, max(3, rounds // 2)),
    "hung": lambda bench, _rounds: audits.hung(bench),
    "scale": lambda bench, _rounds: scale.scale(bench),
    "runner": lambda bench, _rounds: scale.through_runner(bench),
}


if __name__ == "__main__":
    main()
