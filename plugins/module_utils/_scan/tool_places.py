# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of files below the home, as tools document them: settings files, and files that start programs."""

import re
from typing import Dict, Mapping, NamedTuple

ENROOT = ("enroot", ".config/enroot", ".enroot")
PIP = {"cache-dir": "PIP_CACHE_DIR"}
UV = {"cache-dir": "UV_CACHE_DIR"}
NPM = {"cache": "npm_config_cache", "prefix": "NPM_CONFIG_PREFIX", "store-dir": "PNPM_CACHE"}
PODMAN = {"graphroot": "CONTAINERS_GRAPHROOT", "rootless-storage-path": "CONTAINERS_GRAPHROOT"}
PODMAN.update({"runroot": "CONTAINERS_DIR", "additionalimagestores": "CONTAINERS_DIR"})
CONTAINERS = {"image-copy-tmp-dir": "CONTAINERS_CACHE", "volume-path": "CONTAINERS_GRAPHROOT"}
CONTAINERS.update({"tmp-dir": "CONTAINERS_DIR", "static-dir": "CONTAINERS_DIR"})
POETRY = dict.fromkeys(("cache-dir", "path", "virtualenvs.path", "data-dir"), "POETRY_CACHE_DIR")
SPACK = dict.fromkeys(
    ("source-cache", "misc-cache", "build-stage", "test-stage", "install-tree", "root"), "SPACK_CACHE"
)
CARGO = {"target-dir": "CARGO_CACHE", "root": "CARGO_CACHE"}
CCACHE = {"cache-dir": "CCACHE_DIR", "temporary-dir": "CCACHE_DIR"}
DASK = dict.fromkeys(("temporary-directory", "local-directory", "log-directory", "shared-temp-directory"), "DASK_CACHE")
DVC = {"dir": "DVC_CACHE", "site-cache-dir": "DVC_CACHE", "url": "DVC_REMOTE_PATH"}
WANDB = {"cache-dir": "WANDB_CACHE_DIR", "root-dir": "WANDB_RUNS_CACHE", "data-dir": "WANDB_DATA_CACHE"}


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
    *(SettingsFile(name, NPM) for name in (".npmrc", ".config/npm/npmrc")),
    SettingsFile(".config/containers/storage.conf", PODMAN),
    SettingsFile(".config/containers/containers.conf", CONTAINERS),
    SettingsFile(".config/pypoetry/config.toml", POETRY),
    SettingsFile(".yarnrc", dict.fromkeys(("cache-folder", "yarn-offline-mirror"), "YARN_CACHE_FOLDER")),
    SettingsFile(".yarnrc.yml", dict.fromkeys(("cacheFolder", "globalFolder"), "YARN_CACHE_FOLDER")),
    SettingsFile(".config/pnpm/rc", dict.fromkeys(("store-dir", "cache-dir", "global-dir"), "PNPM_CACHE")),
    *(
        SettingsFile(name, {"detached-environments": "PIXI_CACHE"})
        for name in (".pixi/config.toml", ".config/pixi/config.toml")
    ),
    SettingsFile(".cargo/config.toml", CARGO),
    SettingsFile(".cargo/config", CARGO),
    *(SettingsFile(name, SPACK) for name in (".spack/config.yaml", ".spack/linux/config.yaml")),
    SettingsFile(".spack/upstreams.yaml", {"install-tree": "SPACK_CACHE"}),
    SettingsFile(".spack/packages.yaml", {"prefix": "SPACK_PREFIX"}),
    SettingsFile(".config/dvc/config", DVC),
    SettingsFile(".config/wandb/settings", WANDB),
    SettingsFile(".bunfig.toml", {"dir": "BUN_CACHE"}, "[install.cache]"),
    *(SettingsFile(name, CCACHE) for name in (".config/ccache/ccache.conf", ".ccache/ccache.conf")),
)
SETTINGS_FOLDERS = (  # folder, ending of its files, and the variables of a SettingsFile
    (".config/dask", ".yaml", DASK),
    (".config/dask", ".yml", DASK),
    (".config/containers/containers.conf.d", ".conf", CONTAINERS),
    (".config/environment.d", ".conf", {}),
    *((folder + "/environ.d", ".env", {}) for folder in ENROOT),
)
OF_PROJECTS: Dict[str, SettingsFile] = {  # file name -> file, in the folders of projects
    "uv.toml": SettingsFile("", UV),
    "pyproject.toml": SettingsFile("", UV, "[tool.uv]"),
    "pip.conf": SettingsFile("", PIP),
    ".npmrc": SettingsFile("", NPM),
}
POINTERS = {  # variable with the path of a settings file, or of its folder -> (name in the folder, settings)
    "PIP_CONFIG_FILE": ("", PIP),
    "UV_CONFIG_FILE": ("", UV),
    "NPM_CONFIG_USERCONFIG": ("", NPM),
    "npm_config_userconfig": ("", NPM),
    "CONTAINERS_STORAGE_CONF": ("", PODMAN),
    "CONTAINERS_CONF": ("", CONTAINERS),
    "CCACHE_CONFIGPATH": ("", CCACHE),
    "R_ENVIRON_USER": ("", {}),
    "DASK_CONFIG": ("", DASK),
    "ENROOT_CONFIG_PATH": ("/enroot.config", {}),
    "CARGO_HOME": ("/config.toml", CARGO),
    "SPACK_USER_CONFIG_PATH": ("/config.yaml", SPACK),
    "POETRY_CONFIG_DIR": ("/config.toml", POETRY),
    "WANDB_CONFIG_DIR": ("/settings", WANDB),
}
CONDARC, CONDARC_FOLDERS = "CONDARC", (".conda/condarc.d", ".config/conda/condarc.d", ".condarc.d")
CODE_SERVER = ".local/share/code-server"
STARTERS = (  # folders whose files start programs or set variables for them, with patterns of these files
    (".config/systemd/user", r".*\.(?:service|timer|socket|path)\Z|[^/]+\.d/[^/]+\.conf\Z"),
    (".config/autostart", r".*\.desktop\Z"),
    (".ipython/profile_default/startup", r".*\.(?:py|ipy)\Z"),
    (".ipython/profile_default", r"ipython\w*config\.py\Z"),
    (".jupyter", r"(?:jupyter_\w+_config\.d/)?[^/]*\.(?:py|json)\Z"),
    (".local/share/jupyter/kernels", r"[^/]+/kernel\.json\Z"),
    (".config/dask", r".*\.ya?ml\Z"),
    (".julia/config", r"startup\.jl\Z"),
    (".vscode-server/data", r"(?:Machine|User)/settings\.json\Z"),
    (".cursor-server/data", r"(?:Machine|User)/settings\.json\Z"),
    *((folder + "/User", r"settings\.json\Z") for folder in (".config/Code", ".config/Cursor", CODE_SERVER)),
    *((folder + "/hooks.d", r".*\.sh\Z") for folder in ENROOT),
)
STARTER_FILES = (
    *(".Rprofile", ".vscode/settings.json", ".tmux.conf", ".config/tmux/tmux.conf", ".screenrc", ".vimrc"),
    *(".vim/vimrc", ".config/nvim/init.vim", ".config/nvim/init.lua", ".emacs", ".emacs.el", ".emacs.d/init.el"),
    ".config/emacs/init.el",
)
EXISTING = re.compile(  # settings of tools with the path of a file, a folder or a program that must exist
    r"^[ \t]*(?!(?:template|hooksPath|set[ \t])[^\n]*~)(?:c\.\w+\.|set[ \t]+|\{.*|--)?[\"']?"
    r"(?:(?:animation\.)?(?:ffmpeg|convert)_path|savefig\.directory|ca_bundle|cafile|capath|cacert|sslCAInfo|sslCAPath"
    r"|sslCert|sslKey|ssl_verify|cert|(?:cert|key)file|netrc-file|(?:root|notebook|preferred)_dir"
    r"|hooksPath|undodir|backupdir|helper|credential\.helper|additionalimagestores|mount_program|find-links"
    r"|R_LIBS(?:_USER)?|ca[_-](?:certificate|directory)|dir_prefix|init_module|template(?:Dir)?|editor|pager|program"
    r"|sshCommand|askPass"
    r"|credential_process|web_identity_token_file|WorkingDirectory|EnvironmentFile|\.libPaths|setwd)"
    r"[\"']?(?:[ \t]*[=:(]|[ \t])[ \t\[\"'!(cu]*((?:~|\$\{?HOME\}?)?/[\w./+@%-]+)",
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
    *(".jupyter/jupyter_%s_config.json" % name for name in ("server", "notebook", "lab")),
    *(".condarc", ".config/conda/.condarc", ".wgetrc", ".config/curlrc", ".Rprofile"),
)
CREATED = (
    "PYTHONUSERBASE",
    "R_LIBS_USER",
    "R_LIBS",
    "ZDOTDIR",
)  # with folders created later, if the parent folder exists
NAMES_EXISTING = re.compile(  # variables of start-up files with the path of a file or a folder that must exist
    r"(?:REQUESTS_CA_BUNDLE|SSL_CERT_(?:FILE|DIR)|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|GIT_SSL_CAINFO|PIP_CERT"
    r"|PYTHONSTARTUP|GIT_CONFIG_GLOBAL|PIP_CONFIG_FILE|UV_CONFIG_FILE|CONDARC|SHELL|BASH_ENV|TMPDIR|%s)\Z"
    % "|".join(CREATED)
)
MOUNTS = re.compile(r"^[ \t]*(/[\w./+@%-]+)[ \t]+/\S*", re.MULTILINE)  # of enroot's fstab files
HUB = ("HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_XET_CACHE")
CACHES = (
    *HUB,
    *("PIP_CACHE_DIR", "UV_CACHE_DIR", "TORCH_HOME", "WANDB_CACHE_DIR", "ENROOT_CACHE_PATH", "TORCH_EXTENSIONS_DIR"),
)
OUTRANKED = {  # a variable -> the variables that override it for a part of its tools
    "HF_HOME": HUB,
    "HUGGINGFACE_HUB_CACHE": HUB[:1],
    "TRANSFORMERS_CACHE": HUB[:1],
    "PYTORCH_TRANSFORMERS_CACHE": HUB[:1],
    "PYTORCH_PRETRAINED_BERT_CACHE": HUB[:1],
    "DIFFUSERS_CACHE": HUB[:1],
    "TRITON_HOME": ("TRITON_CACHE_DIR",),
    "NPM_CONFIG_CACHE": ("npm_config_cache",),
    "SINGULARITY_CACHEDIR": ("APPTAINER_CACHEDIR",),
    "SINGULARITY_TMPDIR": ("APPTAINER_TMPDIR",),
    "XDG_CACHE_HOME": CACHES,
    "XDG_DATA_HOME": ("ENROOT_DATA_PATH",),
}
IN_COMMON = {  # a variable that many programs share -> subfolders of these programs in its folder
    "XDG_CACHE_HOME": ("huggingface", "pip", "uv", "torch", "wandb", "enroot", "torch_extensions"),
    "XDG_DATA_HOME": ("enroot",),
}
