# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role path_scripts: the user's own scripts in a folder that is on PATH."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .table import Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration


def declare(settings: Settings) -> Declaration:
    """Declare the scripts and PATH.

    settings: `scripts`, each with `name` and either `content` or `file`; `folder` on the account; `files_from`, the
    folder from which a relative `file` starts; `state`.
    """
    folder, base_folder, state = settings["folder"], settings["files_from"], settings["state"]
    resources = [
        resource(
            "path_script",
            path=f"{folder}/{script['name']}",
            content=read_script(script, base_folder, state),
            state=state,
        )
        for script in settings["scripts"]
    ]
    if not resources:
        return {"resources": [], "notes": []}
    section = resource("shell_environment", section="path_scripts", path=[folder], state=state)
    return {"resources": [*resources, section], "notes": []}


def read_script(script: Settings, base_folder: str, state: str) -> str:
    """Return the text of a script: its `content`, or the content of its `file`, relative to base_folder.

    state: see read_own_text(). Beginning and lines are as Linux expects, also if Windows wrote the file.

    Raise AccountError if the script has both or neither, if its file cannot be read, or if its text contains a key.
    """
    from . import own_texts  # imported late: few accounts have texts

    file, content = script.get("file"), script.get("content")
    if (file is None) == (content is None):
        raise AccountError(f'path_scripts: {script["name"]}: set either "file" or "content"')
    if file is not None:
        text = own_texts.read_own_text("path_scripts", Path(base_folder, os.path.expanduser(file)), state)
    else:
        text = str(content)
        own_texts.refuse_keys(f"path_scripts: {script['name']}", text)
    # a kernel reads #! only as the first characters, and an interpreter's name up to the line feed
    return text.removeprefix(own_texts.BOM).replace("\r\n", "\n").rstrip("\n") + "\n"
