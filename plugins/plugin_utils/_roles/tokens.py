# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role tokens: the tokens of programs, each in the file that the program reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .table import KeyFileType, Settings, default_path, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, PlanEntry, ResourceEntry

TOKENS = {
    "wandb": {"kind": "netrc_entry", "machine": "api.wandb.ai"},
    "huggingface": {"kind": "token_file"},
    "ngc": {"kind": "ngc_config"},
}
TOKEN_PATH = "HF_TOKEN_PATH"
HF_HOME = "HF_HOME"  # the variable of Hugging Face's folder, which also contains the token
FOLDER_VARIABLES = {HF_HOME, "XDG_CACHE_HOME"}  # variables that change the default path of the token
KEYS = {
    "netrc_entry": KeyFileType("wandb", in_jobs=True),
    "ngc_config": KeyFileType("ngc", copy=".BAK"),
    "token_file": KeyFileType("huggingface", in_jobs=True),
}


def declare(settings: Settings) -> Declaration:
    """Declare the token of each program.

    settings: `programs` and `state`. Each program has `program`, its name in TOKENS, and optionally `secret`, the name
    of the key in the keyring (by default the program's name), and `path` of the token's file.
    """
    is_present = settings["state"] == "present"  # to remove a token, no key is needed
    entries = [
        resource(
            **TOKENS[entry["program"]],
            path=entry.get("path"),
            secret=(entry.get("secret") or entry["program"]) if is_present else None,
            state=settings["state"],
        )
        for entry in settings["programs"]
    ]
    return {"resources": entries, "notes": []}


def declare_dependent(role_entries: Sequence[PlanEntry], all_entries: Sequence[PlanEntry]) -> list[ResourceEntry]:
    """Return a variable with the path of Hugging Face's token, if variables of other roles move the default path.

    If the user's own HF_HOME is set (tool_caches_paths), change the token's path to a file in that folder instead.
    role_entries: the entries of this role. all_entries: the entries of all roles.
    """
    sections = [entry["options"] for entry in all_entries if entry["kind"] == "shell_environment"]
    tokens = [entry["options"] for entry in role_entries if entry["kind"] == "token_file"]
    tool_caches = [section.get("variables", {}) for section in sections if section["section"] == "tool_caches"]
    user_folder = next((values[HF_HOME] for values in tool_caches if HF_HOME in values), None)
    without_path = [token for token in tokens if "path" not in token]
    if user_folder is not None and without_path:
        without_path[0]["path"] = f"{user_folder}/token"
        return []  # programs find the token in their default path
    present_tokens = [token for token in tokens if token["state"] == "present"]
    present_sections = [section for section in sections if section.get("state", "present") == "present"]
    variables = {name for section in present_sections for name in section.get("variables", {})}
    if not present_tokens or not variables & FOLDER_VARIABLES or TOKEN_PATH in variables:
        return []  # no token, or its path is the default one or already set
    path = str(present_tokens[0].get("path") or default_path("token_file"))
    return [resource("shell_environment", section="tokens", variables={TOKEN_PATH: path}, state="present")]
