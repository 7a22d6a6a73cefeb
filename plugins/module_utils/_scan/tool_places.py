# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of files below the home, as tools document them: settings files, and files that start programs."""

import re
from typing import Dict, Mapping, NamedTuple

ENROOT = ("enroot", ".config/enroot", ".enroot")
PIP = {"cache-dir": "PIP_CACHE_DIR"}
UV = {"cache-dir": "UV_CACHE_DIR"}
NPM = {"cache": "npm_config_cache"}
PODMAN = {"graphroot": "CONTAINERS_GRAPHROOT", "rootless-storage-path": "CONTAINERS_GRAPHROOT"}


class SettingsFile(NamedTuple):
    """A settings file of a tool."""

    path: str  # below the home directory
    # Setting -> environment variable with the same effect. If empty, the settings are variables themselves.
    variables: Mapping[str, str] = {}
    section: str = ""  # the only section whose settings are read; "" for all


FILES = (
    *(SettingsFile(folder + "/enroot.config") for folder in ENROOT),
    SettingsFile(".pam_environment"),
    SettingsFile(".ssh/environment"),
    SettingsFile(".Renviron"),
    SettingsFile(".pip/pip.conf", PIP),
    SettingsFile(".config/pip/pip.conf", PIP),
    SettingsFile(".config/uv/uv.toml", UV),
    SettingsFile(".npmrc", NPM),
    SettingsFile(".config/containers/storage.conf", PODMAN),
    SettingsFile(
        ".config/containers/containers.conf",
        {"image-copy-tmp-dir": "CONTAINERS_CACHE", "volume-path": "CONTAINERS_GRAPHROOT"},
    ),
    SettingsFile(".config/pypoetry/config.toml", {"cache-dir": "POETRY_CACHE_DIR", "path": "POETRY_CACHE_DIR"}),
    SettingsFile(".yarnrc", {"cache-folder": "YARN_CACHE_FOLDER"}),
    SettingsFile(".yarnrc.yml", {"cacheFolder": "YARN_CACHE_FOLDER"}),
    SettingsFile(".config/pnpm/rc", {"store-dir": "PNPM_CACHE", "cache-dir": "PNPM_CACHE"}),
    SettingsFile(".pixi/config.toml", {"detached-environments": "PIXI_CACHE"}),
    SettingsFile(".cargo/config.toml", {"target-dir": "CARGO_CACHE"}),
    SettingsFile(".cargo/config", {"target-dir": "CARGO_CACHE"}),
    *(
        SettingsFile(name, {"source-cache": "SPACK_CACHE", "build-stage": "SPACK_CACHE", "root": "SPACK_CACHE"})
        for name in (".spack/config.yaml", ".spack/linux/config.yaml")
    ),
    SettingsFile(".config/dvc/config", {"dir": "DVC_CACHE"}),
    SettingsFile(".config/wandb/settings", {"cache-dir": "WANDB_CACHE_DIR", "root-dir": "WANDB_RUNS_CACHE"}),
    SettingsFile(".bunfig.toml", {"dir": "BUN_CACHE"}, "[install.cache]"),
    SettingsFile(".config/ccache/ccache.conf", {"cache-dir": "CCACHE_DIR"}),
)
SETTINGS_FOLDERS = (  # folder, ending of its files, and the variables of a SettingsFile
    (".config/dask", ".yaml", dict.fromkeys(("temporary-directory", "local-directory"), "DASK_CACHE")),
    (".config/environment.d", ".conf", {}),
    *((folder + "/environ.d", ".env", {}) for folder in ENROOT),
)
OF_PROJECTS: Dict[str, SettingsFile] = {  # file name -> file, in the folders of projects
    "uv.toml": SettingsFile("", UV),
    "pyproject.toml": SettingsFile("", UV, "[tool.uv]"),
    "pip.conf": SettingsFile("", PIP),
    ".npmrc": SettingsFile("", NPM),
}
POINTERS = {  # variable that contains the path of a settings file -> the settings in that file
    "PIP_CONFIG_FILE": PIP,
    "UV_CONFIG_FILE": UV,
    "NPM_CONFIG_USERCONFIG": NPM,
    "npm_config_userconfig": NPM,
    "CONTAINERS_STORAGE_CONF": PODMAN,
}
CONDARC, CONDARC_FOLDERS = "CONDARC", (".conda/condarc.d", ".config/conda/condarc.d", ".condarc.d")
STARTERS = (  # folders whose files start programs or set variables for them, with patterns of these files
    (".config/systemd/user", r".*\.(?:service|timer|socket|path)\Z|[^/]+\.d/[^/]+\.conf\Z"),
    (".config/autostart", r".*\.desktop\Z"),
    (".ipython/profile_default/startup", r".*\.(?:py|ipy)\Z"),
    (".ipython/profile_default", r"ipython\w*config\.py\Z"),
    (".jupyter", r".*\.(?:py|json)\Z"),
    (".local/share/jupyter/kernels", r"[^/]+/kernel\.json\Z"),
    (".config/dask", r".*\.ya?ml\Z"),
    (".julia/config", r"startup\.jl\Z"),
    (".vscode-server/data", r"(?:Machine|User)/settings\.json\Z"),
    (".cursor-server/data", r"(?:Machine|User)/settings\.json\Z"),
    (".config/Code/User", r"settings\.json\Z"),
    *((folder + "/hooks.d", r".*\.sh\Z") for folder in ENROOT),
)
STARTER_FILES = (
    *(".Rprofile", ".vscode/settings.json", ".tmux.conf", ".config/tmux/tmux.conf", ".screenrc", ".vimrc"),
    *(".vim/vimrc", ".config/nvim/init.vim", ".config/nvim/init.lua", ".emacs", ".emacs.d/init.el"),
)
EXISTING = re.compile(  # settings of tools with the path of a file, a folder or a program that must exist
    r"^[ \t]*(?:c\.\w+\.)?[\"']?(?:(?:animation\.)?ffmpeg_path|ca_bundle|cafile|capath|sslCAInfo|ssl_verify|cert"
    r"|root_dir|notebook_dir|hooksPath|helper|credential\.helper|additionalimagestores|find-links|R_LIBS_USER"
    r"|ca_certificate|init_module|template(?:Dir)?)[\"']?[ \t]*[=:][ \t\[\"'!]*(/[\w./+@%-]+)",
    re.MULTILINE | re.IGNORECASE,
)
WITH_EXISTING = (
    *(
        ".Renviron",
        ".pip/pip.conf",
        ".config/pip/pip.conf",
        ".gitconfig",
        ".config/git/config",
        ".npmrc",
        ".aws/config",
    ),
    *(".config/matplotlib/matplotlibrc", ".matplotlib/matplotlibrc", ".config/containers/storage.conf", ".curlrc"),
    *(".jupyter/jupyter_server_config.py", ".jupyter/jupyter_notebook_config.py", ".jupyter/jupyter_lab_config.py"),
    *(".jupyter/jupyter_server_config.json", ".condarc", ".config/conda/.condarc", ".wgetrc"),
)
CREATED = ("PYTHONUSERBASE", "R_LIBS_USER", "ZDOTDIR")  # with folders created later, if the parent folder exists
NAMES_EXISTING = re.compile(  # variables of start-up files with the path of a file or a folder that must exist
    r"(?:REQUESTS_CA_BUNDLE|SSL_CERT_(?:FILE|DIR)|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|GIT_SSL_CAINFO|PIP_CERT"
    r"|PYTHONSTARTUP|GIT_CONFIG_GLOBAL|PIP_CONFIG_FILE|UV_CONFIG_FILE|CONDARC|SHELL|BASH_ENV|TMPDIR|%s)\Z"
    % "|".join(CREATED)
)
MOUNTS = re.compile(r"^[ \t]*(/[\w./+@%-]+)[ \t]+/\S*", re.MULTILINE)  # of enroot's fstab files
HUB = ("HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_XET_CACHE")
CACHES = HUB + ("PIP_CACHE_DIR", "UV_CACHE_DIR", "TORCH_HOME", "WANDB_CACHE_DIR", "ENROOT_CACHE_PATH")
OUTRANKED = {  # a variable -> the variables that override it for a part of its tools
    "HF_HOME": HUB,
    "HUGGINGFACE_HUB_CACHE": HUB[:1],
    "TRANSFORMERS_CACHE": HUB[:1],
    "PYTORCH_TRANSFORMERS_CACHE": HUB[:1],
    "PYTORCH_PRETRAINED_BERT_CACHE": HUB[:1],
    "SINGULARITY_CACHEDIR": ("APPTAINER_CACHEDIR",),
    "SINGULARITY_TMPDIR": ("APPTAINER_TMPDIR",),
    "XDG_CACHE_HOME": CACHES,
    "XDG_DATA_HOME": ("ENROOT_DATA_PATH",),
}
IN_COMMON = {  # a variable that many programs share -> subfolders of these programs in its folder
    "XDG_CACHE_HOME": ("huggingface", "pip", "uv", "torch", "wandb", "enroot"),
    "XDG_DATA_HOME": ("enroot",),
}
