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
HOME = "HF_HOME"  # contains the token, too
FOLDER_VARIABLES = {HOME, "XDG_CACHE_HOME"}  # variables that change the default path of the token
KEYS = {
    "netrc_entry": KeyFileType("wandb", in_jobs=True),
    "ngc_config": KeyFileType("ngc", copy=".BAK"),
    "token_file": KeyFileType("huggingface", in_jobs=True),
}


def declare(settings: Settings) -> Declaration:
    """Declare the token of each program.

    settings: programs [{program, secret?, path?}], state. secret: the name of the key in the keyring, by default the
    program's name. path: of the token's file, if not the program's own.
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


def declare_copies(own: Sequence[PlanEntry], every: Sequence[PlanEntry]) -> list[ResourceEntry]:
    """Return a variable that names the file of Hugging Face's token, if other variables would make programs miss it.

    If the user's HF_HOME is set (tool_caches_paths), set the path of the token to a file in this folder instead.
    own: the entries of this role. every: the entries of all roles.
    """
    sections = [entry["options"] for entry in every if entry["kind"] == "shell_environment"]
    tokens = [entry["options"] for entry in own if entry["kind"] == "token_file"]
    for token in tokens:
        for section in sections if "path" not in token else []:
            if section["section"] == "tool_caches" and HOME in section.get("variables", {}):
                token["path"] = f"{section['variables'][HOME]}/token"
                return []
    present = [token for token in tokens if token["state"] == "present"]
    set_sections = [section for section in sections if section.get("state", "present") == "present"]
    names = {name for section in set_sections for name in section.get("variables", {})}
    if not present or not names & FOLDER_VARIABLES or TOKEN_PATH in names:
        return []
    path = str(present[0].get("path") or default_path("token_file"))
    return [resource("shell_environment", section="tokens", variables={TOKEN_PATH: path}, state="present")]
