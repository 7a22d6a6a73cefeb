# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The login for one registry, in the JSON file that Apptainer and Docker read."""

import os
from typing import List, Optional

from .._core.host import Host
from .._core.resource import Evidence, State
from .._formats import docker_auth
from .._options.key_options import APPTAINER_AUTH_FILE, RegistryAuthOptions
from .kept_key import KeptKey, KeyEntry, text_of

DOCKERS = ".docker/config.json"


class RegistryAuth(RegistryAuthOptions, KeptKey):
    """The entry of a registry below "auths", under any of its names. Other entries stay as they are."""

    def form(self) -> State:
        """Return the fields of one entry with the login."""
        return {"login": self.options["login"], "entries": "1"}

    def find(self, text: str) -> Optional[KeyEntry]:
        """Return the keys of all entries for the registry, and the credential helper that hides them, if any."""
        found = docker_auth.find_all(text, self.options["registry"])
        if not found:
            return None
        form = {"login": found[0].user or "cannot be read", "entries": str(len(found))}
        program = docker_auth.credential_helper(text, self.options["registry"])
        passwords = [one.password for one in found]
        return KeyEntry(passwords, dict(form, **{"answered by": program}) if program else form)

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return that the entry has another name of the registry, which its readers know as well."""
        names = docker_auth.find_names(text_of(host, self.path), self.options["registry"]) if "login" in before else []
        is_other = names and self.options["registry"] not in names
        return dict(super().evidence(before, host), **{"adopted": "equivalent"} if is_other else {})

    def put(self, text: str) -> str:
        """Return the text with exactly one entry for the registry."""
        login = docker_auth.RegistryLogin(self.options["login"], self.options["password"])
        return docker_auth.put(text, self.options["registry"], login)

    def without(self, text: str) -> str:
        """Return the text without the entries for the registry."""
        return docker_auth.without(text, self.options["registry"])

    def unreadable(self, text: str, shown: str) -> Optional[str]:
        """Return why the file must not be edited, or None."""
        problem = docker_auth.problem(text, self.options["registry"])
        return "%s: %s" % (shown, problem) if problem else None

    def remarks(self, host: Host) -> List[str]:
        """Return the logins that Apptainer no longer finds: it reads Docker's file only if it has none of its own."""
        dockers = os.path.join(host.home, DOCKERS)
        if self.path != os.path.join(host.home, APPTAINER_AUTH_FILE) or host.resolved_kind(dockers) != "file":
            return []
        own = docker_auth.list_registries(text_of(host, self.path)) if host.resolved_kind(self.path) == "file" else []
        hidden = docker_auth.list_registries(text_of(host, host.resolve(dockers) or dockers))
        same = docker_auth.find_names(text_of(host, host.resolve(dockers) or dockers), self.options["registry"])
        lost = [name for name in hidden if name not in own and name not in same]
        if not lost:
            return []
        return [
            "Apptainer now reads ~/%s, and no longer ~/%s with the logins for %s. If you need these logins in"
            " Apptainer, run: apptainer registry login" % (APPTAINER_AUTH_FILE, DOCKERS, ", ".join(lost))
        ]
