# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for caches and images in the home directory, if the site wants them elsewhere or they are large.

A tool's cache is where its variable points, or in the tool's default folder. Once the variable is set, the content of
the default folder is no longer used. Empty folders, and links to folders outside of the home directory, are fine.
"""

import os
import stat
import time
from typing import Any, Dict, List, NamedTuple, Tuple

from .._audit_checks.audit_check import NOT_MADE_AGAIN, AuditCheck, is_in, real_home
from .._core.errors import AccountError
from .._core.host import Host
from .._fixes import offers
from .._scan.amounts import format_size
from .._scan.filled_folders import folders_to_enter, is_filled
from .._scan.walk import Limits, Walk, format_walked
from .known_caches import CACHES, NOTHING, Cache

IMAGE_LIMITS = Limits(entries=20000, seconds=4.0, depth=12)
ENTRIES = 20000  # of one cache; a cache with more entries is large
SECONDS = 12.0  # for all caches together
IMAGES = (".sqsh", ".sif", ".squashfs", ".sqfs", ".simg")
UNKNOWN_BYTES = 50000000  # the smallest cache that is reported for a tool without a variable
MOST = 200  # entries of one folder that are checked
KEYS = ("token", "stored_tokens")  # huggingface_hub keeps them next to its caches
CONTAINER_FILES = ("/etc/rc", "/.singularity.d", "/etc/os-release", "/etc/passwd")  # each container has one of these


class CacheLocation(NamedTuple):
    """A folder that may contain a cache. note: for the finding; is_default: the tool's own choice."""

    folder: str
    note: str
    is_default: bool


class HomeCaches(AuditCheck):
    """The caches, images, containers and Python environments in the home directory."""

    KIND = "home_caches"
    TITLE = "caches in the home directory"
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "wanted": {
            "type": "dict",
            "default": {},
        },  # tool, or "*" for all tools -> where this site wants the cache, in words
        "least_bytes": {
            "type": "int",
            "default": 0,
        },  # smaller caches are not reported, even if the site wants them elsewhere
        "big_bytes": {"type": "int", "default": 1000000000},
        "big_files": {"type": "int", "default": 20000},
    }

    def run(self, host: Host) -> None:
        """Check images and containers, then each cache folder once, although several tools may use it."""
        environments = self._check_images(host)
        variables, deadline = self._read_environment(host), time.time() + SECONDS
        self._check_containers(host, [variables.get(cache.variable, "") for cache in CACHES])
        checked: List[str] = []
        for cache in CACHES + self._unknown_caches(host) + self._as_caches(environments, host):
            for location in _locations(cache, variables, host):
                real = self._resolve_in_home(location.folder, host)
                if real and real not in checked:
                    checked.append(real)
                    entries = max(ENTRIES, self.options["big_files"])
                    walk = Walk(host, Limits(entries, deadline - time.time()))
                    self._check_link(cache, location, real, host)
                    self._check_cache(cache, location._replace(folder=real), host, walk)

    def _check_images(self, host: Host) -> List[str]:
        """Report images in the home directory, and return its Python environments."""
        home, environments = real_home(host), []
        walk = Walk(host, IMAGE_LIMITS)
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
                    text = "the image uses %s" % format_size(size)
                    self.report("IMG-003", host.shown(host.home + path[len(home) :]), text)
        return environments

    def _check_containers(self, host: Host, used: List[str]) -> None:
        """Report folders of the home directory with unpacked containers. used: folders that variables name."""
        home = real_home(host)
        skipped = [host.resolve(folder) or folder for folder in used if folder.startswith("/")]  # checked as caches
        for folder in [os.path.join(home, name) for name in host.names(home)[:MOST] if not name.startswith(".")]:
            if folder in skipped or getattr(host.entry(folder), "kind", "") != "folder":
                continue
            shown = host.shown(host.home + folder[len(home) :])
            if _is_container(folder, host):
                self.report("IMG-004", shown, "this folder is an unpacked container")
                continue
            inside = [name for name in host.names(folder)[:MOST] if _is_container(os.path.join(folder, name), host)]
            if inside:
                containers = "%s and %d more" % (inside[0], len(inside) - 1) if inside[1:] else inside[0]
                text = "this folder contains unpacked containers (%s), but no variable points to the folder"
                self.report("IMG-004", shown, text % containers)

    def _unknown_caches(self, host: Host) -> Tuple[Cache, ...]:
        """Return a cache for each folder in ~/.cache; run() skips those that CACHES has reported already."""
        folder = os.path.join(host.home, ".cache")
        try:
            names = host.names(folder)[:MOST] if host.resolved_kind(folder) == "folder" else []
        except AccountError:
            return ()
        return tuple(Cache(name, ".cache/" + name, "", remade=NOTHING) for name in names)

    def _as_caches(self, environments: List[str], host: Host) -> Tuple[Cache, ...]:
        """Return Python environments as caches, since they fill the home directory in the same way."""
        home = real_home(host)
        names = [folder[len(home) :].lstrip("/") for folder in environments if folder != home]
        return tuple(Cache("Python", name, "", remade=NOTHING, content="environment") for name in names)

    def _read_environment(self, host: Host) -> Dict[str, str]:
        """Return the environment of the login shell; empty, with a remark, if it cannot be read."""
        try:
            return host.account.environment()
        except AccountError as error:
            self.skip("the variables that set where caches are stored cannot be read: %s" % error)
            return {}

    def _resolve_in_home(self, folder: str, host: Host) -> str:
        """Return the real path of a folder; empty if it is not a folder inside the home directory."""
        try:
            real = host.resolve(folder)
            home = real_home(host)
            return real if real and real != home and is_in(real, home) and host.resolved_kind(real) == "folder" else ""
        except AccountError as error:
            self.skip(str(error))
            return ""

    def _check_link(self, cache: Cache, location: CacheLocation, real: str, host: Host) -> None:
        """Report a cache outside of the home directory that is a link into it, however small the cache is."""
        preferred = self.options["wanted"].get(cache.tool) or self.options["wanted"].get("*")
        if preferred and not is_in(location.folder, host.home) and not is_in(location.folder, real_home(host)):
            text = "the %s cache is a link to %s in the home directory; this site wants the cache in %s"
            shown = host.shown(host.home + real[len(real_home(host)) :])
            self.report("ENV-001", host.shown(location.folder), text % (cache.tool, shown, preferred))

    def _check_cache(self, cache: Cache, location: CacheLocation, host: Host, walk: Walk) -> None:
        """Report a cache that is large, or that the site wants elsewhere."""
        files, size = _measure(location.folder, walk)
        # the path with the home directory as the user knows it, not its real path
        shown = host.shown(host.home + location.folder[len(real_home(host)) :])
        preferred = self.options["wanted"].get(cache.tool) or self.options["wanted"].get("*")
        is_big = size >= self.options["big_bytes"] or files >= self.options["big_files"]
        least = max(self.options["least_bytes"], 0 if cache.variable else UNKNOWN_BYTES)
        if files and ((preferred and size >= max(least, 1)) or is_big or walk.cut == "entries"):
            amount = format_walked(files, "file", walk)
            amount += " (too many to count in time)" if walk.cut == "time" else ", " + format_size(size)
            verb = "contain" if cache.content.endswith("s") else "contains"  # such as "packages"
            text = "the %s %s %s %s%s" % (cache.tool, cache.content, verb, amount, location.note)
            text += "; this site wants the %s in %s" % (cache.content, preferred) if preferred else ""
            fix = None
            if location.is_default:  # in a folder that the user chose, other files may be in use
                fix = offers.offer_folder_fix(host, location.folder, "cache", cache.remade, cache.variable)
            case = NOT_MADE_AGAIN if cache.remade == NOTHING and cache.rule == "ENV-001" else ""
            self.report(cache.rule, shown, text, auto_fix=fix, case=case)
        elif walk.cut:
            self.skip("%s could not be checked completely in the available time" % shown)
        if walk.skipped.paths:
            self.skip("%s could not be checked completely: %s (%s)" % ((shown,) + walk.skipped.paths[0]))


def _is_container(path: str, host: Host) -> bool:
    """Return True if a folder contains an unpacked image: system folders, and a typical file of a container."""
    try:
        has_folders = all(getattr(host.entry(path + name), "kind", "") == "folder" for name in ("/etc", "/usr"))
        return has_folders and any(host.entry(path + name) for name in CONTAINER_FILES)
    except AccountError:
        return False


def _locations(cache: Cache, variables: Dict[str, str], host: Host) -> List[CacheLocation]:
    """Return the folders that may contain a cache, the one in use first."""
    default = os.path.join(host.home, cache.folder)
    moved = variables.get(cache.variable, "")
    if moved.startswith("/"):  # the folder in use, and the default one, which may have content from before
        folder = os.path.join(moved, cache.below).rstrip("/")
        note = " that %s no longer uses, because $%s names another folder" % (cache.tool, cache.variable)
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
    """Return the number and total bytes of the regular files in a tree, as far as the walk went."""
    files = size = 0
    for entry in walk.below(folder):
        if stat.S_ISREG(entry.status.st_mode) and os.path.basename(entry.path) not in KEYS:
            files += 1
            size += entry.status.st_size
    return files, size
