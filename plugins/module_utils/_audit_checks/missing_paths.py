# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find paths in settings files and scripts that do not exist: of programs, certificates, folders and mounts.

Settings of a project are also compared with the folders that hpc-onboard sets.
"""

import os
import re
from typing import List, Mapping, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._formats.lines import split_lines
from .._formats.settings import find_settings
from .._scan import tool_places
from .._scan.search import Search
from .._scan.setting_values import (
    expand_path,
    find_assignments,
    find_home_values,
    find_started_programs,
    find_values,
    is_relative,
)
from .audit_check import (
    NODE_LOCAL,
    AuditCheck,
    cannot_exist,
    is_missing,
    is_near,
    is_node_local,
    is_of_system,
    is_on_storage,
    read_text,
    real_home,
)

VSCODE = ".vscode"  # the folder of VS Code's settings in a project
MOST = 50  # files of one folder that are read
PIP_FOLDERS = re.compile(r"^[ \t]*(target|prefix|root|find-links|cert)[ \t]*=[ \t]*(\S+)")
CREATED_BY_PIP = ("target", "prefix", "root")  # if the parent folder exists
PIP_FILES = (".pip/pip.conf", ".config/pip/pip.conf", ".pydistutils.cfg", ".config/pydistutils.cfg")
SCRIPT_FOLDERS = ("bin", ".local/bin")
SHEBANG, LONGEST_SHEBANG = re.compile(r"#![ \t]*(/[^\s]+)[^\r\n]*(\r?)\n"), 256

LARGE_FOLDERS = re.compile(  # variables of folders that become large
    r"(?i)CACHE|GRAPHROOT|(?:HF|TORCH)_HOME|ENROOT_(?:DATA|TEMP)_PATH|CONDA_(?:PKGS|ENVS)_(?:DIRS|PATH)"
)
OWN_FOLDERS = re.compile(  # variables of folders and files of the user; compilers ignore missing folders of theirs
    r"(?!LD_|C_|CPLUS_|CMAKE_|PKG_)\w+_(?:HOME|DIRS?|PATH|ROOT|FILE|CONFIG|PREFIX)\Z|NETRC\Z|GOPATH\Z"
)


def check_paths(check: AuditCheck, host: Host) -> None:
    """Report missing paths that settings files, enroot's mounts and scripts on PATH name."""
    _check_named_paths(check, host)
    for name in PIP_FILES:
        _check_pip(check, host.home + "/" + name, host)
    _check_scripts(check, host)


def _check_named_paths(check: AuditCheck, host: Host) -> None:
    """Report missing paths that settings files and enroot's mounts name."""
    files = [(host.home + "/" + name, tool_places.EXISTING) for name in tool_places.WITH_EXISTING]
    for folder in tool_places.ENROOT:
        files += [(path, tool_places.MOUNTS) for path in files_in(check, folder + "/mounts.d", (".fstab",), host)]
    for path, pattern in files:
        text = read_text(check, host, path)
        for found in pattern.finditer(text):
            where = "%s:%d" % (host.shown(path), text.count("\n", 0, found.start(1)) + 1)
            name = next((name for name in tool_places.CREATED if name in found.group()), "this line")
            if pattern is not tool_places.MOUNTS or is_on_storage(found.group(1), host):
                report_missing(check, where, name, found.group(1), host)


def _check_scripts(check: AuditCheck, host: Host) -> None:
    """Report scripts on PATH whose interpreter is missing, or whose first line ends with a carriage return."""
    search = Search(host, [host.home])
    for folder in SCRIPT_FOLDERS:
        for path in files_in(check, folder, ("",), host):
            real = search.resolve_file(path)
            found = SHEBANG.match(search.read_bytes(real, LONGEST_SHEBANG).decode("latin-1")) if real else None
            if found and found.group(2):
                text = "a carriage return ends this line, so the system cannot find the script's interpreter"
                check.report("ENV-010", "%s:1" % host.shown(path), text)
            elif found and (is_near(found.group(1), host) or not is_of_system(found.group(1))):
                report_missing(check, "%s:1" % host.shown(path), "this script", found.group(1), host)


def report_missing(check: AuditCheck, where: str, subject: str, path: str, host: Host) -> None:
    """Report a path that does not exist, or whose parent does not, if the tool of the variable creates the path."""
    required = os.path.dirname(path) if subject in tool_places.CREATED else path
    others = tuple(folder for folder in NODE_LOCAL if folder != "$" + subject)  # TMPDIR itself is no evidence
    if "%" not in path and not is_node_local(path, host, others) and is_missing(required, host):
        check.report("ENV-009", where, "%s refers to %s, which does not exist" % (subject, host.shown(path)))


def _check_pip(check: AuditCheck, path: str, host: Host) -> None:
    """Report missing folders in pip's settings."""
    for number, line in enumerate(split_lines(read_text(check, host, path)), 1):
        found = PIP_FOLDERS.match(line)
        folder = expand_path(found.group(2), host.home) if found else ""
        try:
            required = os.path.dirname(folder) if found and found.group(1) in CREATED_BY_PIP else folder
            if found and folder and host.resolved_kind(required) == "nothing":
                where, text = "%s:%d" % (host.shown(path), number), "%s refers to %s, which does not exist"
                check.report("ENV-009", where, text % (found.group(1), host.shown(folder)))
        except AccountError as error:
            check.skip(str(error))


def files_in(check: AuditCheck, folder: str, endings: Tuple[str, ...], host: Host) -> List[str]:
    """Return the paths of the files with one of these endings in a folder of the home directory."""
    try:
        names = names_in(host.home + "/" + folder, host)
    except AccountError as error:
        check.skip(str(error))
        return []
    return [host.home + "/" + folder + "/" + name for name in names if name.endswith(endings)]


def report_lost_folder(check: AuditCheck, where: str, name: str, folder: str, host: Host, setting: str = "") -> None:
    """Report a folder or file of the user that does not exist, and that no program of the user can create.

    name: the variable that sets this folder. setting: the setting of a tool with the same effect, if it is in the file.
    """
    is_known = LARGE_FOLDERS.search(name) or OWN_FOLDERS.match(name)
    if is_known and folder.startswith("/") and not is_of_system(folder) and cannot_exist(folder, host):
        text = "%s is set to %s, which does not exist and which you have no permission to create"
        check.report("ENV-009", where, text % (setting or name, host.shown(folder)))


def names_in(folder: str, host: Host) -> List[str]:
    return host.names(folder)[:MOST] if host.resolved_kind(folder) == "folder" else []


def check_project_settings(check: AuditCheck, path: str, text: str, ours: Mapping[str, str], host: Host) -> None:
    """Report lines of a project's settings that override a folder of hpc-onboard or name something that is missing.

    path, text: of the settings file. ours: variable -> value that hpc-onboard sets.
    """

    def shown(line: int) -> str:
        return "%s:%d" % (host.shown(path), line)

    for line, name in find_home_values(text, ours, [host.home, real_home(host)]):
        why = "this line overrides hpc-onboard's %s with a folder in the home directory" % name
        check.report("ENV-009", shown(line), why)
    folder, file_name = os.path.split(path)
    for line, program in find_started_programs(text) if os.path.basename(folder) == VSCODE else ():
        if is_missing(program, host):
            check.report("ENV-009", shown(line), "this file starts %s, which does not exist" % host.shown(program))
    for line, name, value in find_assignments(text) if os.path.basename(folder) in (VSCODE, ".edf") else ():
        report_lost_folder(check, shown(line), name, expand_path(value, host.home), host)
    is_job = "#SBATCH" in text
    for variable in find_settings(text) if is_job or file_name in (".env", ".envrc") else ():
        # the other folders of a job script may be for a different cluster, or be created by the script
        if LARGE_FOLDERS.search(variable.name) or not is_job:
            report_lost_folder(check, shown(variable.line), variable.name, variable.value(host.home), host)
    file = tool_places.OF_PROJECTS.get(file_name)
    # those in the home directory itself are not of a project; the check of the tools' settings reads them
    for setting in find_values(file, text) if file and folder != host.home else ():
        name, value = setting.name, expand_path(setting.value, host.home)
        if name in ours and value != ours[name].rstrip("/") and (value or is_relative(setting.value)):
            why = "%s is set to a different folder than hpc-onboard's %s" % (setting.key, name)
            check.report("ENV-009", shown(setting.line), why)
