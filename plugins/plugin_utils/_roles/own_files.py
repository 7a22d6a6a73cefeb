# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability own_files: text files from a folder of this machine."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from . import own_texts
from .table import Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration


def declare(settings: Settings) -> Declaration:
    """Return what an account gets. settings: files [{file, path, mode}], folder, files_from, state."""
    folder = Path(settings["files_from"], Path(settings["folder"]).expanduser())
    resources = [
        resource(
            "own_file", path=one["path"], content=_read_content(folder, one), mode=one["mode"], state=settings["state"]
        )
        for one in settings["files"]
    ]
    return {"resources": resources, "notes": []}


def _read_content(folder: Path, one: dict[str, Any]) -> str:
    """The text of one file, which lies in the folder or below it. Raises AccountError."""
    name = PurePosixPath(one["file"])
    if name.is_absolute() or ".." in name.parts:
        raise AccountError(f"own_files: {one['file']!r} is not the name of a file in the folder {folder}")
    return own_texts.read_own_text("own_files", folder / name)
