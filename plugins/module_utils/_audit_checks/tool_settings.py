# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that compete with hpc-onboard's: variables that its own outrank, and settings files of tools.

The folders that they name are compared with what hpc-onboard's file sets on the account, and with where the site wants
caches. Files with carriage returns, which shells read as a part of each line's last word, are reported as well.
"""

import os
import re
from typing import Any, Dict, Iterator, List, Mapping, Set, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import condarc, startup
from .._formats.enroot import BYTE_ORDER_MARK
from .._formats.lines import split_lines
from .._formats.settings import find_settings
from .._scan import tool_places
from .._scan.included_files import find_included
from .._scan.search import Search
from .._scan.setting_values import expand, find_set, find_started, find_values, is_relative
from .._scan.start_up import site_settings
from .._scan.tool_places import ENROOT, FILES, IN_COMMON, OUTRANKED, STARTER_FILES, STARTERS, SettingsFile
from .audit_check import (
    AuditCheck,
    is_in,
    is_missing,
    is_near,
    is_node_local,
    is_on_storage,
    read_own_variables,
    read_text,
)
from .effect_places import find_read_files
from .insecure_settings import BY_FILE, BY_FOLDER, VARIABLES, find_insecure, of_every_host

FOLDERS = ((".config/environment.d", ".conf"), *((folder + "/environ.d", ".env") for folder in ENROOT))
MOST = 50  # files of one folder
INSTALLS = re.compile(r"^[ \t]*(target|prefix|root|find-links|cert)[ \t]*=[ \t]*(\S+)")
CREATED = ("target", "prefix", "root")  # by pip, in a folder that exists
PIP = (".pip/pip.conf", ".config/pip/pip.conf", ".pydistutils.cfg", ".config/pydistutils.cfg")
SCRIPTS = ("bin", ".local/bin")
HEAD, LONGEST_HEAD = re.compile(r"#![ \t]*(/[^\s]+)[^\r\n]*(\r?)\n"), 256
OF_CONDA = re.compile(r"CONDA_(?:PKGS|ENVS)_(?:DIRS|PATH)\Z")
MOVES = re.compile(r"(?i)CACHE|GRAPHROOT|(?:HF|TORCH)_HOME|ENROOT_(?:DATA|TEMP)_PATH")  # names of folders that grow


class ToolSettings(AuditCheck):
    """Variables and settings files that name another folder than hpc-onboard, or the site, does."""

    KIND = "tool_settings"
    TITLE = "settings of tools"
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "off_home": {"type": "str", "default": ""},  # where this site wants caches, in words
    }

    def run(self, host: Host) -> None:
        ours = read_own_variables(self, host)
        self._set_by_user: Set[str] = set()
        self._pointed: List[SettingsFile] = []  # settings files that variables name
        self._condarcs = [host.home + "/" + name for name in condarc.SETTINGS]
        for path in find_read_files(self, host):
            text = read_text(self, host, path)
            self._check_variables(path, text, ours, host)
            self._check_line_ends(path, text, host)
            self._report_insecure(path, find_insecure(VARIABLES, text), host)
        self._check_site(ours, host)
        self._check_insecure(host)
        for file in [*self._files(host), *self._pointed]:
            self._check_file(file, ours, host)
        for path in self._programs(host):
            self._check_program(path, ours, host)
        for folder in tool_places.CONDARC_FOLDERS:
            self._condarcs += self._in_folder(folder, (".yml", ".yaml"), host)
        for path in self._condarcs:
            self._check_conda(path, host)
        for name in PIP:
            self._check_pip(host.home + "/" + name, host)
        self._check_existing(host)
        self._check_scripts(host)

    # -- start-up files ------------------------------------------------------------------------

    def _check_variables(self, path: str, text: str, ours: Mapping[str, str], host: Host) -> None:
        """Report the variables of a start-up file that hpc-onboard's own outrank."""
        for setting in find_settings(text):
            self._set_by_user.add(setting.name)
            where, value = "%s:%d" % (host.shown(path), setting.line), setting.value(host.home)
            self._check_outranked(setting.name, value, where, ours, host)
            if setting.name in tool_places.POINTERS and value:
                self._pointed.append(SettingsFile(value, tool_places.POINTERS[setting.name]))
            if setting.name == tool_places.CONDARC and value:
                self._condarcs.append(value)
            if value.startswith("/") and setting.name not in ours and tool_places.NAMES_EXISTING.match(setting.name):
                self._report_missing(where, setting.name, value, host)
            elif OF_CONDA.match(setting.name) and setting.name not in ours and is_in(value or "/", host.home):
                self._report_in_home(where, setting.name, value, host)

    def _check_outranked(self, name: str, folder: str, where: str, ours: Mapping[str, str], host: Host) -> None:
        winners = [one for one in OUTRANKED.get(name, ()) if one in ours]
        if not winners or name in ours or folder in [ours[one] for one in winners]:
            return
        used = self._left_behind(name, folder, host)
        if name not in IN_COMMON or used:
            text = "%s is set here, and hpc-onboard's %s outranks it" % (name, winners[0])
            text += "; what is in %s is used no more" % used if used else ""
            self.report("ENV-009", where, text)

    def _check_site(self, ours: Mapping[str, str], host: Host) -> None:
        """Report the variables of the site that hpc-onboard's own outrank, where the account sets none of that name."""
        try:
            variables = host.account.environment()
            found = [name for name in OUTRANKED if name in variables and name not in self._set_by_user]
            for path, setting in site_settings(host, found):
                where = "%s:%d" % (path, setting.line)
                self._check_outranked(setting.name, variables[setting.name], where, ours, host)
        except AccountError as error:
            self.skip(str(error))

    def _check_insecure(self, host: Host) -> None:
        """Check the settings files, those in their folders, and those that they include."""
        for name, pattern in BY_FILE:
            path = host.home + "/" + name
            text = read_text(self, host, path)
            self._report_insecure(path, find_insecure(pattern, text), host)
            for included in find_included(name, of_every_host(text) if name == ".ssh/config" else text, host):
                self._report_insecure(included, find_insecure(pattern, read_text(self, host, included)), host)
        for folder, end, pattern in BY_FOLDER:
            for path in self._in_folder(folder, (end,), host):
                self._report_insecure(path, find_insecure(pattern, read_text(self, host, path)), host)

    def _report_insecure(self, path: str, lines: Iterator[int], host: Host) -> None:
        for number in lines:
            self.report("SEC-012", "%s:%d" % (host.shown(path), number), "this line turns off the check of a server")

    def _left_behind(self, name: str, folder: str, host: Host) -> str:
        """Return the folder with content to which the variable points; empty if there is none."""
        names = IN_COMMON.get(name, ("",))
        for place in [os.path.normpath(os.path.join(folder, name)) for name in names] if folder else ():
            try:
                if host.resolved_kind(place) == "folder" and host.names(place):
                    return host.shown(place)
            except AccountError as error:
                self.skip(str(error))
        return ""

    def _check_line_ends(self, path: str, text: str, host: Host) -> None:
        """Report a byte-order mark, and the first line of a start-up file that ends with a carriage return."""
        if text.startswith(BYTE_ORDER_MARK):
            why = "a byte-order mark is before this line, which the shell takes for a part of its first word"
            self.report("ENV-010", "%s:1" % host.shown(path), why)
            return
        for number, line in enumerate(split_lines(text), 1):
            if line.endswith("\r\n") and line.partition("#")[0].strip() and not startup.refers_to(line, startup.MARK):
                where = "%s:%d" % (host.shown(path), number)
                text = "this line ends with a carriage return, which the shell takes for a part of its last word"
                self.report("ENV-010", where, text)
                return

    # -- settings files ------------------------------------------------------------------------

    def _files(self, host: Host) -> Iterator[SettingsFile]:
        yield from FILES
        for folder, end in FOLDERS:
            yield from map(SettingsFile, self._in_folder(folder, (end,), host))

    def _in_folder(self, folder: str, ends: Tuple[str, ...], host: Host) -> List[str]:
        """Return the paths of the files in a folder of the home whose names end so."""
        try:
            names = _names(host.home + "/" + folder, host)
        except AccountError as error:
            self.skip(str(error))
            return []
        return [host.home + "/" + folder + "/" + name for name in names if name.endswith(ends)]

    def _check_file(self, file: SettingsFile, ours: Mapping[str, str], host: Host) -> None:
        """Report what a settings file has otherwise than hpc-onboard's variable, or in the home against the site."""
        path = os.path.join(host.home, file.path)
        for setting in find_values(file, read_text(self, host, path)):
            name, key, folder = setting.name, setting.key, expand(setting.value, host.home)
            where = "%s:%d" % (host.shown(path), setting.line)
            if name in ours and not folder and is_relative(setting.value):
                self.report("ENV-009", where, "%s names a folder of its own in each folder where the tool runs" % key)
            elif not folder:
                continue
            elif name in ours and folder != ours[name].rstrip("/"):
                text = "%s names %s, and hpc-onboard's %s names another folder"
                self.report("ENV-009", where, text % (key, host.shown(folder), name))
            elif name not in ours and MOVES.search(name) and is_in(folder, host.home):
                self._report_in_home(where, key, folder, host)

    def _programs(self, host: Host) -> Iterator[str]:
        """Yield the files by which services, editors, notebooks and R start programs or set variables for them."""
        yield from (host.home + "/" + name for name in STARTER_FILES)
        for folder, pattern in STARTERS:
            try:
                yield from _matching(host.home + "/" + folder, pattern, host)
            except AccountError as error:
                self.skip(str(error))

    def _check_program(self, path: str, ours: Mapping[str, str], host: Host) -> None:
        """Report a line that sets a variable of hpc-onboard's to another folder, or starts what does not exist."""
        text = read_text(self, host, path)
        for number, program in find_started(text):
            if not is_node_local(program, host) and is_missing(program, host):
                where = "%s:%d" % (host.shown(path), number)
                self.report("ENV-009", where, "%s does not exist, and this file starts it" % host.shown(program))
        for number, name, value in find_set(text):
            if name in ours and ours[name].startswith("/") and ours[name].rstrip("/") not in value:
                what = "%s is set here, and hpc-onboard's names another folder" % name
                self.report("ENV-009", "%s:%d" % (host.shown(path), number), what)

    def _report_in_home(self, where: str, key: str, folder: str, host: Host) -> None:
        wanted = self.options["off_home"]
        if wanted or key.startswith("ENROOT_"):
            text = "%s names %s, in the home" % (key, host.shown(folder))
            self.report("ENV-009", where, text + ("; this site wants it in %s" % wanted if wanted else ""))

    def _check_existing(self, host: Host) -> None:
        """Report what settings files and enroot's mounts name and what does not exist."""
        named = [(host.home + "/" + name, tool_places.EXISTING) for name in tool_places.WITH_EXISTING]
        for folder in ENROOT:
            named += [(path, tool_places.MOUNTS) for path in self._in_folder(folder + "/mounts.d", (".fstab",), host)]
        for path, pattern in named:
            text = read_text(self, host, path)
            for found in pattern.finditer(text):
                where = "%s:%d" % (host.shown(path), text.count("\n", 0, found.start(1)) + 1)
                name = next((one for one in tool_places.CREATED if one in found.group()), "this line")
                if pattern is not tool_places.MOUNTS or is_on_storage(found.group(1), host):
                    self._report_missing(where, name, found.group(1), host)

    def _check_scripts(self, host: Host) -> None:
        """Report scripts on PATH that cannot start: their first line has a carriage return, or its program is gone."""
        search = Search(host, [host.home])
        for folder in SCRIPTS:
            for path in self._in_folder(folder, ("",), host):
                real = search.resolve_file(path)
                found = HEAD.match(search.read_bytes(real, LONGEST_HEAD).decode("latin-1")) if real else None
                if found and found.group(2):
                    text = "the system takes the carriage return for a part of the name of the script's program"
                    self.report("ENV-010", "%s:1" % host.shown(path), text)
                elif found and is_near(found.group(1), host):
                    self._report_missing("%s:1" % host.shown(path), "this script", found.group(1), host)

    def _report_missing(self, where: str, what: str, path: str, host: Host) -> None:
        needed = os.path.dirname(path) if what in tool_places.CREATED else path
        if "%" not in path and not is_node_local(path, host) and is_missing(needed, host):
            self.report("ENV-009", where, "%s names %s, which does not exist" % (what, host.shown(path)))

    def _check_conda(self, path: str, host: Host) -> None:
        """Report the first folder for packages or environments of conda, which it writes to, if it is in the home."""
        text = read_text(self, host, path)
        for key in ("pkgs_dirs", "envs_dirs"):
            for item in (condarc.read_list(text, key) or [])[:1]:
                folder = expand(item.value, host.home)
                if folder and is_in(folder, host.home):
                    self._report_in_home("%s:%d" % (host.shown(path), item.line), key, folder, host)

    def _check_pip(self, path: str, host: Host) -> None:
        """Report a folder of pip's settings that does not exist."""
        for number, line in enumerate(split_lines(read_text(self, host, path)), 1):
            found = INSTALLS.match(line)
            folder = expand(found.group(2), host.home) if found else ""
            try:
                needed = os.path.dirname(folder) if found and found.group(1) in CREATED else folder
                if found and folder and host.resolved_kind(needed) == "nothing":
                    where, text = "%s:%d" % (host.shown(path), number), "%s names %s, which does not exist"
                    self.report("ENV-009", where, text % (found.group(1), host.shown(folder)))
            except AccountError as error:
                self.skip(str(error))


def _names(folder: str, host: Host) -> List[str]:
    return host.names(folder)[:MOST] if host.resolved_kind(folder) == "folder" else []


def _matching(folder: str, pattern: str, host: Host) -> Iterator[str]:
    """Yield the paths of the files in a folder, or in the folders in it, whose names match from there."""
    for name in _names(folder, host):
        below = [name]
        if "/" in pattern and host.resolved_kind(folder + "/" + name) == "folder":
            below = [name + "/" + one for one in host.names(folder + "/" + name)[:MOST]]
        yield from (folder + "/" + one for one in below if re.match(pattern, one))
