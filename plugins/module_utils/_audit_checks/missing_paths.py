# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find paths in settings files and scripts that do not exist: of programs, certificates, folders and mounts.

Settings of a project are also compared with the folders that hpc-onboard sets. In the functions, check is the audit
check that reports the problems, host gives access to the files of the account, and listing finds out which known files
exist.
"""

import os
import re
from typing import Iterator, List, Mapping, Pattern, Tuple

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
    is_in,
    is_missing,
    is_node_local,
    is_of_system,
    is_on_this_cluster,
    list_names,
    read_text,
    real_home,
)
from .outranked import report_outranked

MOST = 50  # files of one folder that are read
LEVELS_ABOVE = 3  # a script may be submitted from its own folder or from a folder up to this far above
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
    # Each item is (path of the file, pattern of its lines that name paths).
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
    """Report the missing paths that a settings file names.

    path, text: the file and its content. pattern: of its lines that name paths, with the path as the group.
    """
    for match in pattern.finditer(text):
        named_path = expand_path(match.group(1), host.home)
        place = "%s:%d" % (host.shown(path), text.count("\n", 0, match.start(1)) + 1)
        # report_missing accepts a missing folder of these variables, because their tools create it.
        subject = next((name for name in tool_places.CREATED if name in match.group()), "this line")
        # A folder of the system may exist only on compute nodes, where enroot mounts it.
        if pattern is not tool_places.MOUNTS or _is_on_storage(named_path, host):
            report_missing(check, place, subject, named_path, host)


def _check_scripts(check: AuditCheck, host: Host) -> None:
    """Report scripts on PATH whose interpreter is missing, or whose first line ends with a carriage return."""
    search = Search(host, [host.home])
    for folder in SCRIPT_FOLDERS:
        for path in files_in(check, folder, endings=("",), host=host):  # all files
            real = search.resolve_file(path)
            first_line = os.fsdecode(search.read_bytes(real, LONGEST_SHEBANG)) if real else ""
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
    """Report missing folders in a settings file of pip. path: of this file."""
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
    names = list_names(host.home + "/" + folder, MOST, host, check)
    return [host.home + "/" + folder + "/" + name for name in names if name.endswith(endings)]


def report_lost_folder(check: AuditCheck, where: str, name: str, folder: str, host: Host, setting: str = "") -> None:
    """Report a folder or file of the user that does not exist, and that no program of the user can create.

    where: the place of the finding. name: the variable that sets this folder. setting: the setting with the same effect
    in the file of a tool; empty if the variable itself is set.
    """
    # A colon at the end has no effect. A value with a colon in it is a list of folders, some of which may not exist.
    folder = folder.rstrip(":")
    is_known = ":" not in folder and (LARGE_FOLDERS.search(name) or OWN_FOLDERS.match(name))
    if is_known and folder.startswith("/") and not is_of_system(folder) and _cannot_be_created(folder, host):
        text = "%s is set to %s, which does not exist and which you have no permission to create"
        check.report("ENV-009", where, text % (setting or name, host.shown(folder)))


def _is_on_storage(path: str, host: Host) -> bool:
    """Return True if a path is on storage that all nodes of this cluster share, such as a home directory."""
    return not is_of_system(path) and is_on_this_cluster(path, host)


def _cannot_be_created(path: str, host: Host) -> bool:
    """Return True if a path does not exist, and the user has no permission to create it and its missing parents."""
    if is_node_local(path, host) or not is_missing(path, host):
        return False
    parent = os.path.dirname(path)
    while is_missing(parent, host):
        parent = os.path.dirname(parent)  # at last the lowest parent that exists
    return parent == "/" or not os.access(host.real(parent), os.W_OK | os.X_OK)  # only the site changes /


def check_project_settings(check: AuditCheck, path: str, text: str, own_values: Mapping[str, str], host: Host) -> None:
    """Report lines of a project's file that override hpc-onboard, name a missing path, or trust any server.

    path, text: the file and its content. own_values: variable -> value that hpc-onboard sets.
    """
    shown = host.shown(path)
    for line, name in find_home_values(text, own_values, [host.home, real_home(host)]):
        why = "this line overrides hpc-onboard's %s with a folder in the home directory" % name
        check.report("ENV-009", "%s:%d" % (shown, line), why)
    folder, file_name = os.path.split(path)
    folder_name = os.path.basename(folder)
    if folder_name == VSCODE:
        for line, program in find_started_programs(text):
            if is_missing(program, host):
                why = "this file starts %s, which does not exist" % host.shown(program)
                check.report("ENV-009", "%s:%d" % (shown, line), why)
    if folder_name in (VSCODE, ".edf"):  # .edf contains the definitions of job containers at some sites
        for line, name, value in find_assignments(text):
            report_lost_folder(check, "%s:%d" % (shown, line), name, expand_path(value, host.home), host)
    if "#SBATCH" in text or file_name in VARIABLE_FILES:
        _check_project_variables(check, shown, text, own_values, host)
    if file_name in tool_places.OF_PROJECTS and folder != host.home:  # ToolSettings checks the files of the home
        _check_tool_file(check, path, text, own_values, host)


def _check_project_variables(
    check: AuditCheck, shown: str, text: str, own_values: Mapping[str, str], host: Host
) -> None:
    """Report problems of the variables that a job script, or a list of variables such as .env, sets.

    shown: the path of the file, for messages. text: its content. own_values: variable -> value that hpc-onboard sets.
    """
    report_insecure(check, shown, VARIABLES, text)
    settings = list(find_settings(text))
    names = {setting.name for setting in settings}
    other_own_values = {name: value for name, value in own_values.items() if name not in names}
    own_caches = [own_values[name] for name in tool_places.CACHES if name in own_values]
    caches_off_home = [folder for folder in own_caches if not is_in(folder, host.home)]
    for setting in settings:
        where, name, value = "%s:%d" % (shown, setting.line), setting.name, setting.value(host.home)
        report_outranked(check, name, value, where, other_own_values, host)
        is_temporary = name == "TMPDIR" and "mkdir" not in text  # and the script does not create the folder
        if is_temporary and value.startswith("/") and _is_on_storage(value, host):
            report_missing(check, where, name, value, host)
        is_large = LARGE_FOLDERS.search(name) is not None
        is_in_home = is_in(value, host.home) and not is_in(value, host.home + "/.cache")
        if caches_off_home and is_large and name not in own_values and is_in_home:
            why = "%s is set to a folder in the home directory, but hpc-onboard keeps caches in %s"
            check.report("ENV-009", where, why % (name, host.shown(os.path.dirname(caches_off_home[0]))))
        # The other folders of a job script may be for a different cluster, or be created by the script.
        if is_large or "#SBATCH" not in text:
            report_lost_folder(check, where, name, value, host)


def _check_tool_file(check: AuditCheck, path: str, text: str, own_values: Mapping[str, str], host: Host) -> None:
    """Report settings of a tool in a project whose folder is missing, or is not the folder that hpc-onboard sets.

    path, text: a file of tool_places.OF_PROJECTS, and its content. own_values: variable -> value that hpc-onboard sets.
    """
    file_name = os.path.basename(path)
    report_insecure(check, host.shown(path), OF_PROJECTS[file_name], text)
    for setting in find_values(tool_places.OF_PROJECTS[file_name], text):
        name, value = setting.name, expand_path(setting.value, host.home)  # name: the variable with the same effect
        where = "%s:%d" % (host.shown(path), setting.line)
        is_path = bool(value) or is_relative(setting.value)
        if name in own_values and is_path and value != own_values[name].rstrip("/"):
            why = "%s is set to a different folder than hpc-onboard's %s" % (setting.key, name)
            check.report("ENV-009", where, why)
        elif name not in own_values:
            report_lost_folder(check, where, name, value, host, setting.key)


def find_missing_paths(what: str, name: str, folder: str, host: Host) -> Iterator[str]:
    """Yield the paths that a job requires and that do not exist.

    what, name: the kind of the request, such as "image", and its text, as in job_lines.LineRequest. folder: the folder
    of the script.
    """
    sources = [mount.partition(":")[0] for mount in name.split(",")]  # of mounts: SOURCE:TARGET,SOURCE:TARGET
    for text in sources if what == "mounts" else [name]:
        path = expand_home(text, host)
        path = os.path.dirname(path) if what == "output" else path
        if not path or re.search("[$%]", path):
            continue  # the job's shell or Slurm replaces a part of the path
        if not path.startswith("/"):  # relative to the folder from which the job is submitted
            places = [os.path.normpath(os.path.join(folder, *[".."] * up, path)) for up in range(LEVELS_ABOVE + 1)]
            # Of the relative paths, only that of an output folder is certain.
            if what == "output" and all(is_missing(place, host) for place in places):
                yield places[0]
        elif is_missing(os.path.normpath(path), host):
            is_needed_everywhere = what in ("image", "output")  # on every node, so also on this node
            if is_needed_everywhere or _is_on_storage(path, host):
                yield os.path.normpath(path)


def expand_home(path: str, host: Host) -> str:
    """Return the path with the home directory in place of ~ or $HOME."""
    return re.sub(r"^(?:~|\$HOME|\$\{HOME\})(?=/|\Z)", lambda _match: host.home, path)


def report_insecure(check: AuditCheck, shown: str, pattern: str, text: str) -> None:
    """Report the lines that turn off the verification of servers; in ssh's settings, only lines for every host.

    shown: the path of the file, for messages. text: the content of the file. pattern: of such lines, a constant or a
    table's entry of _scan/insecure_settings.py.
    """
    for number in find_insecure(pattern, text):
        check.report("SEC-012", "%s:%d" % (shown, number), "this line turns off the verification of servers")
