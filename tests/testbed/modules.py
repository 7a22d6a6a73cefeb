"""Environment modules on a stand-in cluster, as the Alliance has them: Lmod, a Python, and the site's own wheels.

The wheels are real ones, fetched once: virtualenv and what it needs. The site's pip knows no other place. And uv, a
program that people bring along.
SPDX-License-Identifier: GPL-3.0-or-later
"""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.testbed.cluster import Cluster

_KEPT = Path(__file__).parents[2] / ".cache" / "wheels"
_PROFILE = """# The site's modules.
. /usr/share/lmod/lmod/init/bash >/dev/null 2>&1
module use /cvmfs/modules
"""
_PYTHON = """prereq("StdEnv")
prepend_path("PATH", "/cvmfs/python/VERSION/bin")
setenv("PIP_CONFIG_FILE", "/cvmfs/pip.conf")
"""


class Modules:
    """The modules of one cluster: StdEnv/2023, and python/VERSION with pip and virtualenv."""

    def __init__(self, cluster: Cluster) -> None:
        """Lay them out; some five seconds."""
        self.cluster = cluster
        self.root = cluster.world.root
        wheels = self.root / "cvmfs/wheels"
        wheels.mkdir(parents=True)
        for wheel in _fetched():
            shutil.copy(wheel, wheels)
            shutil.unpack_archive(wheel, self.root / "cvmfs/tools", "zip")
        (self.root / "cvmfs/pip.conf").write_text("[global]\nno-index = true\nfind-links = /cvmfs/wheels\n")
        (self.root / "etc/profile.d/site-modules.sh").write_text(_PROFILE)
        self.add_module("StdEnv/2023", 'setenv("SITE_STANDARD", "2023")\n')
        self.add_python("3.11")

    def add_python(self, version: str) -> None:
        """Offer a Python of this version; all are the one of this machine."""
        place = f"/cvmfs/python/{version}"
        run = self.cluster.world.run
        run("env", "PYTHONPATH=/cvmfs/tools", "/usr/bin/python3", "-m", "virtualenv", "--no-download", "-q", place)
        words = ["install", "-q", "--no-index", "--find-links", "/cvmfs/wheels", "virtualenv"]
        run(f"{place}/bin/python", "-m", "pip", *words)
        self.add_module(f"python/{version}", _PYTHON.replace("VERSION", version))

    def remove_python(self, version: str) -> None:
        """Offer it no longer."""
        shutil.rmtree(self.root / "cvmfs/python" / version)
        (self.root / f"cvmfs/modules/python/{version}.lua").unlink()

    def add_module(self, name: str, text: str) -> None:
        """Offer a module of this name with this text, as Lmod reads it."""
        file = self.root / f"cvmfs/modules/{name}.lua"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def uv() -> bytes:
    """The program uv, from its wheel, fetched when that is not there yet."""
    folder = _KEPT.with_name("uv")
    if not list(folder.glob("uv-*.whl")):
        words = ["--only-binary=:all:", "--no-deps", "-q", "-d", str(folder), "uv"]
        subprocess.run([sys.executable, "-m", "pip", "download", *words], check=True)
    with zipfile.ZipFile(next(folder.glob("uv-*.whl"))) as wheel:
        return wheel.read(next(name for name in wheel.namelist() if name.endswith("/scripts/uv")))


def _fetched() -> list[Path]:
    """The wheels, fetched when they are not there yet."""
    if not list(_KEPT.glob("virtualenv-*.whl")):
        words = ["--only-binary=:all:", "--python-version", "3.11", "-q", "-d", str(_KEPT), "virtualenv"]
        subprocess.run([sys.executable, "-m", "pip", "download", *words], check=True)
    return sorted(_KEPT.glob("*.whl"))
