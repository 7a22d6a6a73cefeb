# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability tokens: those of programs, each where the program looks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .table import KeyFileType, Settings, resource, usual_path

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, PlanEntry, ResourceEntry

TOKENS = {
    "wandb": {"kind": "netrc_entry", "machine": "api.wandb.ai"},
    "huggingface": {"kind": "token_file"},
    "ngc": {"kind": "ngc_config"},
}
TOKEN_PATH = "HF_TOKEN_PATH"
HOME = "HF_HOME"  # holds the token, too
LEADING = {HOME, "XDG_CACHE_HOME"}  # variables that lead to another token
KEYS = {
    "netrc_entry": KeyFileType("wandb", in_jobs=True),
    "ngc_config": KeyFileType("ngc", copy=".BAK"),
    "token_file": KeyFileType("huggingface", in_jobs=True),
}


def declare(settings: Settings) -> Declaration:
    """Return what an account gets.

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


def declare_copies(mine: Sequence[PlanEntry], every: Sequence[PlanEntry]) -> list[ResourceEntry]:
    """Return what makes Hugging Face's programs find the token where the account's own variables lead them elsewhere.

    If its home is the user's own (tool_caches_paths), the token is kept there, where the user has theirs.
    """
    shells = [one["options"] for one in every if one["kind"] == "shell_environment"]
    for options in [one["options"] for one in mine if one["kind"] == "token_file" and "path" not in one["options"]]:
        for one in shells:
            if one["section"] == "tool_caches" and HOME in one.get("variables", {}):
                options["path"] = f"{one['variables'][HOME]}/token"
                return []
    tokens = [one["options"] for one in mine if one["kind"] == "token_file" and one["options"]["state"] == "present"]
    names = {name for one in shells for name in one.get("variables", {}) if one.get("state", "present") == "present"}
    if not tokens or not names & LEADING or TOKEN_PATH in names:
        return []
    path = str(tokens[0].get("path") or usual_path("token_file"))
    return [resource("shell_environment", section="tokens", variables={TOKEN_PATH: path}, state="present")]
