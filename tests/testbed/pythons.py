"""Finds the real Pythons of this machine, for tests that need an old one.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import functools
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

Version = tuple[int, int]


@functools.cache
def pythons() -> dict[Version, Path]:
    """Give one Python for each version that answers when it is run; shims that only promise one fall out."""
    found: dict[Version, Path] = {}
    for candidate in _candidates():
        answer = _ask(candidate)
        if answer:
            found.setdefault(*answer)
    return dict(sorted(found.items()))


@functools.cache
def python(major: int, minor: int) -> Path | None:
    """Give the Python of this version, or None when this machine has none."""
    for candidate in _candidates():
        if candidate.name == f"python{major}.{minor}":
            answer = _ask(candidate)
            if answer and answer[0] == (major, minor):
                return answer[1]
    return pythons().get((major, minor))


def _candidates() -> Iterator[Path]:
    roots = [os.environ.get("PYENV_ROOT", ""), str(Path.home() / ".pyenv")]
    folders = [folder for root in roots if root for folder in sorted(Path(root).glob("versions/*/bin"))]
    folders += [Path(folder) for folder in os.environ.get("PATH", "").split(":") if folder]
    folders += [Path("/usr/bin"), Path("/usr/local/bin"), Path("/usr/libexec")]
    for folder in folders:
        for path in sorted(folder.glob("p*")):
            if re.fullmatch(r"python[23]\.\d+|platform-python", path.name):
                yield path


def _ask(candidate: Path) -> tuple[Version, Path] | None:
    """Run the candidate; its own word for where it lies sees through shims and links."""
    question = "import sys; print('%d %d %s' % (sys.version_info[0], sys.version_info[1], sys.executable))"
    try:
        # Isolated (-E -s): the environment of the tests shall not change what an old Python finds.
        done = subprocess.run(
            [candidate, "-E", "-s", "-c", question], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor, where = done.stdout.strip().split(" ", 2)
    return (int(major), int(minor)), Path(where)
