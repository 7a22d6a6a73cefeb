# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for caches and images in the home directory that are large, or that the site wants elsewhere.

A tool's cache is in the folder that its variable names, or else in the tool's default folder. Once the variable is set,
the tool no longer uses the content of the default folder. Empty folders, and links to folders outside of the home
directory, are fine. A Cache (known_caches.py) has a tool, its default folder and the variable that sets another one.
"""

import os
import re
import stat
import time
from typing import Any, Dict, List, NamedTuple, Tuple

from .._audit_checks.audit_check import (
    NOT_MADE_AGAIN,
    AuditCheck,
    is_in,
    list_names,
    real_home,
    resolve_readable,
    via_home,
)
from .._core.errors import AccountError
from .._core.host import Host
from .._fixes import offers
from .._fixes.leftover_fix import KEYS
from .._scan.amounts import format_size
from .._scan.filled_folders import folders_to_enter, is_filled
from .._scan.home_listing import HomeListing
from .._scan.walk import Limits, Walk, format_walked
from .known_caches import CACHES, NOTHING, Cache

IMAGE_LIMITS = Limits(entries=20000, seconds=4.0, depth=12)
ENTRIES = 20000  # of one cache; a cache with more entries is large
SECONDS = 12.0  # for all caches together
IMAGES = (".sqsh", ".sif", ".squashfs", ".sqfs", ".simg")
LEAST_BYTES_WITHOUT_VARIABLE = 50000000  # smaller caches are not reported, since they are hard to move
MOST = 200  # entries of one folder that are checked
CONTAINER_FILES = (
    "/etc/rc",
    "/.singularity.d",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/fstab",
    "/bin/sh",
)  # each container has one of these


class CacheLocation(NamedTuple):
    """A folder that may contain a cache."""

    folder: str
    note: str  # the end of the finding's text: why the folder may contain the cache; begins with a space, or is empty
    is_default: bool  # the tool chose the folder, not the user


class HomeCaches(AuditCheck):
    """The caches, images, containers and Python environments in the home directory."""

    KIND = "home_caches"
    TITLE = "caches in the home directory"
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        # tool, or "*" for all tools -> where this site wants the cache, in words
        "wanted": {"type": "dict", "default": {}},
        # smaller caches are not reported, even if the site wants them elsewhere
        "least_bytes": {"type": "int", "default": 0},
        # caches of this size are reported, wherever the site wants them
        "big_bytes": {"type": "int", "default": 1000000000},
        "big_files": {"type": "int", "default": 20000},
    }

    def run(self, host: Host) -> None:
        """Check images and containers, then each cache folder once, although several tools may use the same folder."""
        environments = self._check_images(host)
        variables, deadline = self._read_environment(host), time.time() + SECONDS
        most_entries = max(ENTRIES, self.options["big_files"])
        existing = HomeListing(host).select(cache.folder for cache in CACHES)
        absent = {cache.folder for cache in CACHES}.difference(existing)  # default folders that do not exist
        checked: List[str] = []
        for cache in CACHES + self._list_unknown_caches(host) + self._as_caches(environments, host):
            for location in _list_locations(cache, variables, host):
                if location.is_default and cache.folder in absent:
                    continue
                real = self._resolve_in_home(location.folder, host)  # empty for a folder outside of the home
                if real and real not in checked:
                    checked.append(real)
                    walk = Walk(host, Limits(entries=most_entries, seconds=deadline - time.time()))
                    self._check_link(cache, location, real, host)
                    self._check_cache(cache, location._replace(folder=real), host, walk)
        self._report_containers(host, [variables.get(cache.variable, "") for cache in CACHES])

    def _check_images(self, host: Host) -> List[str]:
        """Report images in the home directory, note its unpacked containers, and return its Python environments."""
        home, environments = real_home(host), []
        self._containers = self._find_upper_containers(host)  # unpacked containers; the walk adds more
        walk = Walk(host, IMAGE_LIMITS)
        for listing in walk.folders(home):
            # The walk enters only the folders that remain in the listing.
            if {"etc", "usr"} <= set(listing.folders) and _is_container(listing.folder, host):
                self._containers.append(listing.folder)
                listing.folders = []
                continue
            if "pyvenv.cfg" in listing.files:
                environments.append(listing.folder)
            listing.folders = [] if is_filled(listing) else folders_to_enter(listing)
            images = [listing.path(name) for name in listing.files if name.lower().endswith(IMAGES)]
            for path in images:
                try:
                    size = os.stat(host.path_via_handle(path)).st_size
                except (AccountError, OSError):
                    continue  # the image was removed during the walk
                if size >= self.options["least_bytes"]:
                    self.report("IMG-003", _show_in_home(path, host), "the image uses %s" % format_size(size))
        return environments

    def _find_upper_containers(self, host: Host) -> List[str]:
        """Return the unpacked containers at most two levels deep, which a walk of limited length may not reach."""
        home = real_home(host)
        found: List[str] = []
        for folder in [os.path.join(home, name) for name in host.names(home)[:MOST] if not name.startswith(".")]:
            try:
                if getattr(host.entry(folder), "kind", "") == "folder":  # a link leads to another place
                    paths = [folder, *(folder + "/" + name for name in host.names(folder)[:MOST])]
                    found += [path for path in paths if _is_container(path, host)]
            except AccountError:
                continue  # without permission; the search for keys has a remark about such folders
        return found

    def _report_containers(self, host: Host, cache_folders: List[str]) -> None:
        """Report the containers that were found: a single one by its path, several by the path of their folder.

        cache_folders: the folders that variables set for caches; their containers are in use.
        """
        home = real_home(host)
        skipped = [resolve_readable(folder, host) or folder for folder in cache_folders if folder.startswith("/")]
        names_by_folder: Dict[str, List[str]] = {}
        for path in dict.fromkeys(self._containers):
            folder, name = os.path.split(path)
            is_reported = self.is_reported("IMG-004", _show_in_home(folder, host))  # as a cache
            if path != home and folder not in skipped and path not in skipped and not is_reported:
                names_by_folder.setdefault(folder, []).append(name)
        for folder, names in names_by_folder.items():
            if len(names) > 1 and folder != home:
                text = "this folder contains unpacked containers (such as %s)" % names[0]
                self.report("IMG-004", _show_in_home(folder, host), text)
                continue
            for name in names:
                shown = _show_in_home(folder + "/" + name, host)
                self.report("IMG-004", shown, "this folder is an unpacked container")

    def _list_unknown_caches(self, host: Host) -> Tuple[Cache, ...]:
        """Return a cache for each folder in ~/.cache. run() skips folders that it has checked before."""
        folder = os.path.join(host.home, ".cache")
        names = list_names(folder, MOST, host)
        return tuple(Cache(name, folder=".cache/" + name, variable="", remade=NOTHING) for name in names)

    def _as_caches(self, environments: List[str], host: Host) -> Tuple[Cache, ...]:
        """Return these folders of Python environments as caches, so that large ones are reported in the same way."""
        home = real_home(host)
        names = [folder[len(home) :].lstrip("/") for folder in environments if folder != home]
        return tuple(Cache("Python", name, variable="", remade=NOTHING, content="environment") for name in names)

    def _read_environment(self, host: Host) -> Dict[str, str]:
        """Return the environment of the login shell; empty, with a remark, if it cannot be read."""
        try:
            return host.account.environment()
        except AccountError as error:
            self.skip("the variables that set where caches are stored cannot be read: %s" % error)
            return {}

    def _resolve_in_home(self, folder: str, host: Host) -> str:
        """Return the path of a folder without links; empty unless the folder is inside the home directory."""
        try:
            real = host.resolve(folder)
            home = real_home(host)
            if real and real != home and is_in(real, home) and host.resolved_kind(real) == "folder":
                return real
        except AccountError as error:
            self.skip(str(error))
        return ""

    def _preferred_place(self, cache: Cache) -> str:
        """Return where this site wants the cache, in words; empty if the site has no preference."""
        return str(self.options["wanted"].get(cache.tool) or self.options["wanted"].get("*") or "")

    def _check_link(self, cache: Cache, location: CacheLocation, real: str, host: Host) -> None:
        """Report a cache outside of the home directory that is a link into the home, however small the cache is.

        real: the path of the location without links, which is in the home directory.
        """
        preferred = self._preferred_place(cache)
        is_link_from_outside = not is_in(location.folder, host.home) and not is_in(location.folder, real_home(host))
        if preferred and is_link_from_outside:
            text = "the %s cache is a link to %s in the home directory; this site wants the cache in %s"
            shown = _show_in_home(real, host)
            self.report("ENV-001", host.shown(location.folder), text % (cache.tool, shown, preferred))

    def _check_cache(self, cache: Cache, location: CacheLocation, host: Host, walk: Walk) -> None:
        """Report a cache that is large, or that the site wants elsewhere.

        location: with a real path in the home. walk: counts the files; walk.cut is the limit that ended the walk early.
        """
        files, size = _measure(location.folder, walk)
        shown = _show_in_home(location.folder, host)
        is_big = size >= self.options["big_bytes"] or files >= self.options["big_files"] or walk.cut == "entries"
        # At least one byte: an empty cache is not misplaced.
        least_bytes = max(self.options["least_bytes"], 1 if cache.variable else LEAST_BYTES_WITHOUT_VARIABLE)
        is_misplaced = bool(self._preferred_place(cache)) and size >= least_bytes
        if files and (is_misplaced or is_big):
            fix = None
            if location.is_default:  # in a folder that the user chose, other files may be in use
                names, variable = cache.remade, cache.variable
                folder = via_home(location.folder, host)
                fix = offers.offer_folder_fix(host, folder, what="cache", names=names, variable=variable)
            has_cases = cache.rule == "ENV-001"  # the other rules have the same advice for every cache
            case = NOT_MADE_AGAIN if has_cases and cache.remade == NOTHING else ""
            text = self._describe_cache(cache, location.note, files, size, walk)
            self.report(cache.rule, shown, text, auto_fix=fix, case=case)
        elif walk.cut:
            self.skip("%s could not be checked completely in the available time" % shown)
        if walk.skipped.paths:
            path, why = walk.skipped.paths[0]
            self.skip("%s could not be checked completely: %s (%s)" % (shown, path, why))

    def _describe_cache(self, cache: Cache, note: str, files: int, size: int, walk: Walk) -> str:
        """Return the text of a finding: what the cache contains, and where this site wants the cache.

        note: see CacheLocation. files, size: the number of files and their total bytes. walk: see _check_cache.
        """
        preferred = self._preferred_place(cache)
        amount = format_walked(files, "file", walk)
        amount += " (too many to count in time)" if walk.cut == "time" else ", " + format_size(size)
        verb = "contain" if cache.content.endswith("s") else "contains"  # such as "packages"
        # such as "the pip cache contains 12 files, 3.4 GB"
        text = "the %s %s %s %s%s" % (cache.tool, cache.content, verb, amount, note)
        return text + ("; this site wants the %s in %s" % (cache.content, preferred) if preferred else "")


def _show_in_home(real: str, host: Host) -> str:
    """Return a real path in the home directory for display: as the user knows it, below the usual home directory."""
    return host.shown(via_home(real, host))


def _is_container(path: str, host: Host) -> bool:
    """Return True if a folder contains an unpacked image: system folders, and a typical file of a container."""
    try:
        folders = (path, path + "/etc", path + "/usr")  # no links, which may lead to the system's own folders
        has_folders = all(getattr(host.entry(folder), "kind", "") == "folder" for folder in folders)
        return has_folders and any(host.entry(path + name) for name in CONTAINER_FILES)
    except AccountError:
        return False


def _list_locations(cache: Cache, variables: Dict[str, str], host: Host) -> List[CacheLocation]:
    """Return the folders that may contain a cache, the folder in use first.

    If a variable names the folder in use, the default folder may still have older content.
    """
    default = os.path.join(host.home, cache.folder)
    value = re.split("[:,]", variables.get(cache.variable, ""))[0]  # of a list, tools write to the first folder
    if value.startswith("/"):
        folder = os.path.join(value, cache.below).rstrip("/")
        note = " that %s no longer uses, because $%s names another folder" % (cache.tool, cache.variable)
        return [
            CacheLocation(folder, " ($%s points to this folder)" % cache.variable, is_default=False),
            CacheLocation(default, "" if folder == default else note, is_default=True),
        ]
    common_folder = variables.get("XDG_CACHE_HOME", "")
    if cache.folder.startswith(".cache/") and common_folder.startswith("/"):
        folder = os.path.join(common_folder, cache.folder[len(".cache/") :])
        return [
            CacheLocation(folder, " ($XDG_CACHE_HOME points to this folder)", is_default=False),
            CacheLocation(default, "", is_default=True),
        ]
    return [CacheLocation(default, "", is_default=True)]


def _measure(folder: str, walk: Walk) -> Tuple[int, int]:
    """Return (number, total bytes) of the regular files in a tree without keys, as far as the walk went."""
    files = size = 0
    for entry in walk.below(folder):
        if stat.S_ISREG(entry.status.st_mode) and os.path.basename(entry.path) not in KEYS:
            files += 1
            size += entry.status.st_size
    return files, size
