"""The packages, built once, and environments to install them into.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import venv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.files import FORMATS

from tools.build_packages import build
from tools.sanity_cores import ROOT, cloned

MOMENT = 1_790_000_000  # of the builds, in seconds since 1970

ACCOUNTS = """\
plugin: hpc.onboard.accounts
sandbox: true
accounts:
  simone@wilson:
    project: deep_lgt
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment, with a home of its own, seen from a folder that is not the checkout."""

    path: Path
    folder: Path

    def run(self, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run one of its commands; nothing of this shell's Ansible or Python settings comes along."""
        foreign = ("ANSIBLE_", "PYTHON", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        home = self.path / "home"
        home.mkdir(exist_ok=True)
        own = {"HOME": str(home), "PATH": f"{self.path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        program = self.path / "bin" / command[0]
        return subprocess.run(
            [program, *command[1:]],
            cwd=self.folder,
            env={**kept, **own, **variables},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def must(self, *command: str | Path, **variables: str) -> str:
        """What the command says; it must succeed."""
        run = self.run(*command, **variables)
        assert run.returncode == 0, f"{' '.join(map(str, command))}: {run.returncode}\n{run.stdout}"
        return run.stdout

    def tell(self, *command: str | Path) -> Any:
        """The JSON document that the command prints, whatever Ansible warns of beside it."""
        lines = self.must(*command).splitlines()
        return json.loads("\n".join(line for line in lines if not line.startswith("[WARNING]")))

    def pip(self, *arguments: str | Path) -> None:
        """Install something."""
        self.must("pip", "install", "-qq", *arguments)


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout as git would clone it, links too, with litter in it that no package may hold."""
    copy = tmp_path_factory.mktemp("clone") / "hpc.onboard"
    for name in cloned():
        if os.path.lexists(ROOT / name):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    hidden = ("inventory/.sandbox", ".sandbox", ".venv", ".cache", ".ansible", ".mypy_cache")
    for litter in (*hidden, "tests/output", "audit", "report"):
        (copy / litter).mkdir(parents=True)
        (copy / litter / "litter.txt").write_text("must not travel\n")
    for where in ("last-week", "inventory/last-week", "plugins/action/last-week"):
        (copy / where).mkdir()
        for name in FORMATS.values():
            (copy / where / name).write_text("the report of an audit must not travel\n")
    (copy / "inventory" / "accounts.yml").write_text("accounts: {me@lrz: }  # nobody else's business\n")
    (copy / "plugins" / "modules" / "__pycache__").mkdir()
    (copy / "plugins" / "modules" / "__pycache__" / "litter.pyc").write_text("must not travel\n")
    return copy


@pytest.fixture(scope="session")
def dist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all that a release consists of."""
    folder = tmp_path_factory.mktemp("dist")
    build(tree, folder, MOMENT)
    return folder


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    """The wheel, built from the source distribution."""
    return only(dist.glob("*.whl"))


@pytest.fixture(scope="session")
def tarball(dist: Path) -> Path:
    """The Galaxy tarball."""
    return only(dist.glob("hpc-onboard-*.tar.gz"))


def only(paths: Iterable[Path]) -> Path:
    """The one path that there must be."""
    (path,) = paths
    return path


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """Make an empty environment, and beside it a folder with an accounts file of one's own."""

    def make(name: str) -> Environment:
        path, folder = tmp_path_factory.mktemp(name), tmp_path_factory.mktemp(f"{name}-elsewhere")
        venv.create(path, with_pip=True, symlinks=True)
        (folder / "accounts.yml").write_text(ACCOUNTS)
        return Environment(path, folder)

    return make


@pytest.fixture(scope="session")
def from_wheel(wheel: Path, environment: Callable[[str], Environment]) -> Environment:
    """What somebody has who said `pip install hpc-onboard`."""
    made = environment("wheel")
    made.pip(wheel)
    return made


@pytest.fixture(scope="session")
def from_tarball(tarball: Path, environment: Callable[[str], Environment]) -> Environment:
    """What somebody has who said `ansible-galaxy collection install hpc.onboard` beside ansible-core and keyring.

    It is whole for who verifies it.
    """
    made = environment("tarball")
    made.pip("ansible-core", "keyring")
    made.must("ansible-galaxy", "collection", "install", tarball)
    made.must("ansible-galaxy", "collection", "verify", "--offline", "hpc.onboard")  # what Python compiles comes later
    return made
