# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The line of a start-up file that causes an effect in a shell.

bash and zsh trace what they run. For the other shells, and for what no trace shows, the files are searched for a line
that is written so.
"""

import os
import re
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Pattern, Sequence, Set

from .._core.host import Host
from .._formats import environment, key_files, startup
from .._formats.lines import split_lines
from .._scan.shell_views import ShellView, TracedLine, trace
from .._scan.start_up import FOLDER, env_file, login_shell_files, start_up_files
from .audit_check import AuditCheck, read_text

MOST = 40  # files that start-up files read
ENDS = r"(?:[^#\n]*[;&|)\s])?(?:return|exit)\b"
COMMAND = r"(?:[^#\n]*(?:[;&|{(]|\bthen|\bdo|\belse)[ \t]*)?"  # what may be before a command in its line
UNSETS = r"(?:unset|unsetenv|set -eg?|export -n|(?:declare|typeset) \+\w*x\w*)\b[^\n;]*\b%s\b"
PRINTS = COMMAND + r"(?:echo|printf|print|cat|date|uptime|fortune|quota|figlet|neofetch)\b(?![^\n]*[>|])"
SETS_PATH = (
    r"(?:export |typeset |declare )?(?:-\w+ )*(?:PATH=|path=\(?|set(?: -\w+)* PATH |setenv PATH |set path ?= ?\(?)"
)
FISH = (".config/fish/conf.d", ".config/fish/functions")


class Place(NamedTuple):
    """A line of a file of the account: its path, and its number from 1."""

    path: str
    line: int

    def shown(self, host: Host) -> str:
        """Return the place as a finding names it."""
        return "%s:%d" % (host.shown(self.path), self.line)


class Causes:
    """Looks for the line that causes what a check has found."""

    def __init__(self, check: AuditCheck, host: Host, deadline: float) -> None:
        self._check, self._host, self._deadline = check, host, deadline
        self._home = host.real(host.home)
        self._own = os.path.join(self._home, FOLDER) + "/"
        self._traces: Dict[str, List[TracedLine]] = {}

    # -- causes --------------------------------------------------------------------------------

    def of_variable(self, view: ShellView, name: str, is_unset: bool) -> Optional[Place]:
        """Return the line that sets or unsets a variable last; else the one that ends the file too early."""
        sets = r"(?:^|[ ;])(?:%s|(?:[A-Za-z]+ )?(?:[-+]\w+ )*%s=)" % (UNSETS % name, name)
        lines = self._trace(view)
        in_home = [one for one in lines if self._is_of_account(one)]
        found = [one for one in in_home if re.search(sets, one.text)]
        if not found and is_unset and not any(one.file.startswith(self._own) for one in lines):
            with_line = [self._home + path[len(self._host.home) :] for path in start_up_files(self._host)]
            found = [one for one in in_home if one.file in with_line]
        if found:
            return self._place(found[-1])
        if not is_unset:
            return None
        return self.search(r"\s*" + COMMAND + UNSETS % name) or self.search(r"\s*" + ENDS, is_above=True)

    def of_path(self, view: ShellView, folder: str) -> Optional[Place]:
        """Return the line after which PATH has a folder no more."""
        keeps = r"[^\n]*(?:\$\{?PATH|\$path|%s)" % re.escape(folder)
        return self._first_path(view, lambda value: folder not in value) or (
            None if self._trace(view) else self.search(r"\s*%s%s(?!%s)" % (COMMAND, SETS_PATH, keeps))
        )

    def of_current_folder(self, view: ShellView) -> Optional[Place]:
        """Return the line that puts the current folder on PATH."""
        relative = r"(?:[^\n]*[:\s'\"])?(?:\.(?![\w/.])|:|$)"
        is_relative = re.compile(r"(?:^|:)['\"]?\.?['\"]?(?:\Z|:)").search
        return self._first_path(view, lambda value: bool(is_relative(value))) or (
            None if self._trace(view) else self.search(r"\s*" + COMMAND + SETS_PATH + relative)
        )

    def _first_path(self, view: ShellView, is_wrong: Callable[[str], bool]) -> Optional[Place]:
        """Return the first line since which PATH is always wrong."""
        found: Optional[TracedLine] = None
        for one in self._trace(view):
            value = re.match(r"(?:export |typeset |declare )?(?:-\w+ )*(?:PATH|path)=(.*)", one.text)
            if value and not is_wrong(value.group(1)):
                found = None
            elif value and found is None and self._is_of_account(one):
                found = one
        return self._place(found) if found else None

    def of_name(self, view: ShellView, name: str) -> Optional[Place]:
        """Return the line that defines an alias or a function."""
        word = re.escape(name)
        written = r"\s*%s(?:alias\s+(?:-\w+\s+)*['\"]?%s['\"= \t]|function\s+%s(?![\w.-])|%s\s*\(\))"
        found = self.search(written % (COMMAND, word, word, word))
        if found:
            return found
        alias = re.compile(r"alias .*(?<![\w.-])%s[= ]" % word)
        return self._last(view, alias)

    def of_command(self, view: ShellView, command: str) -> Optional[Place]:
        """Return the line that runs such a command last, a pattern for the beginning of what is run."""
        return self._last(view, re.compile(command)) or self.search(r"\s*" + COMMAND + command)

    def of_output(self, view: ShellView, output: str) -> Optional[Place]:
        """Return the line that prints what begins so."""
        first = next((line for line in output.split("\n") if line.strip()), "")
        for one in self._trace(view):
            if first and first in one.printed:
                return self._place(one) if self._is_of_account(one) else None
        return self.search(r"\s*" + PRINTS)

    def of_delay(self, view: ShellView) -> Optional[Place]:
        """Return the line that takes the longest."""
        lines = self._trace(view)
        pairs = zip(lines, lines[1:])
        longest = max(
            ((after.second - one.second, one) for one, after in pairs), key=lambda pair: pair[0], default=None
        )
        if longest and longest[0] > 0 and self._is_of_account(longest[1]):
            return self._place(longest[1])
        return self.search(r"\s*%ssleep\s" % COMMAND)

    # -- traces --------------------------------------------------------------------------------

    def _trace(self, view: ShellView) -> List[TracedLine]:
        """Return what a shell runs when it starts, each kind of shell once."""
        way = view.way
        if way.description not in self._traces:
            given = dict(view.environment) if way.is_job else {}
            self._traces[way.description] = trace(way, self._home, self._deadline, given)
        return self._traces[way.description]

    def _is_of_account(self, one: TracedLine) -> bool:
        return one.file.startswith(self._home + "/") and not one.file.startswith(self._own)

    def _last(self, view: ShellView, pattern: Pattern[str]) -> Optional[Place]:
        found = [one for one in self._trace(view) if self._is_of_account(one) and pattern.match(one.text)]
        return self._place(found[-1]) if found else None

    def _place(self, one: TracedLine) -> Place:
        return Place(self._host.home + one.file[len(self._home) :], one.line)

    # -- files ---------------------------------------------------------------------------------

    def search(self, pattern: str, is_above: bool = False) -> Optional[Place]:
        """Return the first line that begins so. is_above: before hpc-onboard's line, in the files that have it."""
        begins = re.compile(pattern)
        for path in login_shell_files(self._host) if is_above else self._files():
            for number, line in enumerate(split_lines(read_text(self._check, self._host, path)), 1):
                if is_above and startup.reads(line, startup.MARK):
                    break
                if begins.match(line) and not line.lstrip().startswith("#"):
                    return Place(path, number)
        return None

    def _files(self) -> Iterator[str]:
        """Yield the files that the login shell reads, those that they source, and hpc-onboard's own."""
        host = self._host
        shell = os.path.basename(host.account.shell)
        pending: List[str] = list(login_shell_files(host))
        done: Set[str] = set()
        for folder in FISH if shell == "fish" else ():
            pending += ["%s/%s/%s" % (host.home, folder, name) for name in _names(host, host.home + "/" + folder)]
        while pending and len(done) < MOST:
            path = pending.pop(0)
            if path in done or path.startswith(host.home + "/" + FOLDER):
                continue
            done.add(path)
            yield path
            pending += key_files.find_sourced_files(read_text(self._check, host, path), host.home)
        dialect = environment.BY_SHELL.get(shell)
        if dialect:
            yield env_file(host, dialect)


def _names(host: Host, folder: str) -> Sequence[str]:
    return host.names(folder)[:MOST] if host.resolved_kind(folder) == "folder" else ()
