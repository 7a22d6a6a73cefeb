# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The account: its home directory, its login shell, and the environment that this shell sets up.

A plan is the JSON document that says what a run does on an account. A sandbox is a folder that simulates an account.
A guard is a function that takes away a process's right to write files, so that start-up files cannot change anything.
"""

import os
import pwd
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, NamedTuple, Optional

from .._formats.hashes import digest, keyed_digest
from .errors import AccountError, FileSystemHangs, printable

if TYPE_CHECKING:  # few runs start a login shell, and every run would wait for its compilation
    from .program import ProgramOutput

BEGIN, END = "hpc.onboard-environment", "hpc.onboard-end"  # printed before and after the environment
QUERY = "echo %s; /usr/bin/env -0; echo %s" % (BEGIN, END)  # works in every shell
LOGIN_SECONDS = 20  # the time limit of a login shell, and of a home directory that does not answer
NO_TICKET = (
    "the home directory %s needs a Kerberos ticket, but this session has none. Get a forwardable ticket on your machine"
    " (kinit -f; klist -f then shows the flag F). Log in with this ticket, not with an SSH key: a login with a key does"
    " not forward the ticket. Do not set GSSAPIDelegateCredentials to no. Then run hpc-onboard again"
)

Guard = Callable[[], None]


def read_user() -> pwd.struct_passwd:
    """Return the passwd entry of the user who runs this process. Raise AccountError if the user ID is unknown."""
    try:
        return pwd.getpwuid(os.getuid())
    except KeyError:
        text = (
            "the user ID %d is unknown on this login node, perhaps because the directory service is down."
            " Run hpc-onboard again later"
        )
        raise AccountError(text % os.getuid()) from None


class Account:
    """The account that the system, or the plan of a sandbox, describes.

    start: the output of the login shell's start-up files; None in a sandbox, and before the shell was started.
    facts: by name, what resources record for later resources; a plan may provide the facts of earlier runs.
    hung_mounts: mount points of file systems that do not answer, each with the error message for its paths.
    """

    def __init__(
        self, home: str, shell: str, environment: Optional[Dict[str, str]] = None, guard: Optional[Guard] = None
    ) -> None:
        """Store the account's paths. The login shell is started only when its environment is first needed.

        home, shell: absolute paths. environment: the variables of a sandbox, where no shell is started. guard: called
        in the shell's process before the shell starts; prevents the shell from writing files.
        """
        self.home = home
        self.shell = shell
        self.start: Optional["ProgramOutput"] = None
        self.facts: Dict[str, Any] = {}
        self.hung_mounts: Dict[str, str] = {}
        self._environment = environment
        self._guard = guard
        self._failure = ""  # why the environment is unknown, else ""

    @classmethod
    def of_this_process(cls, sandbox: Optional[Mapping[str, Any]], guard: Optional[Guard] = None) -> "Account":
        """Return the account that runs this process, or the account that a plan describes as its sandbox.

        sandbox: its "home", "shell" and "environment"; None or empty for the account that runs this process. guard: see
        __init__. Raise AccountError if the user ID is unknown, or if $HOME differs from the home directory in passwd.
        """
        if sandbox:
            return cls(sandbox["home"], sandbox.get("shell", "/bin/bash"), dict(sandbox.get("environment", {})))
        user = read_user()
        home = os.environ.get("HOME", user.pw_dir)
        if os.path.normpath(home) != os.path.normpath(user.pw_dir):
            raise AccountError(
                "HOME is %s, but the home directory of this account is %s, because a start-up file sets HOME."
                " Remove the line that sets HOME, then run hpc-onboard again" % (printable(home, 200), user.pw_dir)
            )
        return cls(os.path.normpath(user.pw_dir), user.pw_shell or "/bin/sh", guard=guard)

    def check_ticket(self) -> None:
        """Raise AccountError if the home directory is not accessible and the session has no Kerberos ticket."""
        if not os.environ.get("KRB5CCNAME") and not os.access(self.home, os.R_OK | os.X_OK):
            raise AccountError(NO_TICKET % self.home)

    def load_environment(self) -> None:
        """Start the login shell once, for all resources, and store its environment or the error message.

        If the file system of the home directory does not answer, the shell is not started.
        """
        # a sandbox has an environment, and a failure is not tried again
        if self._environment is None and not self._failure and not self._record_hung_home():
            result = query_login_shell(self.shell, self.home, self._guard)
            self.start, self._environment, self._failure = result.start, result.environment, result.failure

    def _record_hung_home(self) -> bool:
        """If the file system of the home directory does not answer, store the error message and return True."""
        from .mounts import describe_hang, find_hanging, find_mount, list_mount_points  # few runs start a login shell

        for mount in find_hanging([find_mount(self.home, list_mount_points())], LOGIN_SECONDS):
            self.hung_mounts[mount] = self._failure = describe_hang(mount, self.home, LOGIN_SECONDS)
        return bool(self._failure)

    def environment(self) -> Dict[str, str]:
        """Return the environment of the login shell. Raise AccountError if the shell did not print one."""
        self.load_environment()
        if self._failure:
            raise AccountError(self._failure)
        return dict(self._environment or {})

    def site_variable(self, name: str) -> str:
        """Return the path in a site's variable, such as SCRATCH. Raise AccountError if the login shell sets no path."""
        self.load_environment()
        if self._failure:
            raise AccountError("$%s is unknown: %s" % (name, self._failure))
        value = (self._environment or {}).get(name, "")
        if not value.startswith("/"):
            raise AccountError(
                "the login shell (%s) does not set $%s to a path. In accounts.yml, write the full path instead of $%s;"
                " for a storage area, set the path under the account's 'storage:'" % (self.shell, name, name)
            )
        return value.rstrip("/") or "/"


class AccountPaths:
    """Converts the account's paths, and computes fingerprints of keys. Paths begin with /, except those to expand.

    fingerprint_key: the secret with which fingerprints are computed. root: the folder that a sandbox uses as /, or "".
    """

    def __init__(self, account: Account, fingerprint_key: bytes, root: str = "") -> None:
        self.account, self.home, self.root = account, account.home, root
        self.fingerprint_key = fingerprint_key

    def fingerprint(self, secret: str) -> str:
        """Return "key " and 12 hex digits: a keyed hash of a secret, comparable only within this account."""
        secret_digest = digest(secret.encode("utf-8"))  # the records on the user's machine have only this digest
        return "key " + keyed_digest(self.fingerprint_key, secret_digest).hex()[:12]

    def expand(self, path: str) -> str:
        """Return the absolute path for a path that may begin with ~ or with a variable of the site ($SCRATCH)."""
        head, slash, tail = path.partition("/")
        if head in ("~", "$HOME"):
            head = self.home
        elif head.startswith("$"):
            head = self.account.site_variable(head[1:])
        # normpath would keep a second slash at the beginning
        return os.path.normpath("/" + (head + slash + tail).lstrip("/"))

    def shown(self, path: str) -> str:
        """Return the path as messages show it, with ~ for the home directory."""
        is_in_home = path == self.home or path.startswith(self.home + "/")
        return "~" + path[len(self.home) :] if is_in_home else path

    def real(self, path: str) -> str:
        """Return the path for system calls, which is below root. Raise FileSystemHangs if its file system hangs."""
        for mount, message in self.account.hung_mounts.items():
            from .mounts import is_inside  # file systems seldom hang

            if is_inside(self.root + path, mount):
                raise FileSystemHangs(message)
        return self.root + path


class LoginShellResult(NamedTuple):
    """The environment that a login shell sets up, or the reason why it is unknown."""

    start: "ProgramOutput"  # its output is what the start-up files print
    environment: Dict[str, str]
    failure: str  # why the environment is missing, else ""


def query_login_shell(shell: str, home: str, guard: Optional[Guard] = None) -> LoginShellResult:
    """Start a login shell and return its environment and what its start-up files print.

    A shell that would never end is not started. shell, home: absolute paths. guard: prevents the start-up files from
    writing; if the site does not allow user namespaces, the shell is started without the guard.
    """
    from .program import ENDLESS, NOT_RUN, ProgramOutput, describe_endless_file, run_program

    endless_file = describe_endless_file(shell, home)
    if endless_file:
        failure = "the login shell would never end, because %s. Rename this file, then run hpc-onboard again"
        no_output = ProgramOutput(output=b"", seconds=0.0, why="%s: %s" % (ENDLESS, endless_file))
        return LoginShellResult(no_output, environment={}, failure=failure % endless_file)
    command = [shell, "-c", QUERY]
    shell_name = "-" + os.path.basename(shell)  # a shell with "-" before its name is a login shell
    shell_run = run_program(command, os.environ, LOGIN_SECONDS, shell_name, prepare=guard, last_text=END.encode())
    if guard and shell_run.why == NOT_RUN:  # the guard needs user namespaces, which the site may not allow
        shell_run = run_program(command, os.environ, LOGIN_SECONDS, shell_name, last_text=END.encode())
    start_up_output, _begin, rest = shell_run.output.partition(BEGIN.encode() + b"\n")
    variables, end_marker, _after = rest.partition(END.encode())
    start = shell_run._replace(output=start_up_output)
    if end_marker:  # the shell printed its whole environment
        pairs = [variable.partition(b"=") for variable in variables.split(b"\0")]
        environment = {os.fsdecode(name): os.fsdecode(value) for name, equal, value in pairs if equal}
        return LoginShellResult(start, environment, failure="")
    return LoginShellResult(start, environment={}, failure=_describe_failure(shell, shell_run.why))


def _describe_failure(shell: str, why: str) -> str:
    """Return why a login shell did not print its environment. why: as in ProgramOutput."""
    from .program import NOT_RUN

    if why == NOT_RUN:
        return "the login shell %s cannot be started. Ask the site to set another login shell" % shell
    if why:
        return "the login shell %s. Check which commands its start-up files run" % why
    # the shell ended by itself, before it ran QUERY
    return "the login shell printed no environment. Check whether one of its start-up files runs 'exec' or 'exit'"
