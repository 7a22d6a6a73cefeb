# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where an accounts file may lie, and how it comes there: in no repository that takes it, never over another."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ...module_utils._core import files
from ...module_utils._core.errors import AccountError, errno_name
from .._input.programs import run_program

SECONDS = 5
ELSEWHERE = "name a place outside of it, or let git ignore the file"


def find_repository(file: Path) -> Path | None:
    """The work tree of git that would take this file; None where none would."""
    there = Path(os.path.realpath(file.parent)) / file.name
    top = next((folder for folder in there.parents if (folder / ".git").exists()), None)
    near = next(folder for folder in there.parents if folder.is_dir())
    if top is None or run_program(["git", "-C", str(near), "check-ignore", "-q", "--", str(there)], SECONDS).code == 0:
        return None
    return top


def write_file(file: Path, text: str, before: str | None) -> None:
    """Write the file, whole or not at all. before: what it must hold until then; None: it must not be there.

    Raises AccountError.
    """
    path = Path(os.path.realpath(file))

    def check(_draft: str) -> None:
        if _read_existing(path) != before:
            raise AccountError(f"{file} has changed since then and was not touched; check it, then run this again")

    try:
        for folder in reversed(path.parents):
            folder.mkdir(mode=0o700, exist_ok=True)
        mode = 0o600 if before is None else stat.S_IMODE(path.stat().st_mode)
        kept = {} if before is None else files.read_attributes(str(path))
        at = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            files.replace(at, path.name, text.encode(), mode, kept, check)
        finally:
            os.close(at)
    except OSError as error:
        raise AccountError(f"{file} cannot be written: {errno_name(error)}: fix that, or name another") from None


def _read_existing(path: Path) -> str | None:
    """Return what a file holds; None where nothing has its name."""
    return path.read_bytes().decode() if os.path.lexists(path) else None
