# SPDX-License-Identifier: GPL-3.0-or-later
"""How an audit grows with the number of accounts, in time and memory, and what one account that hangs costs the rest.

Each account is a user of its own with a connection of its own, spread over three clusters of the testbed. The
accounts' Pythons run on this machine's processors, too: on clusters they would not.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.memory import Memory
from tests.integration.runs import CALLBACKS

CLUSTERS = ("lrz", "dfki", "wilson")
NUMBERS = {10: 1.0, 100: 1.0, 300: 0.3}  # how many accounts, and which share of the rounds
HEAD = "audit against raw       seconds     each  ratio           spread   work   there     MB"
STOP = b"kill -STOP $PPID\n"  # in a start-up file: the session's own sshd says nothing any more
PATIENCE = "-o ServerAliveInterval=5 -o ServerAliveCountMax=3"


class Taken:
    """What one run took: wall seconds, processor seconds of Ansible and ssh, of all else (the accounts), and MB."""

    def __init__(self, run: Callable[[], None]) -> None:
        before, busy = resource.getrusage(resource.RUSAGE_CHILDREN), _busy()
        started = time.perf_counter()
        with Memory() as memory:
            run()
        self.seconds = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        time.sleep(0.2)  # what a session leaves behind is counted with it
        self.there = max(0.0, _busy() - busy - self.work)
        self.mb = memory.mb


def _busy() -> float:
    """The seconds that the processors of this machine have worked, waited for disks and stood idle apart."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    ticks = [int(word) for word in words]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def growth(bench: Any, rounds: int) -> None:
    """Audits over more and more accounts, each pair with raw over the same ones."""
    bed = bench.bed
    print(f"\n{HEAD}")
    accounts = [bed.new_account(CLUSTERS[number % len(CLUSTERS)]) for number in range(max(NUMBERS))]
    everybody = bed.accounts_file(accounts)
    bench.onboard(everybody)()
    for number, share in NUMBERS.items():
        inventory = bed.accounts_file(accounts[:number])
        pairs = [
            (Taken(bench.audit(inventory)), Taken(bench.raw(inventory)))
            for _round in range(max(1, round(share * rounds)))
        ]
        ratios = sorted(audit.seconds / raw.seconds for audit, raw in pairs)
        work = statistics.median(audit.work / raw.work for audit, raw in pairs)
        seconds = statistics.median(audit.seconds for audit, _raw in pairs)
        mb = max(audit.mb for audit, _raw in pairs)
        there = [statistics.median(one.there for one in runs) / number * 1000 for runs in zip(*pairs, strict=True)]
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        row = f"{number:<26} {seconds:>6.1f} s {seconds / number * 1000:>5.0f} ms {statistics.median(ratios):>6.2f}"
        print(
            f"{row} {spread:>14} {work:>6.2f}x {there[0]:>4.0f} ms {mb:>6.0f}"
            f"  raw: {there[1]:.0f} ms, {max(raw.mb for _audit, raw in pairs):.0f} MB",
            flush=True,
        )


def hung(bench: Any, number: int = 20) -> None:
    """When the others are done, while one account's session is stopped."""
    bed = bench.bed
    accounts = [bed.new_account("dfki") for _one in range(number)]
    stopped = bed.new_account("dfki", files={".bashrc": STOP})
    settings = {stopped.name: {"vars": {"ansible_ssh_common_args": f"-F {bed.ssh_config} {PATIENCE}"}}}
    inventory = bed.accounts_file([stopped, *accounts], settings=settings)
    record = Path(bed.folder) / "hung.jsonl"
    recorded = {
        "RECORD": str(record),
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "record",
    }
    started = time.time()
    bench.audit(inventory, {**recorded, "ANSIBLE_FORKS": "20"}, may_fail=True)()
    over = time.time() - started
    results = [json.loads(line) for line in record.read_text().splitlines()]
    done = {one["host"]: one["at"] - started for one in results if "audit" in one["result"]}
    others = max(seconds for name, seconds in done.items() if name != stopped.name)
    print(
        f"\none of {number + 1} accounts hangs: the others were done after {others:.1f} s,"
        f" it was given up after {done[stopped.name]:.1f} s (ssh's patience), the report was there after {over:.1f} s"
    )
