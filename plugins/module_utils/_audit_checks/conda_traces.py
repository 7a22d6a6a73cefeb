# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conda where the site does not want it, the blocks of 'conda init', and channels that the user did not choose."""

import os
import re
from typing import Any, Dict, List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import condarc, startup
from .audit_check import MOVED, WITHOUT_CONDA, AuditCheck, is_in, read_text, real_home

MOST = 500  # folders of one parent that are searched
HISTORY = "conda-meta/history"  # of every environment that conda or mamba has made, base ones included
MOST_IN_FOLDERS = 200  # names in the folders of the home
NAMES = re.compile(r"(?i)conda|mamba|miniforge")
PARENTS = (".conda/envs", "micromamba/envs", "mamba/envs", ".local/share/mamba/envs")
CONF_D = ".config/fish/conf.d"
UNDO = {"conda": ("conda init", "conda init --reverse"), "mamba": ("mamba shell init", "mamba shell deinit")}


class CondaTraces(AuditCheck):
    """The condas that users have installed themselves, and their settings."""

    KIND = "conda_traces"
    TITLE = "traces of conda"
    PATH_OPTIONS = ("own", "purged")
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "policy": {"type": "str", "default": "allowed", "choices": ["allowed", "discouraged", "refused"]},
        "belongs": {"type": "str", "default": ""},  # where this site wants it, for the user to read
        "own": {"type": "list", "elements": "dict", "default": []},  # {path}: what the roles set up
        "purged": {"type": "list", "elements": "dict", "default": []},  # {name, path, days}
        # whether the account's own settings name Anaconda's channels
        "anacondas": {"type": "str", "default": "extra", "choices": ["extra", "chosen"]},
    }

    def run(self, host: Host) -> None:
        prefixes = [path for path in self._find_prefixes(host) if not self._is_of_role(path, host)]
        for path in prefixes:
            why = self._why_unwanted(path, host)
            if why:
                allowed = self.options["policy"] == "allowed"
                self.report("PKG-001", host.shown(path), why, case=MOVED if allowed else WITHOUT_CONDA)
        self._check_init_blocks(host)
        if self.options["anacondas"] == "extra":
            self._check_channels(host, prefixes + [one["path"] for one in self.entries("own")])

    # -- prefixes ------------------------------------------------------------------------------

    def _find_prefixes(self, host: Host) -> List[str]:
        """Return the prefixes in the home and in purged areas; of nested ones only the outermost."""
        home = real_home(host)
        inside = [home] + [host.resolve(area["path"]) or area["path"] for area in self.entries("purged")]
        parents = inside + [os.path.join(home, parent) for parent in PARENTS] + self._envs_dirs(host)
        candidates = [path for parent in parents for path in self._subfolders(parent, host)]
        candidates += self._recorded_environments(host) + self._in_folders(home, host)
        found: List[str] = []
        for path in sorted({real for real in map(host.resolve, candidates) if real}):
            if any(is_in(path, folder) for folder in inside) and not any(is_in(path, outer) for outer in found):
                found += [path] if self._is_prefix(path, host) else []
        return found

    def _subfolders(self, parent: str, host: Host) -> List[str]:
        """Return the folders directly in one; a link there points to something elsewhere."""
        try:
            names = host.names(parent)
            if len(names) > MOST:
                self.skip("%s holds %d names; only the first %d were checked" % (host.shown(parent), len(names), MOST))
            paths = [os.path.join(parent, name) for name in names[:MOST]]
            return [path for path in paths if getattr(host.entry(path), "kind", "") == "folder"]
        except AccountError as error:
            self.skip(str(error))
            return []

    def _in_folders(self, home: str, host: Host) -> List[str]:
        """Return what may be a prefix in the folders of the home: ~/software/miniconda3, ~/paper/env."""
        found: List[str] = []
        for folder in self._subfolders(home, host):
            try:
                names = [name for name in host.names(folder)[:MOST] if "." not in name or NAMES.search(name)]
            except AccountError:
                continue  # no permission: nothing of the user's
            found += [os.path.join(folder, name) for name in sorted(names, key=lambda one: not NAMES.search(one))]
        return found[:MOST_IN_FOLDERS]

    def _recorded_environments(self, host: Host) -> List[str]:
        """Return the environments of conda's own list that are in the home or a purged area."""
        recorded = read_text(self, host, host.home + "/.conda/environments.txt")
        near = [host.home, real_home(host)] + [area["path"] for area in self.entries("purged")]
        return [
            os.path.normpath(line)
            for line in recorded.encode("latin-1").decode("utf-8", "surrogateescape").split("\n")[:MOST]
            if "\0" not in line and any(is_in(os.path.normpath(line), folder) for folder in near)
        ]

    def _envs_dirs(self, host: Host) -> List[str]:
        """Return the folders of 'envs_dirs' in conda's settings that are in the home or a purged area."""
        near = [host.home] + [area["path"] for area in self.entries("purged")]
        found = []
        for name in condarc.SETTINGS:
            for item in condarc.read_list(self._read_in_home(host, name), "envs_dirs") or []:
                try:
                    path = host.expand(item.value.replace("${", "$").replace("}", ""))
                except AccountError:
                    continue  # it names a variable that is not the site's
                found += [path] if any(is_in(path, folder) for folder in near) else []
        return found

    def _read_in_home(self, host: Host, name: str) -> str:
        return read_text(self, host, os.path.join(host.home, name))

    def _is_prefix(self, path: str, host: Host) -> bool:
        try:
            entry = host.entry(os.path.join(path, HISTORY))
        except AccountError as error:
            self.skip(str(error))
            return False
        return entry is not None and entry.kind == "file"

    def _is_of_role(self, path: str, host: Host) -> bool:
        own = [folder for one in self.entries("own") for folder in (one["path"], host.resolve(one["path"])) if folder]
        return any(is_in(path, folder) for folder in own)

    def _why_unwanted(self, path: str, host: Host) -> Optional[str]:
        """Return why a prefix should not be where it is; None if it may."""
        for area in self.entries("purged"):
            if is_in(path, host.resolve(area["path"]) or area["path"]):
                text = "conda is on %s, where files are deleted after %d days: it will break"
                return text % (area["name"], area["days"])
        if self.options["policy"] == "refused":
            return "conda is in the home, and this site does not allow conda"
        if self.options["policy"] == "discouraged":
            return "conda is in the home, and this site advises against a conda of your own"
        if self.options["belongs"]:
            return "conda is in the home, and this site wants it in %s" % self.options["belongs"]
        return None

    # -- settings ------------------------------------------------------------------------------

    def _check_init_blocks(self, host: Host) -> None:
        names = [*startup.FILES, *(CONF_D + "/" + one for one in self._names_in(host.home + "/" + CONF_D, host))]
        for name in names:
            for block in startup.find_init_blocks(self._read_in_home(host, name)):
                text = "a block of '%s' runs it at every start of a shell; '%s' removes it"
                self.report("PKG-002", "~/%s:%d" % (name, block.line), text % UNDO[block.program])

    def _names_in(self, folder: str, host: Host) -> List[str]:
        try:
            return [one for one in host.names(folder) if one.endswith(".fish")] if host.entry(folder) else []
        except AccountError as error:
            self.skip(str(error))
            return []

    def _check_channels(self, host: Host, prefixes: List[str]) -> None:
        """Report Anaconda's channels in the user's settings; without any settings, every conda that would use them."""
        chosen = [self._check_settings("~/" + name, self._read_in_home(host, name)) for name in condarc.SETTINGS]
        if any(chosen):
            return
        for path in prefixes:
            if _is_base(path, host) and not self._has_own_channels(path, host):
                text = "no channels are set for this conda, so packages come from Anaconda's own, which have terms"
                self.report("PKG-003", host.shown(path), text)

    def _check_settings(self, shown: str, text: str) -> bool:
        """Report Anaconda's channels in these settings, and return True if they choose any channels."""
        channels = condarc.read_list(text, "channels")
        defaults = condarc.read_list(text, "default_channels")
        for item in (channels or []) + (defaults or []):
            is_redirected = item.value == "defaults" and defaults
            if condarc.is_anaconda_channel(item.value) and not is_redirected:
                what = "packages come from '%s', a channel of Anaconda's own, which has terms"
                self.report("PKG-003", "%s:%d" % (shown, item.line), what % item.value[:80])
        return bool(channels or defaults)

    def _has_own_channels(self, prefix: str, host: Host) -> bool:
        files = [os.path.join(prefix, name) for name in (".condarc", "condarc", condarc.PLACE)]
        return any(condarc.read_list(read_text(self, host, file), "channels") for file in files)


def _is_base(path: str, host: Host) -> bool:
    for name in ("condabin/conda", "bin/conda"):
        try:
            if host.entry(os.path.join(path, name)) is not None:
                return True
        except AccountError:
            continue
    return False
