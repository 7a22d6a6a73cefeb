# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role tool_caches: caches of tools such as pip and torch outside the home, set by environment variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .table import Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

TOOLS = {  # tool -> variable (see the tool's own documentation) -> subfolder of the folder for caches
    "pip": {"PIP_CACHE_DIR": "pip"},
    "uv": {"UV_CACHE_DIR": "uv"},
    "huggingface": {  # not HF_HOME, which also contains the token
        "HF_HUB_CACHE": "huggingface/hub",
        "HF_XET_CACHE": "huggingface/xet",
        "HF_DATASETS_CACHE": "huggingface/datasets",
    },
    "torch": {"TORCH_HOME": "torch", "TORCH_EXTENSIONS_DIR": "torch_extensions"},
    "triton": {"TRITON_CACHE_DIR": "triton"},
    "cuda": {"CUDA_CACHE_PATH": "cuda"},
    "wandb": {"WANDB_CACHE_DIR": "wandb"},
    "npm": {"npm_config_cache": "npm"},
}


USER_VARIABLES = {"huggingface": "HF_HOME"}  # the variable for the user's own folder, if not the tool's first variable
HUGGINGFACE_FOLDERS = {  # for the option unless_used: do not set a variable that would hide models in these folders
    name: {
        "folders": ["~/.cache/huggingface", "$HF_HOME"],
        "below": below.partition("/")[2],
        "setting": "tool_caches: {paths: {huggingface: FOLDER}}",
    }
    for name, below in TOOLS["huggingface"].items()
}


def declare(settings: Settings) -> Declaration:
    """Declare the variables and the folder for caches. Raise AccountError for an unknown tool.

    settings: `folder` for the caches of all tools; `root`, the folder above `folder` that must exist; `tools`; `state`;
    `paths`, the user's own folders, by tool. Hugging Face's own folder is the whole HF_HOME, with the token.
    """
    unknown = [tool for tool in [*settings["tools"], *settings["paths"]] if tool not in TOOLS]
    if unknown:
        raise AccountError(f'tool_caches: unknown tool "{unknown[0]}"; available: {", ".join(TOOLS)}')
    base = settings["folder"].rstrip("/")
    defaults = {name: f"{base}/{below}" for tool in settings["tools"] for name, below in TOOLS[tool].items() if base}
    user_folders = {
        USER_VARIABLES.get(tool, next(iter(TOOLS[tool]))): folder for tool, folder in settings["paths"].items()
    }
    if "huggingface" in settings["paths"]:  # the default variables would override HF_HOME
        defaults = {name: folder for name, folder in defaults.items() if name not in HUGGINGFACE_FOLDERS}
    section = resource(
        "shell_environment",
        section="tool_caches",
        variables={**defaults, **user_folders},
        unless_used={name: rule for name, rule in HUGGINGFACE_FOLDERS.items() if name in defaults} or None,
        state=settings["state"],
    )
    if settings["state"] == "absent":
        return {"resources": [section], "notes": []}
    if not defaults and not user_folders:
        return {"resources": [], "notes": []}
    uses_base = defaults.keys() - user_folders.keys()  # some variable has its default folder
    folders = [resource("directory", path=base, root=settings["root"] or None)] if uses_base else []
    return {"resources": [*folders, section], "notes": []}
