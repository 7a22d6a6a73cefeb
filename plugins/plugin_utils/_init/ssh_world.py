# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which clusters of the catalogue a person's own ssh knows, and as whom: its settings, by ssh -G, and known_hosts.

ssh takes its files from the home that the system has for the user, whatever HOME says. Nothing here connects.
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
from .._input.programs import run_program
from .._input.ssh_arguments import parse_settings
from .known_hosts import is_known

SECONDS = 5
DEEPEST = 16  # files that include each other, as in OpenSSH
WORD = re.compile(r"^\s*(host|include)(?:\s*=\s*|\s+)(.+?)\s*$", re.IGNORECASE)
ALIKE = ("hostname", "port", "user", "proxyjump", "proxycommand", "identityfile", "certificatefile", "hostkeyalias")


class SshTraces(NamedTuple):
    """What ssh tells of an account on a cluster.

    user: empty where only the person knows. ssh: a name of the settings that must be used, since the cluster's own
    would lead there in another way; else empty. jump_user: on the profile's jump host, where the settings say another.
    where: why we think that there is an account; empty where nothing tells of one.
    """

    user: str = ""
    ssh: str = ""
    jump_user: str = ""
    where: str = ""


class SshHistory:
    """The ssh settings and known hosts of one person."""

    def __init__(self, home: Path | None = None) -> None:
        """home: where .ssh lies, for ssh as for us."""
        me = pwd.getpwuid(os.getuid())
        self.folder = (home or Path(me.pw_dir)) / ".ssh"
        self.me = me.pw_name
        self.named = {
            name: effective_settings(name) for name in dict.fromkeys(_list_hosts(self.folder / "config", self.folder))
        }
        self.known = "\n".join(_read_lenient(self.folder / name) for name in ("known_hosts", "known_hosts2"))

    def clusters(self, catalogue: Catalogue) -> dict[str, SshTraces]:
        """The clusters that this person seems to have an account on."""
        found = {name: self.cluster(catalogue.profile(name) or {}) for name in sorted(catalogue.ids())}
        return {name: one for name, one in found.items() if one.where}

    def cluster(self, profile: Profile) -> SshTraces:
        """Return what there is to know of one cluster."""
        login = profile["login"]
        hosts = [login["host"], *(one["host"] for one in login.get("hosts", ()))]
        plain = effective_settings(login["host"])
        own = (profile["id"], *hosts)  # who names an entry so means this cluster, wherever it leads
        leading = [one for one in self.named.items() if one[0] in own or _first_value(one[1], "hostname") in hosts]
        jump = (login.get("jump") or {}).get("host", "")
        jump_user = self._user(effective_settings(jump)) if jump else ""
        if leading:
            name, said = leading[0]
            same = name in hosts or all(said.get(word) == plain.get(word) for word in ALIKE)
            return SshTraces(self._user(said), "" if same else name, jump_user, f"{name} in your ssh settings")
        visited = next((host for host in hosts if is_known(self.known, host, int(login.get("port", 22)))), "")
        return SshTraces(self._user(plain), "", jump_user, f"{visited} in your known hosts" if visited else "")

    def _user(self, said: dict[str, list[str]]) -> str:
        """The user that ssh would be there; empty where that is merely the one here."""
        user = _first_value(said, "user")
        return "" if user == self.me else user


def effective_settings(host: str) -> dict[str, list[str]]:
    """Return what ssh would do for a host, by setting."""
    said = run_program(["ssh", "-G", "--", host], SECONDS)
    return parse_settings(said.output) if said.code == 0 else {}


def _first_value(said: dict[str, Any], word: str) -> str:
    return str(said.get(word, [""])[0])


def _list_hosts(file: Path, folder: Path, depth: int = 0) -> Iterator[str]:
    """The names in the Host lines of a file, and of those that it includes, but for patterns."""
    for line in _read_lenient(file).splitlines() if depth < DEEPEST else ():
        found = WORD.match(line)
        keyword, words = (found[1].lower(), found[2].replace('"', " ").split()) if found else ("", [])
        for word in words:
            if keyword == "include":
                pattern = folder / Path(word).expanduser()
                for one in sorted(glob.glob(str(pattern))):
                    yield from _list_hosts(Path(one), folder, depth + 1)
            elif not set(word) & set("*?!#"):
                yield word


def _read_lenient(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
