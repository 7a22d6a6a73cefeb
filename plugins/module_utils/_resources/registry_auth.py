# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The login for one registry, in the JSON file that Apptainer and Docker read."""

import os
from typing import List, Optional

from .._core.host import Host
from .._core.resource import State
from .._formats import docker_auth
from .._options.key_options import APPTAINER_AUTH_FILE, RegistryAuthOptions
from .kept_key import KeptKey, KeyEntry, text_of

DOCKERS = ".docker/config.json"


class RegistryAuth(RegistryAuthOptions, KeptKey):
    """The entry of a registry below "auths". Other entries stay as they are."""

    def form(self) -> State:
        return {"login": self.options["login"]}

    def find(self, text: str) -> Optional[KeyEntry]:
        found = docker_auth.find(text, self.options["registry"])
        if found is None:
            return None
        form = {"login": found.user or "cannot be read"}
        program = docker_auth.credential_helper(text, self.options["registry"])
        return KeyEntry([found.password], dict(form, **{"answered by": program}) if program else form)

    def put(self, text: str) -> str:
        login = docker_auth.RegistryLogin(self.options["login"], self.options["password"])
        return docker_auth.put(text, self.options["registry"], login)

    def without(self, text: str) -> str:
        return docker_auth.without(text, self.options["registry"])

    def unreadable(self, text: str, shown: str) -> Optional[str]:
        problem = docker_auth.problem(text, self.options["registry"])
        return "%s: %s" % (shown, problem) if problem else None

    def remarks(self, host: Host) -> List[str]:
        """Return the logins that Apptainer no longer finds: it reads Docker's file only if it has none of its own."""
        dockers = os.path.join(host.home, DOCKERS)
        if self.path != os.path.join(host.home, APPTAINER_AUTH_FILE) or host.resolved_kind(dockers) != "file":
            return []
        own = docker_auth.registries(text_of(host, self.path)) if host.resolved_kind(self.path) == "file" else []
        hidden = docker_auth.registries(text_of(host, host.resolve(dockers) or dockers))
        lost = [name for name in hidden if name not in own and name != self.options["registry"]]
        if not lost:
            return []
        return [
            "Apptainer reads ~/%s and no longer ~/%s, which has the logins for %s: log in to them with"
            " 'apptainer registry login' if you need them there" % (APPTAINER_AUTH_FILE, DOCKERS, ", ".join(lost))
        ]
