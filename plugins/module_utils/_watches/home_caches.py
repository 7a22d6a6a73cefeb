# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Caches and images in the home: where the site wants them elsewhere, or where they have become big.

A tool's cache is where its variable leads, or in the folder that it takes by itself; what is left in that
folder after the variable was set is used by nobody. Folders without a file, and links out of the home, are fine.
"""

import os
import stat
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .._core.errors import AccountError
from .._core.files import FileEntry
from .._core.host import Host
from .._scan.amounts import size
from .._scan.walk import Limits, Walk, counted
from .base import Look, is_in, real_home
from .watch import NOT_MADE_AGAIN

ENTRIES = 20000  # of one cache; one that holds more is big
SECONDS = 12.0  # for all of them
IMAGES = (".sqsh", ".sif")
MOST = 200  # folders of the home in which images are looked for
FILE, FOLDER = (FileEntry(kind, 0, True, False, 1, "") for kind in ("file", "folder"))  # in the place of what is gone
KEYS = ("token", "stored_tokens")  # huggingface_hub keeps them beside its caches
NONE = ("",)  # of a folder in which nothing is made anew by itself: containers, what was not sent yet, linked packages


class Cache(NamedTuple):
    """A tool's cache: the folder below the home that it takes by itself, and the variable that moves it."""

    tool: str
    folder: str
    variable: str
    below: str = ""  # what the tool makes in the folder that the variable names
    anew: Tuple[str, ...] = ()  # what of it the tool makes again when it is gone; none named: all of it
    holds: str = "the cache of %s holds"


CACHES = (
    Cache("apptainer", ".apptainer/cache", "APPTAINER_CACHEDIR", "cache"),
    Cache("apptainer", ".singularity/cache", "SINGULARITY_CACHEDIR", "cache"),
    Cache("enroot", ".cache/enroot", "ENROOT_CACHE_PATH"),
    Cache("enroot", ".local/share/enroot", "ENROOT_DATA_PATH", anew=NONE, holds="the containers of %s hold"),
    Cache("pip", ".cache/pip", "PIP_CACHE_DIR"),
    Cache("uv", ".cache/uv", "UV_CACHE_DIR"),
    Cache("conda", ".conda/pkgs", "CONDA_PKGS_DIRS", anew=NONE, holds="the packages of %s hold"),
    Cache("Hugging Face", ".cache/huggingface", "HF_HOME", anew=("hub", "datasets", "xet")),
    Cache("torch", ".cache/torch", "TORCH_HOME", anew=("hub", "kernels")),
    Cache("torch", ".cache/torch_extensions", "TORCH_EXTENSIONS_DIR"),
    Cache("wandb", ".cache/wandb", "WANDB_CACHE_DIR"),
    Cache("wandb", ".local/share/wandb", "WANDB_DATA_DIR", anew=NONE, holds="the data of %s holds"),
    Cache("triton", ".triton/cache", "TRITON_CACHE_DIR"),
    Cache("CUDA", ".nv/ComputeCache", "CUDA_CACHE_PATH"),
    Cache("spack", ".spack/cache", "SPACK_USER_CACHE_PATH", "cache"),
    Cache("npm", ".npm", "npm_config_cache", anew=("_cacache", "_npx", "_logs")),
)
"""Tools, folders and variables as the tools' own documentation names them."""


class Place(NamedTuple):
    """Where a cache may be. is_usual: the tool takes it by itself, and no variable leads there for other reasons."""

    folder: str
    remark: str
    is_usual: bool


class Content(NamedTuple):
    """What a tree holds, as far as it was counted."""

    files: int
    bytes: int


class HomeCaches(Look):
    """The caches of an account that lie in its home."""

    KIND = "home_caches"
    KNOWS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "wanted": {"type": "dict", "default": {}},  # tool, or "*" for all: where this site wants its cache, in words
        "big_bytes": {"type": "int", "default": 1000000000},
        "big_files": {"type": "int", "default": 20000},
    }

    def name(self) -> str:
        return "caches in the home"

    def look(self, host: Host) -> None:
        """Each folder once, whichever tools use it; and images in the home or right below it."""
        self._images(host)
        variables, deadline = self._variables(host), time.time() + SECONDS
        looked: List[str] = []
        for cache in CACHES:
            for place in _places(cache, variables, host):
                real = self._inside(place.folder, host)
                if real and real not in looked:
                    looked.append(real)
                    most = max(ENTRIES, self.options["big_files"])
                    walk = Walk(host, Limits(most, deadline - time.time()))
                    self._judge(cache, place._replace(folder=real), host, walk)

    def _images(self, host: Host) -> None:
        home = real_home(host)
        below = [os.path.join(home, name) for name in host.names(home)[:MOST]]
        folders = [path for path in below if (host.entry(path) or FILE).kind == "folder"]
        for folder in [home] + folders:
            for name in host.names(folder):
                path = os.path.join(folder, name)
                if name.endswith(IMAGES) and (host.entry(path) or FOLDER).kind == "file":
                    there = size(os.stat(host.path_via_handle(path)).st_size)
                    self.find("IMG-003", host.shown(host.home + path[len(home) :]), "the image takes %s" % there)

    def _variables(self, host: Host) -> Dict[str, str]:
        try:
            return host.account.environment()
        except AccountError as error:
            self.miss("where variables lead the caches is not known: %s" % error)
            return {}

    def _inside(self, folder: str, host: Host) -> str:
        """The folder with links followed, when that is a folder in the home; else nothing."""
        try:
            real = host.resolve(folder)
            home = real_home(host)
            return real if real and real != home and is_in(real, home) and host.resolved_kind(real) == "folder" else ""
        except AccountError as error:
            self.miss(str(error))
            return ""

    def _judge(self, cache: Cache, place: Place, host: Host, walk: Walk) -> None:
        content = _content(place.folder, walk)
        shown = host.shown(host.home + place.folder[len(real_home(host)) :])
        wanted = self.options["wanted"].get(cache.tool) or self.options["wanted"].get("*")
        if content.bytes and (wanted or self._big(content) or walk.cut == "entries"):
            amount = counted(content.files, "file", walk)
            amount += ", %s" % size(content.bytes) if walk.cut != "time" else " (too many to count in time)"
            text = "%s %s%s" % (cache.holds % cache.tool, amount, place.remark)
            text += "; this site wants it in %s" % wanted if wanted else ""
            fix = _fix(cache, place.folder, host) if place.is_usual else None
            self.find("ENV-001", shown, text, auto_fix=fix, case=NOT_MADE_AGAIN if cache.anew == NONE else "")
        elif walk.cut:
            self.miss("%s: there was no time to look at all of it" % shown)
        if walk.left_out.paths:
            self.miss("%s: not all of it can be looked at: %s (%s)" % ((shown,) + walk.left_out.paths[0]))

    def _big(self, content: Content) -> bool:
        return bool(content.bytes >= self.options["big_bytes"] or content.files >= self.options["big_files"])


def _fix(cache: Cache, folder: str, host: Host) -> Optional[Dict[str, Any]]:
    from .._fixes import offers  # few accounts have such caches

    return offers.cautious(offers.of_folder, host, folder, "cache", cache.anew, cache.variable)


def _places(cache: Cache, variables: Dict[str, str], host: Host) -> List[Place]:
    """The folders that may hold the cache, the one in use first."""
    usual = os.path.join(host.home, cache.folder)
    moved = variables.get(cache.variable, "")
    if moved.startswith("/"):
        there = os.path.join(moved, cache.below).rstrip("/")
        left = " that %s does not use now, for $%s leads elsewhere" % (cache.tool, cache.variable)
        left = "" if there == usual else left
        return [Place(there, " ($%s leads there)" % cache.variable, False), Place(usual, left, True)]
    common = variables.get("XDG_CACHE_HOME", "")
    if cache.folder.startswith(".cache/") and common.startswith("/"):
        there = os.path.join(common, cache.folder[len(".cache/") :])
        return [Place(there, " ($XDG_CACHE_HOME leads there)", False), Place(usual, "", True)]
    return [Place(usual, "", True)]


def _content(folder: str, walk: Walk) -> Content:
    """How many plain files there are, and what they hold."""
    files = total = 0
    for passed in walk.below(folder):
        if stat.S_ISREG(passed.status.st_mode) and os.path.basename(passed.path) not in KEYS:
            files += 1
            total += passed.status.st_size
    return Content(files, total)
