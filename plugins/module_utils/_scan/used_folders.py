# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find folders of tools that contain the user's data. A variable with another path would hide this data."""

import os
from typing import Any, Dict, List, Mapping

from .._core.edited_file import read_text_if_possible
from .._core.errors import AccountError
from .._core.host import Host
from .._formats.settings import find_settings
from .._shells.start_up import login_shell_files

MOST = 100  # names in a folder that are examined


def find_used_folders(variables: Mapping[str, Mapping[str, Any]], host: Host) -> Dict[str, str]:
    """Return the variables that would hide content, each with the first folder that has content.

    variables: for each variable, "folders" lists the folders that the tool uses without the variable, which may begin
    with another variable, and "below" is the subfolder with the content.
    """
    used = {}
    for name, usage in variables.items():
        folders = [path for folder in usage["folders"] for path in _resolve_folder(folder, host)]
        for folder in folders:
            if name not in used and _has_content(os.path.join(folder, usage["below"]).rstrip("/"), host):
                used[name] = folder
    return used


def _resolve_folder(folder: str, host: Host) -> List[str]:
    """Return the absolute paths of a folder: one path, or one for each value of the variable with which it begins.

    The values of a variable are read from the user's start-up files, from lines that set the variable unconditionally.
    """
    if not folder.startswith("$"):
        return [host.expand(folder)]
    name, _slash, rest = folder[1:].partition("/")
    paths = []
    for file in login_shell_files(host):
        settings = [setting for setting in find_settings(read_text_if_possible(host, file)) if setting.name == name]
        paths += [setting.value(host.home) for setting in settings if setting.is_certain(host.home)]
    return [os.path.join(path, rest).rstrip("/") for path in paths if path.startswith("/")]


def _has_content(folder: str, host: Host) -> bool:
    """Return True if a folder has a subfolder, such as a container or a model, or cannot be read."""
    try:
        names = [name for name in host.names(folder) if not name.startswith(".")][:MOST]
        return any(host.resolved_kind(os.path.join(folder, name)) == "folder" for name in names)
    except AccountError:
        return True  # the folder may have content, which a variable must not hide
