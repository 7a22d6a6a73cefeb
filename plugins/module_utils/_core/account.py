# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose account this is: home, login shell, and the variables that only a login shell has."""

import os
import pwd
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, NamedTuple, Optional

from .._formats.hashes import digest, keyed_digest
from .errors import AccountError, FileSystemHangs, printable

if TYPE_CHECKING:  # few accounts' login shells are asked, and every run would wait for its compilation
    from .program import ProgramOutput

BEGIN, END = "hpc.onboard-environment", "hpc.onboard-end"
QUERY = "echo %s; /usr/bin/env -0; echo %s" % (BEGIN, END)  # the same in every shell
LOGIN_SECONDS = 20

Guard = Callable[[], None]


class Account:
    """The account as the system knows it. In a sandbox the plan says it instead.

    start: how the login shell went that was asked, what its start-up files printed; None before, and in a sandbox.
    found: what else was found out of it by name, by one resource for others; the sender says what it knows already.
    hung: the mount points of file systems that do not answer, each with the sentence for what is on it.
    """

    def __init__(
        self, home: str, shell: str, environment: Optional[Dict[str, str]] = None, guard: Optional[Guard] = None
    ) -> None:
        """guard: keeps a shell that is asked from writing (sandboxed_program.py), where that can be."""
        self.home = home
        self.shell = shell
        self.start: Optional["ProgramOutput"] = None
        self.found: Dict[str, Any] = {}
        self.hung_mounts: Dict[str, str] = {}
        self._environment = environment
        self._guard = guard
        self._failure = ""

    @classmethod
    def of_this_process(cls, sandbox: Optional[Mapping[str, Any]], guard: Optional[Guard] = None) -> "Account":
        """The account that runs this process; $HOME and the passwd home must be one folder."""
        if sandbox:
            return cls(sandbox["home"], sandbox.get("shell", "/bin/bash"), dict(sandbox.get("environment", {})))
        try:
            entry = pwd.getpwuid(os.getuid())
        except KeyError:
            text = "user %d is not known on this login node: is its directory service down? Run again later"
            raise AccountError(text % os.getuid()) from None
        home = os.environ.get("HOME", entry.pw_dir)
        if os.path.normpath(home) != os.path.normpath(entry.pw_dir):
            raise AccountError(
                "HOME is %s, but the home of this account is %s: a start-up file changes it."
                " Take that out, then run again" % (printable(home, 200), entry.pw_dir)
            )
        return cls(os.path.normpath(entry.pw_dir), entry.pw_shell or "/bin/sh", None, guard)

    def load_environment(self) -> None:
        """Ask the login shell for its environment; once, however many resources need it."""
        if self._environment is None and not self._failure and not self._hangs():
            asked = query_login_shell(self.shell, self.home, self._guard)
            self.start, self._environment, self._failure = asked.start, asked.environment, asked.failure

    def _hangs(self) -> bool:
        """Return True if the home does not answer, so that its start-up files cannot be looked at."""
        from .mounts import describe_hang, find_hanging, mount_of, mount_points  # few ask the login shell

        for mount in find_hanging([mount_of(self.home, mount_points())], LOGIN_SECONDS):
            self.hung_mounts[mount] = self._failure = describe_hang(mount, self.home, LOGIN_SECONDS)
        return bool(self._failure)

    def environment(self) -> Dict[str, str]:
        """The environment of the login shell. Raises AccountError where it does not answer."""
        self.load_environment()
        if self._failure:
            raise AccountError(self._failure)
        return dict(self._environment or {})

    def site_variable(self, name: str) -> str:
        """The value of a variable of the site, an absolute path, as the login shell sets it."""
        self.load_environment()
        if self._failure:
            raise AccountError("$%s cannot be learnt: %s" % (name, self._failure))
        value = (self._environment or {}).get(name, "")
        if not value.startswith("/"):
            raise AccountError(
                "$%s is not set to a path in the login shell (%s): give the path itself in the"
                " account's 'storage:'" % (name, self.shell)
            )
        return value.rstrip("/") or "/"


class AccountPaths:
    """What an account's things are called. root: the sandbox's folder, below which all absolute paths lie, or empty."""

    def __init__(self, account: Account, fingerprint_key: bytes, root: str = "") -> None:
        self.account, self.home, self.root = account, account.home, root
        self.fingerprint_key = fingerprint_key

    def fingerprint(self, secret: str) -> str:
        """The keyed short hash that stands for a secret wherever it is shown; the key is this account's alone."""
        return "key " + keyed_digest(self.fingerprint_key, digest(secret.encode("utf-8"))).hex()[:12]

    def expand(self, path: str) -> str:
        """The absolute path for one that begins with ~ or with a variable of the site."""
        head, slash, tail = path.partition("/")
        if head == "~":
            head = self.home
        elif head.startswith("$"):
            head = self.account.site_variable(head[1:])
        return os.path.normpath("/" + (head + slash + tail).lstrip("/"))

    def shown(self, path: str) -> str:
        """The path as a person writes it: ~ for the home."""
        inside = path == self.home or path.startswith(self.home + "/")
        return "~" + path[len(self.home) :] if inside else path

    def real(self, path: str) -> str:
        """Return the path for system calls. Raises FileSystemHangs if its file system does not answer."""
        for mount, why in self.account.hung_mounts.items():
            from .mounts import is_inside  # hardly ever does one hang

            if is_inside(self.root + path, mount):
                raise FileSystemHangs(why)
        return self.root + path


class LoginShellResult(NamedTuple):
    """A login shell that was asked: its start, the environment, and why there is none."""

    start: "ProgramOutput"
    environment: Dict[str, str]
    failure: str


def query_login_shell(shell: str, home: str, guard: Optional[Guard] = None) -> LoginShellResult:
    """Ask a login shell for its environment; noise before and after it does no harm. One that cannot end is not asked.

    With a guard its start-up files can write nothing; where a site does not allow that, they are run without.
    """
    from .program import ENDLESS, NOT_RUN, ProgramOutput, endless_file, run_program

    endless = endless_file(shell, home)
    if endless:
        failure = "the login shell would wait for ever: %s: move it away, then run again" % endless
        return LoginShellResult(ProgramOutput(b"", 0.0, "%s: %s" % (ENDLESS, endless)), {}, failure)
    line, name = [shell, "-c", QUERY], "-" + os.path.basename(shell)
    start = run_program(line, os.environ, LOGIN_SECONDS, name, guard, END.encode())
    if guard and start.why == NOT_RUN:
        start = run_program(line, os.environ, LOGIN_SECONDS, name, None, END.encode())
    noise, _begin, rest = start.output.partition(BEGIN.encode() + b"\n")
    values, ended, _after = rest.partition(END.encode())
    start = start._replace(output=noise)
    if ended:
        pairs = [one.partition(b"=") for one in values.split(b"\0")]
        return LoginShellResult(
            start, {os.fsdecode(name): os.fsdecode(value) for name, equal, value in pairs if equal}, ""
        )
    return LoginShellResult(start, {}, _unanswered(shell, start))


def _unanswered(shell: str, start: "ProgramOutput") -> str:
    """Why a login shell gave no environment, and what to do about it."""
    from .program import NOT_RUN

    if start.why == NOT_RUN:
        return "the login shell %s cannot be run" % shell
    if start.why:
        return "the login shell %s: look at what its start-up files run" % start.why
    return "the login shell answered nothing: does a start-up file run 'exec' or 'exit'?"
