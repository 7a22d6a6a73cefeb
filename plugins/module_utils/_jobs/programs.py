# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that a job runs: each to its end, what it says in a file, and its last words where it fails."""

import os
import subprocess
from typing import List, Mapping, Optional

from .._core.errors import AccountError
from .job import Job, words_in

LAST = 400  # so many characters of a program's last words are told


class Unsuccessful(AccountError):
    """A program has failed; said is the end of what it said."""

    def __init__(self, text: str, said: str) -> None:
        super().__init__(text)
        self.said = said


class ProgramJob(Job):
    """A job whose work is done by programs, which know what they make by its path."""

    def run(self, line: List[str], what: str, makes: str, environment: Mapping[str, str]) -> None:
        """Run a program to its end. makes: the path of what it makes. Raises Unsuccessful, or AccountError."""
        self._is_where_it_was(makes)
        log = os.path.join(self.folder, "log")
        with open(log, "wb", opener=anew) as stream:
            code = subprocess.call(
                line,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                cwd=self.folder,
                env=dict(environment),
            )
        self._is_where_it_was(makes)
        if code == 0:
            return
        said = last_words(log)
        how = "was ended by signal %d" % -code if code < 0 else "ended with exit code %d" % code
        raise Unsuccessful("%s %s%s" % (what, how, ". It said: " + said if said else ""), said)

    def _is_where_it_was(self, makes: str) -> None:
        """Raises AccountError where somebody has made the path above what is made lead elsewhere."""
        above = os.path.dirname(makes)
        if not (os.path.isdir(above) and os.path.samefile(above, self.above)):
            raise AccountError("%s was changed for another folder meanwhile: ask who did it, then run again" % above)


def written(path: str) -> Optional[str]:
    """The words in a small file, or None where there is none."""
    try:
        return words_in(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def anew(path: str, flags: int) -> int:
    """Open a file that is made anew, whatever had its name."""
    if os.path.lexists(path):
        os.unlink(path)
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def last_words(log: str) -> str:
    """The end of what a program said, in one line."""
    with open(log, "rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - 4000))
        text = stream.read().decode("utf-8", "replace")
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return " | ".join(lines)[-LAST:]
