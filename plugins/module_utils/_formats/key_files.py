# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that may contain keys, by their names alone. Paths are relative to the home."""

import re
from typing import List, Tuple

ENROOTS = (".config/enroot/.credentials", "enroot/.credentials", ".enroot/.credentials")
"""Paths that enroot may read, by default or by a site's setting."""

CREDENTIALS = ENROOTS + (
    ".apptainer/docker-config.json",
    ".apptainer/remote.yaml",
    ".singularity/docker-config.json",
    ".singularity/remote.yaml",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".netrc",
    ".ngc/config",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".huggingface/token",
    ".git-credentials",
    ".config/git/credentials",
    ".config/hub",
    ".config/gh/hosts.yml",
    ".pypirc",
    ".kaggle/kaggle.json",
    ".config/kaggle/kaggle.json",
    ".rclone.conf",
    ".dockercfg",
    ".aws/credentials",
    ".config/rclone/rclone.conf",
    ".s3cfg",
    ".boto",
    ".config/gcloud/application_default_credentials.json",
    ".npmrc",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/glab-cli/config.yml",
    ".databrickscfg",
    ".vault-token",
    ".kube/config",
    ".pgpass",
    ".my.cnf",
    ".jupyter/jupyter_server_config.py",
    ".jupyter/jupyter_server_config.json",
    ".jupyter/jupyter_notebook_config.py",
    ".jupyter/jupyter_notebook_config.json",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".replicate/auth",
    ".smbcredentials",
)
"""Files in which programs keep keys."""

START_UPS = (
    ".profile",
    ".bash_profile",
    ".bash_login",
    ".bashrc",
    ".bash_logout",
    ".bash_aliases",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".kshrc",
    ".mkshrc",
    ".config/fish/config.fish",
    ".pam_environment",
    ".ssh/environment",
)
"""Files that shells and logins read when they start."""

START_UP_FOLDERS = ((".config/fish/conf.d", ".fish"), (".config/environment.d", ".conf"), (".bashrc.d", ""))
"""Folders whose files are read then as well, and the suffixes of these."""

HISTORIES = (
    ".bash_history",
    ".zsh_history",
    ".histfile",
    ".history",
    ".sh_history",
    ".ksh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".sqlite_history",
    ".viminfo",
    ".lesshst",
)
"""Files that record what was typed."""

_SCRIPTS = (".sh", ".bash", ".zsh", ".csh", ".fish", ".sbatch", ".slurm", ".job", ".pbs", ".lsf", ".cmd")
_TEXTS = (
    ".py",
    ".ipynb",
    ".yml",
    ".yaml",
    ".json",
    ".jsonc",
    ".toml",
    ".ini",
    ".cfg",
    ".conf",
    ".config",
    ".txt",
    ".md",
)
_SOURCES: Tuple[str, ...] = (
    ".rst",
    ".rmd",
    ".qmd",
    ".def",
    ".r",
    ".jl",
    ".lua",
    ".js",
    ".ts",
    ".pl",
    ".rb",
    ".go",
    ".rs",
    ".java",
    ".tcl",
)
_SOURCES += (".m", ".mk", ".nf", ".smk", ".tf", ".sql", ".xml", ".html", ".properties", ".service")
_OUTPUTS: Tuple[str, ...] = (
    ".code-workspace",
    ".out",
    ".err",
    ".log",
    ".patch",
    ".diff",
    ".bak",
    ".orig",
    ".save",
    ".old",
    ".pem",
    ".key",
    ".ppk",
    ".ovpn",
)
_OF_KEYS = re.compile(r"(?:^|[._-])(?:(?:api)?keys?|tokens?|secrets?|passw\w*|credentials?|auth|login)(?:[._-]|\Z)")
_LOG = re.compile(r"[.-][oe]\d+\Z")  # of a job: name.o4711, name-e4711
_EXAMPLES = frozenset(
    (
        "test",
        "tests",
        "testing",
        "testdata",
        "test_data",
        "fixture",
        "fixtures",
        "example",
        "examples",
        "sample",
        "samples",
    )
    + ("doc", "docs", "documentation", "mock", "mocks", "spec", "tutorial", "tutorials")
)  # folders of what is not in use
_SOURCE = re.compile(r"(?:^|[;&|{)]|\bthen\b|\bdo\b)[ \t]*(?:source|\.)[ \t]+[\"']?([^ \t\r\n\"';&|)]+)", re.MULTILINE)


def is_history(shown: str) -> bool:
    """Return True if a path that begins with ~/ is a history."""
    return shown[2:] in HISTORIES


def is_script(name: str) -> bool:
    """Return True if a file of this name is a script, such as a job script, or sets variables."""
    lower = name.lower()
    return lower.endswith(_SCRIPTS + (".env",)) or lower == ".envrc" or lower.startswith(".env.")


def is_of_application(name: str) -> bool:
    """Return True if an application parses a file of this name: variables, or a compose file."""
    lower = name.lower()
    return (
        lower.startswith(".env") or lower.endswith(".env") or ("compose" in lower and lower.endswith((".yml", ".yaml")))
    )


def is_text(name: str) -> bool:
    """Return True if a file of this name is a text of the user, or what a job has printed."""
    lower = name.lower()
    named = lower in ("dockerfile", "makefile", "snakefile", "containerfile", "singularity", "readme", "notes")
    named = named or _LOG.search(lower) is not None or _OF_KEYS.search(lower) is not None
    return named or lower.endswith(_TEXTS + _SOURCES + _OUTPUTS) or lower[:1] == "."


def is_example(path: str) -> bool:
    """Return True if a folder on the path below the home is for tests, examples or documentation."""
    return not _EXAMPLES.isdisjoint(path.lower().split("/")[:-1])


def is_copy(name: str, of: str) -> bool:
    """Return True if a file has a name that editors, users and programs give to a copy of another."""
    if name == of or name.startswith(of + ".d"):
        return False
    behind = name[len(of) : len(of) + 1]
    swap = "." + of.lstrip(".")
    return (
        (name.startswith(of) and behind in ("~", ".", "-", "_", " "))
        or any(name.startswith(one + ".sw") and len(name) == len(one) + 4 for one in (swap, "." + of))
        or name == "#%s#" % of
    )


def find_sourced_files(text: str, home: str) -> List[str]:
    """Return the paths that a start-up file sources, if they are written without variables but HOME."""
    found = []
    for path in _SOURCE.findall(text):
        for word in ("${HOME}/", "$HOME/", "~/"):
            if path.startswith(word):
                path = home + "/" + path[len(word) :]
        if path.startswith("/") and not re.search(r"[$*?`\[]", path):
            found.append(path)
    return found
