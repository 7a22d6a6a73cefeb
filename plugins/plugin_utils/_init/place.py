# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out whether git would track an accounts file, and write the file without overwriting other changes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ...module_utils._core import files
from ...module_utils._core.errors import AccountError, errno_name
from .._input.programs import run_program

SECONDS = 5  # time limit of git


def find_repository(file: Path) -> Path | None:
    """Return the top folder of the git repository that would track this file; None if no repository would."""
    path = Path(os.path.realpath(file.parent)) / file.name
    top = next((folder for folder in path.parents if (folder / ".git").exists()), None)
    if top is None:
        return None
    existing_folder = next(folder for folder in path.parents if folder.is_dir())  # git -C requires an existing folder
    check_ignore = ["git", "-C", str(existing_folder), "check-ignore", "-q", "--", str(path)]
    is_ignored = run_program(check_ignore, SECONDS).code == 0
    return None if is_ignored else top


def write_file(file: Path, text: str, before: str | None) -> None:
    """Write the text to the file, completely or not at all.

    before: the content that the file must still have; None if the file must not exist yet. Raise AccountError if
    another program changed the file, or if the file cannot be written.
    """
    path = Path(os.path.realpath(file))

    def check_unchanged(_draft_name: str) -> None:
        """Raise AccountError if another program changed the file. Called just before the new file is put in place."""
        if _read_existing(path) != (None if before is None else before.encode()):
            message = f"another program changed {file}, so hpc-onboard did not write it. Check the file, then try again"
            raise AccountError(message)

    try:
        for folder in reversed(path.parents):  # from / down to the folder of the file
            folder.mkdir(mode=0o700, exist_ok=True)
        mode = 0o600 if before is None else stat.S_IMODE(path.stat().st_mode)
        attributes = {} if before is None else files.read_attributes(str(path))  # such as access lists
        folder_fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            files.replace(folder_fd, path.name, text.encode(), mode, attributes, check=check_unchanged)
        finally:
            os.close(folder_fd)
    except OSError as error:
        advice = "Check the folder's permissions and the free space, or choose another file"
        raise AccountError(f"{file} cannot be written ({errno_name(error)}). {advice}") from None


def _read_existing(path: Path) -> bytes | None:
    """Return the content of a file; None if nothing has this name."""
    return path.read_bytes() if os.path.lexists(path) else None
