# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find clusters of the catalogue, and user names on them, in the user's ssh settings (ssh -G) and known_hosts.

The catalogue contains the profiles of the known clusters, the files with facts about them. Like ssh, this module reads
the files in the home of the user database and ignores HOME. It never connects.
"""

from __future__ import annotations

import glob
import os
import pwd
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .._accounts.profiles import Catalogue, Profile
from .._input.programs import ssh_settings
from .known_hosts import is_known

SECONDS = 5  # time limit of ssh -G
MAX_DEPTH = 16  # of files that include other files, as in OpenSSH
# a line "Host NAMES" or "Include PATHS", also with = after the keyword
HOST_OR_INCLUDE = re.compile(r"^\s*(host|include)(?:\s*=\s*|\s+)(.+?)\s*$", re.IGNORECASE)
CONNECTION_SETTINGS = (  # keywords that decide how ssh connects to a host
    *("hostname", "port", "user", "proxyjump", "proxycommand", "identityfile", "certificatefile", "hostkeyalias"),
)


class SshTraces(NamedTuple):
    """The traces of an account on a cluster in the user's ssh files."""

    user: str = ""  # the user name on the cluster; empty if the files contain none, or the local user's
    ssh: str = ""  # the name in ~/.ssh/config to connect with; empty if the host name connects in the same way
    jump_user: str = ""  # the user name on the profile's jump host; empty if it is the local user's
    where: str = ""  # a description of the place of the trace; empty if the files contain no trace


class SshHistory:
    """The ssh settings and known hosts of the user."""

    def __init__(self) -> None:
        """Read the settings for each name in the user's ssh settings, and the texts of the known_hosts files."""
        user = pwd.getpwuid(os.getuid())
        folder = Path(user.pw_dir) / ".ssh"
        self.local_user = user.pw_name
        names = dict.fromkeys(_list_hosts(folder / "config", folder))  # without duplicates
        self.settings = {name: effective_settings(name) for name in names}
        self.known_hosts = "\n".join(_read_text(folder / name) for name in ("known_hosts", "known_hosts2"))

    def list_clusters(self, catalogue: Catalogue) -> list[str]:
        """Return the names of the clusters that the user's ssh files mention, so that the user may have an account."""
        return [name for name in sorted(catalogue.ids()) if self.find_traces(catalogue.profile(name) or {}).where]

    def find_traces(self, profile: Profile) -> SshTraces:
        """Return the traces of a cluster: its first entry in the ssh settings, or else a login node in known_hosts.

        profile: of the cluster. Without any trace, "where" is empty.
        """
        login = profile["login"]
        hosts = [login["host"], *(node["host"] for node in login.get("hosts", ()))]
        host_settings = effective_settings(login["host"])
        jump = (login.get("jump") or {}).get("host", "")
        jump_user = self._find_user(effective_settings(jump)) if jump else ""
        names = (profile["id"], *hosts)  # an entry with such a name is for this cluster, whatever its host is
        for name, settings in self.settings.items():
            if name in names or _first_value(settings, "hostname") in hosts:
                # The name must be set only if it connects in another way than the host name in the profile.
                is_same_connection = all(settings.get(key) == host_settings.get(key) for key in CONNECTION_SETTINGS)
                ssh = "" if is_same_connection or name in hosts else name
                where = f"{name} in your ssh settings"
                return SshTraces(user=self._find_user(settings), ssh=ssh, jump_user=jump_user, where=where)
        known_host = next((host for host in hosts if is_known(self.known_hosts, host, int(login.get("port", 22)))), "")
        where = f"{known_host} in your known hosts" if known_host else ""
        return SshTraces(user=self._find_user(host_settings), ssh="", jump_user=jump_user, where=where)

    def _find_user(self, settings: dict[str, list[str]]) -> str:
        """Return the user name in these settings; empty for the local user, which is only ssh's default."""
        user = _first_value(settings, "user")
        return "" if user == self.local_user else user


def effective_settings(host: str) -> dict[str, list[str]]:
    """Return the settings that ssh would use for a host, keyword -> values; {} if ssh rejects its settings files."""
    return ssh_settings(["--", host], SECONDS)


def _first_value(settings: dict[str, Any], keyword: str) -> str:
    """Return the first value of a keyword; empty if the keyword is not set."""
    return str(settings.get(keyword, [""])[0])


def _list_hosts(file: Path, folder: Path, depth: int = 0) -> Iterator[str]:
    """Yield the names in the Host lines of a file and of the files that the file includes, without patterns.

    folder: ~/.ssh, to which included paths are relative. depth: the number of files that include this file.
    """
    if depth >= MAX_DEPTH:
        return
    for line in _read_text(file).splitlines():
        line_match = HOST_OR_INCLUDE.match(line)
        if not line_match:
            continue
        is_include = line_match[1].lower() == "include"
        for value in line_match[2].replace('"', " ").split():
            if is_include:
                pattern = folder / os.path.expanduser(value)  # a user who does not exist is no error
                for path in sorted(glob.glob(str(pattern))):
                    yield from _list_hosts(Path(path), folder, depth + 1)
            elif not set(value) & set("*?!#"):  # neither a pattern nor a comment
                yield value


def _read_text(file: Path) -> str:
    """Return the content of a file; empty if the file cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
