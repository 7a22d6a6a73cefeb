# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the files that the settings files of git and ssh include (git-config(1), ssh_config(5))."""

import fnmatch
import os
import re
from typing import Dict, Iterator, Pattern, Tuple

from .._core.errors import AccountError
from .._core.host import Host

MOST = 50  # files of one folder
_GIT = re.compile(r"^[ \t]*path[ \t]*=[ \t]*\"?([^\s\"]+)", re.IGNORECASE | re.MULTILINE)
# Settings file -> (pattern of its include lines, folder of their relative paths), all below the home directory.
INCLUDES: Dict[str, Tuple[Pattern[str], str]] = {
    ".gitconfig": (_GIT, ""),
    ".config/git/config": (_GIT, ".config/git"),
    ".ssh/config": (re.compile(r"^[ \t]*Include[ \t=]+(\S.*)", re.IGNORECASE | re.MULTILINE), ".ssh"),
}


def find_included(name: str, text: str, host: Host) -> Iterator[str]:
    """Yield the paths of the existing files that a settings file includes.

    name: the path of the settings file below the home directory. Files that are not in INCLUDES include nothing.
    """
    if name not in INCLUDES:
        return
    pattern, folder = INCLUDES[name]
    for line in pattern.findall(text):
        for word in line.split():
            path = re.sub(r"^(?:~|\$\{?HOME\}?)/", lambda _match: host.home + "/", word.strip("\"'"))
            path = os.path.normpath(os.path.join(host.home, folder, path))
            yield from expand_pattern(path, host)


def expand_pattern(path: str, host: Host) -> Iterator[str]:
    """Yield the existing files whose names match the last part of the path, which may contain wildcards."""
    folder, pattern = os.path.split(path)
    try:
        names = host.names(folder) if re.search(r"[*?\[]", pattern) else [pattern]
        if not pattern.startswith("."):  # wildcards match no hidden file, such as the swap file of an editor
            names = [name for name in names if not name.startswith(".")]
        for name in fnmatch.filter(names, pattern)[:MOST]:
            if host.resolved_kind(folder + "/" + name) == "file":
                yield folder + "/" + name
    except AccountError:
        return  # without permission, the program cannot read the file either
