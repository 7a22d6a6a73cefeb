# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs that run programs, whose output goes to a log; if a program fails, the error quotes the end of the log."""

import os
import subprocess
from typing import Container, Dict, List, Mapping, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .job import MARK, Job, read_small_file
from .made import UNFINISHED_NOTE

LAST = 400  # characters of the output in an error
LOG_END = 4000  # bytes of the log that are read for these characters


class ProgramFailed(AccountError):
    """A program failed. output: the end of its output."""

    def __init__(self, text: str, output: str) -> None:
        super().__init__(text)
        self.output = output


class ProgramJob(Job):
    """A job that runs programs, or creates or removes a folder."""

    @property
    def note(self) -> str:
        """Return the path of the note in the job's folder with the path of the folder that is being created.

        If this job is killed, the next job removes the unfinished folder.
        """
        return os.path.join(self.folder, UNFINISHED_NOTE)

    def run(self, command: List[str], title: str, created: str, environment: Mapping[str, str]) -> None:
        """Run a command to its end. title: the command's name in messages. created: the path that the command creates.

        The command accesses this path by its ordinary name, not through the job's open folders. environment: all
        variables of the command. Raise ProgramFailed, or AccountError if another program replaced the parent folder of
        that path.
        """
        self._check_parent(created)
        try:
            self.run_in_folder(command, title, environment)
        finally:
            self._check_parent(created)  # again: the program may have run for minutes

    def run_in_folder(self, command: List[str], title: str, environment: Mapping[str, str]) -> None:
        """Run a command, which uses only paths in the job's folder, to its end. Raise ProgramFailed. See run()."""
        log = os.path.join(self.folder, "log")
        with open(log, "wb", opener=_create_new) as stream:
            code = subprocess.call(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                cwd=self.folder,
                env=dict(environment),
            )
        if code != 0:
            output = _read_last_lines(log)
            raise ProgramFailed(_describe_end(title, code, output), output)

    def clean_environment(self, removed: Container[str], proxies: Mapping[str, str]) -> Dict[str, str]:
        """Return the account's environment with the job's mark and the proxies, without the removed variables.

        proxies: scheme -> address of its proxy, and "no" -> hosts that need no proxy. Programs read these variables in
        lower or in upper case.
        """
        environment = {name: value for name, value in os.environ.items() if name not in removed}
        for scheme, address in proxies.items():
            environment["%s_proxy" % scheme] = environment["%s_PROXY" % scheme.upper()] = address
        environment[MARK] = self.mark
        environment["PYTHONNOUSERSITE"] = "1"  # Python ignores the packages in ~/.local
        return environment

    def _check_parent(self, path: str) -> None:
        """Raise AccountError if the parent folder of a path is no longer the folder that the job has opened."""
        parent = os.path.dirname(path)
        if not (os.path.isdir(parent) and os.path.samefile(parent, self.parent)):
            raise AccountError(
                "the folder %s was replaced during the job: check who owns it (ls -ld %s), then run hpc-onboard again"
                % (parent, parent)
            )


def read_if_exists(path: str) -> Optional[str]:
    """Return the text of a small file, or None if the file does not exist."""
    try:
        return read_small_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _create_new(path: str, flags: int) -> int:
    """Open a new private file in place of any existing file, as an opener of open(). Links are not followed."""
    if os.path.lexists(path):
        os.unlink(path)
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def _read_last_lines(log: str) -> str:
    """Return the last LAST characters of a program's log in one line."""
    with open(log, "rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - LOG_END))
        text = stream.read().decode("utf-8", "replace")
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return " | ".join(lines)[-LAST:]


def _describe_end(title: str, code: int, output: str) -> str:
    """Return a message about a program that failed. code: its exit code, or the negative number of a signal.

    output: the last lines of its output.
    """
    text = "%s was killed by signal %d" % (title, -code) if code < 0 else "%s failed with exit code %d" % (title, code)
    return "%s. Its output ends with: %s" % (text, output) if output else text


def simulate_file(host: Host, path: str, text: str, mode: int) -> None:
    """Create or replace a file for the simulation of a job. mode: the permission bits of the file."""
    old = host.read(path) if host.entry(path) else None  # None: write() creates the file
    host.write(path, old, text.encode("utf-8"), mode)
