# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that a job runs to their end, with their output in a log, and its last lines in the error."""

import os
import subprocess
from typing import List, Mapping, Optional

from .._core.errors import AccountError
from .job import Job, read_small_file

LAST = 400  # characters of the output in an error


class ProgramFailed(AccountError):
    """A program failed. output: the end of its output."""

    def __init__(self, text: str, output: str) -> None:
        super().__init__(text)
        self.output = output


class ProgramJob(Job):
    """A job whose work is done by programs, which get the path of what they create."""

    def run(self, line: List[str], what: str, makes: str, environment: Mapping[str, str]) -> None:
        """Run a program to its end. makes: the path of what it creates. Raises ProgramFailed or AccountError."""
        self._check_parent(makes)
        log = os.path.join(self.folder, "log")
        with open(log, "wb", opener=create_new) as stream:
            code = subprocess.call(
                line,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                cwd=self.folder,
                env=dict(environment),
            )
        self._check_parent(makes)
        if code == 0:
            return
        said = read_last_lines(log)
        how = "was ended by signal %d" % -code if code < 0 else "ended with exit code %d" % code
        raise ProgramFailed("%s %s%s" % (what, how, ". Its output ends with: " + said if said else ""), said)

    def _check_parent(self, makes: str) -> None:
        """Raise AccountError if another user has replaced the folder above what is created."""
        above = os.path.dirname(makes)
        if not (os.path.isdir(above) and os.path.samefile(above, self.above)):
            raise AccountError("another user has replaced the folder %s: ask who did it, then run again" % above)


def read_if_exists(path: str) -> Optional[str]:
    """Return the text of a small file, or None if it does not exist."""
    try:
        return read_small_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def create_new(path: str, flags: int) -> int:
    """Create a file and open it, after removing an existing one. For open(..., opener=)."""
    if os.path.lexists(path):
        os.unlink(path)
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def read_last_lines(log: str) -> str:
    """Return the end of a program's log in one line."""
    with open(log, "rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - 4000))
        text = stream.read().decode("utf-8", "replace")
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return " | ".join(lines)[-LAST:]
