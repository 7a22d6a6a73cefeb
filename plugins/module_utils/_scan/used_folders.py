# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find folders of tools that contain data of the user, which a variable with another path would hide."""

import os
from typing import Any, Dict, List, Mapping

from .._core.edited_file import read_edited_file
from .._core.errors import AccountError
from .._core.host import Host
from .._formats.settings import find_settings
from .start_up import login_shell_files

MOST = 100  # names in a folder that are examined


def find_used(variables: Mapping[str, Mapping[str, Any]], host: Host) -> Dict[str, str]:
    """Return the variables that would hide content, each with the folder that has the content.

    variables: the option unless_used, variable -> {folders: used without the variable, below: subfolder with content}.
    """
    found = {}
    for name, usual in variables.items():
        for folder in [path for option in usual["folders"] for path in _resolve_folder(option, host)]:
            if name not in found and _has_content(os.path.join(folder, usual["below"]).rstrip("/"), host):
                found[name] = folder
    return found


def _resolve_folder(folder: str, host: Host) -> List[str]:
    """Return the absolute path of a folder; none or several if it begins with a variable.

    The value of a variable is read from the user's start-up files, if they set it unconditionally.
    """
    if not folder.startswith("$"):
        return [host.expand(folder)]
    name, _slash, rest = folder[1:].partition("/")
    paths = []
    for file in login_shell_files(host):
        try:
            text = read_edited_file(host, file).text
        except AccountError:
            continue  # an audit check reports unreadable files
        settings = [setting for setting in find_settings(text) if setting.name == name]
        paths += [setting.value(host.home) for setting in settings if setting.is_certain(host.home)]
    return [os.path.join(path, rest).rstrip("/") for path in paths if path.startswith("/")]


def _has_content(folder: str, host: Host) -> bool:
    """Return True if a folder has a subfolder, such as a container or a model, or cannot be read."""
    try:
        names = [name for name in host.names(folder) if not name.startswith(".")][:MOST]
        return any(host.resolved_kind(os.path.join(folder, name)) == "folder" for name in names)
    except AccountError:
        return True  # it may have content, which a variable must not hide
