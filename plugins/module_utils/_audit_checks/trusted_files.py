# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs or is trusted as the account, and whether another user can change it.

Start-up files and what they source, the files of hpc-onboard, programs in the account's own folders on PATH, the keys
that may log in, and services of the user. Whoever can change one of them acts as the account at its next login.
"""

import os
import re
import stat
from typing import Any, Dict, Iterable, Iterator, List, Optional, Pattern, Set

from .._core.errors import AccountError
from .._core.files import FileEntry
from .._core.host import Host
from .._fixes import offers
from .._formats import key_files
from .._scan.included_files import INCLUDES, find_included
from .._scan.search import Search
from .._scan.walk import Limits, Walk
from .audit_check import AuditCheck, has_own_group, is_in, real_home
from .trusted_places import DEEP, DOORS, FILES, FOLDERS, PROGRAMS, PYTHONS, RUN_BY_PYTHON, SERVICES

MOST = 300  # programs of one folder
GROUP, EVERYBODY = 0o020, 0o002
EVERY_USER = "every user can change it (mode %04o)"
LIMITS = Limits(entries=2000, seconds=3.0, depth=2)  # of the search for setuid programs in one area
LOADED = (
    r"(?:PATH|path|PYTHONPATH|PYTHONSTARTUP|BASH_ENV|ENV|ZDOTDIR|LD_LIBRARY_PATH|LD_PRELOAD|MODULEPATH|PERL5LIB|R_LIBS"
    r"|R_LIBS_USER|JULIA_LOAD_PATH|NODE_PATH|GIT_CONFIG_GLOBAL|FPATH|fpath|ZSH|ZSH_CUSTOM|PIP_CONFIG_FILE|CONDARC"
    r"|UV_CONFIG_FILE)"
)
VARIABLES = re.compile(
    r"^[^#\n]*?(?:\b%s\+?=|\b(?:set|setenv)(?: -\w+)* %s\b|\bfish_add_path\b|\bmodule[ \t]+use\b)(.*)$"
    % (LOADED, LOADED),
    re.MULTILINE,
)
"""Lines of start-up files that name what other programs run or load."""
RUNS = re.compile(r"^([^#\n]+)", re.MULTILINE)  # any line of them: of the programs that it names, the account's count
SETTINGS = {  # files of settings, and lines in them that name what their program runs
    ".gitconfig": re.compile(
        r"^\s*(?:hooksPath|templateDir|fsmonitor|path|editor|pager|helper|sshCommand|\w+(?=\s*=\s*\"?!))\s*=(.*)$",
        re.I | re.M,
    ),
    ".ssh/config": re.compile(
        r"^\s*(?:Include|ProxyCommand|LocalCommand|KnownHostsCommand|Match exec|UserKnownHostsFile)\b(.*)$", re.I | re.M
    ),
    ".ssh/authorized_keys": re.compile(r"^[^#\n]*\bcommand=(\"[^\"\n]*\")", re.M),
    ".tmux.conf": re.compile(r"^\s*(?:run(?:-shell)?|source(?:-file)?|set\b.*default-command)\b(.*)$", re.M),
    ".vimrc": re.compile(r"^\s*(?:so(?:urce)?|set r(?:untime|t)p)\b(.*)$", re.M),
    ".emacs": re.compile(r"(?:load|load-file|load-path)\b(.*)$", re.M),
    ".forward": re.compile(r"^(.*)$", re.M),
}
SETTINGS[".config/git/config"] = SETTINGS[".gitconfig"]
SETTINGS.update({name: RUNS for name in ("crontab", "crontab.txt", ".crontab", "mycron", "cron.txt")})
EXECUTES = re.compile(r"^\s*(?:Exec\w*|EnvironmentFile)=(.*)$", re.M)  # in the units of systemd
NAMED = re.compile(r"(?:^|[\s:=\"'(\[!@`-])((?:~|%h|\$HOME|\$\{HOME\}|)/[\w.,+@%~/-]+)(?=$|[\s:;\"')\]&|`<>])")


class TrustedFiles(AuditCheck):
    """Owner, mode and access list of what runs or is trusted as the account, and of the folders down to it."""

    KIND = "trusted_files"
    TITLE = "files that run as the account"
    NEEDS_SHELL = True
    PATH_OPTIONS = ("areas",)
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "areas": {"type": "list", "elements": "dict", "default": []},  # {path}: the account's other folders
    }

    def run(self, host: Host) -> None:
        search = Search(host, [host.home])
        self._open: Set[str] = set()  # folders that are reported: what is in them can be replaced all the same
        for path in self._paths(host, search):
            try:
                self._check(path, host)
            except AccountError as error:
                self.skip(str(error))
        for folder in [host.home] + [entry["path"] for entry in self.entries("areas")]:
            self._check_programs(folder, host)
        for name, line, what in DOORS:
            text = search.read_text(host.home + "/" + name)
            for found in list(line.finditer(text))[:1]:
                self.report("SEC-010", "~/%s:%d" % (name, text.count("\n", 0, found.start()) + 1), what)
        self.skip_unread(search)

    def _paths(self, host: Host, search: Search) -> Iterator[str]:
        start_ups = search.startup_files()
        texts = {path: search.read_text(path) for path in start_ups}
        yield host.home
        yield from start_ups
        for text in texts.values():
            yield from key_files.find_sourced_files(text, host.home)
        yield from (host.home + "/" + name for name in FILES + FOLDERS)
        for name in FOLDERS:
            yield from [path for path in self._below(host.home + "/" + name, host) if not path.endswith(".pub")]
        for name in DEEP:
            for path in self._below(host.home + "/" + name, host):
                yield from self._below(path, host)
        for name in INCLUDES:
            yield from find_included(name, search.read_text(host.home + "/" + name), host)
        for folder, ends in SERVICES:
            units = self._below(host.home + "/" + folder, host)
            for path in units + [one for unit in units if unit.endswith(".d") for one in self._below(unit, host)]:
                if path.endswith(ends):
                    yield path
                    yield from find_named(EXECUTES, search.read_text(path), host.home)
        for python in self._below(host.home + "/" + PYTHONS, host):
            packages = python + "/site-packages"
            yield packages
            yield from (one for one in self._below(packages, host) if RUN_BY_PYTHON.match(os.path.basename(one)))
        for folder in self._program_folders(host):
            yield folder
            yield from self._below(folder, host)
        for path in self._named(texts.values(), search, host):
            yield path
            yield from self._below(path, host)

    def _named(self, texts: Iterable[str], search: Search, host: Host) -> Iterator[str]:
        """Yield what start-up files and settings name for programs to run or load, as far as it is the account's.

        Of other folders on PATH, those to which every user can write are reported.
        """
        texts = list(texts)
        named = [path for text in texts for path in find_named(VARIABLES, text, host.home)]
        run = [path for text in texts for path in find_named(RUNS, text, host.home)]
        for name, lines in SETTINGS.items():
            (run if lines is RUNS else named).extend(
                find_named(lines, search.read_text(host.home + "/" + name), host.home)
            )
        for path in dict.fromkeys(run):
            entry = self._entry(path, host) if path not in named else None
            if entry and entry.mine and entry.kind == "file" and entry.mode & 0o111:
                yield path
        for path in dict.fromkeys(named):
            entry = self._entry(path, host)
            if entry and entry.mine:
                yield path
            elif entry and entry.kind == "folder" and entry.mode & EVERYBODY:
                self.report("SEC-010", host.shown(path), "every user can put programs there, and your shells run them")

    def _entry(self, path: str, host: Host) -> Optional[FileEntry]:
        try:
            return host.resolved_entry(path)
        except AccountError:
            return None  # a shell cannot look into it either

    def _check_programs(self, folder: str, host: Host) -> None:
        """Report programs in the upper levels of a folder by which other users act as the account, or as its group."""
        real = (host.resolve(folder) or "") if self._entry(folder, host) else ""
        for entry in Walk(host, LIMITS).below(real) if real else ():
            mode = entry.status.st_mode
            if stat.S_ISREG(mode) and mode & 0o011 and entry.status.st_uid == os.getuid():
                self._check_identity(folder + entry.path[len(real) :], mode, host)

    def _check_identity(self, path: str, mode: int, host: Host) -> None:
        text = "every user who starts it acts as %s (%s)"
        if mode & stat.S_ISUID:
            self.report("SEC-010", host.shown(path), text % ("you", "setuid"))
        elif mode & stat.S_ISGID:
            self.report("SEC-010", host.shown(path), text % ("your group", "setgid"))

    def _below(self, folder: str, host: Host) -> List[str]:
        try:
            names = host.names(folder) if host.resolved_kind(folder) == "folder" else []
        except AccountError:
            return []
        return [os.path.join(folder, name) for name in names[:MOST]]

    def _program_folders(self, host: Host) -> List[str]:
        """Return the account's own folders of programs."""
        folders = [host.home + "/" + name for name in PROGRAMS]
        try:
            on_path = host.account.environment().get("PATH", "").split(":")
        except AccountError:
            on_path = []  # another check says why
        for one in on_path:
            folder = os.path.normpath(one)
            entry = host.entry(folder) if one.startswith("/") and folder not in folders else None
            if entry and entry.kind == "folder" and entry.mine:
                folders.append(folder)
        return folders

    # -- one file ------------------------------------------------------------------------------

    def _check(self, path: str, host: Host) -> None:
        """Report the uppermost of the folders down to a file, and the file itself, that another user can change."""
        real = host.resolve(path)
        entry = host.entry(real) if real else None
        if not real or entry is None:
            return
        for place in [*_folders_down_to(os.path.dirname(real), real_home(host)), real]:
            there = host.entry(place)
            is_near = place == os.path.dirname(real)
            ask = _who_can_replace if is_near else _who_of_all_can_replace
            ask = _who_can_change if place == real or is_in(place, real_home(host)) else ask
            who = ask(there, place, host) if there else ""
            if who and place not in self._open:
                self._open.add(place)
                fix = offers.offer_access_fix(host, place, "write") if there and there.mine else None
                self.report("SEC-010", host.shown(place), who, "", fix)
            if who:
                return
        if entry.kind == "file" and entry.mine and entry.mode & 0o011:
            self._check_identity(path, entry.mode, host)


def find_named(lines: Pattern[str], text: str, home: str) -> List[str]:
    """Return the absolute paths, or those below the home, that such lines name."""
    found = [path for line in lines.findall(text) for path in NAMED.findall(line)]
    return [os.path.normpath(re.sub(r"^(?:~|%h|\$HOME|\$\{HOME\})(?=/)", lambda _found: home, path)) for path in found]


def _folders_down_to(folder: str, home: str) -> List[str]:
    """Return the folders to look at: from the home on, or from the first one of the system where it is elsewhere."""
    if not is_in(folder, home):
        names = folder.strip("/").split("/")
        return ["/" + "/".join(names[: number + 1]) for number in range(len(names))]
    names = folder[len(home) :].strip("/").split("/") if folder != home else []
    return [home] + [home + "/" + "/".join(names[: number + 1]) for number in range(len(names))]


def _who_can_replace(entry: FileEntry, path: str, host: Host) -> str:
    """Return who can replace what is in a folder out of the home; that of a project may be its owner's and group's."""
    if entry.mine:
        return _who_can_change(entry, path, host)
    return _who_of_all_can_replace(entry, path, host)


def _who_of_all_can_replace(entry: FileEntry, path: str, host: Host) -> str:
    """Return whether every user can replace what is further down: a group may share the upper folders."""
    return EVERY_USER % entry.mode if entry.mode & EVERYBODY and not entry.mode & stat.S_ISVTX else ""


def _who_can_change(entry: FileEntry, path: str, host: Host) -> str:
    """Return who can change a file or a folder, as a sentence; empty if only the account and root can."""
    if entry.is_foreign:
        return "it belongs to another user"
    is_shared = entry.kind == "folder" and bool(entry.mode & stat.S_ISVTX)
    if entry.kind == "link" or is_shared:
        return ""
    if entry.mode & EVERYBODY:
        return EVERY_USER % entry.mode
    if not entry.mode & GROUP:
        return ""
    if host.has_acl(path):
        return "an access list lets other users change it"
    return "" if has_own_group(host.real(path)) else "its group can change it (mode %04o)" % entry.mode
