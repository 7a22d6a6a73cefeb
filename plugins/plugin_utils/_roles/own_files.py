# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role own_files: text files that are copied from a folder of this machine."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from . import own_texts
from .table import Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration


def declare(settings: Settings) -> Declaration:
    """Declare the files.

    settings: `files`, each with `file` on this machine, `path` on the account, and `mode`; `folder` of the files;
    `files_from`, the folder from which a relative `folder` starts; `state`.
    """
    folder, state = Path(settings["files_from"], os.path.expanduser(settings["folder"])), settings["state"]
    resources = [
        resource(
            "own_file",
            path=entry["path"],
            content=_read_content(folder, entry["file"], state),
            mode=entry["mode"],
            state=state,
        )
        for entry in settings["files"]
    ]
    return {"resources": resources, "notes": []}


def _read_content(folder: Path, file: str, state: str) -> str:
    """Return the text of a file in the folder or below it. state: see read_own_text(). Raise AccountError."""
    name = PurePosixPath(file)
    if name.is_absolute() or ".." in name.parts:
        raise AccountError(
            f"own_files: {file!r} is not a file in the folder {folder}; use a relative path without '..'"
        )
    return own_texts.read_own_text("own_files", folder / name, state)
