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
SITE = "/etc/"  # files of the site that shells read
COMMAND = r"(?:[^#\n]*(?:[;&|{(]|\bthen|\bdo|\belse)[ \t]*)?"  # what may be before a command in its line
UNSETS = r"(?:unset|unsetenv|set(?: -\w+)* -\w*[eu]\w*|export -n|(?:declare|typeset) \+\w*x\w*)\b[^\n;]*\b%s\b"
SETS = r"\s*%s(?:(?:export|setenv|(?:declare|typeset|set)(?: -\w+)+) )?%s[= ]"
PRINTS = COMMAND + r"(?:echo|printf|print|cat|date|uptime|fortune|quota|figlet|neofetch)\b(?![^\n]*[>|])"
SETS_PATH = (
    r"(?:export |typeset |declare )?(?:-\w+ )*(?:PATH=|path=\(?|set(?: -\w+)* PATH |setenv PATH |set path ?= ?\(?)"
)
NAMED_BY_SHELL = re.compile(r"(/\S+): line (\d+):|(/\S+?):(\d+): |(~?/\S+) \(line (\d+)\):")  # bash, zsh, fish
FISH = (".config/fish/conf.d", ".config/fish/functions")
UNIVERSAL = ".config/fish/fish_variables"  # what fish sets in every shell


class Place(NamedTuple):
    """A line of a file of the account: its path, and its number from 1."""

    path: str
    line: int

    @property
    def is_of_site(self) -> bool:
        """Return True for a file of the site."""
        return self.path.startswith(SITE)

    def text(self, check: AuditCheck, host: Host) -> str:
        """Return the line itself; empty if it is gone."""
        return "".join(split_lines(read_text(check, host, self.path))[self.line - 1 : self.line])

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
        fills = r"(?:printf -v|read(?: -\w+)*(?: \w+)*) %s\b" % name
        sets = r"(?:^|[ ;])(?:%s|%s|(?:[A-Za-z]+ )?(?:[-+]\w+ )*%s=)" % (UNSETS % name, fills, name)
        lines = self._trace(view)
        in_home = [one for one in lines if self._is_of_account(one)]
        found = [one for one in in_home if re.search(sets, one.text)]
        found = found or [one for one in lines if one.file.startswith(SITE) and re.search(sets, one.text)]
        if not found and is_unset and not any(one.file.startswith(self._own) for one in lines):
            with_line = [self._home + path[len(self._host.home) :] for path in start_up_files(self._host)]
            found = [one for one in in_home if one.file in with_line]
        if found:
            return self._place(found[-1])
        if not is_unset:
            place = self.search(SETS % (COMMAND, name)) or self.search(r"SETUVAR (?:--\w+ )*%s:" % name)
            place = None if lines else place
            return place if place and FOLDER not in place.path else None
        place = self.search(r"\s*" + COMMAND + UNSETS % name) or self.search(r"\s*" + ENDS, is_above=True)
        return place or self.search(r"\s*%sset(?: -[a-wyzA-Z]+)* %s\b" % (COMMAND, name))  # fish, without -x

    def of_path(self, view: ShellView, folder: str) -> Optional[Place]:
        """Return the line after which PATH has a folder no more."""
        keeps = r"[^\n]*(?:\$\{?PATH|\$path|%s)" % re.escape(folder)
        return self._first_path(view, lambda value: folder not in value) or (
            None if self._trace(view) else self.search(r"\s*%s%s(?!%s)" % (COMMAND, SETS_PATH, keeps))
        )

    def of_current_folder(self, view: ShellView) -> Optional[Place]:
        """Return the line that puts the current folder on PATH."""
        relative = r"(?:[^\n]*[:\s'\"])?(?:\.(?![\w/.])|:|$)"
        is_relative = re.compile(r"(?:^|:)['\"]?\.?['\"]?(?:\Z|:)|^\(.*[ (]\.[ )]").search
        return self._first_path(view, lambda value: bool(is_relative(value))) or (
            None if self._trace(view) else self.search(r"\s*" + COMMAND + SETS_PATH + relative)
        )

    def _first_path(self, view: ShellView, is_wrong: Callable[[str], bool]) -> Optional[Place]:
        """Return the first line since which PATH is always wrong."""
        found: Optional[TracedLine] = None
        for one in self._trace(view):
            value = re.match(r"(?:export |typeset |declare )?(?:-\w+ )*(?:PATH|path)\+?=(.*)", one.text)
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
        return self._of_printed(view, first) if self._has_printed(view, first) else self.search(r"\s*" + PRINTS)

    def of_error(self, view: ShellView, message: str) -> Optional[Place]:
        """Return the line of the account that a shell's message names, or that printed it."""
        named = NAMED_BY_SHELL.match(message)
        if named:
            file, line = next((file, line) for file, line in zip(*[iter(named.groups())] * 2) if file)
            path = os.path.join(self._home, re.sub(r"^~/", "", file))
            return Place(self._host.home + path[len(self._home) :], int(line)) if self._is_own(path) else None
        word = re.match(r"(?:-?\w*sh: )?([A-Za-z][\w.+-]*): ", message)
        at = re.escape(word.group(1)) if word else ""
        used = self.search(r"\s*%s%s\b" % (COMMAND, at)) or self.search(r"[^\n]*\$\{?%s\b" % at) if at else None
        return self._of_printed(view, message) if self._trace(view) else used

    def _has_printed(self, view: ShellView, text: str) -> bool:
        return any(text and text in one.printed for one in self._trace(view))

    def _of_printed(self, view: ShellView, text: str) -> Optional[Place]:
        """Return the first traced line that printed this, if it is one of the account."""
        for one in self._trace(view):
            if text and text in one.printed:
                return self._place(one) if self._is_of_account(one) else None
        return None

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
        return self._is_own(one.file)

    def _is_own(self, path: str) -> bool:
        """Return True for a file that the account's start-up files are or read, outside of hpc-onboard's folder."""
        return path.startswith(self._home + "/") and not path.startswith(self._own)

    def _last(self, view: ShellView, pattern: Pattern[str]) -> Optional[Place]:
        """Return the last traced line that begins so: of the account, else of another file that shells read."""
        found = [one for one in self._trace(view) if one.file.startswith("/") and pattern.match(one.text)]
        found = [one for one in found if self._is_of_account(one)] or found
        return self._place(found[-1]) if found else None

    def _place(self, one: TracedLine) -> Place:
        is_in_home = one.file.startswith(self._home + "/")
        return Place(self._host.home + one.file[len(self._home) :] if is_in_home else one.file, one.line)

    # -- files ---------------------------------------------------------------------------------

    def search(self, pattern: str, is_above: bool = False) -> Optional[Place]:
        """Return the first line that begins so. is_above: before hpc-onboard's line, in the files that have it."""
        begins = re.compile(pattern)
        for path in login_shell_files(self._host) if is_above else self._files():
            for number, line in enumerate(split_lines(read_text(self._check, self._host, path)), 1):
                if is_above and startup.refers_to(line, startup.MARK):
                    break
                if begins.match(line) and not line.lstrip().startswith("#"):
                    return Place(path, number)
        return None

    def _files(self) -> Iterator[str]:
        yield from find_read_files(self._check, self._host)
        dialect = environment.BY_SHELL.get(os.path.basename(self._host.account.shell))
        if dialect:
            yield env_file(self._host, dialect)


def find_read_files(check: AuditCheck, host: Host) -> Iterator[str]:
    """Yield the files that the login shell reads, and those that they source, without hpc-onboard's own."""
    pending: List[str] = list(login_shell_files(host))
    done: Set[str] = set()
    is_fish = os.path.basename(host.account.shell) == "fish"
    pending += [host.home + "/" + UNIVERSAL] if is_fish else []
    for folder in FISH if is_fish else ():
        pending += ["%s/%s/%s" % (host.home, folder, name) for name in _names(host, host.home + "/" + folder)]
    while pending and len(done) < MOST:
        path = pending.pop(0)
        if path in done or path.startswith(host.home + "/" + FOLDER):
            continue
        done.add(path)
        yield path
        pending += key_files.find_sourced_files(read_text(check, host, path), host.home)


def _names(host: Host, folder: str) -> Sequence[str]:
    return host.names(folder)[:MOST] if host.resolved_kind(folder) == "folder" else ()
