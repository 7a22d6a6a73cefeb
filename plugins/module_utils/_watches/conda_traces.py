# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conda where the site does not want it, the blocks of 'conda init', and channels that nobody chose."""

import os
from typing import Any, Dict, List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import condarc, startup
from .base import Look, is_in, real_home, text_behind

MOST = 500  # folders of one parent that are looked into
HISTORY = "conda-meta/history"  # of every environment that conda or mamba has made, base ones included
PARENTS = (".conda/envs", "micromamba/envs", "mamba/envs", ".local/share/mamba/envs")
SETTINGS = (".condarc", ".conda/.condarc", ".config/conda/.condarc")
UNDO = {"conda": "conda init --reverse", "mamba": "mamba shell deinit"}


class CondaTraces(Look):
    """What people's own condas have left on an account."""

    KIND = "conda_traces"
    PLACES = ("own", "purged")
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "policy": {"type": "str", "default": "allowed", "choices": ["allowed", "discouraged", "refused"]},
        "belongs": {"type": "str", "default": ""},  # where this site wants it, as a person reads it
        "own": {"type": "list", "elements": "dict", "default": []},  # {path}: what the roles set up
        "purged": {"type": "list", "elements": "dict", "default": []},  # {name, path, days}
        # whether the account's own wish names Anaconda's channels
        "anacondas": {"type": "str", "default": "extra", "choices": ["extra", "chosen"]},
    }

    def name(self) -> str:
        return "traces of conda"

    def look(self, host: Host) -> None:
        """The prefixes first, for a base among them tells which channels it would use."""
        prefixes = [path for path in self._prefixes(host) if not self._ours(path, host)]
        for path in prefixes:
            why = self._unwanted(path, host)
            if why:
                self.find("PKG-001", host.shown(path), why)
        self._blocks(host)
        if self.options["anacondas"] == "extra":
            self._channels(host, prefixes + [one["path"] for one in self.places("own")])

    # -- where it lies -------------------------------------------------------------------------

    def _prefixes(self, host: Host) -> List[str]:
        """The prefixes in the home and in purged areas; of an environment inside another prefix only the outer one."""
        home = real_home(host)
        inside = [home] + [host.resolve(one["path"]) or one["path"] for one in self.places("purged")]
        parents = inside + [os.path.join(home, parent) for parent in PARENTS] + self._named(host, "envs_dirs")
        candidates = [path for parent in parents for path in self._folders(parent, host)]
        candidates += self._recorded(host)
        found: List[str] = []
        for path in sorted({real for real in map(host.resolve, candidates) if real}):
            if any(is_in(path, folder) for folder in inside) and not any(is_in(path, outer) for outer in found):
                found += [path] if self._is_prefix(path, host) else []
        return found

    def _folders(self, parent: str, host: Host) -> List[str]:
        """The folders right below one; a link there leads to something that lies elsewhere."""
        try:
            names = host.names(parent)
            if len(names) > MOST:
                self.miss("%s holds %d names; the first %d were looked into" % (host.shown(parent), len(names), MOST))
            paths = [os.path.join(parent, name) for name in names[:MOST]]
            return [path for path in paths if getattr(host.entry(path), "kind", "") == "folder"]
        except AccountError as error:
            self.miss(str(error))
            return []

    def _recorded(self, host: Host) -> List[str]:
        """The environments that conda itself remembers; those of other file systems are none of this watch's."""
        recorded = text_behind(self, host, host.home + "/.conda/environments.txt")
        near = [host.home, real_home(host)] + [one["path"] for one in self.places("purged")]
        return [
            os.path.normpath(line)
            for line in recorded.encode("latin-1").decode("utf-8", "surrogateescape").split("\n")[:MOST]
            if "\0" not in line and any(is_in(os.path.normpath(line), folder) for folder in near)
        ]

    def _named(self, host: Host, setting: str) -> List[str]:
        """The folders in the home or a purged area that a list in conda's settings names."""
        items = [item for name in SETTINGS for item in condarc.read_list(self._text(host, name), setting) or []]
        near = [host.home] + [one["path"] for one in self.places("purged")]
        found = []
        for item in items:
            try:
                path = host.expand(item.value.replace("${", "$").replace("}", ""))
            except AccountError:
                continue  # it names a variable that is not the site's
            found += [path] if any(is_in(path, folder) for folder in near) else []
        return found

    def _text(self, host: Host, name: str) -> str:
        return text_behind(self, host, os.path.join(host.home, name))

    def _is_prefix(self, path: str, host: Host) -> bool:
        try:
            found = host.entry(os.path.join(path, HISTORY))
        except AccountError as error:
            self.miss(str(error))
            return False
        return found is not None and found.kind == "file"

    def _ours(self, path: str, host: Host) -> bool:
        own = [folder for one in self.places("own") for folder in (one["path"], host.resolve(one["path"])) if folder]
        return any(is_in(path, folder) for folder in own)

    def _unwanted(self, path: str, host: Host) -> Optional[str]:
        """Why a prefix should not lie where it is; None when it may."""
        for one in self.places("purged"):
            if is_in(path, host.resolve(one["path"]) or one["path"]):
                return "conda lies on %s, where files go after %d days: it will come apart" % (one["name"], one["days"])
        if self.options["policy"] == "refused":
            return "conda lies in the home, and this site does not want it at all"
        if self.options["policy"] == "discouraged":
            return "conda lies in the home, and this site advises against one of your own"
        if self.options["belongs"]:
            return "conda lies in the home, and this site wants it in %s" % self.options["belongs"]
        return None

    # -- what it has written -------------------------------------------------------------------

    def _blocks(self, host: Host) -> None:
        for name in startup.FILES:
            for block in startup.init_blocks(self._text(host, name)):
                text = "a block of '%s' runs it at every start of a shell; '%s' takes it out"
                made_by = "conda init" if block.program == "conda" else "mamba shell init"
                self.find("PKG-002", "~/%s:%d" % (name, block.line), text % (made_by, UNDO[block.program]))

    def _channels(self, host: Host, prefixes: List[str]) -> None:
        chosen = False
        for name in SETTINGS:
            chosen = self._settings("~/" + name, self._text(host, name)) or chosen
        if chosen:
            return
        for path in prefixes:
            if self._is_base(path, host) and not self._told(path, host):
                text = "no channels are set for this conda, so packages come from Anaconda's own, which have terms"
                self.find("PKG-003", host.shown(path), text)

    def _settings(self, shown: str, text: str) -> bool:
        """Whether these settings choose channels; those of Anaconda among them are found."""
        channels = condarc.read_list(text, "channels")
        meant = condarc.read_list(text, "default_channels")
        for item in (channels or []) + (meant or []):
            redirected = item.value == "defaults" and meant
            if condarc.is_anaconda_channel(item.value) and not redirected:
                said = "packages come from '%s', a channel of Anaconda's own, which has terms"
                self.find("PKG-003", "%s:%d" % (shown, item.line), said % item.value[:80])
        return bool(channels or meant)

    def _is_base(self, path: str, host: Host) -> bool:
        return any(self._there(os.path.join(path, name), host) for name in ("condabin/conda", "bin/conda"))

    def _there(self, path: str, host: Host) -> bool:
        try:
            return host.entry(path) is not None
        except AccountError:
            return False

    def _told(self, prefix: str, host: Host) -> bool:
        """Whether the settings beside a conda choose its channels."""
        files = [os.path.join(prefix, ".condarc"), os.path.join(prefix, "condarc"), os.path.join(prefix, condarc.PLACE)]
        texts = [text_behind(self, host, file) for file in files]
        return any(condarc.read_list(text, "channels") for text in texts)
