"""Run the stages of the tests, cheapest first, and close with one line for all of them.

    python tools/stages.py check unit

A stage that fails does not stop the next one: one run tells everything. Each tool of `check`, each sanity test and
each pytest test counts as one. Nothing counts as passed that did not run: what was skipped is listed again at the end.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import sanity_cores  # noqa: E402  # the checkout comes first

CHECKS = [
    "ruff format --check .",
    "ruff check .",
    "yamllint --strict .",
    "vermin --target=3.6- --no-tips --violations plugins/module_utils",
    "mypy plugins tools/stages.py tools/sanity_cores.py tools/measures.py tests/packages",
    "antsibull-changelog lint",
    "antsibull-docs lint-collection-docs --plugin-docs --skip-rstcheck .",
    "ansible-lint --offline",
]


@dataclass
class Tally:
    """What came of a stage: how many passed, and the names of what failed and of what was skipped and why."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __str__(self) -> str:
        counts = (("failed", len(self.failed)), ("passed", self.passed), ("skipped", len(self.skipped)))
        return ", ".join(f"{count} {word}" for word, count in counts if count) or "nothing ran"


def check() -> Tally:
    """Format, lint, types: as many tools at once as there are processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda command: (command, _quietly(command.split())), CHECKS))
    tally = Tally()
    for command, (code, output, seconds) in done:
        print(f"{'failed' if code else 'passed'} {seconds:5.1f} s  {command}", flush=True)
        if code:
            print(output, flush=True)
            tally.failed.append(command)
        else:
            tally.passed += 1
    return tally


def sanity() -> Tally:
    """ansible-test sanity, under the oldest and the newest ansible-core at once."""
    tally = Tally()
    for core in sanity_cores.run_all(print):
        tally += Tally(core.passed, core.failed, core.skipped)
    return tally


def unit() -> Tally:
    """The parts that decide, under bare pytest."""
    return _pytest("unit", ["tests/unit"])


def integration() -> Tally:
    """Everything else: real runs, real servers, injected faults, seeded bugs. Rotations run beside the rest."""
    rotations = sorted(str(file.relative_to(ROOT)) for file in ROOT.glob("tests/integration/rotation/test_rotate_*.py"))
    rest = ["tests", "--ignore=tests/unit", "--ignore=tests/packages", *(f"--ignore={file}" for file in rotations)]
    with ThreadPoolExecutor(1) as pool, tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        beside = pool.submit(_pytest, "rotations", rotations, said)
        tally = _pytest("integration", rest)
        tally += beside.result()
        said.seek(0)
        print(said.read(), flush=True)
    return tally


def packages() -> Tally:
    """Wheel, tarball and checkout, installed and used."""
    return _pytest("packages", ["tests/packages"])


def _quietly(command: list[str]) -> tuple[int, str, float]:
    """Run a command of the environment that runs this: its code, its output and how long it took."""
    start = time.monotonic()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PATH": path}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return run.returncode, run.stdout, time.monotonic() - start


def _pytest(stage: str, arguments: list[str], said: IO[str] | None = None) -> Tally:
    """Run these tests. said: where their output goes; to ours, unless given."""
    results = ROOT / ".cache" / "results" / f"{stage}.xml"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", f"--junitxml={results}", *arguments],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=said,
    )
    tally = _counted(results) if results.exists() else Tally()
    if run.returncode and not tally.failed:
        tally.failed.append(f"{stage}: pytest ended with {run.returncode}")
    return tally


def _counted(results: Path) -> Tally:
    tally = Tally()
    for case in ElementTree.parse(results).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}".lstrip(":")
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            tally.failed.append(name)
        elif skipped is not None:
            tally.skipped.append(f"{name}: {skipped.get('message')}")
        else:
            tally.passed += 1
    return tally


STAGES: dict[str, Callable[[], Tally]] = {
    function.__name__: function for function in (check, unit, sanity, integration, packages)
}


def main(names: list[str]) -> int:
    """Run the named stages; 1 when anything failed or nothing ran."""
    start = time.monotonic()
    total, lines = Tally(), []
    for name in names:
        begun = time.monotonic()
        print(f"\n== {name}: {STAGES[name].__doc__}", flush=True)
        tally = STAGES[name]()
        lines.append(f"{name:12} {time.monotonic() - begun:6.1f} s  {tally}")
        total += tally
    print("\n" + "\n".join([*(f"FAILED {one}" for one in total.failed), *(f"SKIPPED {one}" for one in total.skipped)]))
    print("\n".join(lines))
    print(f" {total} in {time.monotonic() - start:.1f}s ".center(80, "="), flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
