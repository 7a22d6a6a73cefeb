# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role registry_auth: the login for each registry in the JSON file that Apptainer or Docker reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .table import KeyFileType, Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

KEYS = {"registry_auth": KeyFileType("ngc", by_containers=True)}


def declare(settings: Settings) -> Declaration:
    """Declare a login for each registry.

    settings: `path` of the JSON file; `runtime`, the site's container tool; `registries`, each with `registry`, and
    optionally `login` and `secret`; `secret`, the key's name for registries without one; `state`.
    """
    if settings["runtime"] != "apptainer":
        return {"resources": [], "notes": []}
    is_present = settings["state"] == "present"  # to remove a login, no key is needed
    entries = [
        resource(
            "registry_auth",
            path=settings["path"],
            registry=registry["registry"],
            login=registry.get("login"),
            secret=(registry.get("secret") or settings["secret"]) if is_present else None,
            state=settings["state"],
        )
        for registry in settings["registries"]
    ]
    return {"resources": entries, "notes": []}
