# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of files that may contain keys. Paths are relative to the home directory."""

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
    ".msmtprc",
    ".mlflow/credentials",
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
"""Folders whose files shells and logins read as well, and the suffix of these files."""

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
"""Files in which shells and other programs record the user's input."""

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
)  # names of folders for code that is not in use
_SOURCE = re.compile(r"(?:^|[;&|{)]|\bthen\b|\bdo\b)[ \t]*(?:source|\.)[ \t]+[\"']?([^ \t\r\n\"';&|)]+)", re.MULTILINE)


def is_history(shown: str) -> bool:
    """Return True if a path is a history file. shown: the path, which begins with ~/."""
    return shown[2:] in HISTORIES


def is_script(name: str) -> bool:
    """Return True if a file of this name is a script, such as a job script, or a list of variables (.env)."""
    lower = name.lower()
    return lower.endswith(_SCRIPTS + (".env",)) or lower == ".envrc" or lower.startswith(".env.")


def is_application_file(name: str) -> bool:
    """Return True if an application, not a shell, reads a file of this name: .env, or a compose file."""
    lower = name.lower()
    if "compose" in lower and lower.endswith((".yml", ".yaml")):
        return True
    return lower.startswith(".env") or lower.endswith(".env")


def is_text(name: str) -> bool:
    """Return True if a file of this name may be a text of the user, a hidden file or the output of a job."""
    lower = name.lower()
    is_known_name = lower in ("dockerfile", "makefile", "snakefile", "containerfile", "singularity", "readme", "notes")
    is_log_or_key_file = _LOG.search(lower) is not None or _OF_KEYS.search(lower) is not None
    has_suffix = lower.endswith(_TEXTS + _SOURCES + _OUTPUTS)
    return is_known_name or is_log_or_key_file or has_suffix or lower[:1] == "."


def is_example(path: str) -> bool:
    """Return True if a path below the home directory has a folder for tests, examples or documentation."""
    return not _EXAMPLES.isdisjoint(path.lower().split("/")[:-1])


def is_copy(name: str, original: str) -> bool:
    """Return True if users, editors or other programs give this name to a copy of a file. original: the file's name."""
    if name == original or name.startswith(original + ".d"):  # .d: a folder of further settings
        return False
    if name == "#%s#" % original:  # emacs
        return True
    if name.startswith(original):
        separator = name[len(original) : len(original) + 1]
        if separator in ("~", ".", "-", "_", " "):
            return True
    stems = ("." + original.lstrip("."), "." + original)
    return any(name.startswith(stem + ".sw") and len(name) == len(stem) + 4 for stem in stems)  # vim: .netrc.swp


def find_sourced_files(text: str, home: str) -> List[str]:
    """Return the absolute paths that a start-up file sources. Paths with variables other than HOME are skipped."""
    found = []
    for path in _SOURCE.findall(text):
        for prefix in ("${HOME}/", "$HOME/", "~/"):
            if path.startswith(prefix):
                path = home + "/" + path[len(prefix) :]
        if path.startswith("/") and not re.search(r"[$*?`\[]", path):
            found.append(path)
    return found
