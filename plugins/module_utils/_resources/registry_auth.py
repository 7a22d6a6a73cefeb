# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The login for one registry, in the JSON file that Apptainer and Docker read.

The base class reads and writes the file. This class defines the format of the key's entry in the text of the file.
"""

import os
from typing import List, Optional

from .._core.edited_file import read_text_if_possible
from .._core.host import Host
from .._core.resource import Evidence, State
from .._formats import docker_auth
from .._options.key_options import APPTAINER_AUTH_FILE, RegistryAuthOptions
from .kept_key import KeptKey, KeyEntry, read_latin1

DOCKER_AUTH_FILE = ".docker/config.json"
"""Docker's own file, below the home."""


class RegistryAuth(RegistryAuthOptions, KeptKey):
    """The entry of a registry below "auths", under any of its names. Other entries stay as they are."""

    def form(self) -> State:
        """Return the desired format: one entry with the login."""
        return {"login": self.options["login"], "entries": "1"}

    def find_entry(self, text: str) -> Optional[KeyEntry]:
        """Return the keys of all entries for the registry, with the first login and the number of entries; or None.

        If a credential helper answers instead of the file, the field "answered by" names the helper.
        """
        logins = docker_auth.find_all(text, self.options["registry"])
        if not logins:
            return None
        form = {"login": logins[0].user or "cannot be read", "entries": str(len(logins))}
        helper = docker_auth.credential_helper(text, self.options["registry"])
        if helper:
            form["answered by"] = helper
        return KeyEntry([login.password for login in logins], form)

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return the evidence of the base class, and {adopted: "equivalent"} for an entry of the user's.

        Such an entry is in the file only under another name of the registry, which programs accept. before: the state
        from inspect().
        """
        evidence = super().evidence(before, host)
        if "login" in before:  # the file has an entry for the registry
            names = docker_auth.find_names(read_latin1(host, self.path), self.options["registry"])
            if names and self.options["registry"] not in names:
                return dict(evidence, adopted="equivalent")
        return evidence

    def put_entry(self, text: str) -> str:
        """Return the text with exactly one entry for the registry."""
        login = docker_auth.RegistryLogin(self.options["login"], self.options["password"])
        return docker_auth.put(text, self.options["registry"], login)

    def remove_entry(self, text: str) -> str:
        """Return the text without the entries for the registry."""
        return docker_auth.without(text, self.options["registry"])

    def find_problem(self, text: str) -> Optional[str]:
        """Return why a file with this text must not be edited, or why programs ignore the entry; else None."""
        return docker_auth.find_problem(text, self.options["registry"])

    def remarks(self, host: Host) -> List[str]:
        """Return a note about the logins in Docker's file that Apptainer no longer finds.

        Apptainer reads Docker's file only if Apptainer's own file does not exist.
        """
        if self.options["state"] == "absent" or self.path != os.path.join(host.home, APPTAINER_AUTH_FILE):
            return []
        docker_text = read_text_if_possible(host, os.path.join(host.home, DOCKER_AUTH_FILE))
        available = docker_auth.find_names(docker_text, self.options["registry"])  # in Apptainer's file after apply()
        available += docker_auth.list_registries(read_text_if_possible(host, self.path))
        lost = [name for name in docker_auth.list_registries(docker_text) if name not in available]
        if not lost:
            return []
        return [
            "Apptainer now reads ~/%s instead of ~/%s, which contains the logins for %s. If Apptainer needs these"
            " logins, run: apptainer registry login" % (APPTAINER_AUTH_FILE, DOCKER_AUTH_FILE, ", ".join(lost))
        ]
