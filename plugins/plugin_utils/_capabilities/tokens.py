# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability tokens: those of programs, each where the program looks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.table import Key, Settings, resource

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import Declaration

TOKENS = {
    "wandb": {"kind": "netrc_entry", "machine": "api.wandb.ai"},
    "huggingface": {"kind": "token_file"},
    "ngc": {"kind": "ngc_config"},
}
KEYS = {
    "netrc_entry": Key("wandb", in_jobs=True),
    "ngc_config": Key("ngc", copy=".BAK"),
    "token_file": Key("huggingface", in_jobs=True),
}


def declare(settings: Settings) -> Declaration:
    """What an account gets.

    settings: programs [{program, secret?, path?}], state.
    """
    present = settings["state"] == "present"
    entries = [
        resource(
            **TOKENS[one["program"]],
            path=one.get("path"),
            secret=(one.get("secret") or one["program"]) if present else None,
            state=settings["state"],
        )
        for one in settings["programs"]
    ]
    return {"resources": entries, "notes": []}
