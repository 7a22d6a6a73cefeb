# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability tool_caches: those of pip, torch and the like off the home, by the variables that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...module_utils._core.errors import AccountError
from .table import Settings, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration

TOOLS = {  # tool -> variable -> the folder below ours; as the tools' own documentation has them
    "pip": {"PIP_CACHE_DIR": "pip"},
    "uv": {"UV_CACHE_DIR": "uv"},
    "huggingface": {  # HF_HOME holds the token too, which stays
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


OWN = {"huggingface": "HF_HOME"}  # the variable for a folder of the user's, where that is not the tool's first one
HUB = {  # a model that is there already must not be hidden, for it would be fetched again
    name: {
        "folders": ["~/.cache/huggingface", "$HF_HOME"],
        "below": below.partition("/")[2],
        "setting": "tool_caches: {paths: {huggingface: FOLDER}}",
    }
    for name, below in TOOLS["huggingface"].items()
}


def declare(settings: Settings) -> Declaration:
    """Return what an account gets. Raises AccountError for a tool that is not known.

    settings: folder, root, tools, state; paths {tool: folder}, which are the user's own: the variable names that folder
    itself, and of Hugging Face it is the whole of HF_HOME, with the token.
    """
    unknown = [tool for tool in [*settings["tools"], *settings["paths"]] if tool not in TOOLS]
    if unknown:
        raise AccountError(f'tool_caches: unknown tool "{unknown[0]}"; known: {", ".join(TOOLS)}')
    base = settings["folder"].rstrip("/")
    usual = {name: f"{base}/{below}" for tool in settings["tools"] for name, below in TOOLS[tool].items() if base}
    own = {OWN.get(tool, next(iter(TOOLS[tool]))): folder for tool, folder in settings["paths"].items()}
    if "huggingface" in settings["paths"]:
        usual = {name: folder for name, folder in usual.items() if name not in HUB}  # they would outrank HF_HOME
    section = resource(
        "shell_environment",
        section="tool_caches",
        variables={**usual, **own},
        unless_used={name: one for name, one in HUB.items() if name in usual} or None,
        state=settings["state"],
    )
    if settings["state"] == "absent":
        return {"resources": [section], "notes": []}
    folder = [resource("directory", path=base, root=settings["root"] or None)] if usual.keys() - own.keys() else []
    return {"resources": [*folder, section] if usual or own else [], "notes": []}
