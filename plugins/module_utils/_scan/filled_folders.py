# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders that programs fill, such as packages, caches, containers and git objects; no user writes a key there."""

from typing import Dict, FrozenSet, List

from .._core.host import Host
from .walk import FolderListing

ALWAYS = frozenset(
    (
        "node_modules",
        "site-packages",
        "dist-packages",
        "__pycache__",
        ".cache",
        ".ccache",
        ".snapshot",
        ".snapshots",
        ".zfs",
    )
)
"""Names of folders that programs fill anywhere. The snapshots of a file system contain every file again."""

BELOW: Dict[str, FrozenSet[str]] = {
    ".apptainer": frozenset(("cache",)),
    ".cargo": frozenset(("registry", "git")),
    ".conda": frozenset(("pkgs",)),
    ".cursor-server": frozenset(("bin", "cli", "extensions")),
    ".julia": frozenset(("artifacts", "compiled", "packages", "registries")),
    ".npm": frozenset(("_cacache",)),
    ".rustup": frozenset(("toolchains",)),
    ".singularity": frozenset(("cache",)),
    ".vscode-server": frozenset(("bin", "cli", "extensions")),
    "containers": frozenset(("storage",)),
    "pkg": frozenset(("mod",)),
}
"""Names of folders that programs fill, by the name of their parent folder."""

# of conda and Python environments; users add lines with variables
ENVIRONMENT_FILES = ("bin/activate", "bin/activate.csh", "bin/activate.fish", "conda-meta/state")
CONDA_SCRIPTS = "etc/conda/activate.d"  # run when an environment of conda is activated
CONTAINER_FOLDERS = frozenset(("etc", "usr", "var"))  # in an unpacked container
MODEL_FOLDERS = frozenset(("blobs", "snapshots"))  # in a cached model of Hugging Face
CACHE_MARK = "CACHEDIR.TAG"  # a file by which programs mark their caches (bford.info/cachedir)


def is_filled(listing: FolderListing) -> bool:
    """Return True if a folder is a conda or Python environment, an unpacked container, a model or a marked cache."""
    files, folders = set(listing.files), set(listing.folders)
    is_environment = "conda-meta" in folders or "pyvenv.cfg" in files
    return is_environment or CACHE_MARK in files or folders >= CONTAINER_FOLDERS or folders >= MODEL_FOLDERS


def find_edited_files(listing: FolderListing, host: Host) -> List[str]:
    """Return the files of a conda or Python environment in which users set variables, relative to its folder.

    Only conda's folder of scripts is listed, so some of the files may not exist. Return [] for any other folder.
    """
    is_conda = "conda-meta" in listing.folders
    if not is_conda and "pyvenv.cfg" not in listing.files:
        return []
    scripts = listing.path(CONDA_SCRIPTS)
    names = host.names(scripts) if is_conda else []
    return [*ENVIRONMENT_FILES, *(CONDA_SCRIPTS + "/" + name for name in names)]


def folders_to_enter(listing: FolderListing) -> List[str]:
    """Return the names of the subfolders in which a user may have written files, because no program fills them."""
    parent = listing.folder.rpartition("/")[2]
    skipped = ALWAYS | BELOW.get(parent, frozenset())
    if "HEAD" in listing.files and "objects" in listing.folders:  # a git repository
        skipped |= {"objects", "lfs"}
    return [name for name in listing.folders if name not in skipped]
