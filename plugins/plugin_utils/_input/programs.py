# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run programs on this machine that never prompt: ssh -G, ssh-keygen -L, klist."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .ssh_arguments import parse_settings


class LocalOutput(NamedTuple):
    """The standard output and error output of a program.

    code: its exit code; None if the program does not exist or timed out, and then both outputs are empty.
    """

    code: int | None
    output: str
    errors: str


def run_program(
    command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None, text: str = ""
) -> LocalOutput:
    """Run a program and return its output. seconds: its time limit. environment: additional variables.

    text: its standard input.
    """
    try:
        result = subprocess.run(
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
        return LocalOutput(code=None, output="", errors="")
    return LocalOutput(result.returncode, result.stdout, result.stderr)


def ssh_settings(arguments: Sequence[str], seconds: float) -> dict[str, list[str]]:
    """Return the settings that ssh would use with these arguments ('ssh -G'); {} if ssh refuses them."""
    result = run_program(["ssh", "-G", *arguments], seconds, {"LC_ALL": "C"})
    return parse_settings(result.output) if result.code == 0 else {}
