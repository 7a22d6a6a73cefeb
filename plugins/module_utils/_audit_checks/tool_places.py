# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings files of tools, and files that start programs, by their names below the home, as the tools document them."""

from typing import Mapping, NamedTuple

ENROOT = ("enroot", ".config/enroot", ".enroot")


class SettingsFile(NamedTuple):
    """A settings file of a tool, and the variable of each setting in it; none: every setting is a variable."""

    path: str
    variables: Mapping[str, str] = {}


FILES = (
    *(SettingsFile(folder + "/enroot.config") for folder in ENROOT),
    SettingsFile(".pam_environment"),
    SettingsFile(".ssh/environment"),
    SettingsFile(".Renviron"),
    SettingsFile(".pip/pip.conf", {"cache-dir": "PIP_CACHE_DIR"}),
    SettingsFile(".config/pip/pip.conf", {"cache-dir": "PIP_CACHE_DIR"}),
    SettingsFile(".config/uv/uv.toml", {"cache-dir": "UV_CACHE_DIR"}),
    SettingsFile(".npmrc", {"cache": "npm_config_cache"}),
    SettingsFile(".config/containers/storage.conf", {"graphroot": "CONTAINERS_GRAPHROOT"}),
    SettingsFile(".config/pypoetry/config.toml", {"cache-dir": "POETRY_CACHE_DIR", "path": "POETRY_CACHE_DIR"}),
    SettingsFile(".yarnrc", {"cache-folder": "YARN_CACHE_FOLDER"}),
    SettingsFile(".yarnrc.yml", {"cacheFolder": "YARN_CACHE_FOLDER"}),
    SettingsFile(".cargo/config.toml", {"target-dir": "CARGO_CACHE"}),
    SettingsFile(".spack/config.yaml", {"source-cache": "SPACK_CACHE", "build-stage": "SPACK_CACHE"}),
    SettingsFile(".config/dvc/config", {"dir": "DVC_CACHE"}),
)
STARTERS = (  # folders whose files start programs or set variables for them, and the names of these files
    (".config/systemd/user", r".*\.(?:service|timer|socket|path)\Z"),
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
)
STARTER_FILES = (".Rprofile", ".vscode/settings.json")
