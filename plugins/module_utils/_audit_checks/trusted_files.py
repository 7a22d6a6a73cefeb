# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for files that other users can change, and that run as the account or that its programs trust.

These files are start-up files and the files that they source, hpc-onboard's files, programs in the account's folders on
PATH, the keys with which users log in, and user services. Whoever can change such a file can act as the account.
"The account's own" files belong to this user; "foreign" files belong neither to this user nor to root.
"""

import os
import stat
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

from .._core.errors import AccountError
from .._core.files import FileEntry
from .._core.host import Host
from .._fixes import offers
from .._formats import key_files
from .._scan import named_paths
from .._scan.home_listing import HomeListing
from .._scan.included_files import INCLUDES, expand_pattern, find_included
from .._scan.search import Search
from .._scan.walk import Limits, Walk
from . import trusted_places
from .audit_check import (
    FOREIGN_OWNER,
    AuditCheck,
    find_entry,
    folders_down_to,
    has_own_group,
    is_in,
    list_names,
    real_home,
    via_home,
)

SSH_RC = ".ssh/rc"
SETTINGS_BYTES = 65536  # of a settings file
MOST = 300  # files of one folder that are checked
GROUP_WRITES, EVERY_USER_WRITES = 0o020, 0o002
OTHERS_START = 0o011  # the group or every user can start a program
EVERY_USER = "every user has write permission (mode %04o)"
LIMITS = Limits(entries=8000, seconds=3.0, depth=5)  # of the search for setuid programs in one area
TREE_LIMITS = Limits(entries=8000, seconds=3.0, depth=6)  # of the walk through all trusted folders together


class TrustedFiles(AuditCheck):
    """Owner, mode and access list of files that run as the account, and of the folders above these files.

    In the methods, search reads files of the account, and listing finds out which known files exist.
    """

    KIND = "trusted_files"
    TITLE = "files that run with your permissions"
    NEEDS_SHELL = True
    PATH_OPTIONS = ("areas",)
    OPTIONS: Dict[str, Dict[str, Any]] = {
        # the account's storage areas; each entry has the key path
        "areas": {"type": "list", "elements": "dict", "default": []},
    }

    def run(self, host: Host) -> None:
        """Report files that other users can change, setuid programs, and settings that let other users log in."""
        search, listing = Search(host, [host.home]), HomeListing(host)
        self._home = real_home(host)
        self._reported: Set[str] = set()  # paths without links
        self._is_safe: Dict[str, bool] = {}  # folder without links -> no other user can change it or a folder above
        for path in self._paths_to_check(host, search, listing):
            try:
                self._check_path(path, host)
            except AccountError as error:
                self.skip(str(error))
        for folder in [host.home] + [entry["path"] for entry in self.entries("areas")]:
            self._check_setuid_programs(folder, host)
        for name, line, why in trusted_places.OPEN_LOGINS:  # (file, pattern of a line, problem)
            text = search.read_text(host.home + "/" + name) if listing.select([name]) else ""
            found = line.search(text) if text else None  # one finding for each file is enough
            if found:
                self.report("SEC-010", "~/%s:%d" % (name, text.count("\n", 0, found.start()) + 1), why)
        self.skip_unread(search)

    def _paths_to_check(self, host: Host, search: Search, listing: HomeListing) -> Iterator[str]:
        """Yield the files and folders to check, such as start-up files, and what they run; a path may occur twice."""
        start_ups = search.startup_files(listing.select((*key_files.START_UPS, SSH_RC)))
        texts = []  # of the start-up files, with the values of their variables
        for path in start_ups:
            text = search.read_text(path)
            texts.append(named_paths.resolve_variables(text))
            for number, why in trusted_places.find_open_servers(text):
                self.report("SEC-010", "%s:%d" % (host.shown(path), number), why)
        yield host.home
        yield from start_ups
        for text in texts:
            for path in key_files.find_sourced_files(text, host.home, with_patterns=True):
                yield from expand_pattern(path, host)
        names = listing.select(trusted_places.FILES + trusted_places.FOLDERS)
        yield from (host.home + "/" + name for name in names)
        yield from self._paths_in_trees(host, listing)
        for name in listing.select(INCLUDES):
            yield from find_included(name, search.read_text(host.home + "/" + name), host)
        yield from self._service_paths(host, search, listing)
        yield from self._python_paths(host, search)
        for folder in self._program_folders(host, listing):
            yield folder
            yield from self._list_paths(folder, host)
        for path in self._named_paths(texts, search, listing, host):
            yield path
            yield from self._list_paths(path, host)

    def _paths_in_trees(self, host: Host, listing: HomeListing) -> Iterator[str]:
        """Yield the paths in the trees of all trusted folders that another user may change."""
        walk = Walk(host, TREE_LIMITS)
        for folder in [host.home + "/" + name for name in listing.select(trusted_places.FOLDERS)]:
            real = host.resolve(folder) if find_entry(folder, host) else None
            for entry in walk.below(real) if real else ():
                # No other user can change the remaining entries, and no program runs a public key (.pub).
                if _needs_check(entry.status) and not entry.path.endswith(".pub"):
                    path = folder + entry.path[len(real or "") :]
                    yield path
                    # The walk follows no link, but a manager of dotfiles may have linked a folder.
                    yield from self._list_paths(path, host) if stat.S_ISLNK(entry.status.st_mode) else ()

    def _service_paths(self, host: Host, search: Search, listing: HomeListing) -> Iterator[str]:
        """Yield the files of user services, and the paths that the services name."""
        for folder, endings in trusted_places.SERVICES:
            units = self._list_paths(host.home + "/" + folder, host) if listing.select([folder]) else []
            extensions = [unit for unit in units if unit.endswith(".d")]  # folders of files that extend a unit
            for path in units + [path for unit in extensions for path in self._list_paths(unit, host)]:
                if path.endswith(endings):
                    yield path
                    yield from named_paths.find_named(named_paths.UNIT_LINES, search.read_text(path), host.home)

    def _python_paths(self, host: Host, search: Search) -> Iterator[str]:
        """Yield folders of the user's Python packages, files that Python runs at each start, and the paths in these."""
        for python in self._list_paths(host.home + "/" + trusted_places.PYTHON_FOLDERS, host):
            packages = python + "/site-packages"
            yield packages
            for path in self._list_paths(packages, host):
                if trusted_places.RUN_BY_PYTHON.match(os.path.basename(path)):
                    yield path
                    text = search.read_text(path, SETTINGS_BYTES)
                    for named in named_paths.find_named(named_paths.PTH_LINES, text, host.home):
                        yield named
                        yield from self._list_paths(named, host)

    def _named_paths(self, texts: List[str], search: Search, listing: HomeListing, host: Host) -> Iterator[str]:
        """Yield the account's own files and folders that start-up files and settings run or load.

        Report loaded folders of other users to which every user can write. texts: of the start-up files.
        """
        loaded, named = self._find_named_paths(texts, search, listing, host)
        for path in dict.fromkeys(named):  # of these, only programs are checked
            entry = find_entry(path, host) if path not in loaded else None
            is_program = entry and (entry.mode & 0o111 or named_paths.is_named_as_program(path))
            if entry and entry.mine and entry.kind == "file" and is_program:
                yield path
        for path in dict.fromkeys(loaded):
            entry = find_entry(path, host)
            if entry and entry.mine:
                yield path
            elif entry and entry.kind == "folder" and entry.mode & EVERY_USER_WRITES:
                text = "every user can add programs to this folder, and your shells run programs from it"
                self.report("SEC-010", host.shown(path), text)

    def _find_named_paths(
        self, texts: List[str], search: Search, listing: HomeListing, host: Host
    ) -> Tuple[List[str], List[str]]:
        """Return (paths that programs run or load, other paths) that start-up files and settings name.

        texts: of the start-up files.
        """
        home, find_named = host.home, named_paths.find_named
        loaded = [path for text in texts for path in named_paths.find_loaded(text, home)]
        loaded += [path for text in texts for path in find_named(named_paths.LOOPS, text, home)]
        named = [path for text in texts for path in find_named(named_paths.ANY_LINE, text, home)]
        read = [home + "/" + name for name in listing.select(trusted_places.FILES) if "/receipt" not in name]
        for folder in listing.select(trusted_places.READ_FOLDERS):
            read += self._list_paths(home + "/" + folder, host)
        for path in read + [path + "/kernel.json" for path in read if "/kernels/" in path]:  # of Jupyter kernels
            text = search.read_text(path, SETTINGS_BYTES)
            lines = named_paths.SETTINGS_LINES.get(path[len(home) + 1 :])
            loaded += find_named(lines, text, home) if lines else []
            named += find_named(named_paths.RUN_LINES, text, home)
        return loaded, named

    def _check_setuid_programs(self, folder: str, host: Host) -> None:
        """Report setuid and setgid programs of the account in a folder, down to the depth of LIMITS."""
        real = (host.resolve(folder) or "") if find_entry(folder, host) else ""
        for listing in Walk(host, LIMITS).folders(real) if real else ():
            try:
                entries = [(path, host.entry(path)) for path in map(listing.path, listing.files)]
            except AccountError:
                continue  # a folder that the account may list, but not enter
            for path, entry in entries:
                if entry and entry.mine and entry.mode & OTHERS_START:
                    self._check_setuid(folder + path[len(real) :], entry.mode, host)

    def _check_setuid(self, path: str, mode: int, host: Host) -> None:
        """Report a program that is setuid or setgid."""
        text = "every user who starts this program gets the permissions of %s (%s)"
        if mode & stat.S_ISUID:
            self.report("SEC-010", host.shown(path), text % ("your account", "setuid"))
        elif mode & stat.S_ISGID:
            self.report("SEC-010", host.shown(path), text % ("your group", "setgid"))

    def _list_paths(self, folder: str, host: Host) -> List[str]:
        """Return the paths of the first MOST entries of a folder; none if the folder is missing or unreadable."""
        return [os.path.join(folder, name) for name in list_names(folder, MOST, host)]

    def _program_folders(self, host: Host, listing: HomeListing) -> List[str]:
        """Return the usual folders for the account's programs, and the account's other folders on PATH."""
        folders = [host.home + "/" + name for name in listing.select(trusted_places.PROGRAMS)]
        try:
            on_path = host.account.environment().get("PATH", "").split(":")
        except AccountError:
            on_path = []  # the check of start-up files reports why
        for part in on_path:
            folder = os.path.normpath(part)
            entry = find_entry(folder, host) if part.startswith("/") and folder not in folders else None
            if entry and entry.kind == "folder" and entry.mine:
                folders.append(folder)
        return folders

    # -- one file ------------------------------------------------------------------------------

    def _check_path(self, path: str, host: Host) -> None:
        """Report the uppermost folder above a file, or else the file itself, that another user can change."""
        real = host.resolve(path)
        entry = host.entry(real) if real else None
        if not real or entry is None:
            return  # the file does not exist
        parent = os.path.dirname(real)
        if parent not in self._is_safe:
            folders = _folders_to_check(parent, self._home)
            self._is_safe[parent] = not any(self._is_changeable(folder, folder == parent, host) for folder in folders)
        # Whoever can change a folder can replace its content, so the content of such a folder is not reported.
        is_reported = not self._is_safe[parent] or self._report_if_unsafe(real, _why_changeable, host)
        if not is_reported and entry.kind == "file" and entry.mine and entry.mode & OTHERS_START:
            self._check_setuid(path, entry.mode, host)

    def _is_changeable(self, folder: str, has_file: bool, host: Host) -> bool:
        """Report a folder that another user can change, and return True. has_file: the checked file is in it."""
        is_own = has_file and getattr(host.entry(folder), "mine", False)
        if is_own or is_in(folder, self._home):
            return self._report_if_unsafe(folder, _why_changeable, host)
        # Elsewhere, members of a project may share folders, so the others are reported only if every user can change
        # them.
        return self._report_if_unsafe(folder, _why_public, host)

    def _report_if_unsafe(self, place: str, find_reason: Callable[[FileEntry, str, Host], str], host: Host) -> bool:
        """Report a file or folder that is unsafe, and return True. find_reason: returns why, or an empty text."""
        entry = host.entry(place)
        why = find_reason(entry, place, host) if entry else ""
        if entry and why and place not in self._reported:
            self._reported.add(place)
            path = via_home(place, host)
            fix = offers.offer_access_fix(host, path, way="write") if entry.mine else None
            case = FOREIGN_OWNER if entry.is_foreign else ""  # the case selects the advice
            self.report("SEC-010", host.shown(path), why, auto_fix=fix, case=case)
        return bool(why)


def _needs_check(status: os.stat_result) -> bool:
    """Return True for a link, for a setuid or setgid program, and for what another user may own or change."""
    return (
        stat.S_ISLNK(status.st_mode)
        or status.st_uid != os.getuid()
        or bool(status.st_mode & (GROUP_WRITES | EVERY_USER_WRITES | stat.S_ISUID | stat.S_ISGID))
    )


def _folders_to_check(folder: str, home: str) -> List[str]:
    """Return the folder and its parents: up to the home directory, or else all parents. The uppermost comes first."""
    return [path for path in folders_down_to(folder) if is_in(path, home) or not is_in(folder, home)]


def _why_public(entry: FileEntry, _path: str, _host: Host) -> str:
    """Return why every user can replace the content of a folder; empty if only its owner or group can."""
    is_public = entry.mode & EVERY_USER_WRITES and not entry.mode & stat.S_ISVTX
    return EVERY_USER % entry.mode if is_public else ""


def _why_changeable(entry: FileEntry, path: str, host: Host) -> str:
    """Return why another user can change a file or folder; empty if only the account and root can."""
    if entry.is_foreign:
        return "this file or folder belongs to another user"
    is_sticky = entry.kind == "folder" and bool(entry.mode & stat.S_ISVTX)
    if entry.kind == "link" or is_sticky:
        return ""  # modes of links have no effect; with the sticky bit, users cannot replace each other's files
    if entry.mode & EVERY_USER_WRITES:
        return EVERY_USER % entry.mode
    if not entry.mode & GROUP_WRITES:
        return ""
    if host.has_acl(path):
        return "an access list gives other users write permission"
    return "" if has_own_group(host.real(path)) else "the group has write permission (mode %04o)" % entry.mode
