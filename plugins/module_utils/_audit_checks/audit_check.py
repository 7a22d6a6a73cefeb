# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of the audit's own checks, which examine what no Ansible role sets up, and change nothing.

A check is a resource whose desired state is empty: no problem. Its state describes each problem, by rule and place
("SEC-004 ~/.bashrc:12"). A key never appears there, only its fingerprint. The remarks of a check say what it could not
examine. "host" gives access to the files of the account. The engine first calls with_expanded_paths(), then inspect(),
which runs the check, then evidence().
"""

import grp
import os
import pwd
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from .._core.errors import AccountError, printable
from .._core.files import FileEntry
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._scan.search import Search, expand_paths
from .._slurm.offers import get_offers

# Cases of a rule that need different advice; the rules in plugin_utils/_audit/rules have the sentences.
UNKNOWN_KEY = "unknown_key"  # the key is not in the keyring
APPLICATION = "application"  # an application reads the key from this file
NO_REPLACEMENT = "no_replacement"  # no other file contains the key for the variable's program
LEADS_PAST = "leads_past"  # the variable contains the path of a different file
NOT_MADE_AGAIN = "not_made_again"  # no program recreates the content
NOT_ON_PATH = "not_on_path"  # the folder of a script is not on PATH
PATH_REPLACED = "path_replaced"  # a line removes folders from PATH
NAME_TAKEN = "name_taken"  # an alias or a function hides a program
CURRENT_FOLDER = "current_folder"  # PATH contains the current folder
FOREIGN_OWNER = "foreign_owner"  # the file belongs to another user
WITHOUT_CONDA = "without_conda"  # the site does not want conda
MOVED = "moved"  # the site wants conda in a different place
OWN_REQUEST = "own_request"  # a line of the user requests the name, not a role
OWN_MODE = "own_mode"  # the user, not the site, has changed the mode
OWN_TARGET = "own_target"  # the link's target was in the home directory

NODE_LOCAL = ("/run", "/tmp", "/local", "/var/tmp", "/var/run", "/dev/shm", "$TMPDIR")
"""Folders that belong to one node or one job: a path missing on this node may exist on another."""

SYSTEM_FOLDERS = (
    *("bin", "boot", "dev", "etc", "lib", "lib64", "nix", "opt", "proc", "sbin", "snap", "sys", "sw", "usr", "var"),
)
"""Folders below / that may differ from node to node."""

MACHINE = "{machine}"  # in a path: the architecture, such as x86_64
LONGEST = 4000  # characters of a place or a description
BYTE_ORDER_MARK = os.fsdecode(b"\xef\xbb\xbf")  # in a text of read_text


class Problem(NamedTuple):
    """A problem that a check found."""

    rule: str
    place: str  # the file, folder or line, as messages show it
    text: str  # the message of the finding
    severity: str = ""  # empty for the default severity of the rule
    auto_fix: Optional[Dict[str, Any]] = None  # "kind": the type of the fix, "options": its options
    case: str = ""  # one of the cases above; empty for the usual advice of the rule

    @property
    def field(self) -> str:
        """Return the name of the problem in the check's state."""
        return "%s %s" % (self.rule, self.place)


class AuditCheck(Resource):
    """A check of one subject; each subclass is a resource type. No check starts a program that could write.

    PATH_OPTIONS: the options that are lists of entries, each with a path. A path may begin with a variable of the site.
    If the variable is unknown, the entry is skipped with a remark.
    """

    WAITS = False  # a check runs even if changes before it failed
    PATH_OPTIONS: Tuple[str, ...] = ()
    NEEDS_SHELL = False  # True if the check reads the environment of the login shell
    NEEDS_SLURM = False  # True if the check reads Slurm's offers

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._problems: Dict[Tuple[str, str], Problem] = {}
        self._remarks: List[str] = []

    def run(self, host: Host) -> None:
        """Examine the account; call report() for each problem and skip() for what cannot be examined."""
        raise NotImplementedError

    def report(self, rule: str, place: str, text: str, severity: str = "",
               auto_fix: Optional[Dict[str, Any]] = None, case: str = "") -> None:  # fmt: skip
        """Record a problem, unless one of the same rule and place is recorded. For the parameters, see Problem."""
        problem = Problem(rule, printable(place, LONGEST), printable(text, LONGEST), severity, auto_fix, case)
        self._problems.setdefault((problem.rule, problem.place), problem)

    def skip(self, text: str) -> None:
        """Add a remark: a sentence about what could not be examined. The same remark is added only once."""
        if printable(text) not in self._remarks:
            self._remarks.append(printable(text))

    def skip_unread(self, search: Search) -> None:
        """Record what a search did not read, and why."""
        for sentence in search.skipped():
            self.skip(sentence)

    def expand(self, paths: Iterable[str], host: Host) -> List[str]:
        """Return the absolute paths. A path with an unset variable of the site is omitted, with a remark."""
        absolute, problems = expand_paths(host, paths)
        for problem in problems:
            self.skip(problem)
        return absolute

    def rules_broken(self) -> List[str]:
        """Return the rules of the problems recorded so far, so that a check does not report a consequence of one."""
        return [rule for rule, _place in self._problems]

    def is_reported(self, rule: str, place: str) -> bool:
        """Return True if a problem of this rule is recorded at this place."""
        return (rule, printable(place, LONGEST)) in self._problems

    def entries(self, option: str) -> List[Dict[str, Any]]:
        """Return the entries of a list option whose paths could be resolved."""
        return [entry for entry in self.options[option] if entry["path"]]

    def with_expanded_paths(self, host: Host) -> Resource:
        """Return a copy for the engine to run, with the paths of the check's options resolved for the account."""
        # Done here, because the engine runs checks in child processes, and each child would have to do it again.
        if self.NEEDS_SHELL:
            host.account.load_environment()
        if self.NEEDS_SLURM:
            get_offers(host)
        check = super().with_expanded_paths(host)
        for name in self.PATH_OPTIONS:
            check.options[name] = [_resolve_entry(entry, host) for entry in self.options[name]]
        return check

    def touches(self, host: Host) -> List[str]:
        """Return the paths that the check reads: the home directory and the paths of its options."""
        return [host.home] + [entry["path"] for name in self.PATH_OPTIONS for entry in self.entries(name)]

    def desired(self, host: Host) -> State:
        return {}  # no problem

    def inspect(self, host: Host) -> State:
        """Run the check, and return the description of each problem by its field, such as "SEC-004 ~/.bashrc:12"."""
        for name in self.PATH_OPTIONS:
            for entry in self.options[name]:
                if entry.get("why"):  # the path could not be resolved, see _resolve_entry
                    self.skip(entry["why"])
        self.run(host)
        return {problem.field: problem.text for _key, problem in sorted(self._problems.items())}

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return "severities", "fixes" and "cases" by the problem's field, without empty ones. before: not used."""
        problems = self._problems.values()
        evidence: Evidence = {
            "severities": {problem.field: problem.severity for problem in problems if problem.severity},
            "fixes": {problem.field: problem.auto_fix for problem in problems if problem.auto_fix},
            "cases": {problem.field: problem.case for problem in problems if problem.case},
        }
        return {name: values for name, values in evidence.items() if values}

    def remarks(self, host: Host) -> List[str]:
        """Return sentences about what could not be examined."""
        return list(self._remarks)

    def apply(self, host: Host) -> None:
        """Raise AccountError, because the engine must never apply a check."""
        raise AccountError("%s is an audit check, which never changes anything" % self.identity)


def _resolve_entry(entry: Mapping[str, Any], host: Host) -> Dict[str, Any]:
    """Return the entry with an absolute path, or with an empty path and the reason as "why" if a variable is unset."""
    path = str(entry.get("path") or "").replace(MACHINE, os.uname().machine)
    try:
        return dict(entry, path=host.expand(path) if path else "")
    except AccountError as error:
        return dict(entry, path="", why=str(error))


def is_in(path: str, folder: str) -> bool:
    """Return True if the path is the folder or below the folder. Only the names are compared; links are ignored."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_node_local(path: str, host: Host, folders: Tuple[str, ...] = NODE_LOCAL) -> bool:
    """Return True if an absolute path is in one of the folders, which belong to one node or one job."""
    for folder in folders:
        try:
            absolute = host.expand(folder)
        except AccountError:
            continue  # the site sets no such variable
        if is_in(os.path.normpath(path), absolute):
            return True
    return False


def is_missing(path: str, host: Host) -> bool:
    """Return True if a path certainly does not exist; False without permission or if its file system hangs."""
    try:
        return host.resolved_kind(path) == "nothing"
    except AccountError:
        return False


def find_entry(path: str, host: Host) -> Optional[FileEntry]:
    """Return the entry of the file that a path resolves to; None if the file is missing or access is denied."""
    try:
        return host.resolved_entry(path)
    except AccountError:
        return None  # without permission, a program of the account cannot use the file either


def resolve_readable(path: str, host: Host) -> Optional[str]:
    """Return the path without links; None for a circular link; the path itself if its links cannot be read."""
    try:
        return host.resolve(path)
    except AccountError:
        return path  # without permission for a folder above


def list_names(folder: str, most: Optional[int], host: Host, check: Optional[AuditCheck] = None) -> List[str]:
    """Return the first names in a folder. If the folder cannot be listed, return none, and add a remark to check."""
    try:
        return host.names(folder)[:most]
    except AccountError as error:
        if check:
            check.skip(str(error))
        return []


def is_on_this_cluster(path: str, host: Host) -> bool:
    """Return True if a path's top folder exists and is on shared storage; else the path may be of another cluster."""
    return not is_node_local(path, host) and not is_missing("/" + path.split("/")[1], host)


def is_of_system(path: str) -> bool:
    """Return True if a path is in a system folder, which may differ between login and compute nodes."""
    return path.split("/")[1] in SYSTEM_FOLDERS


def real_home(host: Host) -> str:
    """Return the home directory without symbolic links. At some sites, the home directory is a link."""
    return host.resolve(host.home) or host.home


def via_home(path: str, host: Host) -> str:
    """Return a path without links as the user knows it: through the usual home directory, which may be a link."""
    home = real_home(host)
    return host.home + path[len(home) :] if is_in(path, home) else path


def read_text(check: AuditCheck, host: Host, path: str) -> str:
    """Return the text of a file; empty for a missing file, and for other users' files outside of the home.

    Decoded as the names of files are, so that the text's paths can be used. If the file cannot be read, the check gets
    a remark.
    """
    try:
        real = host.resolve(path)
        entry = host.entry(real) if real else None
        if not real or not entry or entry.kind != "file":
            return ""
        if not entry.mine and not is_in(real, real_home(host)):
            return ""
        return os.fsdecode(host.read(real))
    except AccountError as error:
        check.skip(str(error))
        return ""


def folders_down_to(folder: str) -> List[str]:
    """Return the folder and all its parents, from the top down."""
    parts = folder.strip("/").split("/")
    return ["/" + "/".join(parts[: number + 1]) for number in range(len(parts))]


def traversal_bits(host: Host, folder: str) -> int:
    """Return who can traverse a folder and all its parents, as mode bits: 0o010 for the group, 0o001 for every user.

    If a folder has an access list, its group bits are the maximum that the list allows.
    """
    bits = 0o011
    for parent in folders_down_to(folder):
        mode = getattr(host.entry(parent), "mode", 0)
        bits &= mode | (0o010 if mode & 0o001 else 0)  # every user includes the group
    return bits


def has_own_group(path: str) -> bool:
    """Return True if a file's group is the account's private group, without other members."""
    try:
        group = grp.getgrgid(os.lstat(path).st_gid)
    except (KeyError, OSError):
        return False  # the group or the file is unknown: assume other members
    user = pwd.getpwuid(os.getuid()).pw_name
    return group.gr_name == user and set(group.gr_mem) <= {user}
