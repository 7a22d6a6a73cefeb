# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Caches and images in the home: where the site wants them elsewhere, or where they have become big.

A tool's cache is where its variable points, or in the tool's default folder. Once the variable is set, no program uses
the rest in the default folder. Folders without a file, and links out of the home, are fine.
"""

import os
import stat
import time
from typing import Any, Dict, List, NamedTuple, Tuple

from .._audit_checks.audit_check import NOT_MADE_AGAIN, AuditCheck, is_in, real_home
from .._core.errors import AccountError
from .._core.files import FileEntry
from .._core.host import Host
from .._fixes import offers
from .._scan.amounts import format_size
from .._scan.filled_folders import folders_to_enter, is_filled
from .._scan.walk import Limits, Walk, format_walked
from .known_caches import CACHES, NONE, Cache

OF_IMAGES = Limits(entries=20000, seconds=4.0, depth=12)
ENTRIES = 20000  # of one cache; one that holds more is big
SECONDS = 12.0  # for all of them
IMAGES = (".sqsh", ".sif", ".squashfs", ".sqfs", ".simg")
UNKNOWN_BYTES = 50000000  # a cache of a tool that is not in the table is reported from this size on
MOST = 200  # folders of the home that are searched for images
FILE = FileEntry("file", 0, True, False, 1, "")  # for what is gone by now
KEYS = ("token", "stored_tokens")  # huggingface_hub keeps them next to its caches
STARTS = ("/etc/rc", "/.singularity.d", "/etc/os-release", "/etc/passwd")  # one of which every container has


class CacheLocation(NamedTuple):
    """A folder that may hold a cache. is_default: the tool's own choice, which has no other use."""

    folder: str
    note: str
    is_default: bool


class HomeCaches(AuditCheck):
    """The caches of an account that are in its home."""

    KIND = "home_caches"
    TITLE = "caches in the home"
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "wanted": {"type": "dict", "default": {}},  # tool, or "*" for all: where this site wants its cache, in words
        "least_bytes": {"type": "int", "default": 0},  # less is not reported, wherever the site wants it
        "big_bytes": {"type": "int", "default": 1000000000},
        "big_files": {"type": "int", "default": 20000},
    }

    def run(self, host: Host) -> None:
        """Check images in the home and its folders, then each cache folder once, whichever tools use it."""
        environments = self._check_images(host)
        variables, deadline = self._environment(host), time.time() + SECONDS
        self._check_containers(host, [variables.get(one.variable, "") for one in CACHES])
        checked: List[str] = []
        for cache in CACHES + self._unknown_caches(host) + self._environments(environments, host):
            for location in _locations(cache, variables, host):
                real = self._resolve_in_home(location.folder, host)
                if real and real not in checked:
                    checked.append(real)
                    most = max(ENTRIES, self.options["big_files"])
                    walk = Walk(host, Limits(most, deadline - time.time()))
                    self._check_way(cache, location, real, host)
                    self._check_cache(cache, location._replace(folder=real), host, walk)

    def _check_images(self, host: Host) -> List[str]:
        """Report images in the home, outside of caches and what programs fill; return its Python environments."""
        home, environments = real_home(host), []
        walk = Walk(host, OF_IMAGES)
        for listing in walk.folders(home):
            if "pyvenv.cfg" in listing.files:
                environments.append(listing.folder)
            listing.folders = [] if is_filled(listing) else folders_to_enter(listing)
            for path in [listing.path(name) for name in listing.files if name.endswith(IMAGES)]:
                try:
                    size = os.stat(host.path_via_handle(path)).st_size
                except (AccountError, OSError):
                    continue  # removed by now
                if size >= self.options["least_bytes"]:
                    text = "the image takes %s" % format_size(size)
                    self.report("IMG-003", host.shown(host.home + path[len(home) :]), text)
        return environments

    def _check_containers(self, host: Host, used: List[str]) -> None:
        """Report the folders of the home with unpacked containers that no variable points to."""
        home = real_home(host)
        known = [host.resolve(folder) or folder for folder in used if folder.startswith("/")]
        for folder in [os.path.join(home, name) for name in host.names(home)[:MOST] if not name.startswith(".")]:
            if folder in known or (host.entry(folder) or FILE).kind != "folder":
                continue
            shown = host.shown(host.home + folder[len(home) :])
            if _is_container(folder, host):
                self.report("IMG-004", shown, "it is an unpacked container")
                continue
            inside = [name for name in host.names(folder)[:MOST] if _is_container(os.path.join(folder, name), host)]
            if inside:
                text = "%s and %d more containers are in it" % (inside[0], len(inside) - 1)
                text = text if inside[1:] else "the container %s is in it" % inside[0]
                self.report("IMG-004", shown, text + ", and no variable points there")

    def _unknown_caches(self, host: Host) -> Tuple[Cache, ...]:
        """Return the folders of tools that the table lacks in the common folder for caches."""
        folder = os.path.join(host.home, ".cache")
        try:
            names = host.names(folder)[:MOST] if host.resolved_kind(folder) == "folder" else []
        except AccountError:
            return ()
        return tuple(Cache(name, ".cache/" + name, "", remade=NONE) for name in names)

    def _environments(self, folders: List[str], host: Host) -> Tuple[Cache, ...]:
        """Return Python environments as what fills the home, where the site wants nothing of that kind."""
        home = real_home(host)
        names = [folder[len(home) :].lstrip("/") for folder in folders if folder != home]
        words = "the Python environment holds"
        return tuple(Cache("Python", name, "", remade=NONE, holds=words) for name in names)

    def _environment(self, host: Host) -> Dict[str, str]:
        try:
            return host.account.environment()
        except AccountError as error:
            self.skip("the variables that move caches are unknown: %s" % error)
            return {}

    def _resolve_in_home(self, folder: str, host: Host) -> str:
        """Return the folder with links followed; empty if it is not a folder in the home."""
        try:
            real = host.resolve(folder)
            home = real_home(host)
            return real if real and real != home and is_in(real, home) and host.resolved_kind(real) == "folder" else ""
        except AccountError as error:
            self.skip(str(error))
            return ""

    def _check_way(self, cache: Cache, location: CacheLocation, real: str, host: Host) -> None:
        """Report a cache out of the home that a link leads back into it, however small it is."""
        wanted = self.options["wanted"].get(cache.tool) or self.options["wanted"].get("*")
        if wanted and not is_in(location.folder, host.home) and not is_in(location.folder, real_home(host)):
            text = "a link leads this cache of %s back into the home, to %s; this site wants it in %s"
            shown = host.shown(host.home + real[len(real_home(host)) :])
            self.report("ENV-001", host.shown(location.folder), text % (cache.tool, shown, wanted))

    def _check_cache(self, cache: Cache, location: CacheLocation, host: Host, walk: Walk) -> None:
        files, size = _measure(location.folder, walk)
        shown = host.shown(host.home + location.folder[len(real_home(host)) :])
        wanted = self.options["wanted"].get(cache.tool) or self.options["wanted"].get("*")
        is_big = size >= self.options["big_bytes"] or files >= self.options["big_files"]
        least = max(self.options["least_bytes"], 0 if cache.variable else UNKNOWN_BYTES)
        if size and ((wanted and size >= least) or is_big or walk.cut == "entries"):
            amount = format_walked(files, "file", walk)
            amount += ", %s" % format_size(size) if walk.cut != "time" else " (too many to count in time)"
            text = "%s %s%s" % (cache.holds.replace("%s", cache.tool), amount, location.note)
            text += "; this site wants it in %s" % wanted if wanted else ""
            fix = None
            if location.is_default:
                fix = offers.offer_folder_fix(host, location.folder, "cache", cache.remade, cache.variable)
            case = NOT_MADE_AGAIN if cache.remade == NONE and cache.rule == "ENV-001" else ""
            self.report(cache.rule, shown, text, auto_fix=fix, case=case)
        elif walk.cut:
            self.skip("%s: there was no time to check all of it" % shown)
        if walk.skipped.paths:
            self.skip("%s could not be checked completely: %s (%s)" % ((shown,) + walk.skipped.paths[0]))


def _is_container(path: str, host: Host) -> bool:
    """Return True if a folder holds the files of an unpacked image: a system's folders, and what starts it."""
    try:
        system = all((host.entry(path + name) or FILE).kind == "folder" for name in ("/etc", "/usr"))
        return system and any(host.entry(path + name) for name in STARTS)
    except AccountError:
        return False


def _locations(cache: Cache, variables: Dict[str, str], host: Host) -> List[CacheLocation]:
    """Return the folders that may hold the cache, the one in use first."""
    default = os.path.join(host.home, cache.folder)
    moved = variables.get(cache.variable, "")
    if moved.startswith("/"):
        folder = os.path.join(moved, cache.below).rstrip("/")
        note = " that %s no longer uses, because $%s points elsewhere" % (cache.tool, cache.variable)
        note = "" if folder == default else note
        return [
            CacheLocation(folder, " ($%s points there)" % cache.variable, False),
            CacheLocation(default, note, True),
        ]
    common = variables.get("XDG_CACHE_HOME", "")
    if cache.folder.startswith(".cache/") and common.startswith("/"):
        folder = os.path.join(common, cache.folder[len(".cache/") :])
        return [
            CacheLocation(folder, " ($XDG_CACHE_HOME points there)", False),
            CacheLocation(default, "", True),
        ]
    return [CacheLocation(default, "", True)]


def _measure(folder: str, walk: Walk) -> Tuple[int, int]:
    """Return the number of regular files in a tree and their bytes, as far as the walk came."""
    files = size = 0
    for entry in walk.below(folder):
        if stat.S_ISREG(entry.status.st_mode) and os.path.basename(entry.path) not in KEYS:
            files += 1
            size += entry.status.st_size
    return files, size
