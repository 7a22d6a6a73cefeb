"""Run the stages of the tests, and close with one line for all of them.

    python tools/stages.py check unit

HPC_ONBOARD_EXHAUSTIVE=1 looks at everything where else a sample is looked at (tests/effort.py). A stage that fails does
not stop the others: one run tells everything. Each tool of `check`, each sanity test and each pytest test counts as
one. Nothing counts as passed that did not run: what was skipped is listed again at the end.

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

from tests.effort import EXHAUSTIVE, slow_modules  # noqa: E402  # it chooses the seed, too, which all stages share
from tools import sanity_cores  # noqa: E402  # the checkout comes first

CHECKS = [
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
    "ansible-lint --offline",
]


@dataclass
class Tally:
    """What came of a stage: how many passed; what failed, what was skipped and why, what passed only alone."""

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
    """Format, lint, types: as many tools at once as there are processors."""
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
    """ansible-test sanity under the oldest ansible-core; under the newest as well when everything is looked at."""
    tally = Tally()
    for said, core in sanity_cores.run_all(sanity_cores.CORES if EXHAUSTIVE else sanity_cores.QUICK):
        print(said, file=out, flush=True)
        tally += Tally(core.passed, core.failed, core.skipped)
    return tally


def unit(out: IO[str]) -> Tally:
    """The parts that decide, under bare pytest."""
    return _pytest("unit", ["tests/unit"], out, workers=2)


def integration(out: IO[str]) -> Tally:
    """Everything else: real runs, real servers, injected faults, seeded bugs."""
    return _pytest("integration", slow_modules(ROOT / "tests"), out, workers=3)


def packages(out: IO[str]) -> Tally:
    """Wheel, tarball and checkout, installed and used."""
    return _pytest("packages", ["tests/packages"], out)


def oldest(out: IO[str]) -> Tally:
    """What decides and what people see, every test, under the oldest Python and ansible-core that we support."""
    core = sanity_cores.CORES[0]
    python = sanity_cores.found(core.pythons)
    if not python:
        return Tally(skipped=[f"oldest ansible-core: no Python {' or '.join(core.pythons)} here"])
    venv = sanity_cores.installed("tests", core.requirement, python, "-e", f"{ROOT}[test]")
    some = ["tests/unit", "tests/golden", "tests/integration/onboard"]
    return _pytest("oldest", some, out, 2, venv / "bin" / "python", HPC_ONBOARD_EXHAUSTIVE="", HPC_ONBOARD_TURNS="all")


def _quietly(command: list[str]) -> tuple[int, str, float]:
    """Run a command of the environment that runs this: its code, its output and how long it took."""
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
    """Run these tests, so many at once; each worker has servers of its own. settings: more of their environment."""
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
    """Run what failed beside others once more by itself: what passes then is counted, and listed as what it is."""
    print("\nOnce more, alone:", *tally.failed, sep="\n    ", file=out, flush=True)
    again = _pytest(stage, [*arguments, "--last-failed", "--last-failed-no-failures=none"], out, 1, python, **settings)
    fixed = [name for name in tally.failed if name not in again.failed]
    if again.passed < len(fixed):  # not all were taken again, and nothing counts as passed that did not run
        return tally
    total = Tally(tally.passed, again.failed, tally.skipped, [f"{name}: failed beside others" for name in fixed])
    total.passed += len(fixed)
    return total


def _in_memory() -> list[str]:
    """What gives a command a /tmp in memory that nobody else sees, where we may: the tests flush every write.

    Not /dev/shm: what an audit starts on an account is given an empty one.
    """
    if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("unshare"):
        return []
    return ["unshare", "--mount", "--propagation=private", "--", "sh", "-c", _own_tmp(), "sh"]


def _own_tmp() -> str:
    """Return the shell lines that mount it and run the rest. A checkout or a Python below /tmp stays visible there."""
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
LONG = ("integration", "oldest")
"""These have a lane of their own, and all others run beside them."""


@dataclass
class Ended:
    """A stage that is over: its name, what came of it, and how long it took (seconds)."""

    name: str
    tally: Tally
    seconds: float

    def __str__(self) -> str:
        return f"{self.name:12} {self.seconds:6.1f} s  {self.tally}"


def run(name: str, out: IO[str]) -> Ended:
    """Run a stage."""
    begun = time.monotonic()
    print(f"\n== {name}: {STAGES[name].__doc__}", file=out, flush=True)
    tally = STAGES[name](out)
    return Ended(name, tally, time.monotonic() - begun)


def run_lane(names: list[str]) -> list[Ended]:
    """Run stages one after the other, and let each speak as a whole when it is over."""
    ended = []
    for name in names:
        with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
            ended.append(run(name, said))
            said.seek(0)
            print(said.read(), flush=True)
    return ended


def run_all(names: list[str]) -> list[Ended]:
    """Run the stages in their order; the long ones beside the others."""
    lanes = [[name for name in names if (name in LONG) is long] for long in (False, True)]
    if not all(lanes):
        return [run(name, sys.stdout) for name in names]
    with ThreadPoolExecutor(len(lanes)) as pool:
        return sorted(
            (one for lane in pool.map(run_lane, lanes) for one in lane), key=lambda one: names.index(one.name)
        )


def main(names: list[str]) -> int:
    """Run the named stages; 1 when anything failed or nothing ran."""
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
