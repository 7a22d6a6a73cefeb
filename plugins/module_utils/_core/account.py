# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose account this is: home, login shell, and the variables that only a login shell has."""

import os
import pwd
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, NamedTuple, Optional

from .._formats.hashes import digest, keyed
from .errors import AccountError, Hangs, printable

if TYPE_CHECKING:  # few accounts' login shells are asked, and every run would wait for its compilation
    from .program import Said

BEGIN, END = "hpc.onboard-environment", "hpc.onboard-end"
ASK = "echo %s; /usr/bin/env -0; echo %s" % (BEGIN, END)  # the same in every shell
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
        self.start: Optional["Said"] = None
        self.found: Dict[str, Any] = {}
        self.hung: Dict[str, str] = {}
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

    def learn(self) -> None:
        """Ask the login shell for its environment; once, however many resources need it."""
        if self._environment is None and not self._failure and not self._hangs():
            asked = ask(self.shell, self.home, self._guard)
            self.start, self._environment, self._failure = asked.start, asked.environment, asked.failure

    def _hangs(self) -> bool:
        """Return True if the home does not answer, so that its start-up files cannot be looked at."""
        from .mounts import describe_hang, find_hanging, mount_of, mount_points  # few ask the login shell

        for mount in find_hanging([mount_of(self.home, mount_points())], LOGIN_SECONDS):
            self.hung[mount] = self._failure = describe_hang(mount, self.home, LOGIN_SECONDS)
        return bool(self._failure)

    def environment(self) -> Dict[str, str]:
        """The environment of the login shell. Raises AccountError where it does not answer."""
        self.learn()
        if self._failure:
            raise AccountError(self._failure)
        return dict(self._environment or {})

    def variable(self, name: str) -> str:
        """The value of a variable of the site, an absolute path, as the login shell sets it."""
        self.learn()
        if self._failure:
            raise AccountError("$%s cannot be learnt: %s" % (name, self._failure))
        value = (self._environment or {}).get(name, "")
        if not value.startswith("/"):
            raise AccountError(
                "$%s is not set to a path in the login shell (%s): give the path itself in the"
                " account's 'storage:'" % (name, self.shell)
            )
        return value.rstrip("/") or "/"


class Names:
    """What an account's things are called. root: the sandbox's folder, below which all absolute paths lie, or empty."""

    def __init__(self, account: Account, fingerprint_key: bytes, root: str = "") -> None:
        self.account, self.home, self.root = account, account.home, root
        self.fingerprint_key = fingerprint_key

    def fingerprint(self, secret: str) -> str:
        """The keyed short hash that stands for a secret wherever it is shown; the key is this account's alone."""
        return "key " + keyed(self.fingerprint_key, digest(secret.encode("utf-8"))).hex()[:12]

    def expand(self, path: str) -> str:
        """The absolute path for one that begins with ~ or with a variable of the site."""
        head, slash, tail = path.partition("/")
        if head == "~":
            head = self.home
        elif head.startswith("$"):
            head = self.account.variable(head[1:])
        return os.path.normpath("/" + (head + slash + tail).lstrip("/"))

    def shown(self, path: str) -> str:
        """The path as a person writes it: ~ for the home."""
        inside = path == self.home or path.startswith(self.home + "/")
        return "~" + path[len(self.home) :] if inside else path

    def real(self, path: str) -> str:
        """Return where a path of the account is for the system. Raises Hangs if it is on a file system that hangs."""
        for mount, why in self.account.hung.items():
            from .mounts import is_inside  # hardly ever does one hang

            if is_inside(self.root + path, mount):
                raise Hangs(why)
        return self.root + path


class Asked(NamedTuple):
    """A login shell that was asked: its start, the environment, and why there is none."""

    start: "Said"
    environment: Dict[str, str]
    failure: str


def ask(shell: str, home: str, guard: Optional[Guard] = None) -> Asked:
    """Ask a login shell for its environment; noise before and after it does no harm. One that cannot end is not asked.

    With a guard its start-up files can write nothing; where a site does not allow that, they are run without.
    """
    from .program import ENDLESS, NOT_RUN, Said, endless_file, said

    endless = endless_file(shell, home)
    if endless:
        failure = "the login shell would wait for ever: %s: move it away, then run again" % endless
        return Asked(Said(b"", 0.0, "%s: %s" % (ENDLESS, endless)), {}, failure)
    line, name = [shell, "-c", ASK], "-" + os.path.basename(shell)
    start = said(line, os.environ, LOGIN_SECONDS, name, guard, END.encode())
    if guard and start.why == NOT_RUN:
        start = said(line, os.environ, LOGIN_SECONDS, name, None, END.encode())
    noise, _begin, rest = start.printed.partition(BEGIN.encode() + b"\n")
    values, ended, _after = rest.partition(END.encode())
    start = start._replace(printed=noise)
    if ended:
        pairs = [one.partition(b"=") for one in values.split(b"\0")]
        return Asked(start, {os.fsdecode(name): os.fsdecode(value) for name, equal, value in pairs if equal}, "")
    return Asked(start, {}, _unanswered(shell, start))


def _unanswered(shell: str, start: "Said") -> str:
    """Why a login shell gave no environment, and what to do about it."""
    from .program import NOT_RUN

    if start.why == NOT_RUN:
        return "the login shell %s cannot be run" % shell
    if start.why:
        return "the login shell %s: look at what its start-up files run" % start.why
    return "the login shell answered nothing: does a start-up file run 'exec' or 'exit'?"
