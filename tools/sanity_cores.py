"""Run `ansible-test sanity` under the oldest ansible-core that we support and the newest that is released.

    python -m tools.sanity_cores

Each core has an environment of its own below .cache/sanity, which is also the home that ansible-test sees. It tests a
copy of the tree at .../ansible_collections/hpc/onboard, since it resolves links. The Python of each is found by
running it (tools/find-python).

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "sanity"

# The tree in itself; and the tests, which no package holds, and which ruff and mypy judge.
LEFT_OUT = ("collections/", "tests/", "tools/")

# ansible-test would download pip for each of its environments; the pip of Python itself does as well.
STAND_IN = "import ensurepip\nensurepip.bootstrap(upgrade=True)\n"
DOWNLOADS = ("get_pip_24_2.py", "get_pip_25_2.py")


@dataclass(frozen=True)
class Core:
    """An ansible-core, the Pythons that may run it, and those on which it runs modules: all that are here are tried."""

    name: str
    requirement: str
    pythons: tuple[str, ...]
    targets: tuple[str, ...]
    skip: tuple[str, ...] = ()


CORES = (
    Core("oldest", "ansible-core~=2.19.0", ("3.11", "3.12", "3.13"), ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")),
    # The newest one is there for what a new release breaks: documentation, imports, schemas. What judges only our
    # text (pylint, pep8, yamllint, shellcheck) has been judged under the oldest, and takes most of the time.
    Core(
        "newest",
        "ansible-core>=2.20,<2.24",
        ("3.14", "3.13", "3.12"),
        ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14"),
        ("pylint", "pep8", "yamllint", "shellcheck"),
    ),
)
# For every change: the oldest core with the oldest Python that it knows and with its own; ruff has judged the text.
QUICK = (replace(CORES[0], targets=("3.8", CORES[0].pythons[0]), skip=("pylint",)),)


@dataclass
class Report:
    """What came of one core."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def run_all(cores: Sequence[Core] = CORES) -> Iterator[tuple[str, Report]]:
    """Run the cores at once: what each said, and what that means."""
    with ThreadPoolExecutor() as pool:
        yield from pool.map(run, cores)


def run(core: Core) -> tuple[str, Report]:
    """Run one core over a copy of the tree: what it said, and what that means."""
    start = time.monotonic()
    python = found(core.pythons)
    if not python:
        reason = f"sanity, {core.name} ansible-core: no Python {' or '.join(core.pythons)} here"
        return reason, Report(skipped=[reason])
    venv = environment(core, python)
    with tempfile.TemporaryDirectory(prefix="hpc-onboard-sanity-") as scratch:
        tree, pythons = copy(Path(scratch)), links(Path(scratch) / "pythons", core.targets)
        report, said = tested(core, venv, tree, pythons)
        absent = [version for version in core.targets if not (pythons / f"python{version}").is_symlink()]
    report.skipped += [f"sanity, {core.name} ansible-core: no Python {version} here" for version in absent]
    seconds = f"{core.name} ansible-core: {report.passed} passed in {time.monotonic() - start:.1f} s"
    return "\n".join([*([said] if report.failed else []), seconds]), report


def found(versions: Iterable[str]) -> str | None:
    """The first of these Pythons that works here."""
    run = subprocess.run([ROOT / "tools" / "find-python", *versions], text=True, capture_output=True)
    return run.stdout.strip() or None


def environment(core: Core, python: str) -> Path:
    """The core's own environment, with what ansible-test would fetch."""
    venv = installed(core.name, core.requirement, python)
    downloads = venv / "home" / ".ansible" / "test" / "cache"
    downloads.mkdir(parents=True, exist_ok=True)
    for name in DOWNLOADS:
        (downloads / name).write_text(STAND_IN)
    return venv


def installed(name: str, requirement: str, python: str, *more: str) -> Path:
    """An environment with that ansible-core and more, made once and brought up to date once a day."""
    venv = CACHE / name
    stamp = venv / "installed"
    if stamp.exists() and stamp.read_text() == requirement and time.time() - stamp.stat().st_mtime < 24 * 3600:
        return venv
    subprocess.run([python, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "-qq", "--upgrade", requirement, *more], check=True)
    stamp.write_text(requirement)
    return venv


def cloned() -> list[str]:
    """The names of what git has or would take."""
    order = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(order, cwd=ROOT, text=True, check=True, stdout=subprocess.PIPE)
    return [name for name in listed.stdout.split("\0") if name]


def copy(scratch: Path) -> Path:
    """A copy of what git has or would take, where ansible-test wants a collection to be."""
    tree = scratch / "ansible_collections" / "hpc" / "onboard"
    for name in cloned():
        if (not name.startswith(LEFT_OUT) or name.startswith("tests/sanity/ignore-")) and (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    return tree


def links(folder: Path, versions: Iterable[str]) -> Path:
    """A folder with those of the Pythons that really are here, by the names that ansible-test looks for."""
    folder.mkdir()
    for version in versions:
        python = found([version])
        if python:
            (folder / f"python{version}").symlink_to(python)
    return folder


def tested(core: Core, venv: Path, tree: Path, pythons: Path) -> tuple[Report, str]:
    """Run ansible-test: what it ran and failed, and what it said. Shims of pyenv are there without working."""
    home = venv / "home"
    path = [entry for entry in os.environ["PATH"].split(os.pathsep) if Path(entry).name != "shims"]
    own = {
        "HOME": str(home),
        "ANSIBLE_HOME": str(home / ".ansible"),
        "PATH": os.pathsep.join([str(venv / "bin"), str(pythons), *path]),
    }
    skip = [word for test in core.skip for word in ("--skip-test", test)]
    run = subprocess.run(
        [venv / "bin" / "ansible-test", "sanity", "--color", "no", *skip],
        cwd=tree,
        env={**os.environ, **own},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    ran = re.findall(r"^Running sanity test (.*)", run.stdout, re.MULTILINE)
    listed = re.search(r"listed below \(out of \d+\) failed\..*\n((?:\S+.*\n?)+)", run.stdout)
    failed = listed[1].splitlines() if listed else ["ansible-test"] if run.returncode or not ran else []
    names = [f"sanity, {core.name} ansible-core: {test}" for test in failed]
    return Report(max(len(ran) - len(failed), 0), names), run.stdout


if __name__ == "__main__":
    ended = list(run_all())
    print(*(said for said, _report in ended), sep="\n")
    sys.exit(1 if any(report.failed for _said, report in ended) else 0)
