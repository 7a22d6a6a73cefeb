# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders that programs fill: packages, environments, caches, containers, objects of git. Nobody writes a key there."""

from typing import Dict, FrozenSet, List

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
"""By their names; those of a site's snapshots have every file once more."""

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
"""By the names of the folder above and their own."""

ROOT = frozenset(("etc", "usr", "var"))  # of an unpacked container
HUB = frozenset(("blobs", "snapshots"))  # of a model of Hugging Face


def is_filled(listing: FolderListing) -> bool:
    """Return True if a folder is a conda or Python environment, a container, or a cache that says so."""
    names, folders = set(listing.files), set(listing.folders)
    return "conda-meta" in folders or bool(names & {"pyvenv.cfg", "CACHEDIR.TAG"}) or folders >= ROOT or folders >= HUB


def folders_to_enter(listing: FolderListing) -> List[str]:
    """Return the folders in one that may have files that were written by hand."""
    name = listing.folder.rpartition("/")[2]
    skipped = ALWAYS | BELOW.get(name, frozenset())
    if "HEAD" in listing.files and "objects" in listing.folders:  # of git
        skipped |= {"objects", "lfs"}
    return [one for one in listing.folders if one not in skipped]
