# SPDX-License-Identifier: GPL-3.0-or-later
"""A thousand accounts in one run, a hundred of them real on one login host, and a thousand through ansible-runner.

For each run: seconds, milliseconds for each account, the most memory, the lines that it printed, and the size of what
this machine keeps, which two more runs with nothing to do may not let grow.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.bench.audits import Taken
from tests.integration.fleet.test_fleet import CLUSTERS, JOB, Site
from tests.integration.runs import REPOSITORY

ALL, REAL, WORKERS = 1000, 100, 2
HEAD = "1,000 accounts               seconds     each     MB   lines  widest  kept here"
RUNS = {
    "onboarding, all is new": ("onboard.yml",),
    "onboarding, nothing to do": ("onboard.yml",),
    "once more": ("onboard.yml",),
    "audit": ("audit.yml", "-e", "audit_fail_on=never"),
}


def scale(bench: Any) -> None:
    """Print a line for each run."""
    print(f"\n{HEAD}")
    inventory = _accounts(bench)
    state = Path(tempfile.mkdtemp(dir=bench.bed.folder))
    looks = {"XDG_STATE_HOME": str(state), "ANSIBLE_STDOUT_CALLBACK": "hpc.onboard.console", "TERM": "dumb"}
    for name, words in RUNS.items():
        printed: list[str] = []

        def run(words: tuple[str, ...] = words, printed: list[str] = printed) -> None:
            order = (*words, "-i", str(inventory), "-e", f"audit_output={state.parent / 'report'}", "--forks", "20")
            done = bench.bed.ansible(*order, cwd=REPOSITORY, env={**bench.environment, **looks}, timeout=1800)
            if done.returncode:
                raise SystemExit(f"{words[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
            printed.extend(done.stdout.splitlines())

        def looks_like(printed: list[str] = printed) -> str:
            kept = sum(file.stat().st_size for file in state.rglob("*") if file.is_file())
            return f" {len(printed):>7} {max(map(len, printed)):>7} {kept / 1e6:>7.2f} MB"

        _tell(name, run, looks_like)


def through_runner(bench: Any) -> None:
    """The same number through ansible-runner on two machines at the same time, each with half of the accounts."""
    folder = Path(tempfile.mkdtemp(prefix="s", dir="/tmp"))  # short: sockets lie in it
    halves = [ALL // WORKERS] * WORKERS
    sites = [Site(bench.bed, folder / str(number), (), half) for number, half in enumerate(halves)]
    report = {number: ["-e", f"audit_output={site.worker}/artifacts/{JOB}/report"] for number, site in enumerate(sites)}

    def each(playbook: str, further: dict[int, list[str]]) -> None:
        with ThreadPoolExecutor(WORKERS) as pool:
            runs = [pool.submit(site.runs, playbook, *further.get(number, [])) for number, site in enumerate(sites)]
            if any(run.result() for run in runs):
                raise SystemExit("\n".join(site.said[-2000:] for site in sites))

    _tell("runner, two: all is new", lambda: each("hpc.onboard.onboard", {}))
    _tell("runner, two: audit", lambda: each("hpc.onboard.audit", report))


def _tell(name: str, run: Callable[[], None], more: Callable[[], str] = str) -> None:
    taken = Taken(run)
    print(
        f"{name:<27} {taken.seconds:>7.1f} s {taken.seconds / ALL * 1000:>5.0f} ms {taken.mb:>6.0f}{more()}", flush=True
    )


def _accounts(bench: Any) -> Path:
    real = [bench.bed.new_account("dfki") for _one in range(REAL)]
    file: Path = bench.bed.accounts_file(real)
    written = json.loads(file.read_text(encoding="utf-8"))
    for number in range(ALL - REAL):
        entry = {"sandbox": True, "project": "deep_lgt"}
        written["accounts"][f"s{number:03}@{CLUSTERS[number % len(CLUSTERS)]}"] = entry
    file.write_text(json.dumps(written), encoding="utf-8")
    return file
