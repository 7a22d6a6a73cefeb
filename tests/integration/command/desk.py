# SPDX-License-Identifier: GPL-3.0-or-later
"""Where somebody types hpc-onboard: a folder that is no checkout, with an accounts file."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pexpect

from tests.integration.runs import COMMAND, keyring_environment


def heeding() -> None:
    """Heed the signals of a terminal: tests may run in the background, where they are ignored."""
    for one in (signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)


class Desk:
    """A folder with an accounts file, and a person who types there."""

    def __init__(self, bed: Any, *accounts: Any, settings: Any = None) -> None:
        self.bed = bed
        self.file = bed.accounts_file(accounts, settings=settings)
        self.folder = Path(self.file).parent
        self.environment = keyring_environment(Path(bed.folder))

    def types(self, *words: str, program: str = "hpc-onboard", **more: str) -> Any:
        """Run a command there, with no terminal."""
        return self.bed.ansible(*words, program=program, cwd=self.folder, env={**self.environment, **more})

    def at_terminal(self, *words: str, **more: str) -> pexpect.spawn[str]:
        """Run the command there, at a terminal of 80 columns."""
        environment = {**self.bed.client.environment(), **self.environment, "TERM": "dumb", **more}
        size = (24, 80)
        return pexpect.spawn(
            COMMAND, list(words), cwd=str(self.folder), env=environment, encoding="utf-8", timeout=60, dimensions=size,
            preexec_fn=heeding,
        )  # fmt: skip
