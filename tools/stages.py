"""Run stages of the tests, and print the totals in the last line.

    python tools/stages.py check unit

With HPC_ONBOARD_EXHAUSTIVE=1, all test cases run, instead of a sample (tests/effort.py). After a stage that fails, the
other stages still run. Each tool of `check`, each sanity test and each pytest test counts as one test. The tests that
were skipped are listed at the end, and do not count as passed.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import shlex
import shutil
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

from tests.effort import EXHAUSTIVE, slow_modules  # noqa: E402  # also chooses the seed, which all stages share
from tools import sanity_cores  # noqa: E402  # the checkout comes first

CHECKS = [
    "ansible-lint --offline",  # takes the longest, so it starts first
    "ruff format --check .",
    "ruff check .",
    "python tools/generate.py --check",
    "yamllint --strict .",
    "vermin --target=3.6- --no-tips --violations plugins/module_utils",
    "mypy plugins tools/stages.py tools/sanity_cores.py tools/measures.py tools/generate.py tools/new_role.py"
    " tests/packages",
    "python tools/retired_words.py",
    "antsibull-changelog lint",
    "antsibull-docs lint-collection-docs --plugin-docs --skip-rstcheck .",
]


@dataclass
class Tally:
    """The results of a stage: the number of passed tests, and the names of the others.

    skipped: each with its reason. alone: tests that failed in parallel with others, and passed when repeated alone.
    """

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.alone += other.alone
        return self

    def __str__(self) -> str:
        counts = (("failed", len(self.failed)), ("passed", self.passed), ("skipped", len(self.skipped)))
        return ", ".join(f"{count} {word}" for word, count in counts if count) or "nothing ran"


def check(out: IO[str]) -> Tally:
    """Check format, lint and types; one tool runs on each processor."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda command: (command, _quietly(command.split())), CHECKS))
    tally = Tally()
    for command, (code, output, seconds) in done:
        print(f"{'failed' if code else 'passed'} {seconds:5.1f} s  {command}", file=out, flush=True)
        if code:
            print(output, file=out, flush=True)
            tally.failed.append(command)
        else:
            tally.passed += 1
    return tally


def sanity(out: IO[str]) -> Tally:
    """Run ansible-test sanity with the oldest ansible-core; in an exhaustive run, also with the newest."""
    tally = Tally()
    for said, core in sanity_cores.run_all(sanity_cores.CORES if EXHAUSTIVE else sanity_cores.QUICK):
        print(said, file=out, flush=True)
        tally += Tally(core.passed, core.failed, core.skipped)
    return tally


def unit(out: IO[str]) -> Tally:
    """Run the unit tests, which need no server."""
    return _pytest("unit", ["tests/unit"], out, workers=2)


def integration(out: IO[str]) -> Tally:
    """Run all other tests: complete runs, real servers, injected faults, seeded bugs."""
    return _pytest("integration", slow_modules(ROOT / "tests"), out, workers=3)


def packages(out: IO[str]) -> Tally:
    """Install wheel, tarball and checkout, and use them."""
    return _pytest("packages", ["tests/packages"], out)


def oldest(out: IO[str]) -> Tally:
    """Run all unit tests, golden tests and some others with the oldest supported Python and ansible-core."""
    core = sanity_cores.CORES[0]
    python = sanity_cores.found(core.pythons)
    if not python:
        return Tally(skipped=[f"oldest ansible-core: Python {' or '.join(core.pythons)} not found"])
    venv = sanity_cores.installed("tests", core.requirement, python, "-e", f"{ROOT}[test]")
    some = ["tests/unit", "tests/golden", "tests/integration/onboard"]
    return _pytest("oldest", some, out, 2, venv / "bin" / "python", HPC_ONBOARD_EXHAUSTIVE="", HPC_ONBOARD_TURNS="all")


def _quietly(command: list[str]) -> tuple[int, str, float]:
    """Run a command of this virtual environment. Return its exit code, its output and its duration in seconds."""
    start = time.monotonic()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PATH": path}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return run.returncode, run.stdout, time.monotonic() - start


def _pytest(
    stage: str,
    arguments: list[str],
    out: IO[str],
    workers: int = 1,
    python: str | Path = sys.executable,
    **settings: str,
) -> Tally:
    """Run tests with this number of workers, each with its own servers. settings: more environment variables."""
    results = ROOT / ".cache" / "results" / f"{stage}.xml"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    words = ["--quiet", f"--junitxml={results}", f"--override-ini=cache_dir=.cache/pytest-{stage}"]
    at_once = [f"--numprocesses={workers}", "--dist=worksteal"] if workers > 1 else []
    run = subprocess.run(
        [*_in_memory(), str(python), "-m", "pytest", *words, *at_once, *arguments],
        cwd=ROOT,
        env={**os.environ, "PATH": path, **settings},
        stdout=out,
        stderr=subprocess.STDOUT,
    )
    tally = _counted(results) if results.exists() else Tally()
    if run.returncode and not tally.failed:
        tally.failed.append(f"{stage}: pytest ended with {run.returncode}")
    elif tally.failed and workers > 1:
        return _alone(stage, arguments, out, python, tally, **settings)
    return tally


def _alone(stage: str, arguments: list[str], out: IO[str], python: str | Path, tally: Tally, **settings: str) -> Tally:
    """Repeat the failed tests alone. Tests that pass now count as passed, and are listed in `alone`."""
    print("\nRepeating alone:", *tally.failed, sep="\n    ", file=out, flush=True)
    again = _pytest(stage, [*arguments, "--last-failed", "--last-failed-no-failures=none"], out, 1, python, **settings)
    fixed = [name for name in tally.failed if name not in again.failed]
    if again.passed < len(fixed):  # not all of them were repeated; a test that did not run does not count as passed
        return tally
    alone = [f"{name}: failed in parallel with others" for name in fixed]
    total = Tally(tally.passed, again.failed, tally.skipped, alone)
    total.passed += len(fixed)
    return total


def _in_memory() -> list[str]:
    """Return the words that run a command with its own /tmp in memory, which is fast; [] if this needs other rights.

    The tests flush every write. /dev/shm is not suitable, because programs of an audit see an empty /dev/shm.
    """
    if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("unshare"):
        return []
    return ["unshare", "--mount", "--propagation=private", "--", "sh", "-c", _own_tmp(), "sh"]


def _own_tmp() -> str:
    """Return shell code that mounts /tmp and runs the command. A checkout or a Python below /tmp stays visible."""
    draft = shlex.quote(str(ROOT / ".cache" / "tmp"))
    lines = [f"mkdir -p {draft}", f"mount -t tmpfs -o mode=1777 tests {draft}"]
    for folder in (ROOT, Path(sys.base_prefix).resolve()):
        if folder.is_relative_to("/tmp"):
            inside = f"{draft}{shlex.quote(str(folder).removeprefix('/tmp'))}"
            lines += [f"mkdir -p {inside}", f"mount --bind {shlex.quote(str(folder))} {inside}"]
    return " && ".join([*lines, f"mount --move {draft} /tmp", f"cd {shlex.quote(str(ROOT))}", 'exec "$@"'])


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


STAGES: dict[str, Callable[[IO[str]], Tally]] = {
    function.__name__: function for function in (check, unit, sanity, integration, packages, oldest)
}
SECOND_LANE = ("integration", "packages", "oldest")
"""These stages run in parallel with the others, and take about as long."""


@dataclass
class Ended:
    """A finished stage."""

    name: str
    tally: Tally
    seconds: float

    def __str__(self) -> str:
        return f"{self.name:12} {self.seconds:6.1f} s  {self.tally}"


def run(name: str, out: IO[str]) -> Ended:
    """Run a stage, and write its output to a stream."""
    begun = time.monotonic()
    print(f"\n== {name}: {STAGES[name].__doc__}", file=out, flush=True)
    tally = STAGES[name](out)
    return Ended(name, tally, time.monotonic() - begun)


def run_lane(names: list[str]) -> list[Ended]:
    """Run stages one after the other. Print the output of each stage when it has ended."""
    ended = []
    for name in names:
        with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
            ended.append(run(name, said))
            said.seek(0)
            print(said.read(), flush=True)
    return ended


def run_all(names: list[str]) -> list[Ended]:
    """Run the stages in this order, in two lanes."""
    lanes = [[name for name in names if (name in SECOND_LANE) is second] for second in (False, True)]
    if not all(lanes):
        return [run(name, sys.stdout) for name in names]
    with ThreadPoolExecutor(len(lanes)) as pool:
        return sorted(
            (one for lane in pool.map(run_lane, lanes) for one in lane), key=lambda one: names.index(one.name)
        )


def main(names: list[str]) -> int:
    """Run the stages. Return 1 if a test failed, or if no test ran."""
    start = time.monotonic()
    ended, total = run_all(names), Tally()
    for one in ended:
        total += one.tally
    listed = {"FAILED": total.failed, "SKIPPED": total.skipped, "PASSED ALONE": total.alone}
    print("\n" + "\n".join(f"{word} {one}" for word, names in listed.items() for one in names))
    print(*ended, sep="\n")
    print(f" {total} in {time.monotonic() - start:.1f}s ".center(80, "="), flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
