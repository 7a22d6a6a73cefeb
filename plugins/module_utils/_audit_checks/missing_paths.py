# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find paths in settings files and scripts that do not exist: of programs, certificates, folders and mounts.

Settings of a project are also compared with the folders that hpc-onboard sets. In the functions, check is the audit
check that reports the problems, and host gives access to the files of the account.
"""

import os
import re
from typing import List, Mapping, Pattern, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._formats.lines import split_lines
from .._formats.settings import find_settings
from .._scan import tool_places
from .._scan.home_listing import HomeListing
from .._scan.included_files import find_included
from .._scan.insecure_settings import OF_PROJECTS, VARIABLES, find_insecure
from .._scan.job_files import VARIABLE_FILES, VSCODE
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
    is_in,
    is_missing,
    is_node_local,
    is_of_system,
    is_on_storage,
    is_on_this_cluster,
    read_text,
    real_home,
)
from .outranked import report_outranked

MOST = 50  # files of one folder that are read
PIP_FOLDERS = re.compile(r"^[ \t]*(target|prefix|root|find-links|cert)[ \t]*=[ \t]*(\S+)")
CREATED_BY_PIP = ("target", "prefix", "root")  # if the parent folder exists
PIP_FILES = (".pip/pip.conf", ".config/pip/pip.conf", ".pydistutils.cfg", ".config/pydistutils.cfg")
SCRIPT_FOLDERS = ("bin", ".local/bin")
SHEBANG, LONGEST_SHEBANG = re.compile(r"#![ \t]*(/[^\s]+)[^\r\n]*(\r?)\n"), 256  # groups: interpreter, carriage return

LARGE_FOLDERS = re.compile(  # variables of folders that become large
    r"(?i)CACHE|GRAPHROOT|(?:HF|TORCH)_HOME|ENROOT_(?:DATA|TEMP)_PATH|CONDA_(?:PKGS|ENVS)_(?:DIRS|PATH)"
)
OWN_FOLDERS = re.compile(  # variables of folders and files of the user; compilers ignore missing folders of theirs
    r"(?!LD_|C_|CPLUS_|CMAKE_|PKG_)\w+_(?:HOME|DIRS?|PATH|ROOT|FILE|CONFIG|PREFIX|REPOSITORY)\Z"
    r"|(?:NETRC|GOPATH|GOBIN|KUBECONFIG|HISTFILE|NLTK_DATA|SCIKIT_LEARN_DATA|OLLAMA_MODELS|NXF_WORK|GNUPGHOME|TEXMFHOME"
    r"|(?:MPLCONFIG|IPYTHON|PYTHONPYCACHE)(?:DIR|PREFIX))\Z"
)


def check_paths(check: AuditCheck, host: Host, listing: HomeListing) -> None:
    """Report missing paths that settings files, enroot's mounts and scripts on PATH name."""
    _check_named_paths(check, host, listing)
    for name in listing.select(PIP_FILES):
        _check_pip(check, host.home + "/" + name, host)
    _check_scripts(check, host)


def _check_named_paths(check: AuditCheck, host: Host, listing: HomeListing) -> None:
    """Report missing paths that settings files and enroot's mounts name."""
    files = [(host.home + "/" + name, tool_places.EXISTING) for name in listing.select(tool_places.WITH_EXISTING)]
    for name in listing.select((".gitconfig", ".config/git/config")):
        text = read_text(check, host, host.home + "/" + name)
        files += [(path, tool_places.EXISTING) for path in find_included(name, text, host)]
    for folder in listing.select(tool_places.ENROOT):
        files += [(path, tool_places.MOUNTS) for path in files_in(check, folder + "/mounts.d", (".fstab",), host)]
    for path, pattern in files:
        report_named_paths(check, path, read_text(check, host, path), host, pattern)


def report_named_paths(
    check: AuditCheck, path: str, text: str, host: Host, pattern: Pattern[str] = tool_places.EXISTING
) -> None:
    """Report the missing paths that a settings file names. path, text: of the file. pattern: of its lines."""
    for match in pattern.finditer(text):
        named_path = expand_path(match.group(1), host.home)
        place = "%s:%d" % (host.shown(path), text.count("\n", 0, match.start(1)) + 1)
        # The folder of a variable in CREATED may be missing, see report_missing.
        subject = next((name for name in tool_places.CREATED if name in match.group()), "this line")
        # A folder of the system may exist only on compute nodes, where enroot mounts it.
        if pattern is not tool_places.MOUNTS or is_on_storage(named_path, host):
            report_missing(check, place, subject, named_path, host)


def _check_scripts(check: AuditCheck, host: Host) -> None:
    """Report scripts on PATH whose interpreter is missing, or whose first line ends with a carriage return."""
    search = Search(host, [host.home])
    for folder in SCRIPT_FOLDERS:
        for path in files_in(check, folder, endings=("",), host=host):  # all files
            real = search.resolve_file(path)
            first_line = search.read_bytes(real, LONGEST_SHEBANG).decode("latin-1") if real else ""
            match = SHEBANG.match(first_line)
            if match is None:
                continue
            interpreter, carriage_return = match.groups()
            place = "%s:1" % host.shown(path)
            if carriage_return:
                text = "a carriage return ends this line, so the system cannot find the script's interpreter"
                check.report("ENV-010", place, text)
            # A system folder such as /sw may exist only on compute nodes, with all programs in it.
            elif is_on_this_cluster(interpreter, host) or not is_of_system(interpreter):
                report_missing(check, place, "this script", interpreter, host)


def report_missing(check: AuditCheck, where: str, subject: str, path: str, host: Host) -> None:
    """Report a path that does not exist.

    where: the place of the finding. subject: the subject of the message, such as "this line" or the name of a variable.
    If the tools of the variable create the path, only the parent folder must exist. A % means a placeholder in a path.
    """
    required = os.path.dirname(path) if subject in tool_places.CREATED else path
    # If the subject is TMPDIR, its own value does not prove that the path belongs to one node.
    node_folders = tuple(folder for folder in NODE_LOCAL if folder != "$" + subject)
    if "%" not in path and not is_node_local(path, host, node_folders) and is_missing(required, host):
        check.report("ENV-009", where, "%s refers to %s, which does not exist" % (subject, host.shown(path)))


def _check_pip(check: AuditCheck, path: str, host: Host) -> None:
    """Report missing folders in pip's settings."""
    for number, line in enumerate(split_lines(read_text(check, host, path)), 1):
        match = PIP_FOLDERS.match(line)
        if match is None:
            continue
        key, folder = match.group(1), expand_path(match.group(2), host.home)
        required = os.path.dirname(folder) if key in CREATED_BY_PIP else folder
        try:
            if folder and host.resolved_kind(required) == "nothing":
                text = "%s refers to %s, which does not exist" % (key, host.shown(folder))
                check.report("ENV-009", "%s:%d" % (host.shown(path), number), text)
        except AccountError as error:
            check.skip(str(error))


def files_in(check: AuditCheck, folder: str, endings: Tuple[str, ...], host: Host) -> List[str]:
    """Return the paths of the files with one of these endings in a folder below the home directory."""
    try:
        names = names_in(host.home + "/" + folder, host)
    except AccountError as error:
        check.skip(str(error))
        return []
    return [host.home + "/" + folder + "/" + name for name in names if name.endswith(endings)]


def report_lost_folder(check: AuditCheck, where: str, name: str, folder: str, host: Host, setting: str = "") -> None:
    """Report a folder or file of the user that does not exist, and that no program of the user can create.

    where: the place of the finding. name: the variable that sets this folder. setting: the setting with the same effect
    in the file of a tool; empty if the variable itself is set.
    """
    folder = folder.rstrip(":")
    # A value with a colon is a list of folders, some of which may not exist.
    is_known = ":" not in folder and (LARGE_FOLDERS.search(name) or OWN_FOLDERS.match(name))
    if is_known and folder.startswith("/") and not is_of_system(folder) and cannot_exist(folder, host):
        text = "%s is set to %s, which does not exist and which you have no permission to create"
        check.report("ENV-009", where, text % (setting or name, host.shown(folder)))


def names_in(folder: str, host: Host) -> List[str]:
    """Return the first MOST names in a folder; none if the folder does not exist."""
    return host.names(folder)[:MOST] if host.resolved_kind(folder) == "folder" else []


def check_project_settings(check: AuditCheck, path: str, text: str, own_values: Mapping[str, str], host: Host) -> None:
    """Report lines of a project's settings that override hpc-onboard, name a missing path, or trust any server.

    path, text: the settings file and its content. own_values: variable -> value that hpc-onboard sets.
    """

    def place_of(line: int) -> str:
        return "%s:%d" % (host.shown(path), line)

    for line, name in find_home_values(text, own_values, [host.home, real_home(host)]):
        why = "this line overrides hpc-onboard's %s with a folder in the home directory" % name
        check.report("ENV-009", place_of(line), why)
    folder, file_name = os.path.split(path)
    folder_name = os.path.basename(folder)
    if folder_name == VSCODE:
        for line, program in find_started_programs(text):
            if is_missing(program, host):
                why = "this file starts %s, which does not exist" % host.shown(program)
                check.report("ENV-009", place_of(line), why)
    if folder_name in (VSCODE, ".edf"):  # .edf contains the definitions of job containers at some sites
        for line, name, value in find_assignments(text):
            report_lost_folder(check, place_of(line), name, expand_path(value, host.home), host)
    is_job = "#SBATCH" in text
    if is_job or file_name in VARIABLE_FILES:
        report_insecure(check, host.shown(path), VARIABLES, text)
        set_here = {variable.name for variable in find_settings(text)}
        caches = [own_values[name] for name in tool_places.CACHES if name in own_values]
        moved = [folder for folder in caches if not is_in(folder, host.home)]
        others = {name: value for name, value in own_values.items() if name not in set_here}
        for variable in find_settings(text):
            where, value = place_of(variable.line), variable.value(host.home)
            report_outranked(check, variable.name, value, where, others, host)
            if (
                variable.name == "TMPDIR"
                and "mkdir" not in text
                and value.startswith("/")
                and is_on_storage(value, host)
            ):
                report_missing(check, where, variable.name, value, host)
            is_large = LARGE_FOLDERS.search(variable.name) and variable.name not in own_values
            if moved and is_large and is_in(value, host.home) and not is_in(value, host.home + "/.cache"):
                why = "%s is set to a folder in the home directory, but hpc-onboard keeps caches in %s"
                check.report("ENV-009", where, why % (variable.name, host.shown(os.path.dirname(moved[0]))))
            # The other folders of a job script may be for a different cluster, or be created by the script.
            if LARGE_FOLDERS.search(variable.name) or not is_job:
                report_lost_folder(check, where, variable.name, value, host)
    file = tool_places.OF_PROJECTS.get(file_name)
    if file and folder != host.home:  # ToolSettings checks the files in the home directory itself
        report_insecure(check, host.shown(path), OF_PROJECTS[file_name], text)
        for setting in find_values(file, text):
            name, value = setting.name, expand_path(setting.value, host.home)
            is_path = bool(value) or is_relative(setting.value)
            if name in own_values and is_path and value != own_values[name].rstrip("/"):
                why = "%s is set to a different folder than hpc-onboard's %s" % (setting.key, name)
                check.report("ENV-009", place_of(setting.line), why)
            elif name not in own_values:
                report_lost_folder(check, place_of(setting.line), name, value, host, setting.key)


def report_insecure(check: AuditCheck, shown: str, pattern: str, text: str) -> None:
    """Report the lines that turn off the verification of servers; in ssh's settings, only lines for every host.

    shown: the path of the file, for messages. pattern: a pattern of one of the tables, or VARIABLES. text: the content
    of the file.
    """
    for number in find_insecure(pattern, text):
        check.report("SEC-012", "%s:%d" % (shown, number), "this line turns off the verification of servers")
