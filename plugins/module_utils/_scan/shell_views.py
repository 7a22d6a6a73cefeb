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
from .._core.sandboxed_program import enter_sandbox
from .._formats.environment import BY_SHELL
from .start_up import login_shell_files

SECONDS = 10.0  # for one start
NOWHERE = "/dev/shm"  # a folder that exists on every node: a home without start-up files, and for temporary files
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
BATCH_SHELL = "/bin/bash"  # the shell of most job scripts
BEGIN, MIDDLE, END = "hpc.onboard-begin", "hpc.onboard-middle", "hpc.onboard-end"
NAME = re.compile(r"[A-Za-z0-9_.+-]+\Z")
FLAGS, PWD = "hpc.onboard:flags", "hpc.onboard:folder"  # names that no program has
SESSION = re.compile(  # commands that replace a shell with another program
    r"^[ \t]*(?:exec|tmux|screen|zellij|byobu)\b", re.MULTILINE
)
QUIETLY = " >/dev/null 2>&1"
PROMPT = {  # what a shell at a terminal runs before it prints its first prompt
    "bash": 'for hpco in "${PROMPT_COMMAND[@]}"; do eval "$hpco"; done%s; unset hpco' % QUIETLY,
    "zsh": "for hpco in precmd $precmd_functions; do $hpco; done%s; unset hpco" % QUIETLY,
    "fish": "emit fish_prompt" + QUIETLY,
}
RESOLVE = {  # prints NAME=, and the path or alias that a shell starts for this name
    "sh": "printf '{0}='; command -v {0} || echo",
    "csh": "echo {0}=`which {0}`",
    "fish": "printf '{0}='; functions -q {0}; and echo {0}; or command -s {0}; or echo",
}
TRACE = "+@@%s@@%s@@%s@@ "  # the prefix (PS4) of traced lines
PLACES = {  # the variables or escapes in PS4 for file, line and second of the traced command
    "bash": ("${BASH_SOURCE}", "${LINENO}", "${SECONDS}"),
    "zsh": ("%x", "%I", "%D{%s}"),
}
TRACED = re.compile(r"\++@@([^@]*)@@([0-9]+)@@([0-9]*)@@ (.*)\Z")


class ShellWay(NamedTuple):
    """A way to start a shell."""

    description: str  # for messages
    shell: str
    options: Tuple[str, ...]
    file: str  # a start-up file that the shell reads, for findings without a known line
    is_login: bool = False
    is_job: bool = False


class ShellView(NamedTuple):
    """The state of a shell after its start-up files have run.

    umask: None if unknown. programs: name -> path or alias that the shell starts; without names that it does not find.
    flags: the letters of the options in effect, as in $-; "" if unknown. folder: the current one; "" if unknown.
    """

    way: ShellWay
    environment: Dict[str, str]
    umask: Optional[int]
    programs: Dict[str, str]
    flags: str = ""
    folder: str = ""


class TracedLine(NamedTuple):
    """A line of a start-up file that a shell has run."""

    file: str
    line: int  # from 1
    text: str  # the command, after expansion
    second: int = 0  # when it began, counted from any time: compare it with other lines
    printed: Tuple[str, ...] = ()


def list_shell_ways(host: Host) -> List[ShellWay]:
    """Return the four ways to start a shell: an ssh command, a login shell, a terminal, and a batch job."""
    shell = host.account.shell
    command, login = {
        "bash": (".bashrc", _first_existing(host, ".bash_profile", ".bash_login", ".profile")),
        "zsh": (".zshenv", _first_existing(host, ".zprofile", ".zlogin", ".zshenv")),
        "fish": (".config/fish/config.fish", ".config/fish/config.fish"),
        "tcsh": (_first_existing(host, ".tcshrc", ".cshrc"), _first_existing(host, ".login", ".tcshrc", ".cshrc")),
        "csh": (".cshrc", _first_existing(host, ".login", ".cshrc")),
    }.get(os.path.basename(shell), (".profile", ".profile"))
    return [
        ShellWay("a command over ssh", shell, ("-c",), "~/" + command),
        ShellWay("a login shell that runs a command", shell, ("-c",), "~/" + login, True),
        ShellWay("a terminal", shell, ("-i", "-c"), "~/" + login, True),
        ShellWay("a batch job", BATCH_SHELL, ("-c",), "~/" + command, is_job=True),
    ]


def _first_existing(host: Host, *names: str) -> str:
    """Return the first of these files in the home that exists; the last one if none exists."""
    existing = [name for name in names if host.resolved_kind(os.path.join(host.home, name)) == "file"]
    return existing[0] if existing else names[-1]


def starts_session(host: Host) -> bool:
    """Return True if a start-up file may replace an interactive shell with another program, such as tmux."""
    for path in login_shell_files(host):
        try:
            if SESSION.search(read_edited_file(host, path).text):
                return True
        except AccountError:
            return True  # the file cannot be read, so the answer is unknown
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

    deadline: as of time.time(). variables: added to the environment. stderr: a file handle for errors; 1 to mix them
    with the output, -1 to drop them.
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
    name = ("-" if way.is_login else "") + os.path.basename(way.shell)  # a leading - makes it a login shell

    def prepare() -> None:
        """Prepare the new process before the shell starts in it: enter the sandbox, then connect stderr."""
        enter_sandbox()
        if stderr >= 0:
            os.dup2(stderr, 2)

    return run_program([way.shell, *way.options, line], dict(environment, **(variables or {})), seconds, name, prepare)


def start_and_read_errors(way: ShellWay, home: str, deadline: float, line: str) -> Tuple[Optional[ProgramOutput], str]:
    """Start a shell, and return its output and the beginning of what it printed to stderr."""
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
    """Return a command line that prints what read_view reads: environment, umask, options, and programs by name."""
    shell = os.path.basename(way.shell)
    dialect = BY_SHELL.get(shell, "sh")
    prompt = [PROMPT[shell]] if "-i" in way.options and shell in PROMPT else []
    commands = ["echo %s=$-" % FLAGS] if dialect == "sh" else []
    commands += ["echo %s=`pwd`" % PWD if dialect == "csh" else "printf '%s='; pwd" % PWD]
    commands += [RESOLVE[dialect].format(name) for name in names if NAME.match(name)]
    return "; ".join([*prompt, "echo " + BEGIN, "/usr/bin/env -0", "echo " + MIDDLE, "umask", *commands, "echo " + END])


def remove_answer(output: ProgramOutput) -> ProgramOutput:
    """Return a shell's output without the answer to the query: what its files printed at the start and at the end."""
    before, _begun, answer = output.output.partition(BEGIN.encode() + b"\n")
    return output._replace(output=before + answer.partition(END.encode() + b"\n")[2])


def read_view(way: ShellWay, output: ProgramOutput) -> Optional[ShellView]:
    """Return the view in a shell's answer to the query; None if the shell ended before it answered."""
    _noise, begun, rest = output.output.partition(BEGIN.encode() + b"\n")
    values, _middle, rest = rest.partition(MIDDLE.encode() + b"\n")
    answers, ended, _after = rest.partition(END.encode())
    if not (begun and ended):
        return None
    pairs = [item.partition(b"=") for item in values.split(b"\0")]
    environment = {os.fsdecode(name): os.fsdecode(value) for name, equal, value in pairs if equal}
    umask, *lines = answers.decode("utf-8", "replace").splitlines() or [""]
    programs = dict(line.partition("=")[::2] for line in lines)
    found = {name: value for name, value in programs.items() if value and "not found" not in value}
    mask = int(umask, 8) if re.match(r"[0-7]+\Z", umask.strip()) else None
    flags, folder = found.pop(FLAGS, ""), found.pop(PWD, "")
    return ShellView(way, environment, mask, found, flags, folder)


def trace_start(way: ShellWay, home: str, deadline: float, variables: Mapping[str, str]) -> List[TracedLine]:
    """Return the lines of start-up files that a shell runs; none for a shell that cannot trace files and lines."""
    places = PLACES.get(os.path.basename(way.shell))
    if not places:
        return []
    traced = way._replace(options=("-x",) + way.options)
    line = PROMPT[os.path.basename(way.shell)].replace(QUIETLY, "") if "-i" in way.options else "true"
    output = start_shell(traced, home, deadline, line, dict(variables, PS4=TRACE % places), stderr=1)
    return read_trace(output.text) if output and output.why != NOT_RUN else []


def read_trace(text: str) -> List[TracedLine]:
    """Return the lines of a trace. Text between two traced lines was printed by the first one, or continues it."""
    lines: List[TracedLine] = []
    for line in text.split("\n"):
        match = TRACED.match(line)
        if match:
            file, number, second, command = match.groups()
            lines.append(TracedLine(file, int(number), command, int(second or 0)))
        elif lines:
            lines[-1] = lines[-1]._replace(printed=lines[-1].printed + (line,))
    return lines
