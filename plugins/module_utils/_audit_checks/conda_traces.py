# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for misplaced conda installations, blocks of 'conda init', and channels that the user did not choose.

A prefix is the folder of a conda installation or of an environment. A purged area is storage whose site deletes old
files. An Ansible role of hpc-onboard may also install conda, with settings of its own, which this check accepts.
"""

import os
import re
from typing import Any, Dict, List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import condarc, startup
from .._formats.settings import find_settings
from .._scan.tool_places import CONDARC_FOLDERS
from .audit_check import (
    MOVED,
    WITHOUT_CONDA,
    AuditCheck,
    is_in,
    list_names,
    read_text,
    real_home,
    resolve_readable,
    via_home,
)
from .effect_places import find_read_files

MOST = 500  # names of one folder that are checked
HISTORY = "conda-meta/history"  # a file in nearly every conda prefix: a base installation or an environment
MOST_IN_FOLDERS = 200  # candidates from the folders of the home directory
CONDA_NAMES = re.compile(r"(?i)conda|mamba|miniforge")
CONDA_FOLDERS = re.compile(r"(?i).*(?:conda|mamba|miniforge)|\.?envs?\Z")
"""Names of likely prefixes: with the name of a conda program in them, or env, envs, .env or .envs."""
USUAL_PARENTS = (
    *(".conda/envs", "micromamba/envs", "mamba/envs", ".local/share/mamba/envs"),
    *(".mamba/envs", ".micromamba/envs", ".pixi/envs"),
)
CHANNEL_VARIABLES = ("CONDA_CHANNELS", "CONDA_DEFAULT_CHANNELS")  # with the meaning of conda's settings of channels
CONF_D = ".config/fish/conf.d"
INIT_COMMANDS = {"conda": ("conda init", "conda init --reverse"), "mamba": ("mamba shell init", "mamba shell deinit")}
"""The program of a block -> the command that writes the block, and the command that removes it."""


class CondaTraces(AuditCheck):
    """The conda installations that the user created without hpc-onboard, and the settings of conda."""

    KIND = "conda_traces"
    TITLE = "traces of conda"
    PATH_OPTIONS = ("own", "purged")
    OPTIONS: Dict[str, Dict[str, Any]] = {
        # whether this site wants users to install conda
        "policy": {"type": "str", "default": "allowed", "choices": ["allowed", "discouraged", "refused"]},
        "belongs": {"type": "str", "default": ""},  # where this site wants conda, in words
        # prefixes that roles install; each entry has the key path
        "own": {"type": "list", "elements": "dict", "default": []},
        # areas whose site deletes files after some days; each entry has the keys name, path and days
        "purged": {"type": "list", "elements": "dict", "default": []},
        # chosen: the accounts file has Anaconda's channels, so that they are not reported
        "anacondas": {"type": "str", "default": "extra", "choices": ["extra", "chosen"]},
    }

    def run(self, host: Host) -> None:
        """Report misplaced installations that no role created, blocks of 'conda init', and Anaconda's channels."""
        prefixes = [path for path in self._find_prefixes(host) if not self._belongs_to_role(path, host)]
        for path in prefixes:
            why = self._why_unwanted(path, host)
            if why:  # the case selects the advice: move conda, or do without it
                is_allowed = self.options["policy"] == "allowed"
                self.report(
                    "PKG-001", host.shown(via_home(path, host)), why, case=MOVED if is_allowed else WITHOUT_CONDA
                )
        self._check_init_blocks(host)
        if self.options["anacondas"] == "extra":
            self._check_channels(host, prefixes + [entry["path"] for entry in self.entries("own")])

    # -- prefixes ------------------------------------------------------------------------------

    def _find_prefixes(self, host: Host) -> List[str]:
        """Return the conda prefixes in the home directory and in purged areas, without prefixes inside of prefixes."""
        home = real_home(host)
        areas = [home] + [self._real_path(area, host) for area in self.entries("purged")]
        parents = areas + [os.path.join(home, parent) for parent in USUAL_PARENTS] + self._configured_folders(host)
        candidates = [path for parent in parents for path in self._subfolders(parent, host)]
        candidates += self._listed_environments(host)
        candidates += [path for area in areas for path in self._deeper_folders(area, host)]
        prefixes: List[str] = []
        # Sorted, so that a prefix comes before the prefixes inside of it.
        for path in sorted({real for real in (resolve_readable(path, host) for path in candidates) if real}):
            is_in_area = any(is_in(path, area) for area in areas)
            is_nested = any(is_in(path, prefix) for prefix in prefixes)
            if is_in_area and not is_nested and self._is_prefix(path, host):
                prefixes.append(path)
        return prefixes

    def _real_path(self, area: Dict[str, Any], host: Host) -> str:
        """Return the path of an area without links. area: an entry of the option purged."""
        return resolve_readable(area["path"], host) or str(area["path"])

    def _subfolders(self, parent: str, host: Host) -> List[str]:
        """Return the paths of the folders in a folder, without links; of more than MOST entries, skip the rest."""
        try:
            names = host.names(parent)
            if len(names) > MOST:
                text = "%s contains %d entries; only the first %d were checked"
                self.skip(text % (host.shown(parent), len(names), MOST))
        except AccountError as error:
            self.skip(str(error))
            return []
        return [path for path in (os.path.join(parent, name) for name in names[:MOST]) if self._is_folder(path, host)]

    def _is_folder(self, path: str, host: Host) -> bool:
        """Return True for a folder; False for a link, and with a remark for a path that cannot be examined."""
        try:
            return getattr(host.entry(path), "kind", "") == "folder"
        except AccountError as error:  # such as a mounted folder whose server is gone
            self.skip(str(error))
            return False

    def _deeper_folders(self, area: str, host: Host) -> List[str]:
        """Return paths two and three levels below an area that may be prefixes, such as ~/software/miniconda3.

        Of the paths three levels below, only those with a likely name are returned.
        """
        candidates: List[str] = []
        for folder in self._subfolders(area, host):
            # A name with a dot usually belongs to a file.
            names = [name for name in list_names(folder, MOST, host) if "." not in name or CONDA_NAMES.search(name)]
            # Likely prefixes come first, because the number of candidates is limited.
            names.sort(key=lambda name: not CONDA_NAMES.search(name))
            candidates += [os.path.join(folder, name) for name in names]
        candidates = candidates[:MOST_IN_FOLDERS]
        below = [
            (path, name) for path in candidates for name in list_names(path, MOST, host) if CONDA_FOLDERS.match(name)
        ]
        return candidates + [os.path.join(path, name) for path, name in below][:MOST_IN_FOLDERS]

    def _listed_environments(self, host: Host) -> List[str]:
        """Return the environments in conda's own list that are in the home directory or a purged area."""
        text = read_text(self, host, host.home + "/.conda/environments.txt")
        areas = [host.home, real_home(host)] + [area["path"] for area in self.entries("purged")]
        paths = [os.path.normpath(line) for line in text.split("\n")[:MOST] if "\0" not in line]  # a NUL: no path
        return [path for path in paths if any(is_in(path, area) for area in areas)]

    def _configured_folders(self, host: Host) -> List[str]:
        """Return the folders of 'envs_dirs' in conda's settings that are in the home directory or a purged area."""
        areas = [host.home] + [area["path"] for area in self.entries("purged")]
        folders = []
        for name in condarc.SETTINGS:
            for item in condarc.read_list(read_text(self, host, host.home + "/" + name), "envs_dirs") or []:
                try:
                    path = host.expand(item.value.replace("${", "$").replace("}", ""))  # expand() accepts only $NAME
                except AccountError:
                    continue  # the path contains an unknown variable
                if any(is_in(path, area) for area in areas):
                    folders.append(path)
        return folders

    def _is_prefix(self, path: str, host: Host) -> bool:
        """Return True if a folder is a base installation or an environment of conda or mamba."""
        try:
            if getattr(host.entry(os.path.join(path, HISTORY)), "kind", "") == "file":
                return True
            has_package_list = host.entry(os.path.join(path, "conda-meta")) is not None
        except AccountError as error:
            self.skip(str(error))
            return False
        return has_package_list and _is_base(path, host)  # without a history, only conda itself proves a prefix

    def _belongs_to_role(self, path: str, host: Host) -> bool:
        """Return True if the path is in an installation of a role. The installation's path may contain links."""
        declared = [entry["path"] for entry in self.entries("own")]
        resolved = [resolve_readable(folder, host) for folder in declared]
        return any(is_in(path, folder) for folder in declared + resolved if folder)

    def _why_unwanted(self, path: str, host: Host) -> Optional[str]:
        """Return why a prefix should not be in its place; None if the site has no objection."""
        for area in self.entries("purged"):
            if is_in(path, self._real_path(area, host)):
                text = "conda is on %s, where the site deletes files after %d days, so conda will stop working"
                return text % (area["name"], area["days"])
        if self.options["policy"] == "refused":
            return "conda is in the home directory, and this site does not allow conda"
        if self.options["policy"] == "discouraged":
            return "conda is in the home directory, and this site discourages private conda installations"
        if self.options["belongs"]:
            return "conda is in the home directory, but this site wants conda in %s" % self.options["belongs"]
        return None

    # -- settings ------------------------------------------------------------------------------

    def _check_init_blocks(self, host: Host) -> None:
        """Report each block that 'conda init' or 'mamba shell init' wrote into a start-up file."""
        of_fish = list_names(host.home + "/" + CONF_D, None, host, self)
        names = [*startup.FILES, *(CONF_D + "/" + name for name in of_fish if name.endswith(".fish"))]
        paths = [os.path.join(host.home, name) for name in names]
        for path in [*paths, *(path for path in find_read_files(self, host) if path not in paths)]:
            for block in startup.find_init_blocks(read_text(self, host, path)):
                init_command, removal_command = INIT_COMMANDS[block.program]
                text = "a block written by '%s' activates %s in every new shell; to remove the block, run '%s'"
                text %= (init_command, block.program, removal_command)
                self.report("PKG-002", "%s:%d" % (host.shown(path), block.line), text)

    def _check_channels(self, host: Host, prefixes: List[str]) -> None:
        """Report Anaconda's channels in the user's settings, or else each conda that uses them by default.

        conda uses Anaconda's channels if neither the user's settings nor those of the installation set channels.
        prefixes: the conda installations and environments.
        """
        names = [*condarc.SETTINGS, *self._list_settings(host)]
        # Lists rather than any(), which would not check the files after the first one that sets channels.
        files_with_channels = [name for name in names if self._check_settings(host.home + "/" + name, host)]
        if self._check_variables(host) or files_with_channels:
            return  # conda does not use its default channels
        for path in prefixes:
            own_files = [os.path.join(path, name) for name in (".condarc", "condarc", condarc.PLACE)]
            if _is_base(path, host) and not [file for file in own_files if self._check_settings(file, host)]:
                text = "this conda sets no channels, so it uses Anaconda's channels, whose terms may require a license"
                self.report("PKG-003", host.shown(via_home(path, host)), text)

    def _list_settings(self, host: Host) -> List[str]:
        """Return the settings files in conda's folders of settings, below the home directory."""
        folders = [(folder, list_names(os.path.join(host.home, folder), MOST, host)) for folder in CONDARC_FOLDERS]
        return [
            "%s/%s" % (folder, name) for folder, names in folders for name in names if name.endswith((".yml", ".yaml"))
        ]

    def _check_variables(self, host: Host) -> bool:
        """Report Anaconda's channels in variables of start-up files. Return True if a variable sets channels."""
        has_channels = False
        for path in find_read_files(self, host):
            for setting in find_settings(read_text(self, host, path)):
                if setting.name in CHANNEL_VARIABLES and setting.text.strip():
                    has_channels = True
                    # The value lists channels, separated by spaces or commas.
                    for channel in re.split(r"[\s,;\"']+", setting.text.partition("#")[0]):
                        self._check_channel(channel, "%s:%d" % (host.shown(path), setting.line))
        return has_channels

    def _check_settings(self, path: str, host: Host) -> bool:
        """Report Anaconda's channels in a settings file. Return True if the file sets any channels."""
        content = read_text(self, host, path)
        channels = condarc.read_list(content, "channels")
        defaults = condarc.read_list(content, "default_channels")
        for item in (channels or []) + (defaults or []):
            is_redirected = item.value == "defaults" and defaults  # "defaults" means those of default_channels
            if not is_redirected:
                self._check_channel(item.value, "%s:%d" % (host.shown(path), item.line))
        return bool(channels or defaults)

    def _check_channel(self, channel: str, place: str) -> None:
        """Report a channel of Anaconda. place: the line that names the channel."""
        if condarc.is_anaconda_channel(channel):
            text = "packages come from '%s', an Anaconda channel, whose terms may require a license"
            self.report("PKG-003", place, text % channel[:80])


def _is_base(path: str, host: Host) -> bool:
    """Return True if a prefix contains the conda program itself, unlike an environment."""
    for name in ("condabin/conda", "bin/conda"):
        try:
            if host.entry(os.path.join(path, name)) is not None:
                return True
        except AccountError:
            continue  # without permission, the program counts as missing
    return False
