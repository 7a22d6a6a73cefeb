# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of tools with content of the user's, which a variable that leads elsewhere would hide."""

import os
from typing import Any, Dict, List, Mapping

from .._core.edited_file import read_edited_file
from .._core.errors import AccountError
from .._core.host import Host
from .._formats.settings import find_settings
from .start_up import login_shell_files

MOST = 100  # names in a folder that are looked at


def find_used(asked: Mapping[str, Mapping[str, Any]], host: Host) -> Dict[str, str]:
    """Return the variables that would hide content, each with the folder of that. asked: as in unless_used."""
    found = {}
    for name, one in asked.items():
        for folder in [place for shown in one["folders"] for place in _resolve(shown, host)]:
            if name not in found and _has_content(os.path.join(folder, one["below"]).rstrip("/"), host):
                found[name] = folder
    return found


def _resolve(folder: str, host: Host) -> List[str]:
    """Return the path of a folder. One that begins with a variable is where the start-up files certainly say."""
    if not folder.startswith("$"):
        return [host.expand(folder)]
    name, _slash, rest = folder[1:].partition("/")
    paths = []
    for file in login_shell_files(host):
        try:
            text = read_edited_file(host, file).text
        except AccountError:
            continue  # an unreadable file is reported elsewhere
        settings = find_settings(text) if name in text else ()
        paths += [one.value(host.home) for one in settings if one.name == name and one.is_certain(host.home)]
    return [os.path.join(path, rest).rstrip("/") for path in paths if path.startswith("/")]


def _has_content(folder: str, host: Host) -> bool:
    """Return True if it holds a folder, as of a container or a model, or cannot be read."""
    try:
        names = [name for name in host.names(folder) if not name.startswith(".")][:MOST]
        return any(host.resolved_kind(os.path.join(folder, name)) == "folder" for name in names)
    except AccountError:
        return True
