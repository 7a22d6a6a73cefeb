# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a program and return its output: limited in time and size, without a terminal or input.

subprocess is not used: its import takes longer than the start of a shell, and would delay every run that starts the
login shell.
"""

import os
import select
import signal
import stat
import time
from typing import Callable, List, Mapping, NamedTuple, Optional, Tuple

LARGEST = 256 * 1024  # bytes of output
NOT_RUN = "cannot be run"
ENDLESS = "did not end"  # within the time limit
LOGIN_FILES = {  # files in the home directory that a login shell reads before it runs a command
    "zsh": (".zshenv", ".zprofile", ".zlogin"),
    "tcsh": (".tcshrc", ".cshrc", ".login"),
    "csh": (".cshrc", ".login"),
    "fish": (".config/fish/config.fish",),
}
LOGIN_FILES_OF_SH = (".bash_profile", ".bash_login", ".profile")


class ProgramOutput(NamedTuple):
    """The output of a program, and how the program ended."""

    output: bytes
    seconds: float  # duration
    why: str  # why the program did not run or did not end by itself, else ""

    @property
    def text(self) -> str:
        """Return the output as text; invalid bytes are replaced."""
        return self.output.decode("utf-8", "replace")


def run_program(
    command: List[str],
    environment: Mapping[str, str],
    seconds: float,
    name: Optional[str] = None,
    prepare: Optional[Callable[[], None]] = None,
    last_text: bytes = b"",
) -> ProgramOutput:
    """Run a command, which begins with an absolute path, and return what the program prints to stdout.

    seconds: the time limit. name: argv[0], if not the path. prepare: called in the new process before the program
    starts; if prepare raises an exception, the program is not run. last_text: once this is printed, stop waiting.

    The program has no input, no terminal and a session of its own. At the end all processes of its group are killed.
    A program that hangs on a dead file server is abandoned.
    """
    started = time.time()
    deadline = started + seconds
    reader, writer = os.pipe()
    failure_reader, failure_writer = os.pipe()  # closed by exec; a byte means that the program did not start
    try:
        child = os.fork()
    except OSError:  # a login node limits the number of processes
        for handle in (reader, writer, failure_reader, failure_writer):
            os.close(handle)
        return ProgramOutput(output=b"", seconds=0.0, why=NOT_RUN)
    if child == 0:
        _exec_program(command, dict(environment), name or command[0], prepare, writer, failure_writer)
    os.close(writer)
    os.close(failure_writer)
    try:
        # the pipe becomes readable when exec closes it, but then without a byte
        if select.select([failure_reader], [], [], seconds)[0] and os.read(failure_reader, 1):
            return ProgramOutput(output=b"", seconds=0.0, why=NOT_RUN)
        printed, why = _read_output(reader, deadline, last_text)
        must_end = not (last_text and last_text in printed)
        # a program may close its output before it ends
        while must_end and not why and os.waitpid(child, os.WNOHANG)[0] == 0:
            why = ENDLESS if time.time() > deadline else ""
            time.sleep(0.002)
        if why == ENDLESS:
            why = "%s within %d s" % (ENDLESS, seconds)
        return ProgramOutput(printed, time.time() - started, why)
    finally:
        _kill(child)
        os.close(reader)
        os.close(failure_reader)


def describe_endless_file(shell: str, home: str) -> Optional[str]:
    """Return "~/FILE is a pipe" (or "a device") if a login shell would read this start-up file for ever, else None."""
    for name in LOGIN_FILES.get(os.path.basename(shell), LOGIN_FILES_OF_SH):
        try:
            status = os.stat(os.path.join(home, name))
            if stat.S_ISFIFO(status.st_mode):
                return "~/%s is a pipe" % name
            # some users link a start-up file to /dev/null, which ends at once
            if stat.S_ISCHR(status.st_mode) and status.st_rdev != os.stat(os.devnull).st_rdev:
                return "~/%s is a device" % name
        except OSError:
            pass  # missing, or the shell itself reports the error
    return None


def _exec_program(
    command: List[str],
    environment: Mapping[str, str],
    name: str,
    prepare: Optional[Callable[[], None]],
    writer: int,
    failure_writer: int,
) -> None:
    """Replace the child process by the program, and never return. Most parameters are those of run_program.

    writer: the pipe for the program's output. failure_writer: gets a byte if the program cannot be started.
    """
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for handle, number in ((null, 0), (writer, 1), (null, 2)):
            os.dup2(handle, number)
        os.chdir("/")
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a program would inherit that
        if prepare:
            prepare()
        os.execve(command[0], [name] + command[1:], environment)
    except Exception:
        os.write(failure_writer, b"!")
    finally:
        os._exit(127)  # the exit code of shells for a command that cannot be run


def _read_output(stream: int, deadline: float, last_text: bytes) -> Tuple[bytes, str]:
    """Read a program's output to its end, or until last_text; return the output, and why it is incomplete, or ""."""
    printed = b""
    while len(printed) <= LARGEST and not (last_text and last_text in printed):
        if not select.select([stream], [], [], max(0.0, deadline - time.time()))[0]:
            return printed, ENDLESS
        chunk = os.read(stream, 65536)
        if not chunk:  # the program closed its output
            return printed, ""
        printed += chunk
    if len(printed) > LARGEST:
        return printed[:LARGEST], "printed more than %d kB of output" % (LARGEST // 1024)
    return printed, ""


def _kill(group: int) -> None:
    """Kill a program's whole process group, without waiting for it. group: the id of its first process."""
    try:
        os.killpg(group, signal.SIGKILL)
        os.waitpid(group, os.WNOHANG)  # abandoned if it hangs on a dead file server
    except OSError:
        pass  # all processes have ended
