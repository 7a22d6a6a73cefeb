"""Run `ansible-test sanity` with the oldest supported ansible-core, and with the newest release.

    python -m tools.sanity_cores

Each ansible-core has its own virtual environment in .cache/sanity, which also contains the home of ansible-test.
ansible-test resolves links, so it tests a copy of the checkout in .../ansible_collections/hpc/onboard.
tools/find-python finds a Python for each ansible-core.

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

# The link to the checkout itself, and files that are in no package and that ruff and mypy check.
LEFT_OUT = ("collections/", "tests/", "tools/")

# Replaces the script with which ansible-test would download pip: installs the pip that Python contains.
STAND_IN = "import ensurepip\nensurepip.bootstrap(upgrade=True)\n"
DOWNLOADS = ("get_pip_24_2.py", "get_pip_25_2.py")


@dataclass(frozen=True)
class Core:
    """An ansible-core. pythons: versions that can run it. targets: versions for modules; those found are tested."""

    name: str
    requirement: str
    pythons: tuple[str, ...]
    targets: tuple[str, ...]
    skip: tuple[str, ...] = ()


CORES = (
    Core("oldest", "ansible-core~=2.19.0", ("3.11", "3.12", "3.13"), ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")),
    # With the newest ansible-core, only the tests run that a new release can break: documentation, imports, schemas.
    # The skipped tests take most of the time, and check only the text of the files, as with the oldest ansible-core.
    Core(
        "newest",
        "ansible-core>=2.20,<2.24",
        ("3.14", "3.13", "3.12"),
        ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14"),
        ("pylint", "pep8", "yamllint", "shellcheck"),
    ),
)
# For every change: the oldest ansible-core, with the oldest Python for modules and its own; pylint is left to ruff.
QUICK = (replace(CORES[0], targets=("3.8", CORES[0].pythons[0]), skip=("pylint",)),)


@dataclass
class Report:
    """The results with one ansible-core: number of passed tests, names of the others."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def run_all(cores: Sequence[Core] = CORES) -> Iterator[tuple[str, Report]]:
    """Run the tests with each ansible-core in parallel. Yield the output and the results of each."""
    with ThreadPoolExecutor() as pool:
        yield from pool.map(run, cores)


def run(core: Core) -> tuple[str, Report]:
    """Test a copy of the checkout with one ansible-core. Return the output and the results."""
    start = time.monotonic()
    python = found(core.pythons)
    if not python:
        reason = f"sanity, {core.name} ansible-core: Python {' or '.join(core.pythons)} not found"
        return reason, Report(skipped=[reason])
    venv = environment(core, python)
    with tempfile.TemporaryDirectory(prefix="hpc-onboard-sanity-") as scratch:
        tree, pythons = copy(Path(scratch)), links(Path(scratch) / "pythons", core.targets)
        report, said = tested(core, venv, tree, pythons)
        absent = [version for version in core.targets if not (pythons / f"python{version}").is_symlink()]
    report.skipped += [f"sanity, {core.name} ansible-core: Python {version} not found" for version in absent]
    seconds = f"{core.name} ansible-core: {report.passed} passed in {time.monotonic() - start:.1f} s"
    return "\n".join([*([said] if report.failed else []), seconds]), report


def found(versions: Iterable[str]) -> str | None:
    """Return the path of the first working Python of these versions; None without one."""
    run = subprocess.run([ROOT / "tools" / "find-python", *versions], text=True, capture_output=True)
    return run.stdout.strip() or None


def environment(core: Core, python: str) -> Path:
    """Return the virtual environment of an ansible-core, with the files that ansible-test would download."""
    venv = installed(core.name, core.requirement, python)
    downloads = venv / "home" / ".ansible" / "test" / "cache"
    downloads.mkdir(parents=True, exist_ok=True)
    for name in DOWNLOADS:
        (downloads / name).write_text(STAND_IN)
    return venv


def installed(name: str, requirement: str, python: str, *more: str) -> Path:
    """Return a virtual environment with the packages, which are updated once a day. more: further words for pip."""
    venv = CACHE / name
    stamp = venv / "installed"
    if stamp.exists() and stamp.read_text() == requirement and time.time() - stamp.stat().st_mtime < 24 * 3600:
        return venv
    subprocess.run([python, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "-qq", "--upgrade", requirement, *more], check=True)
    stamp.write_text(requirement)
    return venv


def cloned() -> list[str]:
    """Return the paths of the files that git tracks or would add."""
    order = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(order, cwd=ROOT, text=True, check=True, stdout=subprocess.PIPE)
    return [name for name in listed.stdout.split("\0") if name]


def copy(scratch: Path) -> Path:
    """Copy the files that git tracks or would add to the path that ansible-test requires. Return this path."""
    tree = scratch / "ansible_collections" / "hpc" / "onboard"
    for name in cloned():
        if (not name.startswith(LEFT_OUT) or name.startswith("tests/sanity/ignore-")) and (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    return tree


def links(folder: Path, versions: Iterable[str]) -> Path:
    """Create a folder with links to the Pythons that are found, named as ansible-test requires. Return its path."""
    folder.mkdir()
    for version in versions:
        python = found([version])
        if python:
            (folder / f"python{version}").symlink_to(python)
    return folder


def tested(core: Core, venv: Path, tree: Path, pythons: Path) -> tuple[Report, str]:
    """Run ansible-test. Return its results and its output. The shims of pyenv are not used, as not all work."""
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
