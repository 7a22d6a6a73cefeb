# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a program and return its output: limited in time and size, without a terminal or input.

subprocess is not used, because its import takes longer than a shell's start, and every run that starts the login shell
would wait for it.
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
    """The output of a program, its duration, and why the output may be incomplete; "" if it ended by itself."""

    output: bytes
    seconds: float
    why: str

    @property
    def text(self) -> str:
        """Return the output as text; invalid bytes are replaced."""
        return self.output.decode("utf-8", "replace")


def run_program(
    line: List[str],
    environment: Mapping[str, str],
    seconds: float,
    name: Optional[str] = None,
    prepare: Optional[Callable[[], None]] = None,
    end: bytes = b"",
) -> ProgramOutput:
    """Run a command line, which begins with an absolute path, and return what it prints to stdout.

    name: its argv[0]. prepare: called in the new process before the program starts; if it raises, nothing is run.
    end: stop waiting once this is printed.

    The program has no input, no terminal and a session of its own, which is killed as a whole at the end. If it hangs
    on a dead file server, it is abandoned.
    """
    started = time.time()
    reader, writer = os.pipe()
    failure, failed = os.pipe()  # closed by exec; a byte means that the program did not start
    try:
        child = os.fork()
    except OSError:  # a login node limits the number of processes
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
        printed, why = _read_output(reader, started + seconds, end)
        while not why and not (end and end in printed) and os.waitpid(child, os.WNOHANG)[0] == 0:
            why = ENDLESS if time.time() > started + seconds else ""
            time.sleep(0.002)
        return ProgramOutput(printed, time.time() - started, "%s in %d s" % (why, seconds) if why == ENDLESS else why)
    finally:
        _kill(child)
        os.close(reader)
        os.close(failure)


def endless_file(shell: str, home: str) -> Optional[str]:
    """Return "~/FILE is a pipe" (or a device) for a start-up file that a login shell would read for ever, or None."""
    for name in AT_LOGIN.get(os.path.basename(shell), AT_LOGIN_SH):
        try:
            there = os.stat(os.path.join(home, name))
            if stat.S_ISFIFO(there.st_mode):
                return "~/%s is a pipe" % name
            if stat.S_ISCHR(there.st_mode) and there.st_rdev != os.stat(os.devnull).st_rdev:
                return "~/%s is a device" % name
        except OSError:
            pass  # the shell itself reports it
    return None


def _become(
    line: List[str],
    environment: Mapping[str, str],
    name: str,
    prepare: Optional[Callable[[], None]],
    writer: int,
    failed: int,
) -> None:
    """Turn the child into the program. Never returns."""
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


def _read_output(stream: int, deadline: float, end: bytes) -> Tuple[bytes, str]:
    """Return the output, and why it is incomplete; "" if it is complete."""
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
    """Kill a program's whole process group, without waiting for it."""
    try:
        os.killpg(group, signal.SIGKILL)
        os.waitpid(group, os.WNOHANG)  # abandoned if it hangs on a dead file server
    except OSError:
        pass  # all processes have ended
