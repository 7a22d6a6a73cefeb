# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the start-up files of the account do: what they print, how long they take, what arrives in each kind of shell.

The shells are started where they can write nothing (see _scan/shell_views.py). On a login node without such a place
this is skipped: start-up files may write, and an audit must not. The environment of a login shell was read before with
the account's, and its start is measured here as well.
"""

import re
import time
from typing import Any, Dict, List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.program import ENDLESS, NOT_RUN, ProgramOutput
from .._formats import startup
from .._formats.lines import split_lines
from .._scan import shell_views
from .._scan.shell_views import ShellView, ShellWay, query, read_view, start_shell, start_with_errors
from .._scan.start_up import login_shell_files
from .audit_check import AuditCheck, read_text
from .effect_places import PRINTS, Causes
from .shell_effects import LAUNCHERS, check_effects, is_executable

ALL_SECONDS = 24.0
ENDS = r"(?:exec|exit|logout|tmux|screen|zellij|byobu)\b"
OF_SANDBOX = re.compile(r"(?i)read-only|permission denied|not permitted|job control|terminal process group|/dev/shm")
"""Errors that a shell has because it is started where it can write nothing, or without a terminal."""
CERTAIN = re.compile(r"(?i)command not found|syntax error|: no.such file|readonly variable|unknown command|missing end")
"""Errors that a shell at a terminal has as well."""
OPTIONS = (  # letters of $-, the rule, and what the option does
    ("e", "ENV-004", "'set -e' is in effect in %s: it ends at the first command that fails"),
    ("u", "ENV-004", "'set -u' is in effect in %s: it ends at the first variable that is not set"),
    ("x", "ENV-003", "'set -x' is in effect in %s: it prints every command"),
    ("v", "ENV-003", "'set -v' is in effect in %s: it prints every line"),
)
SSHD_RUNS = ".ssh/rc"
NO_SHELLS = (
    "audit_no_shells is set: what start-up files print, how long they take, and what arrives at a terminal, in a"
    " command over ssh and in a job was not looked at"
)


class StartupFiles(AuditCheck):
    """The start of the account's shell by a program, at a terminal and in a job."""

    KIND = "startup_files"
    TITLE = "start of the shell"
    PATH_OPTIONS = ("programs",)
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "programs": {"type": "list", "elements": "dict", "default": []},  # {path}: scripts that belong on PATH
        "slow_seconds": {"type": "int", "default": 2},
        "shells": {"type": "bool", "default": True},  # whether shells are started for what arrives in them
    }

    def run(self, host: Host) -> None:
        # Before a shell is asked: where a file system hangs, this waits for it, and the shell is not blamed.
        programs = [entry["path"] for entry in self.entries("programs") if is_executable(entry["path"], host)]
        names = [path.rpartition("/")[2] for path in programs]
        if not host.account.hung_mounts:  # a shell would wait where it looks on PATH for a program that is elsewhere
            names += LAUNCHERS
        deadline = time.time() + ALL_SECONDS
        self._causes = Causes(self, host, deadline)
        command, login, terminal, batch = shell_views.shell_ways(host)
        views = [self._view_login(login, host)]
        if not self.options["shells"]:
            self.skip(NO_SHELLS)
        elif self._check_starts(command, login, names, host, deadline, views):
            at_terminal = self._view(terminal, names, host, deadline)
            views += [at_terminal, self._view(batch, names, host, deadline, at_terminal)]  # which submits jobs
        self._check_options(host, [view for view in views if view])
        check_effects(self, host, [view for view in views if view], programs, self._causes)

    # -- starts --------------------------------------------------------------------------------

    def _check_starts(
        self,
        command: ShellWay,
        login: ShellWay,
        names: List[str],
        host: Host,
        deadline: float,
        views: List[Optional[ShellView]],
    ) -> bool:
        """Report what is wrong with how a connection starts the shell; return False if it does not come to an end."""
        view = self._start(command, names, host, deadline)
        views.append(view)
        if view is None and not self.rules_broken():
            self.skip("the start-up files were not run: here they could write, or the login shell is missing")
            return False
        self._check_start(login, host.account.start, host, deadline)
        self._check_login(login, host)
        ends = host.account.start is None or not host.account.start.why  # else a terminal would wait for it, too
        return view is not None and ends

    def _start(self, way: ShellWay, names: List[str], host: Host, deadline: float) -> Optional[ShellView]:
        """Start a shell and report what is wrong with its start; return what is in it, None if it is unknown."""
        output, errors = start_with_errors(way, host.real(host.home), deadline, query(way, names))
        if output is None or output.why == NOT_RUN:
            return None
        view = read_view(way, output)
        self._check_start(way, shell_views.without_answer(output), host, deadline)
        if view is None and not self.rules_broken():
            self._report_end(way, host)
        self._check_errors(way, errors, host, deadline)
        return view

    def _check_login(self, way: ShellWay, host: Host) -> None:
        """Report a login shell that runs no command, although it starts and ends."""
        start = host.account.start
        if start is None or start.why or "ENV-004" in self.rules_broken():
            return
        try:
            host.account.environment()
        except AccountError:
            self._report_end(way, host)

    def _report_end(self, way: ShellWay, host: Host) -> None:
        place = self._causes.of_command(ShellView(way, {}, None, {}), ENDS)
        text = "%s is not run: a start-up file exits, or starts another program in its place"
        self.report("ENV-004", place.shown(host) if place else way.file, text % way.description, "high")

    def _check_errors(self, way: ShellWay, errors: str, host: Host, deadline: float) -> None:
        """Report the first error of the account's own start-up files. Its words may have a key: they are not shown."""
        if "ENV-003" in self.rules_broken():
            return  # one cause may have both
        for path in login_shell_files(host):
            if "%s: Permission denied" % host.real(path) in errors:
                self.report("ENV-003", host.shown(path), "%s may not read this file" % way.description)
                return
        lines = [line for line in errors.split("\n") if line.strip() and not OF_SANDBOX.search(line)]
        lines = [line for line in lines if not way.is_login or CERTAIN.search(line)]
        without = start_with_errors(way, shell_views.NOWHERE, deadline, "true")[1].split("\n") if lines else []
        for line in [one for one in lines if one not in without]:
            place = self._causes.of_error(ShellView(way, {}, None, {}), line)
            if place and startup.refers_to(place.text(self, host), startup.MARK):
                continue  # a change of hpc-onboard's own line is a finding of the role
            if place or way.shell.endswith("csh"):  # which names no file
                text = "%s prints an error each time: %s"
                shown = place.shown(host) if place else way.file
                self.report("ENV-003", shown, text % (way.description, _describe_error(line)))
                return

    def _check_start(self, way: ShellWay, start: Optional[ProgramOutput], host: Host, deadline: float) -> None:
        """Report what a start prints and how long it takes."""
        if start is None:  # of a simulated account
            start = start_shell(way, host.real(host.home), deadline)
        if start is None or start.why == NOT_RUN:
            return
        slow = self.options["slow_seconds"]
        reported = self.rules_broken() if way.is_login else []  # one file serves both starts
        if start.why.startswith(ENDLESS):
            if "ENV-004" not in reported:
                self.report("ENV-004", way.file, "%s %s" % (way.description, start.why))
            return
        if start.text and "ENV-003" not in reported:
            self._report_output(way, host, start.text, start_shell(way, shell_views.NOWHERE, deadline))
        if start.seconds > slow and "ENV-004" not in reported:
            again = start_shell(way, host.real(host.home), deadline)  # a busy login node is slow once
            if again and again.seconds > slow:
                place = self._causes.of_delay(ShellView(way, {}, None, {}))
                text = "%s takes more than %d s" % (way.description, slow)
                self.report("ENV-004", place.shown(host) if place else way.file, text)

    def _report_output(self, way: ShellWay, host: Host, output: str, without: Optional[ProgramOutput]) -> None:
        """Tell the account's files from the site's. without: a run without the account's own files.

        The site's files may print at a login.
        """
        if without is None or not without.text:
            text = "%s prints something, which breaks scp, rsync and other programs"
            place = self._causes.of_output(ShellView(way, {}, None, {}), output)
            self.report("ENV-003", place.shown(host) if place else way.file, text % way.description)
        elif not way.is_login:
            text = "%s prints something because of the site's own start-up files: report it to the site"
            self.report("ENV-003", "/etc", text % way.description)

    def _check_options(self, host: Host, views: List[ShellView]) -> None:
        """Report options that end a shell or let it print, and what a program of sshd's prints."""
        for letter, rule, text in OPTIONS:
            for view in [one for one in views if letter in one.flags][:1]:
                place = self._causes.of_command(view, r"(?:set|setopt) (?:-\w*%s|-o |\w)" % letter)
                self.report(rule, place.shown(host) if place else view.way.file, text % view.way.description)
        for number, line in enumerate(split_lines(read_text(self, host, host.home + "/" + SSHD_RUNS)), 1):
            if re.match(r"\s*" + PRINTS, line):
                text = "sshd runs this file at every connection; what it prints breaks scp, rsync and other programs"
                self.report("ENV-003", "~/%s:%d" % (SSHD_RUNS, number), text)
                break

    # -- views ---------------------------------------------------------------------------------

    def _view_login(self, way: ShellWay, host: Host) -> Optional[ShellView]:
        """Return the environment of the login shell, which was read with the account."""
        try:
            environment = host.account.environment()
        except AccountError as error:
            if self.entries("programs"):
                self.skip("whether hpc-onboard's scripts are on PATH is unknown: %s" % error)
            return None
        return ShellView(way, environment, None, {})

    def _view(
        self, way: ShellWay, names: List[str], host: Host, deadline: float, submits: Optional[ShellView] = None
    ) -> Optional[ShellView]:
        """Return what is in a shell at a terminal, which may not be started, or in a job.

        submits: the shell whose environment the job gets; without one it gets the login's.
        """
        more: Dict[str, str] = {}
        if way.is_job:
            if host.account.start is None:
                return None  # the environment of a simulated account is no shell's
            try:
                more = submits.environment if submits else host.account.environment()
            except AccountError:
                return None
        elif shell_views.starts_session(host):
            return None
        if way.is_job:
            output = start_shell(way, host.real(host.home), deadline, query(way, names), more)
        else:
            output, errors = start_with_errors(way, host.real(host.home), deadline, query(way, names))
            self._check_errors(way, errors, host, deadline)
        return read_view(way, output) if output else None


def _describe_error(message: str) -> str:
    """Return what a shell complains about, in words that hold nothing of the file."""
    lower = message.lower()
    if re.search(r"no.such file", lower):
        return "this line names a file that does not exist"
    if "not found" in lower or "unknown command" in lower:
        return "this line runs a command that does not exist"
    if "ioctl" in lower or "terminal" in lower or "tty" in lower:
        return "this line needs a terminal"
    return "the shell cannot run a line of it"
