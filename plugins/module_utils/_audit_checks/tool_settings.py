# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for settings that conflict with hpc-onboard's: variables, and settings files of tools.

Their folders are compared with those that hpc-onboard's file sets on the account, and with where the site wants caches.
Files with carriage returns, which shells read as part of the last word of a line, are reported as well.
"""

import os
import re
from typing import Any, Dict, Iterator, List, Mapping, Set

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import condarc, startup
from .._formats.lines import split_lines
from .._formats.settings import Setting, find_settings
from .._scan import tool_places
from .._scan.home_listing import HomeListing
from .._scan.included_files import find_included
from .._scan.insecure_settings import BY_FILE, BY_FOLDER, BY_POINTER, PYTHON, VARIABLES, blank_host_sections
from .._scan.setting_values import expand_path, find_assignments, find_started_programs, find_values, is_relative
from .._scan.tool_places import FILES, OUTRANKED, SETTINGS_FOLDERS, STARTER_FILES, STARTERS, SettingsFile
from .._shells.site_files import find_site_settings
from .audit_check import BYTE_ORDER_MARK, AuditCheck, is_in, is_missing, is_node_local, read_text
from .effect_places import find_read_files
from .missing_paths import (
    LARGE_FOLDERS,
    MOST,
    check_paths,
    files_in,
    report_insecure,
    report_lost_folder,
    report_missing,
    report_named_paths,
)
from .outranked import report_outranked
from .shell_effects import read_own_variables

IN_CONTAINER = re.compile(r"(?:APPTAINER|SINGULARITY)ENV_")
MKDIR = re.compile(r"\bmkdir\b[^\n;&|#]*")
CONDA_CACHE = "CONDA_PKGS_DIRS"  # a variable with the meaning of conda's settings of folders


class ToolSettings(AuditCheck):
    """Variables and settings of tools whose folders differ from hpc-onboard's, or from where the site wants them.

    In the methods, own_values are the variables that hpc-onboard's file sets, with their values, and where is the place
    of a finding.
    """

    KIND = "tool_settings"
    TITLE = "settings of tools"
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "off_home": {"type": "str", "default": ""},  # where this site wants caches, in words
    }

    def run(self, host: Host) -> None:
        """Check start-up files, settings files of tools, and scripts on PATH."""
        own_values = read_own_variables(self, host)
        self._listing = HomeListing(host)
        self._set_by_user: Set[str] = set()  # names of variables
        self._pointed_files: List[SettingsFile] = []  # settings files that variables name
        self._condarcs = [host.home + "/" + name for name in condarc.SETTINGS]  # paths of conda's settings files
        for path in find_read_files(self, host):
            text = read_text(self, host, path)
            self._check_variables(path, text, own_values, host)
            self._check_line_ends(path, text, host)
            report_insecure(self, host.shown(path), VARIABLES, text)
        self._check_site(own_values, host)
        self._check_insecure(host)
        for file in [*self._settings_files(host), *self._pointed_files]:
            self._check_file(file, own_values, host)
        for path in self._starter_files(host):
            self._check_starter(path, own_values, host)
        for folder in self._listing.select(tool_places.CONDARC_FOLDERS):
            self._condarcs += files_in(self, folder, (".yml", ".yaml"), host)
        for path in self._condarcs:
            self._check_conda(path, host)
        check_paths(self, host, self._listing)

    # -- start-up files ------------------------------------------------------------------------

    def _check_variables(self, path: str, text: str, own_values: Mapping[str, str], host: Host) -> None:
        """Report the variables of a start-up file that conflict with hpc-onboard's or point to a missing folder."""
        mkdir_commands = "".join(MKDIR.findall(text))
        variables = {**self._environment(host), "HOME": host.home}
        for setting in find_settings(text):
            self._set_by_user.add(setting.name)
            where = "%s:%d" % (host.shown(path), setting.line)
            # The value of the variable itself may come from this very line.
            value = setting.expand_value({name: variables[name] for name in variables if name != setting.name})
            if setting.begins_line or setting.name in variables:
                report_outranked(self, setting.name, value, where, own_values, host)
            inside = IN_CONTAINER.sub("", setting.name)  # the name that programs in a container see
            if inside in own_values and inside != setting.name and value != own_values[inside]:
                self.report("ENV-009", where, "in a container, this line overrides hpc-onboard's %s" % inside)
            if value:
                self._note_pointed_files(setting.name, value, host)
            if setting.name in own_values:
                continue  # the check of the shells compares the values
            is_created = _names_folder(mkdir_commands, setting, value)
            has_effect = setting.begins_line or variables.get(setting.name) == value
            may_be_lost = has_effect and not is_created and value not in own_values.values()
            self._check_folder(where, setting.name, value, is_created, may_be_lost, host)

    def _check_folder(self, where: str, name: str, value: str, is_created: bool, may_be_lost: bool, host: Host) -> None:
        """Report a variable whose folder is missing, or whose large folder is in the home directory.

        name, value: of the variable. is_created: a command in the same file creates the folder. may_be_lost: no command
        creates the folder, although the variable has an effect.
        """
        is_in_home = is_in(value, host.home) and not is_in(value, host.home + "/.cache")  # the usual place of caches
        if value.startswith("/") and not is_created and tool_places.NAMES_EXISTING.match(name):
            report_missing(self, where, name, value, host)
        elif LARGE_FOLDERS.search(name) and is_in_home:
            self._report_in_home(where, name, value, host)
        elif may_be_lost:
            report_lost_folder(self, where, name, value, host)

    def _note_pointed_files(self, name: str, value: str, host: Host) -> None:
        """Note the settings files to which a variable points, for later checks, and check if they trust any server."""
        if name in tool_places.POINTERS:
            ending, keys = tool_places.POINTERS[name]
            self._pointed_files.append(SettingsFile(value + ending, keys))
        if name in BY_POINTER:
            ending, pattern = BY_POINTER[name]
            self._report_insecure(value + ending, pattern, host)
        if name == tool_places.CONDARC:
            self._condarcs.append(value)

    def _environment(self, host: Host) -> Mapping[str, str]:
        """Return the variables of the login shell; none if the shell fails, which another check reports."""
        try:
            return host.account.environment()
        except AccountError:
            return {}

    def _check_site(self, own_values: Mapping[str, str], host: Host) -> None:
        """Report the site's variables that have no effect because of hpc-onboard's, unless the user overrides them."""
        try:
            variables = host.account.environment()
            names = [name for name in OUTRANKED if name in variables and name not in self._set_by_user]
            for path, setting in find_site_settings(host, names):
                names = [name for name in names if name != setting.name]
                where = "%s:%d" % (path, setting.line)
                report_outranked(self, setting.name, variables[setting.name], where, own_values, host)
            for name in names:  # set by a program of the site, such as a module
                report_outranked(self, name, variables[name], "$" + name, own_values, host)
        except AccountError as error:
            self.skip(str(error))

    def _check_insecure(self, host: Host) -> None:
        """Report lines that turn off the check of a server, in settings files and in the files that they include."""
        existing = set(self._listing.select(name for name, _pattern in BY_FILE))
        for name, pattern in [row for row in BY_FILE if row[0] in existing]:
            text = self._report_insecure(host.home + "/" + name, pattern, host)
            # Of ssh's settings, only files that are included for every host matter.
            text = blank_host_sections(text) if name == ".ssh/config" else text
            for included in find_included(name, text, host):
                self._report_insecure(included, pattern, host)
        for folder, ending, pattern in BY_FOLDER:
            for path in files_in(self, folder, (ending,), host):
                self._report_insecure(path, pattern, host)
        for folder in files_in(self, ".local/lib", ("",), host):  # of the versions of Python
            for name in ("usercustomize", "sitecustomize"):  # modules that Python runs at each start
                self._report_insecure(folder + "/site-packages/" + name + ".py", PYTHON, host)

    def _report_insecure(self, path: str, pattern: str, host: Host) -> str:
        """Report the lines of a file that turn off the check of a server, and return the text of the file."""
        text = read_text(self, host, path)
        report_insecure(self, host.shown(path), pattern, text)
        return text

    def _check_line_ends(self, path: str, text: str, host: Host) -> None:
        """Report a byte-order mark, or else the first line of a start-up file that ends with a carriage return."""
        if text.startswith(BYTE_ORDER_MARK):
            why = "this line begins with a byte-order mark, which the shell reads as part of the first word"
            self.report("ENV-010", "%s:1" % host.shown(path), why)
            return
        for number, line in enumerate(split_lines(text), 1):
            # Comments are harmless, and a role checks the line of hpc-onboard.
            if line.endswith("\r\n") and line.partition("#")[0].strip() and not startup.refers_to(line, startup.MARK):
                where = "%s:%d" % (host.shown(path), number)
                text = "this line ends with a carriage return, which the shell reads as part of the last word"
                self.report("ENV-010", where, text)
                return

    # -- settings files ------------------------------------------------------------------------

    def _settings_files(self, host: Host) -> Iterator[SettingsFile]:
        """Yield the known settings files, and the files in folders of settings."""
        existing = set(self._listing.select(file.path for file in FILES))
        yield from (file for file in FILES if file.path in existing)
        for folder, ending, variables in SETTINGS_FOLDERS:
            yield from (SettingsFile(path, variables) for path in files_in(self, folder, (ending,), host))

    def _check_file(self, file: SettingsFile, own_values: Mapping[str, str], host: Host) -> None:
        """Report settings whose folder is missing, is not hpc-onboard's, or is in the home directory against advice.

        Of each setting, key is its name in the file, and name is the environment variable with the same effect.
        """
        path = os.path.join(host.home, file.path)
        text = read_text(self, host, path)
        if not file.variables:
            report_insecure(self, host.shown(path), VARIABLES, text)
        for setting in find_values(file, text):
            name, key, folder = setting.name, setting.key, expand_path(setting.value, host.home)
            where = "%s:%d" % (host.shown(path), setting.line)
            if not file.variables:  # the file sets environment variables, not settings with their effect
                report_outranked(self, name, folder, where, own_values, host)
            if name in own_values and not folder and is_relative(setting.value):
                text = "%s is a relative path, so the tool creates this folder wherever it runs"
                self.report("ENV-009", where, text % key)
            elif not folder:
                continue  # the value is not a path, or contains an unknown variable
            elif name in own_values and folder != own_values[name].rstrip("/"):
                text = "%s is set to %s, but hpc-onboard's %s is a different folder"
                self.report("ENV-009", where, text % (key, host.shown(folder), name))
            elif name in own_values:
                continue  # the same folder
            elif LARGE_FOLDERS.search(name) and is_in(folder, host.home):
                self._report_in_home(where, key, folder, host)
            elif not file.variables and tool_places.NAMES_EXISTING.match(name):
                report_missing(self, where, name, folder, host)
            else:
                report_lost_folder(self, where, name, folder, host, key)

    def _starter_files(self, host: Host) -> Iterator[str]:
        """Yield the files in which services, editors, notebooks and R name the programs and variables that they use."""
        yield from (host.home + "/" + name for name in self._listing.select(STARTER_FILES))
        existing = set(self._listing.select(folder for folder, _pattern in STARTERS))
        for folder, pattern in [row for row in STARTERS if row[0] in existing]:
            try:
                yield from _find_matching(host.home + "/" + folder, pattern, host)
            except AccountError as error:
                self.skip(str(error))

    def _check_starter(self, path: str, own_values: Mapping[str, str], host: Host) -> None:
        """Report a line that overrides a variable of hpc-onboard, or starts a program that does not exist."""
        text = self._report_insecure(path, VARIABLES, host)
        report_named_paths(self, path, text, host)
        for number, program in find_started_programs(text):
            program = host.home + program[2:] if program.startswith("%h") else program  # %h: of systemd
            # A path that belongs to one node may exist on the node that starts the program.
            if not is_node_local(program, host) and is_missing(program, host):
                where = "%s:%d" % (host.shown(path), number)
                self.report("ENV-009", where, "this file starts %s, which does not exist" % host.shown(program))
        for number, name, value in find_assignments(text):
            # The value may be a list with hpc-onboard's folder, or a folder below hpc-onboard's folder.
            if name in own_values and own_values[name].startswith("/") and own_values[name].rstrip("/") not in value:
                why = "this line sets %s to a different folder than hpc-onboard does" % name
                self.report("ENV-009", "%s:%d" % (host.shown(path), number), why)
            elif name not in own_values:
                where, folder = "%s:%d" % (host.shown(path), number), expand_path(value, host.home)
                report_lost_folder(self, where, name, folder, host)

    def _report_in_home(self, where: str, key: str, folder: str, host: Host) -> None:
        """Report a large folder in the home directory, if the site wants such folders elsewhere, or if it is enroot's.

        key: the name of the setting or variable.
        """
        preferred = self.options["off_home"]
        if preferred:
            text = "%s is set to %s in the home directory, but this site wants this folder in %s"
            self.report("ENV-009", where, text % (key, host.shown(folder), preferred))
        elif key.startswith("ENROOT_"):  # images are too large for any home directory
            self.report("ENV-009", where, "%s is set to %s in the home directory" % (key, host.shown(folder)))

    def _check_conda(self, path: str, host: Host) -> None:
        """Report the folders to which conda writes packages and environments, if they are in the home directory."""
        text = read_text(self, host, path)
        for key in ("pkgs_dirs", "envs_dirs"):
            for item in (condarc.read_list(text, key) or [])[:1]:  # conda writes to the first folder
                folder = expand_path(item.value, host.home)
                where = "%s:%d" % (host.shown(path), item.line)
                if folder and is_in(folder, host.home):
                    self._report_in_home(where, key, folder, host)
                elif folder:
                    report_lost_folder(self, where, CONDA_CACHE, folder, host, key)


def _names_folder(mkdir_commands: str, setting: Setting, value: str) -> bool:
    """Return True if commands with mkdir name the folder of a setting. value: the path of this folder, or empty."""
    as_written = setting.text.strip().split(" ")[0].strip("\"'")
    references = ("$" + setting.name, "${%s}" % setting.name, value, as_written)
    return any(word and word in mkdir_commands for word in references)


def _find_matching(folder: str, pattern: str, host: Host) -> Iterator[str]:
    """Yield the files in a folder that match a pattern. A pattern with a slash may match files in subfolders."""
    for name in host.names(folder)[:MOST]:
        paths = [name]  # relative to the folder
        if "/" in pattern and host.resolved_kind(folder + "/" + name) == "folder":
            paths = [name + "/" + file_name for file_name in host.names(folder + "/" + name)[:MOST]]
        yield from (folder + "/" + path for path in paths if re.match(pattern, path))
