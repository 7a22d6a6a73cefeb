# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What arrives in each kind of shell of the account: its environment, its umask, and what a name starts there.

Each shell is started where it can write nothing (see sandboxed_program.py), without terminal, input or history, and
ends with everything that it started.
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
NOWHERE = "/dev/shm"  # an empty home, without start-up files
SYSTEM = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
BATCH_SHELL = "/bin/bash"  # which most job scripts name
BEGIN, MIDDLE, END = "hpc.onboard-begin", "hpc.onboard-middle", "hpc.onboard-end"
NAME = re.compile(r"[A-Za-z0-9_.+-]+\Z")
FLAGS, PWD = "hpc.onboard:flags", "hpc.onboard:folder"  # no names of programs
SESSION = re.compile(
    r"^[ \t]*(?:exec|tmux|screen|zellij|byobu)\b", re.MULTILINE
)  # a shell would become another program
QUIETLY = " >/dev/null 2>&1"
PROMPT = {  # what a shell at a terminal runs before it prints its first prompt
    "bash": 'for hpco in "${PROMPT_COMMAND[@]}"; do eval "$hpco"; done%s; unset hpco' % QUIETLY,
    "zsh": "for hpco in precmd $precmd_functions; do $hpco; done%s; unset hpco" % QUIETLY,
    "fish": "emit fish_prompt" + QUIETLY,
}
RESOLVE = {
    "sh": "printf '{0}='; command -v {0} || echo",
    "csh": "echo {0}=`which {0}`",
    "fish": "printf '{0}='; functions -q {0}; and echo {0}; or command -s {0}; or echo",
}
TRACE = "+@@%s@@%s@@%s@@ "
PLACES = {  # file, line and second of what a shell traces
    "bash": ("${BASH_SOURCE}", "${LINENO}", "${SECONDS}"),
    "zsh": ("%x", "%I", "%D{%s}"),
}
TRACED = re.compile(r"\++@@([^@]*)@@([0-9]+)@@([0-9]*)@@ (.*)\Z")


class ShellWay(NamedTuple):
    """A way to start a shell: its description, options, the account's file that it reads, and what starts it."""

    description: str
    shell: str
    options: Tuple[str, ...]
    file: str
    is_login: bool = False
    is_job: bool = False


class ShellView(NamedTuple):
    """What is in a shell. umask: None if unknown. programs: name -> what it starts, of those that are found.

    flags: the letters of the options that are in effect, of a shell that tells them. folder: the current one; "" if
    unknown.
    """

    way: ShellWay
    environment: Dict[str, str]
    umask: Optional[int]
    programs: Dict[str, str]
    flags: str = ""
    folder: str = ""


class TracedLine(NamedTuple):
    """A line that a shell has run: its file, its number from 1, what was run, when, and what was printed then."""

    file: str
    line: int
    text: str
    second: int = 0
    printed: Tuple[str, ...] = ()


def shell_ways(host: Host) -> List[ShellWay]:
    """Return how a connection starts the account's shell, how a terminal does, and how Slurm starts a script."""
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
    """Return the first of these files that exists, else the last one."""
    existing = [name for name in names if host.resolved_kind(os.path.join(host.home, name)) == "file"]
    return existing[0] if existing else names[-1]


def starts_session(host: Host) -> bool:
    """Return True if a start-up file may put another program in the place of an interactive shell."""
    for path in login_shell_files(host):
        try:
            if SESSION.search(read_edited_file(host, path).text):
                return True
        except AccountError:
            return True  # unknown
    return False


def start_shell(
    way: ShellWay,
    home: str,
    deadline: float,
    line: str = "true",
    more: Optional[Mapping[str, str]] = None,
    stderr: int = -1,
) -> Optional[ProgramOutput]:
    """Start a shell as the way does, and return its output; None if no time is left.

    more: of its environment. stderr: a file handle for that; 1 for the output. By default it is not kept.
    """
    seconds = min(SECONDS, deadline - time.time())
    if seconds <= 0:
        return None
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or "user"
    environment = {"HOME": home, "USER": user, "LOGNAME": user, "SHELL": way.shell, "PATH": SYSTEM, "TERM": "dumb"}
    environment.update({"TMPDIR": NOWHERE, "HISTFILE": os.devnull})
    if not way.is_job:  # by this bash knows that sshd starts it
        environment["SSH_CLIENT"] = os.environ.get("SSH_CLIENT", "127.0.0.1 1 22")
        environment["SSH_CONNECTION"] = os.environ.get("SSH_CONNECTION", "127.0.0.1 1 127.0.0.1 22")
    name = ("-" if way.is_login else "") + os.path.basename(way.shell)

    def prepare() -> None:
        enter_sandbox()
        if stderr >= 0:
            os.dup2(stderr, 2)

    return run_program([way.shell, *way.options, line], dict(environment, **(more or {})), seconds, name, prepare)


def start_with_errors(way: ShellWay, home: str, deadline: float, line: str) -> Tuple[Optional[ProgramOutput], str]:
    """Start a shell, and return its output and the beginning of what it printed to stderr."""
    reader, writer = os.pipe()
    try:
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)  # a full pipe stops no shell
        output = start_shell(way, home, deadline, line, stderr=writer)
        try:
            return output, os.read(reader, LARGEST).decode("utf-8", "replace")
        except BlockingIOError:
            return output, ""
    finally:
        os.close(reader)
        os.close(writer)


def query(way: ShellWay, names: Sequence[str]) -> str:
    """Return the line that prints the environment, the umask, the options, and what each name starts."""
    shell = os.path.basename(way.shell)
    dialect = BY_SHELL.get(shell, "sh")
    before = [PROMPT[shell]] if "-i" in way.options and shell in PROMPT else []
    asked = ["echo %s=$-" % FLAGS] if dialect == "sh" else []
    asked += ["echo %s=`pwd`" % PWD if dialect == "csh" else "printf '%s='; pwd" % PWD]
    asked += [RESOLVE[dialect].format(name) for name in names if NAME.match(name)]
    return "; ".join([*before, "echo " + BEGIN, "/usr/bin/env -0", "echo " + MIDDLE, "umask", *asked, "echo " + END])


def without_answer(output: ProgramOutput) -> ProgramOutput:
    """Return what a shell printed before it answered the query, and when it ended."""
    before, _begun, answer = output.output.partition(BEGIN.encode() + b"\n")
    return output._replace(output=before + answer.partition(END.encode() + b"\n")[2])


def read_view(way: ShellWay, output: ProgramOutput) -> Optional[ShellView]:
    """Return what a shell answered to the query; None if it did not come to it."""
    _noise, begun, rest = output.output.partition(BEGIN.encode() + b"\n")
    values, _middle, rest = rest.partition(MIDDLE.encode() + b"\n")
    answers, ended, _after = rest.partition(END.encode())
    if not (begun and ended):
        return None
    pairs = [item.partition(b"=") for item in values.split(b"\0")]
    environment = {os.fsdecode(name): os.fsdecode(value) for name, equal, value in pairs if equal}
    mask, *lines = answers.decode("utf-8", "replace").splitlines() or [""]
    programs = dict(line.partition("=")[::2] for line in lines)
    found = {name: value for name, value in programs.items() if value and "not found" not in value}
    number = int(mask, 8) if re.match(r"[0-7]+\Z", mask.strip()) else None
    flags, folder = found.pop(FLAGS, ""), found.pop(PWD, "")
    return ShellView(way, environment, number, found, flags, folder)


def trace(way: ShellWay, home: str, deadline: float, more: Mapping[str, str]) -> List[TracedLine]:
    """Return the lines that a shell runs when it starts; none for a shell that does not tell their files."""
    places = PLACES.get(os.path.basename(way.shell))
    if not places:
        return []
    traced = way._replace(options=("-x",) + way.options)
    line = PROMPT[os.path.basename(way.shell)].replace(QUIETLY, "") if "-i" in way.options else "true"
    output = start_shell(traced, home, deadline, line, dict(more, PS4=TRACE % places), stderr=1)
    return read_trace(output.text) if output and output.why != NOT_RUN else []


def read_trace(text: str) -> List[TracedLine]:
    """Return the lines of a trace; what stands between two of them was printed by the first one, or is part of it."""
    lines: List[TracedLine] = []
    for line in text.split("\n"):
        found = TRACED.match(line)
        if found:
            file, number, second, run = found.groups()
            lines.append(TracedLine(file, int(number), run, int(second or 0)))
        elif lines:
            lines[-1] = lines[-1]._replace(printed=lines[-1].printed + (line,))
    return lines
