"""The settings of the roles that keep caches off the home.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from tools.role_pages import FROM_PROFILE, Role, Setting, state

TOOLS = ["pip", "uv", "huggingface", "torch", "triton", "cuda", "wandb", "npm"]
ROOT = Setting("root", "", "The folder that must exist already. Missing folders below it are created.")

ROLES = [
    Role(
        "container_caches",
        "Keep the container caches off the home",
        "the caches of Apptainer and enroot, outside the home directory",
        [
            "Creates the folders for the caches of Apptainer or enroot where the site wants them, and sets the"
            " variables that name them in every shell of the account.",
        ],
        [
            Setting(
                "runtime",
                "none",
                "The container tool.",
                choices=("apptainer", "enroot", "none"),
                set_by=FROM_PROFILE,
            ),
            Setting(
                "folder",
                "",
                "The folder for its caches, off the home. If empty, nothing is kept.",
                set_by=FROM_PROFILE,
            ),
            ROOT,
            Setting(
                "paths",
                {},
                "Folders of your own, by variable, such as C({ENROOT_DATA_PATH: /data/ada/containers}). What is in them"
                " is used, and stays.",
            ),
            Setting("why", "", "Why the folder does not exist, in a few words."),
            Setting(
                "clean",
                False,
                "Whether the cache is emptied now. Only what the container tool can fetch again is removed. Set it for"
                " one run: C(-e container_caches_clean=true --tags container_caches).",
            ),
            state("Whether the variables are set. C(absent) removes them; the folders and their content stay."),
        ],
    ),
    Role(
        "tool_caches",
        "Keep the caches of tools off the home",
        "the caches of pip, torch, Hugging Face and similar tools, outside the home directory if the site asks for it",
        [
            "Creates a folder where the site wants caches, and sets the variables by which pip, uv, Hugging Face,"
            " torch, triton, CUDA, wandb and npm find it, in every shell of the account.",
            "Caches that are in the home already stay there. The audit reports their size and how to clear them.",
        ],
        [
            Setting(
                "folder", "", "The folder for the caches, off the home. If empty, nothing is kept.", set_by=FROM_PROFILE
            ),
            ROOT,
            Setting(
                "tools",
                TOOLS,
                f"The tools whose caches are kept there, of {', '.join(TOOLS)}.",
                elements="str",
            ),
            Setting(
                "paths",
                {},
                "Folders of your own, by tool, such as C({huggingface: /data/ada/hf}). Of Hugging Face it is the whole"
                " C(HF_HOME), with models and token. What is in them is used, and stays.",
            ),
            state("Whether the variables are set. C(absent) removes them; the folder and its content stay."),
        ],
    ),
]
