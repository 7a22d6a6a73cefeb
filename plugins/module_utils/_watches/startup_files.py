# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the start-up files do when nobody asked: print, take seconds; and whether our scripts are found on PATH.

The shell is started as a connection starts it, where it can write nothing (see sandboxed_program.py). Where a login
node has no such place, this is left out and said: what start-up files write is nobody's business to try out. The start
as a login shell is the one in which the account's environment was asked for.
"""

import os
import time
from typing import Any, Dict, List, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.program import ENDLESS, NOT_RUN, ProgramOutput, run_program
from .._core.sandboxed_program import enter_sandbox
from .base import Look
from .watch import NOT_ON_PATH

SECONDS = 10.0  # for one start
ALL_SECONDS = 24.0
NOWHERE = "/dev/shm"  # a home without start-up files, empty in there
SYSTEM = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


class Start(NamedTuple):
    """A way in which a shell is started: what it is in words, whether as a login, the file of the account it reads."""

    words: str
    login: bool
    file: str


class StartupFiles(Look):
    """The start of the account's shell, when a program starts it."""

    KIND = "startup_files"
    PLACES = ("programs",)
    KNOWS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "programs": {"type": "list", "elements": "dict", "default": []},  # {path}: scripts that belong on PATH
        "slow_seconds": {"type": "int", "default": 2},
    }

    def name(self) -> str:
        return "start of the shell"

    def look(self, host: Host) -> None:
        """The two starts, then the scripts."""
        deadline = time.time() + ALL_SECONDS
        for start in _starts(host):
            if not self._start(start, host, deadline):
                break
        if self.places("programs"):
            self._programs(host)

    # -- starts --------------------------------------------------------------------------------

    def _start(self, start: Start, host: Host, deadline: float) -> bool:
        """Whether it could be tried at all."""
        home = host.real(host.home)
        first = host.account.start if start.login and host.account.start else _run(host, start, home, deadline)
        if first is None or first.why == NOT_RUN:
            self.miss("what the start-up files do was not tried: here they could write, or the login shell is missing")
            return False
        slow = self.options["slow_seconds"]
        known = self.rules_found() if start.login else []  # one file serves both
        if first.why.startswith(ENDLESS):
            if "ENV-004" not in known:
                self.find("ENV-004", start.file, "%s %s" % (start.words, first.why))
            return True
        if first.text and "ENV-003" not in known:
            self._prints(start, _run(host, start, NOWHERE, deadline))
        if first.seconds > slow and "ENV-004" not in known:
            again = _run(host, start, home, deadline)  # a busy login node is slow once
            if again and again.seconds > slow:
                self.find("ENV-004", start.file, "%s takes more than %d s" % (start.words, slow))
        return True

    def _prints(self, start: Start, without: Optional[ProgramOutput]) -> None:
        """Without the account's own files the site's are left, which print at a login by right."""
        if without is None or not without.text:
            text = "%s prints something, which scp, rsync and other programs stumble over"
            self.find("ENV-003", start.file, text % start.words)
        elif not start.login:
            text = "%s prints something by the site's own start-up files: tell the site"
            self.find("ENV-003", "/etc", text % start.words)

    # -- scripts -------------------------------------------------------------------------------

    def _programs(self, host: Host) -> None:
        try:
            path = host.account.environment().get("PATH", "")
        except AccountError as error:
            self.miss("whether our scripts are on PATH is not known: %s" % error)
            return
        if not path:
            self.miss("whether our scripts are on PATH is not known: nothing says what PATH is here")
            return
        folders = [os.path.normpath(folder) for folder in path.split(":") if folder.startswith("/")]
        for one in self.places("programs"):
            if self._executable(one["path"], host):
                self._program(one["path"], folders, host)

    def _program(self, path: str, folders: List[str], host: Host) -> None:
        folder, name = os.path.split(path)
        known = [host.resolve(one) for one in folders]
        if host.resolve(folder) not in known:
            text = "%s is not on PATH of a login shell" % host.shown(folder)
            self.find("ENV-005", host.shown(path), text, case=NOT_ON_PATH)
            return
        for before in folders[: known.index(host.resolve(folder))]:
            other = os.path.join(before, name)
            if self._executable(other, host):
                self.find("ENV-005", host.shown(other), "it goes before %s on PATH" % host.shown(path))
                return

    def _executable(self, path: str, host: Host) -> bool:
        """Whether a program lies there; a folder that cannot be looked into is no way to one."""
        try:
            real = host.resolve(path)
            found = host.entry(real) if real else None
        except AccountError:
            return False
        return found is not None and found.kind == "file" and bool(found.mode & 0o111)


def _starts(host: Host) -> List[Start]:
    """How a connection starts the shell, and how a person and many scripts do."""
    shell = os.path.basename(host.account.shell)
    command, login = {
        "bash": (".bashrc", _first(host, ".bash_profile", ".bash_login", ".profile")),
        "zsh": (".zshenv", _first(host, ".zprofile", ".zlogin", ".zshenv")),
        "fish": (".config/fish/config.fish", ".config/fish/config.fish"),
        "tcsh": (_first(host, ".tcshrc", ".cshrc"), _first(host, ".login", ".tcshrc", ".cshrc")),
        "csh": (".cshrc", _first(host, ".login", ".cshrc")),
    }.get(shell, (".profile", ".profile"))
    return [
        Start("a command over ssh", False, "~/" + command),
        Start("a login shell that runs a command", True, "~/" + login),
    ]


def _first(host: Host, *names: str) -> str:
    """The first of these files that is there, else the last one."""
    there = [name for name in names if host.resolved_kind(os.path.join(host.home, name)) == "file"]
    return there[0] if there else names[-1]


def _run(host: Host, start: Start, home: str, deadline: float) -> Optional[ProgramOutput]:
    """Start the shell as sshd does; None when no time is left."""
    seconds = min(SECONDS, deadline - time.time())
    if seconds <= 0:
        return None
    shell = host.account.shell
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or "user"
    environment = {
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "SHELL": shell,
        "PATH": SYSTEM,
        "TMPDIR": NOWHERE,
        "HISTFILE": os.devnull,
        "SSH_CLIENT": os.environ.get("SSH_CLIENT", "127.0.0.1 1 22"),  # by this bash knows that sshd starts it
        "SSH_CONNECTION": os.environ.get("SSH_CONNECTION", "127.0.0.1 1 127.0.0.1 22"),
    }
    name = ("-" if start.login else "") + os.path.basename(shell)
    return run_program([shell, "-c", "true"], environment, seconds, name, enter_sandbox)
