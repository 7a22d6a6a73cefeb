"""The real enroot, built from its public source, for a while in the place of its stand-in.

HPC_ONBOARD_ENROOT_SOURCE says where git finds the source: an address, or a folder. Without it that is the public one.
SPDX-License-Identifier: GPL-3.0-or-later
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.testbed.world import World

PUBLIC_SOURCE = "https://github.com/NVIDIA/enroot"
SOURCE = "HPC_ONBOARD_ENROOT_SOURCE"
VERSION = "v4.1.2"
_SCRIPT = Path(__file__).with_name("containers") / "build_enroot.sh"
_NO_SOURCE = 75


def built(folder: Path) -> Path | None:
    """Build it below a folder: some five seconds. Gives what /usr/local is to hold, or None where no source was found.

    Raises RuntimeError where it cannot be built, and where a source was named that is not there.
    """
    source = os.environ.get(SOURCE, PUBLIC_SOURCE)
    words = ["bash", str(_SCRIPT), source, VERSION, str(folder / "source"), str(folder / "installed")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=180)
    if done.returncode == _NO_SOURCE and SOURCE not in os.environ:
        return None
    if done.returncode:
        raise RuntimeError(f"enroot {VERSION} of {source} could not be built: {done.stderr[-2000:]}")
    return folder / "installed/usr/local"


@contextlib.contextmanager
def installed(world: World, enroot: Path) -> Iterator[None]:
    """Have it in a cluster's world; then its stand-in is there again."""
    place = world.root / "usr/local"
    standin = (place / "bin/enroot").read_bytes()
    shutil.copytree(enroot, place, dirs_exist_ok=True)
    try:
        yield
    finally:
        for file in enroot.rglob("*"):
            if file.is_file():
                (place / file.relative_to(enroot)).unlink()
        (place / "bin/enroot").write_bytes(standin)
        (place / "bin/enroot").chmod(0o755)
