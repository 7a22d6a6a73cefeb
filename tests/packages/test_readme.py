"""The first block of README.md, typed on a machine that has nothing of hpc-onboard yet.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tools.sanity_cores import ROOT


def test_the_first_block_can_be_typed(tree: Path, tmp_path: Path) -> None:
    """The repository is the checkout here, and init has no terminal to ask at."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"(?:^    .*\n)+", text, re.MULTILINE)
    assert block
    clone, *typed = [line.partition("#")[0].strip() for line in block[0].splitlines()]
    assert clone == "git clone https://github.com/hpc-onboard/hpc.onboard"
    assert typed[-2:] == ["hpc-onboard init", "hpc-onboard plan"]
    script = "\n".join(
        ["set -e", f"cp -r '{tree}' hpc.onboard", *typed[:-2], "hpc-onboard --version", "hpc-onboard init"]
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON", "VIRTUAL"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**kept, "HOME": str(tmp_path), "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert re.search(r"^hpc-onboard [0-9.]+$", done.stdout, re.MULTILINE), done.stdout
    assert done.returncode == 2, done.stdout
    assert "--account USER@CLUSTER" in done.stdout  # what init needs without a terminal
