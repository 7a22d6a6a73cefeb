# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose account this is: home, login shell, and the variables that only a login shell has."""

import json
import os
import pwd
import select
import sys
import time
from typing import IO, Any, Dict, Mapping, Optional, cast

from .errors import AccountError

MARK = "hpc.onboard-environment"
LOGIN_SECONDS = 20


class Account:
    """The account as the system knows it. In a sandbox the plan says it instead."""

    def __init__(self, home: str, shell: str, environment: Optional[Dict[str, str]] = None) -> None:
        self.home = home
        self.shell = shell
        self._environment = environment
        self._failure = ""

    @classmethod
    def of_this_process(cls, sandbox: Optional[Mapping[str, Any]]) -> "Account":
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
                " Take that out, then run again" % (printable(home), entry.pw_dir)
            )
        return cls(os.path.normpath(entry.pw_dir), entry.pw_shell or "/bin/sh")

    def learn(self) -> None:
        """Ask the login shell for its environment; once, however many resources need it."""
        if self._environment is None and not self._failure:
            try:
                self._environment = login_environment(self.shell)
            except AccountError as error:
                self._failure = str(error)

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


def login_environment(shell: str) -> Dict[str, str]:
    """The environment of a login shell; noise before and after it does no harm."""
    import subprocess  # here, because few plans need it and starting Python is what a run waits for

    ask = "import json,os,sys;sys.stdout.write(sys.argv[1]+json.dumps(dict(os.environ))+sys.argv[1])"
    command = "'%s' -I -S -c '%s' %s" % (sys.executable, ask, MARK)
    try:
        process = subprocess.Popen(
            ["-" + os.path.basename(shell), "-c", command],
            executable=shell,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        raise AccountError("the login shell %s cannot be run" % shell) from None
    try:
        said = _said(cast("IO[bytes]", process.stdout)).decode("utf-8", "replace").split(MARK)
    finally:
        process.kill()  # and not waited for: on a dead file server it never ends
    if len(said) < 3:
        raise AccountError("the login shell answered nothing: does a start-up file run 'exec' or 'exit'?")
    found: Dict[str, str] = json.loads(said[1])
    return found


def _said(stream: "IO[bytes]") -> bytes:
    """What the shell says up to the end of the answer; a program that it left running may keep the pipe open."""
    said = b""
    deadline = time.time() + LOGIN_SECONDS
    while said.count(MARK.encode()) < 2:
        if not select.select([stream], [], [], max(0.0, deadline - time.time()))[0]:
            raise AccountError(
                "the login shell did not answer in %d s: look at what its start-up files run" % LOGIN_SECONDS
            )
        got = os.read(stream.fileno(), 65536)
        if not got:
            break
        said += got
    return said


def printable(text: str) -> str:
    """The text without control characters, cut to what fits a line."""
    return "".join(c if c.isprintable() else "?" for c in text)[:200]
