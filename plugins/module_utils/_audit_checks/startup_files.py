# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start-up files that print or take seconds, and scripts of hpc-onboard that are not found on PATH.

The shell is started as a connection starts it, where it can write nothing (see sandboxed_program.py). On a login node
without such a place this is skipped: start-up files may write, and an audit must not. The environment of the account
was read with the start as a login shell, which is measured here as well.
"""

import os
import time
from typing import Any, Dict, List, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.program import ENDLESS, NOT_RUN, ProgramOutput, run_program
from .._core.sandboxed_program import enter_sandbox
from .audit_check import NOT_ON_PATH, AuditCheck

SECONDS = 10.0  # for one start
ALL_SECONDS = 24.0
NOWHERE = "/dev/shm"  # an empty home, without start-up files
SYSTEM = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


class ShellStart(NamedTuple):
    """A way to start a shell: its description, whether it is a login shell, and the account's file that it reads."""

    description: str
    is_login: bool
    file: str


class StartupFiles(AuditCheck):
    """The start of the account's shell by a program."""

    KIND = "startup_files"
    TITLE = "start of the shell"
    PATH_OPTIONS = ("programs",)
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "programs": {"type": "list", "elements": "dict", "default": []},  # {path}: scripts that belong on PATH
        "slow_seconds": {"type": "int", "default": 2},
    }

    def run(self, host: Host) -> None:
        deadline = time.time() + ALL_SECONDS
        for start in _shell_starts(host):
            if not self._check_start(start, host, deadline):
                self.skip("the start-up files were not run: here they could write, or the login shell is missing")
                break
        if self.entries("programs"):
            self._check_programs(host)

    # -- starts --------------------------------------------------------------------------------

    def _check_start(self, start: ShellStart, host: Host, deadline: float) -> bool:
        """Report what a start prints and how long it takes; return False if it could not be run."""
        home = host.real(host.home)
        run = host.account.start if start.is_login and host.account.start else _run(host, start, home, deadline)
        if run is None or run.why == NOT_RUN:
            return False
        slow = self.options["slow_seconds"]
        reported = self.rules_broken() if start.is_login else []  # one file serves both starts
        if run.why.startswith(ENDLESS):
            if "ENV-004" not in reported:
                self.report("ENV-004", start.file, "%s %s" % (start.description, run.why))
            return True
        if run.text and "ENV-003" not in reported:
            self._report_output(start, _run(host, start, NOWHERE, deadline))
        if run.seconds > slow and "ENV-004" not in reported:
            again = _run(host, start, home, deadline)  # a busy login node is slow once
            if again and again.seconds > slow:
                self.report("ENV-004", start.file, "%s takes more than %d s" % (start.description, slow))
        return True

    def _report_output(self, start: ShellStart, without: Optional[ProgramOutput]) -> None:
        """Tell the account's files from the site's. without: a run without the account's own files.

        The site's files may print at a login.
        """
        if without is None or not without.text:
            text = "%s prints something, which breaks scp, rsync and other programs"
            self.report("ENV-003", start.file, text % start.description)
        elif not start.is_login:
            text = "%s prints something because of the site's own start-up files: report it to the site"
            self.report("ENV-003", "/etc", text % start.description)

    # -- scripts -------------------------------------------------------------------------------

    def _check_programs(self, host: Host) -> None:
        try:
            path = host.account.environment().get("PATH", "")
            why = "the login shell has no PATH"
        except AccountError as error:
            path, why = "", str(error)
        if not path:
            self.skip("whether hpc-onboard's scripts are on PATH is unknown: %s" % why)
            return
        folders = [os.path.normpath(folder) for folder in path.split(":") if folder.startswith("/")]
        for program in self.entries("programs"):
            if _is_executable(program["path"], host):
                self._check_program(program["path"], folders, host)

    def _check_program(self, path: str, folders: List[str], host: Host) -> None:
        folder, name = os.path.split(path)
        on_path = [host.resolve(one) for one in folders]
        if host.resolve(folder) not in on_path:
            text = "%s is not on PATH of a login shell" % host.shown(folder)
            self.report("ENV-005", host.shown(path), text, case=NOT_ON_PATH)
            return
        for earlier in folders[: on_path.index(host.resolve(folder))]:
            other = os.path.join(earlier, name)
            if _is_executable(other, host):
                self.report("ENV-005", host.shown(other), "it comes before %s on PATH" % host.shown(path))
                return


def _is_executable(path: str, host: Host) -> bool:
    try:
        real = host.resolve(path)
        entry = host.entry(real) if real else None
    except AccountError:
        return False  # a shell cannot look into the folder either
    return entry is not None and entry.kind == "file" and bool(entry.mode & 0o111)


def _shell_starts(host: Host) -> List[ShellStart]:
    """Return how a connection starts the shell, and how users and many scripts do."""
    shell = os.path.basename(host.account.shell)
    command, login = {
        "bash": (".bashrc", _first_existing(host, ".bash_profile", ".bash_login", ".profile")),
        "zsh": (".zshenv", _first_existing(host, ".zprofile", ".zlogin", ".zshenv")),
        "fish": (".config/fish/config.fish", ".config/fish/config.fish"),
        "tcsh": (_first_existing(host, ".tcshrc", ".cshrc"), _first_existing(host, ".login", ".tcshrc", ".cshrc")),
        "csh": (".cshrc", _first_existing(host, ".login", ".cshrc")),
    }.get(shell, (".profile", ".profile"))
    return [
        ShellStart("a command over ssh", False, "~/" + command),
        ShellStart("a login shell that runs a command", True, "~/" + login),
    ]


def _first_existing(host: Host, *names: str) -> str:
    """Return the first of these files that exists, else the last one."""
    existing = [name for name in names if host.resolved_kind(os.path.join(host.home, name)) == "file"]
    return existing[0] if existing else names[-1]


def _run(host: Host, start: ShellStart, home: str, deadline: float) -> Optional[ProgramOutput]:
    """Start the shell as sshd does; return None if no time is left."""
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
    name = ("-" if start.is_login else "") + os.path.basename(shell)
    return run_program([shell, "-c", "true"], environment, seconds, name, enter_sandbox)
