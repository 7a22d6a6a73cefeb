# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of files that may request resources of Slurm: job scripts, launchers, and settings of projects."""

import os
import re

from .tool_places import OF_PROJECTS

SCRIPT_ENDINGS = (
    *(".sbatch", ".slurm", ".sl", ".sb", ".job", ".sh", ".bash", ".batch", ".run", ".sub", ".submit"),
    *(".zsh", ".csh", ".tcsh", ".ksh", ".fish"),
)
CODE_ENDINGS = (".py", ".smk", ".nf", ".config", ".R", ".jl", ".pl")  # of launchers and workflows
SETTINGS_ENDINGS = (*CODE_ENDINGS, ".yaml", ".yml", ".toml", ".cfg")
NEXTFLOW_CONFIG = ".nextflow/config"
ALIASES = (".bash_aliases", ".aliases", ".zsh_aliases")  # files that users' start-up files often source
HIDDEN_FOLDERS = (".config/snakemake", ".nextflow", ".edf", ".config/dask")  # of the home, with such settings
SHELL_FILES = ("Makefile", "makefile", "Snakefile", "justfile")  # without an ending; their lines are shell commands
VARIABLE_FILES = (".env", ".envrc")  # of a project
PROJECT_FILES = (*VARIABLE_FILES, *OF_PROJECTS)  # settings of a project, which may set variables of tools
COMMENT = re.compile(r"^[ \t]*#(?!!|SBATCH|PBS|BSUB)[^\n]*", re.MULTILINE)  # of a script; not an option of its job
VSCODE = ".vscode"  # the folder of VS Code's settings in a project


def may_request(name: str, folder: str) -> bool:
    """Return True if a file with this name in a folder may be a job script, a launcher, or settings of a project."""
    if os.path.basename(folder) == VSCODE:
        return name in ("settings.json", "launch.json")
    if name in PROJECT_FILES:
        return True
    # A name without an ending is often that of a script.
    return not name.startswith(".") and (name.endswith(SCRIPT_ENDINGS + SETTINGS_ENDINGS) or "." not in name)
