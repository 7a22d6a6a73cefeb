# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start a program, and take what it prints: with a time limit, a bound, and no way to ask anybody.

The standard library's subprocess is not used, because it takes longer to import than a shell takes to start, and
every run that asks the login shell for something would wait for that.
"""

import os
import select
import signal
import stat
import time
from typing import Callable, List, Mapping, NamedTuple, Optional, Tuple

LARGEST = 256 * 1024
NOT_RUN = "cannot be run"
ENDLESS = "did not end"  # in so many seconds
AT_LOGIN = {  # what a login shell that runs a command reads in the home
    "zsh": (".zshenv", ".zprofile", ".zlogin"),
    "tcsh": (".tcshrc", ".cshrc", ".login"),
    "csh": (".cshrc", ".login"),
    "fish": (".config/fish/config.fish",),
}
AT_LOGIN_SH = (".bash_profile", ".bash_login", ".profile")


class ProgramOutput(NamedTuple):
    """What came of a program: what it printed, how long it took, and why there may be no more; "" is its own end."""

    output: bytes
    seconds: float
    why: str

    @property
    def text(self) -> str:
        """What it printed, whatever its bytes are."""
        return self.output.decode("utf-8", "replace")


def run_program(
    line: List[str],
    environment: Mapping[str, str],
    seconds: float,
    name: Optional[str] = None,
    prepare: Optional[Callable[[], None]] = None,
    end: bytes = b"",
) -> ProgramOutput:
    """Run line with an absolute path first; name is what it is called in its own arguments.

    prepare is called in the new process before the program takes it over; when that fails, nothing runs.
    end: when this is printed, no more is waited for.

    It has nothing to read, no terminal and a session of its own, which is killed as a whole at the end; a program
    that hangs in a dead file server is not waited for.
    """
    started = time.time()
    reader, writer = os.pipe()
    failure, failed = os.pipe()  # the program's start closes its end; what comes through says that it failed
    try:
        child = os.fork()
    except OSError:  # a login node limits how many processes one may have
        for handle in (reader, writer, failure, failed):
            os.close(handle)
        return ProgramOutput(b"", 0.0, NOT_RUN)
    if child == 0:
        _become(line, dict(environment), name or line[0], prepare, writer, failed)
    os.close(writer)
    os.close(failed)
    try:
        if select.select([failure], [], [], seconds)[0] and os.read(failure, 1):
            return ProgramOutput(b"", 0.0, NOT_RUN)
        printed, why = _printed(reader, started + seconds, end)
        while not why and not (end and end in printed) and os.waitpid(child, os.WNOHANG)[0] == 0:
            why = ENDLESS if time.time() > started + seconds else ""
            time.sleep(0.002)
        return ProgramOutput(printed, time.time() - started, "%s in %d s" % (why, seconds) if why == ENDLESS else why)
    finally:
        _kill(child)
        os.close(reader)
        os.close(failure)


def endless_file(shell: str, home: str) -> Optional[str]:
    """The start-up file of which a login shell would find no end: a pipe, or a device; and which of them. Or None."""
    for name in AT_LOGIN.get(os.path.basename(shell), AT_LOGIN_SH):
        try:
            there = os.stat(os.path.join(home, name))
            if stat.S_ISFIFO(there.st_mode):
                return "~/%s is a pipe" % name
            if stat.S_ISCHR(there.st_mode) and there.st_rdev != os.stat(os.devnull).st_rdev:
                return "~/%s is a device" % name
        except OSError:
            pass  # the shell itself will say so
    return None


def find_program(name: str, path: str) -> Optional[str]:
    """The program of this name in the folders of PATH, or None."""
    places = [os.path.join(folder, name) for folder in path.split(":") if folder.startswith("/")]
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), None)


def _become(
    line: List[str],
    environment: Mapping[str, str],
    name: str,
    prepare: Optional[Callable[[], None]],
    writer: int,
    failed: int,
) -> None:
    """The child. Never returns."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for handle, into in ((null, 0), (writer, 1), (null, 2)):
            os.dup2(handle, into)
        os.chdir("/")
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a program would inherit that
        if prepare:
            prepare()
        os.execve(line[0], [name] + line[1:], environment)
    except Exception:
        os.write(failed, b"!")
    finally:
        os._exit(127)


def _printed(stream: int, deadline: float, end: bytes) -> Tuple[bytes, str]:
    """What is printed up to the end, and why it is not all."""
    printed = b""
    while len(printed) <= LARGEST and not (end and end in printed):
        if not select.select([stream], [], [], max(0.0, deadline - time.time()))[0]:
            return printed, ENDLESS
        got = os.read(stream, 65536)
        if not got:
            return printed, ""
        printed += got
    return printed[:LARGEST], "printed more than %s kB" % (LARGEST // 1024) if len(printed) > LARGEST else ""


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
        os.waitpid(group, os.WNOHANG)  # one that hangs in a dead file server is left to the system
    except OSError:
        pass  # all of it has ended
