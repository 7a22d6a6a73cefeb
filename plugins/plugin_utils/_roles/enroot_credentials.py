# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability enroot_credentials: one line per registry in the file that this site's enroot reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .table import Key, Settings, nothing, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

KEYS = {"enroot_credential": Key("ngc", by_containers=True)}


def declare(settings: Settings) -> Declaration:
    """What an account gets.

    settings: path (empty where nobody knows where it reads), runtime of the site, registries
    [{machine, login?, secret?}], secret, state.
    """
    if not settings["path"]:
        if settings["runtime"] != "enroot":
            return nothing("not_here", "no enroot here")
        text = "where this site's enroot reads its keys is not known; set enroot_credentials_path"
        return nothing("place_unknown", text)
    entries = [
        resource(
            "enroot_credential",
            path=settings["path"],
            machine=registry["machine"],
            login=registry.get("login"),
            secret=(registry.get("secret") or settings["secret"]) if settings["state"] == "present" else None,
            state=settings["state"],
        )
        for registry in settings["registries"]
    ]
    return {"resources": entries, "notes": []}
