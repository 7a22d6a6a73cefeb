# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start the account's shell in each way that users do, and read the environment, umask and commands of that shell.

Each shell is started in a sandbox without write access (see sandboxed_program.py), without terminal, input or history.
It is killed at the end, with every process that it started.
"""

import os
import re
import time
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.edited_file import read_edited_file
from .._core.errors import AccountError
from .._core.host import Host
from .._core.program import LARGEST, NOT_RUN, ProgramOutput, run_program
from .._formats.environment import BY_SHELL
from .start_up import is_present, login_shell_files

SECONDS = 10.0  # for one start
NOWHERE = "/dev/shm"  # a folder that exists on every node: a home without start-up files, and for temporary files
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
BATCH_SHELL = "/bin/bash"  # the shell of most job scripts
BEGIN, MIDDLE, END = "hpc.onboard-begin", "hpc.onboard-middle", "hpc.onboard-end"
"""The lines that separate the parts of a shell's answer: environment after BEGIN, all other values after MIDDLE."""
NAME = re.compile(r"[A-Za-z0-9_.+-]+\Z")  # of a program
FLAGS, PWD = "hpc.onboard:flags", "hpc.onboard:folder"
"""Names in the answer for the shell's options and current folder; no program has such a name."""
SESSION = re.compile(  # commands that replace a shell with another program
    r"^[ \t]*(?:exec|tmux|screen|zellij|byobu)\b", re.MULTILINE
)
QUIETLY = " >/dev/null 2>&1"
PROMPT = {  # what a shell at a terminal runs before it prints its first prompt
    "bash": 'for hpco in "${PROMPT_COMMAND[@]}"; do eval "$hpco"; done%s; unset hpco' % QUIETLY,
    "zsh": "for hpco in precmd $precmd_functions; do $hpco; done%s; unset hpco" % QUIETLY,
    "fish": "emit fish_prompt" + QUIETLY,
}
RESOLVE = {  # a command that prints NAME=, and the path or alias that a shell starts for this name
    "sh": "printf '{0}='; command -v {0} || echo",
    "csh": "echo {0}=`which {0}`",
    "fish": "printf '{0}='; functions -q {0}; and echo {0}; or command -s {0}; or echo",
}
TRACE = "+@@%s@@%s@@%s@@ "  # the prefix (PS4) of traced lines
PLACES = {  # the variables or escapes in PS4 for file, line and second of the traced command
    "bash": ("${BASH_SOURCE}", "${LINENO}", "${SECONDS}"),
    "zsh": ("%x", "%I", "%D{%s}"),
}
TRACED = re.compile(r"\++@@([^@]*)@@([0-9]+)@@([0-9]*)@@ (.*)\Z")  # groups: file, line, second, command


class ShellWay(NamedTuple):
    """A way to start a shell."""

    description: str  # for messages
    shell: str  # absolute path
    options: Tuple[str, ...]  # the last option is -c
    file: str  # a start-up file that the shell reads, for findings without a known line
    is_login: bool = False
    is_job: bool = False


class ShellView(NamedTuple):
    """The state of a shell after its start-up files have run."""

    way: ShellWay
    environment: Dict[str, str]
    umask: Optional[int]  # None if unknown
    programs: Dict[str, str]  # name -> path or alias that the shell starts; only the names that the shell finds
    flags: str = ""  # the letters of the options in effect, as in $-; empty if unknown
    folder: str = ""  # the current folder; empty if unknown


class TracedLine(NamedTuple):
    """A line of a start-up file that a shell has run."""

    file: str
    line: int  # from 1
    text: str  # the command, after expansion
    second: int = 0  # when the command began; only differences between lines have a meaning
    printed: Tuple[str, ...] = ()  # the lines of output after the command


def list_shell_ways(host: Host) -> List[ShellWay]:
    """Return the four ways to start a shell: an ssh command, a login shell, a shell at a terminal, and a batch job."""
    shell = host.account.shell
    files = {  # shell -> (start-up file for a command, start-up file for a login)
        "bash": (".bashrc", _first_existing(host, ".bash_profile", ".bash_login", ".profile")),
        "zsh": (".zshenv", _first_existing(host, ".zprofile", ".zlogin", ".zshenv")),
        "fish": (".config/fish/config.fish", ".config/fish/config.fish"),
        "tcsh": (_first_existing(host, ".tcshrc", ".cshrc"), _first_existing(host, ".login", ".tcshrc", ".cshrc")),
        "csh": (".cshrc", _first_existing(host, ".login", ".cshrc")),
    }
    command_file, login_file = files.get(os.path.basename(shell), (".profile", ".profile"))
    return [
        ShellWay("a command over ssh", shell, ("-c",), "~/" + command_file),
        ShellWay("a login shell that runs a command", shell, ("-c",), "~/" + login_file, is_login=True),
        ShellWay("an interactive shell", shell, ("-i", "-c"), "~/" + login_file, is_login=True),
        ShellWay("a batch job", BATCH_SHELL, ("-c",), "~/" + command_file, is_job=True),
    ]


def _first_existing(host: Host, *names: str) -> str:
    """Return the first of these names that exists in the home directory; the last name if none does."""
    return next((name for name in names if is_present(host, os.path.join(host.home, name))), names[-1])


def starts_session(host: Host) -> bool:
    """Return True if a start-up file may replace an interactive shell with another program, such as tmux."""
    for path in login_shell_files(host):
        try:
            if SESSION.search(read_edited_file(host, path).text):
                return True
        except AccountError:
            return True  # an unreadable file may start another program
    return False


def start_shell(
    way: ShellWay,
    home: str,
    deadline: float,
    line: str = "true",
    variables: Optional[Mapping[str, str]] = None,
    stderr: int = -1,
) -> Optional[ProgramOutput]:
    """Start a shell, run a command line in it, and return the output; None if no time is left.

    home: the value of HOME; with NOWHERE, the shell reads no file of the user. deadline: as of time.time(). variables:
    added to the environment. stderr: the file handle that gets the errors; 1 to mix the errors with the output, -1 to
    drop them.
    """
    seconds = min(SECONDS, deadline - time.time())
    if seconds <= 0:
        return None
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or "user"
    environment = {"HOME": home, "USER": user, "LOGNAME": user, "SHELL": way.shell, "PATH": SYSTEM_PATH, "TERM": "dumb"}
    environment.update({"TMPDIR": NOWHERE, "HISTFILE": os.devnull})
    if not way.is_job:  # with these variables, bash reads .bashrc as for a command of sshd
        environment["SSH_CLIENT"] = os.environ.get("SSH_CLIENT", "127.0.0.1 1 22")
        environment["SSH_CONNECTION"] = os.environ.get("SSH_CONNECTION", "127.0.0.1 1 127.0.0.1 22")
    program_name = ("-" if way.is_login else "") + os.path.basename(way.shell)  # a leading - means a login shell

    def prepare() -> None:
        """Prepare the new process before the shell starts in it: enter the sandbox, then connect stderr."""
        enter_sandbox()
        if stderr >= 0:
            os.dup2(stderr, 2)

    from .._core.sandboxed_program import enter_sandbox  # imported late, for audits without shells

    environment.update(variables or {})
    return run_program([way.shell, *way.options, line], environment, seconds, program_name, prepare)


def start_and_read_errors(way: ShellWay, home: str, deadline: float, line: str) -> Tuple[Optional[ProgramOutput], str]:
    """Start a shell, and return (output, errors). For the parameters and the output, see start_shell.

    errors: the beginning of what the shell printed to stderr.
    """
    reader, writer = os.pipe()
    try:
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)  # a shell that prints many errors must not wait for a reader
        output = start_shell(way, home, deadline, line, stderr=writer)
        try:
            return output, os.read(reader, LARGEST).decode("utf-8", "replace")
        except BlockingIOError:  # nothing was printed
            return output, ""
    finally:
        os.close(reader)
        os.close(writer)


def build_query(way: ShellWay, names: Sequence[str]) -> str:
    """Return a command line that prints the state of the shell, the "answer", in the form that read_view reads.

    names: the names of programs for which the answer contains the path or alias.
    """
    shell = os.path.basename(way.shell)
    dialect = BY_SHELL.get(shell, "sh")
    # A shell at a terminal also runs what its prompt runs, which may change the state.
    prompt = [PROMPT[shell]] if "-i" in way.options and shell in PROMPT else []
    commands = ["echo %s=$-" % FLAGS] if dialect == "sh" else []
    commands += ["echo %s=`pwd`" % PWD if dialect == "csh" else "printf '%s='; pwd" % PWD]
    commands += [RESOLVE[dialect].format(name) for name in names if NAME.match(name)]
    return "; ".join([*prompt, "echo " + BEGIN, "/usr/bin/env -0", "echo " + MIDDLE, "umask", *commands, "echo " + END])


def remove_answer(output: ProgramOutput) -> ProgramOutput:
    """Return a shell's output without the answer to the query; what start-up and logout files print is left."""
    before, _begin, answer = output.output.partition(BEGIN.encode() + b"\n")
    _answer, _end, after = answer.partition(END.encode() + b"\n")
    return output._replace(output=before + after)


def read_view(way: ShellWay, output: ProgramOutput) -> Optional[ShellView]:
    """Return the view in a shell's answer to the query; None if the shell ended before its answer was complete."""
    _before, begin, answer = output.output.partition(BEGIN.encode() + b"\n")
    variables, _middle, rest = answer.partition(MIDDLE.encode() + b"\n")
    values, end, _after = rest.partition(END.encode())
    if not (begin and end):
        return None
    pairs = [item.partition(b"=") for item in variables.split(b"\0")]
    environment = {os.fsdecode(name): os.fsdecode(value) for name, equal, value in pairs if equal}
    umask_text, *lines = values.decode("utf-8", "replace").splitlines() or [""]
    umask = int(umask_text, 8) if re.match(r"[0-7]+\Z", umask_text.strip()) else None
    paths = dict(line.partition("=")[::2] for line in lines)  # each line: NAME=PATH
    # The command which of csh prints "not found" in place of a path.
    programs = {name: path for name, path in paths.items() if path and "not found" not in path}
    flags, folder = programs.pop(FLAGS, ""), programs.pop(PWD, "")
    return ShellView(way, environment, umask, programs, flags, folder)


def trace_start(way: ShellWay, home: str, deadline: float, variables: Mapping[str, str]) -> List[TracedLine]:
    """Return the lines of start-up files that a shell runs; none for a shell that cannot trace files and lines.

    home, deadline, variables: see start_shell.
    """
    shell = os.path.basename(way.shell)
    if shell not in PLACES:
        return []
    traced = way._replace(options=("-x",) + way.options)
    # The trace needs the output that the prompt's commands would otherwise drop.
    line = PROMPT[shell].replace(QUIETLY, "") if "-i" in way.options else "true"
    output = start_shell(traced, home, deadline, line, dict(variables, PS4=TRACE % PLACES[shell]), stderr=1)
    return read_trace(output.text) if output and output.why != NOT_RUN else []


def read_trace(text: str) -> List[TracedLine]:
    """Return the lines of a trace. The text after a traced line is what the line printed, or its continuation."""
    lines: List[TracedLine] = []
    for line in text.split("\n"):
        match = TRACED.match(line)
        if match:
            file, number, second, command = match.groups()
            lines.append(TracedLine(file, int(number), command, int(second or 0)))
        elif lines:
            lines[-1] = lines[-1]._replace(printed=lines[-1].printed + (line,))
    return lines
