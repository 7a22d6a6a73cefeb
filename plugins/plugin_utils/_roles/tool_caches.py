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


def declare(settings: Settings) -> Declaration:
    """What an account gets. settings: folder, root, tools, state. Raises AccountError for a tool that is not known."""
    unknown = [tool for tool in settings["tools"] if tool not in TOOLS]
    if unknown:
        raise AccountError(f'tool_caches: unknown tool "{unknown[0]}"; known: {", ".join(TOOLS)}')
    base = settings["folder"].rstrip("/")
    variables = {name: f"{base}/{below}" for tool in settings["tools"] for name, below in TOOLS[tool].items() if base}
    section = resource("shell_environment", section="tool_caches", variables=variables, state=settings["state"])
    if settings["state"] == "absent":
        return {"resources": [section], "notes": []}
    folder = resource("directory", path=base, root=settings["root"] or None)
    return {"resources": [folder, section] if variables else [], "notes": []}
