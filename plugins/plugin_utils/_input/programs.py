# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a program of this machine says that asks nobody anything: ssh -G, ssh-keygen -L, klist."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .ssh_arguments import parse_settings


class LocalOutput(NamedTuple):
    """What a program printed. code: its exit code; None if it is missing or did not end in time."""

    code: int | None
    output: str
    errors: str


def run_program(
    command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None, text: str = ""
) -> LocalOutput:
    """Run a program. environment: what is set beside this process's own variables. text: all of its standard input."""
    try:
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            env={**os.environ, **(environment or {})},
            timeout=seconds,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return LocalOutput(None, "", "")
    return LocalOutput(done.returncode, done.stdout, done.stderr)


def ssh_settings(arguments: Sequence[str], seconds: float) -> dict[str, list[str]]:
    """Return what ssh would do with these arguments, by setting ('ssh -G'); empty if it refuses them."""
    said = run_program(["ssh", "-G", *arguments], seconds, {"LC_ALL": "C"})
    return parse_settings(said.output) if said.code == 0 else {}
