# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A search for the line of a start-up file that causes an effect in a shell.

bash and zsh can trace each line that they run. For other shells, and for effects that no trace shows, the text of the
start-up files is searched. "hpc-onboard's file" is the file with its variables, which a line of the start-up files
reads. A view (ShellView) is the state of a shell after its start-up files, and its way says how the shell was started.
"""

import os
import re
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Pattern, Set

from .._core.host import Host
from .._formats import environment, key_files, startup
from .._formats.lines import split_lines
from .._formats.settings import blank_here_documents
from .._scan.included_files import expand_pattern
from .._shells.hazards import COMMAND, ENDS_FILE, MISSING_FILE, NAMED_BY_SHELL, PRINTS, SETS, SETS_PATH, UNSETS
from .._shells.shell_views import ShellView, TracedLine, trace_start
from .._shells.start_up import FOLDER, env_file, login_shell_files, start_up_files
from .audit_check import AuditCheck, list_names, read_text

MOST = 40  # start-up files and files that they source; also the names of one folder
SITE_FOLDER = "/etc/"  # of start-up files that the site maintains
FISH_FOLDERS = (".config/fish/conf.d", ".config/fish/functions")
FISH_VARIABLES = ".config/fish/fish_variables"  # the universal variables, which fish sets in every shell


class Place(NamedTuple):
    """A line of a start-up file."""

    path: str
    line: int  # from 1

    @property
    def is_of_site(self) -> bool:
        """Return True if the site maintains the file."""
        return self.path.startswith(SITE_FOLDER)

    def text(self, check: AuditCheck, host: Host) -> str:
        """Return the text of the line; empty if the file no longer has so many lines."""
        return "".join(split_lines(read_text(check, host, self.path))[self.line - 1 : self.line])

    def shown(self, host: Host) -> str:
        """Return the place for a finding, such as ~/.bashrc:12."""
        return "%s:%d" % (host.shown(self.path), self.line)


class CauseFinder:
    """Finds the lines of start-up files that cause an effect in a shell.

    Each method whose name begins with locate_ returns the line that causes one effect, or None if the line is not
    found. view: the shell with the effect. deadline: the time, as of time.time(), that ends the traced shells.
    """

    def __init__(self, check: AuditCheck, host: Host, deadline: float) -> None:
        self._check, self._host, self._deadline = check, host, deadline
        self._home = host.real(host.home)
        self._own_folder = os.path.join(self._home, FOLDER) + "/"  # of hpc-onboard
        self._traces: Dict[str, List[TracedLine]] = {}  # description of a way to start a shell -> the lines that it ran
        self._files: List[str] = []  # start-up files and what they source; empty before the first search
        self._lines: Dict[str, List[str]] = {}  # path -> lines

    # -- causes --------------------------------------------------------------------------------

    def locate_variable(self, view: ShellView, name: str, is_unset: bool) -> Optional[Place]:
        """Return the last line that sets or unsets a variable, or the line that ends a start-up file too early.

        is_unset: the effect is that the variable is not set.
        """
        place = self._trace_variable(view, name, is_unset)
        if place:
            return place
        if is_unset:
            return self._search_unsetting_line(name)
        return None if self._traced_lines(view) else self._search_setting_line(name)  # a trace would show the line

    def _trace_variable(self, view: ShellView, name: str, is_unset: bool) -> Optional[Place]:
        """Return the line that the trace shows, or None. For the parameters, see locate_variable."""
        # commands that set a variable without an assignment
        fills = r"(?:printf -v|read(?: -\w+)*(?: \w+)*|export|(?:declare|typeset) -\w*x\w*) %s\b" % name
        changes = r"(?:^|[ ;])(?:%s|%s|(?:[A-Za-z]+ )?(?:[-+]\w+ )*%s=)" % (UNSETS % name, fills, name)
        lines = self._traced_lines(view)
        of_user = [line for line in lines if self._is_users_file(line.file)]
        of_site = [line for line in lines if line.file.startswith(SITE_FOLDER)]
        # A line of the user is preferred to one of the site, which the user cannot change.
        causes = [line for line in of_user if re.search(changes, line.text)]
        causes = causes or [line for line in of_site if re.search(changes, line.text)]
        has_read_own_file = any(line.file.startswith(self._own_folder) for line in lines)
        if not causes and is_unset and not has_read_own_file:
            # A start-up file ended before the line that reads hpc-onboard's file: the last line that ran ended it.
            files_with_line = [self._home + path[len(self._host.home) :] for path in start_up_files(self._host)]
            causes = [line for line in of_user if line.file in files_with_line]
        return self._as_place(causes[-1]) if causes else None

    def _search_setting_line(self, name: str) -> Optional[Place]:
        """Return the first line of the files that sets a variable; None for a line of hpc-onboard."""
        universal = r"SETUVAR (?:--\w+ )*%s:" % name  # in fish's file of universal variables
        place = self.search(SETS % (COMMAND, name)) or self.search(universal)
        return place if place and FOLDER not in place.path else None

    def _search_unsetting_line(self, name: str) -> Optional[Place]:
        """Return the first line of the files that unsets a variable, or that ends a file before the variable is set."""
        not_exported = r"\s*%sset(?: -[a-wyzA-Z]+| --(?!export)\w+)* %s\b" % (COMMAND, name)  # fish, without -x
        return (
            self.search(r"\s*" + COMMAND + UNSETS % name)
            or self.search(r"\s*" + ENDS_FILE, is_above=True)
            or self.search(not_exported)
            or self.search(r"\s*PROMPT_COMMAND\S*=[^\n]*\b%s\b" % name)  # at each prompt
        )

    def locate_path_loss(self, view: ShellView, folder: str) -> Optional[Place]:
        """Return the line that removes a folder from PATH."""
        place = self._locate_wrong_path(view, lambda value: folder not in value)
        if place or self._traced_lines(view):  # a trace shows every cause
            return place
        # Without a trace: a line that sets PATH, and contains neither the earlier value of PATH nor the folder.
        keeps_folder = r"[^\n]*(?:\$\{?PATH|\$path|%s)" % re.escape(folder)
        return self.search(r"\s*%s%s(?!%s)" % (COMMAND, SETS_PATH, keeps_folder))

    def locate_current_folder(self, view: ShellView) -> Optional[Place]:
        """Return the line that adds the current folder to PATH."""
        # in the text of a line: an entry that is empty or a single dot
        relative = r"(?:[^\n]*[:\s'\"])?(?:\.(?![\w/.])|:|$)"
        # in a traced value: an entry that is empty or a single dot, between colons or in an array
        is_relative = re.compile(r"(?:^|:)['\"]?\.?['\"]?(?:\Z|:)|^\(.*[ (]\.[ )]").search
        place = self._locate_wrong_path(view, lambda value: bool(is_relative(value.strip())))
        return place or self.search(r"\s*" + COMMAND + SETS_PATH + relative)

    def _locate_wrong_path(self, view: ShellView, is_wrong: Callable[[str], bool]) -> Optional[Place]:
        """Return the user's first traced line that sets a wrong PATH, if no later line corrects PATH.

        is_wrong: returns True for a wrong value of PATH.
        """
        cause: Optional[TracedLine] = None
        for line in self._traced_lines(view):
            # The group of this pattern is the value of PATH.
            match = re.match(r"(?:export |typeset |declare )?(?:-\w+ )*(?:PATH|path)\+?=(.*)", line.text)
            if match is None:
                continue
            if not is_wrong(match.group(1)):
                cause = None
            elif cause is None and self._is_users_file(line.file):
                cause = line
        return self._as_place(cause) if cause else None

    def locate_definition(self, view: ShellView, name: str) -> Optional[Place]:
        """Return the line that defines an alias or a function, or sets the path of a program with 'hash'."""
        word = re.escape(name)
        # in the text of a file: 'alias NAME', 'hash NAME', 'hash -p PATH NAME', 'function NAME' or 'NAME()'
        definition = (
            r"\s*%s(?:(?:alias|hash)\s+(?:-[\w-]*\s+)*['\"]?%s['\"= \t]|hash\s+-p\s+\S+\s+%s\b"
            r"|function\s+%s(?![\w.-])|%s\s*\(\))"
        )
        traced_alias = re.compile(r"(?:alias|hash) .*(?<![\w./-])%s(?:[= ]|\Z)" % word)
        place = self.search(definition % (COMMAND, word, word, word, word))
        return place or self._locate_last_run(view, traced_alias)

    def locate_command(self, view: ShellView, command: str) -> Optional[Place]:
        """Return the last line that runs a command. command: a pattern for the beginning of the command."""
        return self._locate_last_run(view, re.compile(command)) or self.search(r"\s*" + COMMAND + command)

    def locate_output(self, view: ShellView, output: str) -> Optional[Place]:
        """Return the user's traced line that prints the first line of an output, or else the first line that prints."""
        first_output = next((line for line in output.split("\n") if line.strip()), "")
        if any(first_output and first_output in line.printed for line in self._traced_lines(view)):
            return self._locate_printed(view, first_output)
        return self.search(r"\s*" + PRINTS)

    def locate_error(self, view: ShellView, message: str) -> Optional[Place]:
        """Return the user's line that an error message names, or that printed the message."""
        named = NAMED_BY_SHELL.match(message)
        if named:
            groups = named.groups()  # two groups, file and line, for each shell; only those of one shell matched
            file, line = next((file, line) for file, line in zip(groups[::2], groups[1::2]) if file)
            path = os.path.join(self._home, re.sub(r"^~/", "", file))
            if not self._is_users_file(path):
                return None  # the user cannot change the line
            named_place = Place(self._host.home + path[len(self._home) :], int(line))
            if named_place.line <= len(self._read_lines(named_place.path)) + 1:  # in ksh, numbers may be too high
                return named_place
        if self._traced_lines(view):
            return self._locate_printed(view, message)
        file_name = MISSING_FILE.search(message)
        if file_name:
            return self._search_path(next(filter(None, file_name.groups())))
        # "SUBJECT: ERROR", perhaps after the name of the shell or file; the subject is a command or a variable
        subject = re.match(r"(?:-?\w*sh: )?(?:/\S+: )?([A-Za-z/][\w.+/-]*): ", message)
        return self._search_subject(subject.group(1), is_command="not found" in message) if subject else None

    def _search_path(self, path: str) -> Optional[Place]:
        """Return the first line of the files that contains a path, which may begin with ~ or $HOME in the line."""
        name = re.escape(path)
        if path.startswith(self._home + "/"):
            name = r"(?:~|\$\{?HOME\}?|%s)%s" % (re.escape(self._home), re.escape(path[len(self._home) :]))
        return self.search(r"[^\n]*" + name)

    def _search_subject(self, subject: str, is_command: bool) -> Optional[Place]:
        """Return the first line of the files that runs a command, or else uses a variable, of this name.

        is_command: search last for a line with the name as any word.
        """
        name = re.escape(subject)
        place = self.search(r"\s*%s%s\b" % (COMMAND, name)) or self.search(r"[^\n]*\$\{?%s\b" % name)
        return place or (self.search(r"[^\n#]*[\s;(|&)]%s\b" % name) if is_command else None)

    def _locate_printed(self, view: ShellView, text: str) -> Optional[Place]:
        """Return the first traced line that printed a text, if the line is the user's."""
        for line in self._traced_lines(view):
            if text and text in line.printed:
                return self._as_place(line) if self._is_users_file(line.file) else None
        return None

    def locate_delay(self, view: ShellView) -> Optional[Place]:
        """Return the user's line that takes the longest, or else the first line that calls sleep."""
        lines = self._traced_lines(view)
        # A line lasts, in whole seconds, until the next line begins.
        durations = [(next_line.second - line.second, line) for line, next_line in zip(lines, lines[1:])]
        if durations:
            seconds, slowest = max(durations, key=lambda pair: pair[0])
            if seconds > 0 and self._is_users_file(slowest.file):
                return self._as_place(slowest)
        return self.search(r"\s*%ssleep\s" % COMMAND)

    # -- traces --------------------------------------------------------------------------------

    def _traced_lines(self, view: ShellView) -> List[TracedLine]:
        """Return the lines that a shell runs when it starts; none if the shell cannot be traced.

        Each way of starting a shell is traced once.
        """
        way = view.way
        if way.description not in self._traces:
            environment = dict(view.environment) if way.is_job else {}  # a job inherits the submitter's variables
            self._traces[way.description] = trace_start(way, self._home, self._deadline, environment)
        return self._traces[way.description]

    def _is_users_file(self, path: str) -> bool:
        """Return True for a file in the home directory that is not in hpc-onboard's folder."""
        return path.startswith(self._home + "/") and not path.startswith(self._own_folder)

    def _locate_last_run(self, view: ShellView, pattern: Pattern[str]) -> Optional[Place]:
        """Return the last traced line that begins with a pattern, if possible a line of the user; else None."""
        lines = [line for line in self._traced_lines(view) if line.file.startswith("/") and pattern.match(line.text)]
        lines = [line for line in lines if self._is_users_file(line.file)] or lines
        return self._as_place(lines[-1]) if lines else None

    def _as_place(self, line: TracedLine) -> Place:
        """Return the place of a traced line, with the usual path of the home directory instead of the resolved one."""
        is_in_home = line.file.startswith(self._home + "/")
        return Place(self._host.home + line.file[len(self._home) :] if is_in_home else line.file, line.line)

    # -- files ---------------------------------------------------------------------------------

    def search(self, pattern: str, word: str = "", is_above: bool = False) -> Optional[Place]:
        """Return the first line of the start-up files whose beginning matches a pattern; None if no line matches.

        word: part of each matching line; without it, the pattern is not compiled. is_above: above hpc-onboard's line.
        """
        for path in login_shell_files(self._host) if is_above else self._list_files():
            for number, line in enumerate(self._read_lines(path), 1):
                if is_above and startup.refers_to(line, startup.MARK):
                    break  # to the next file
                if word in line and re.match(pattern, line) and not line.lstrip().startswith("#"):
                    return Place(path, number)
        return None

    def _read_lines(self, path: str) -> List[str]:
        """Return the lines of a file; the lines of here-documents are empty. Each file is read once."""
        if path not in self._lines:
            self._lines[path] = split_lines(blank_here_documents(read_text(self._check, self._host, path)))
        return self._lines[path]

    def _list_files(self) -> List[str]:
        """Return the files that the login shell reads, and then hpc-onboard's settings file."""
        dialect = environment.BY_SHELL.get(os.path.basename(self._host.account.shell))  # None for an unknown shell
        if not self._files:
            self._files = [*find_read_files(self._check, self._host)]
            self._files += [env_file(self._host, dialect)] if dialect else []
        return self._files


def find_read_files(check: AuditCheck, host: Host) -> Iterator[str]:
    """Yield the files that the login shell reads, and files that these files source, without hpc-onboard's files."""
    pending: List[str] = list(login_shell_files(host))
    done: Set[str] = set()
    if os.path.basename(host.account.shell) == "fish":
        pending.append(host.home + "/" + FISH_VARIABLES)
        for folder in [host.home + "/" + name for name in FISH_FOLDERS]:
            pending += [folder + "/" + name for name in list_names(folder, MOST, host, check)]
    while pending and len(done) < MOST:
        path = pending.pop(0)
        if path in done or path.startswith(host.home + "/" + FOLDER):
            continue
        done.add(path)
        yield path
        # A sourced path may contain wildcards.
        for sourced in key_files.find_sourced_files(read_text(check, host, path), host.home, with_patterns=True):
            pending += expand_pattern(sourced, host)
