# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the account's start-up files: their output, their duration, and the resulting shells.

The shells run in a sandbox without write access. On a login node that cannot provide the sandbox, they are not started:
start-up files may write, and an audit must not. A way (ShellWay) is a way to start a shell, and a view (ShellView) the
state of a shell after its start-up files. The login shell was started when the run began: see host.account.start.
"""

import time
from typing import Any, Dict, List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.program import ENDLESS, NOT_RUN, ProgramOutput
from .._formats import startup
from .._shells import shell_views
from .._shells.hazards import DROPPED_OUTPUT
from .._shells.shell_views import ShellView, ShellWay, build_query, read_view, start_and_read_errors, start_shell
from .._shells.start_problems import (
    describe_error,
    find_printing_line,
    find_replaced_terminal,
    select_errors,
    tests_terminal,
)
from .._shells.start_up import login_shell_files
from .audit_check import AuditCheck, read_text
from .effect_places import CauseFinder, find_read_files
from .path_effects import LAUNCHERS, is_executable
from .shell_effects import check_effects

TOTAL_SECONDS = 24.0  # for all shells together
# patterns of commands that replace a shell, or end a shell now or at an error
REPLACES_SHELL = r"(?:exec|exit|logout|tmux|screen|zellij|byobu)\b"
ENDS_SHELL = (
    r"(?:exit|logout|set -\w*[eu]\w*|(?:set -o|setopt) (?i:err_?(?:exit|return)|no_?unset)|unsetopt (?i:unset))\b"
)
SHELL_OPTIONS = (  # letter of $-, rule, description
    ("e", "ENV-004", "'set -e' is in effect in %s, which ends at the first command that fails"),
    ("u", "ENV-004", "'set -u' is in effect in %s, which ends at the first unset variable"),
    ("x", "ENV-003", "'set -x' is in effect in %s, which prints every command"),
    ("v", "ENV-003", "'set -v' is in effect in %s, which prints every line"),
)
TRACES_FISH = r"\s*set(?: --?[\w-]+)* fish_trace [1-9]"
SSH_RC = ".ssh/rc"
NO_SHELLS = (
    "audit_no_shells is set, so the audit did not check the output and duration of start-up files, or the settings in"
    " an interactive shell, a command over ssh or a job"
)


class StartupFiles(AuditCheck):
    """The start of the account's shell for a command over ssh, at a login, at a terminal and in a job.

    In the methods, names are the programs to look up in the started shell, and deadline is the time, as of time.time(),
    after which no shell is started.
    """

    KIND = "startup_files"
    TITLE = "start-up of the login shell"
    PATH_OPTIONS = ("programs",)
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        # scripts that should be on PATH; each entry has the key path
        "programs": {"type": "list", "elements": "dict", "default": []},
        "slow_seconds": {"type": "int", "default": 2},  # the longest start that is not reported
        "shells": {"type": "bool", "default": True},  # start shells other than the login shell
    }

    def run(self, host: Host) -> None:
        """Start the account's shells, and report problems of their start and of the resulting environments."""
        # Examined before a shell starts, so that the delay of a hanging file system is not reported as the shell's.
        programs = [entry["path"] for entry in self.entries("programs") if is_executable(entry["path"], host)]
        names = [path.rpartition("/")[2] for path in programs]
        if not host.account.hung_mounts:  # a shell that searches PATH for a missing program would hang
            names += LAUNCHERS
        deadline = time.time() + TOTAL_SECONDS
        self._causes = CauseFinder(self, host, deadline)
        ways = shell_views.list_shell_ways(host)
        views = [self._read_login_view(ways[1], host)]
        if self.options["shells"]:
            views += self._start_shells(ways, names, host, deadline)
        else:
            self.skip(NO_SHELLS)
        known_views = [view for view in views if view]
        self._check_options(host, known_views)
        check_effects(self, host, known_views, programs, self._causes)

    def _start_shells(
        self, ways: List[ShellWay], names: List[str], host: Host, deadline: float
    ) -> List[Optional[ShellView]]:
        """Start the shells one after the other, report the problems of their starts, and return their views.

        ways: see list_shell_ways. Of the login shell, only the start is checked, because its view is known.
        """
        command, login, terminal, batch = ways
        view = self._start_ssh_command(command, names, host, deadline)
        if view is None and not self.rules_broken():  # without a sandbox, no shell was started
            return []
        self._check_start(login, host.account.start, host, deadline)
        self._check_login(login, host)
        login_ends = host.account.start is None or not host.account.start.why  # if not, a terminal would hang as well
        if view is None or not login_ends:
            return [view]
        terminal_view = self._start_terminal(terminal, names, host, deadline)
        # Jobs inherit the environment of the terminal from which they are submitted.
        return [view, terminal_view, self._start_job(batch, names, host, deadline, submitter=terminal_view)]

    def _start_ssh_command(self, way: ShellWay, names: List[str], host: Host, deadline: float) -> Optional[ShellView]:
        """Start the shell of an ssh command, report its problems, and return its view; None if unknown."""
        output, errors = start_and_read_errors(way, host.real(host.home), deadline, build_query(way, names))
        if output is None or output.why == NOT_RUN:
            self.skip("the start-up files were not run: no sandbox is available, or the login shell is missing")
            return None
        view = read_view(way, output)
        self._check_start(way, shell_views.remove_answer(output), host, deadline)  # with what start-up files print
        if view is None and not self.rules_broken():
            self._report_no_command(way, host)
        self._check_errors(way, errors, host, deadline)
        return view

    def _check_login(self, way: ShellWay, host: Host) -> None:
        """Report a login shell that starts and ends normally, but does not run its command."""
        start = host.account.start
        if start is None or start.why or "ENV-004" in self.rules_broken():
            return
        try:
            host.account.environment()
        except AccountError:
            self._report_no_command(way, host)

    def _report_no_command(self, way: ShellWay, host: Host) -> None:
        """Report a shell that does not run its command, at the line that exits or replaces the shell."""
        if self._causes.search(DROPPED_OUTPUT, "exec"):
            self.skip("the shells were not checked, because a start-up file redirects their output")
            return  # check_effects reports the line
        place = self._causes.locate_command(_unknown_view(way), REPLACES_SHELL)
        text = "%s does not run: a start-up file exits, or replaces the shell with another program"
        self.report("ENV-004", place.shown(host) if place else way.file, text % way.description, severity="high")

    def _report_end(self, way: ShellWay, host: Host) -> None:
        """Report a shell at a terminal that ends before its first prompt, if the line that ends the shell is found.

        A line that tests for a terminal is not reported, because it ends the shell only in an audit, without terminal.
        """
        place = self._causes.locate_command(_unknown_view(way), ENDS_SHELL)
        if place and not place.is_of_site and not tests_terminal(place.text(self, host)):
            text = "%s ends before its first prompt because of this line"
            self.report("ENV-004", place.shown(host), text % way.description)

    def _report_replaced_terminal(self, host: Host) -> None:
        """Report a line that replaces interactive shells without a test for a terminal."""
        if "ENV-004" in self.rules_broken():
            return
        for path in find_read_files(self, host):
            number = find_replaced_terminal(read_text(self, host, path))
            if number:
                text = "this line replaces interactive shells, also in jobs: first test for a terminal ([ -t 0 ])"
                self.report("ENV-004", "%s:%d" % (host.shown(path), number), text)
                return

    def _check_errors(self, way: ShellWay, errors: str, host: Host, deadline: float) -> None:
        """Report the first error of the user's start-up files, without the error's text, which may contain a key.

        errors: what the shell printed to stderr.
        """
        if "ENV-003" in self.rules_broken():
            return  # the reported output may have the same cause
        for path in login_shell_files(host):
            if "%s: Permission denied" % host.real(path) in errors:
                self.report("ENV-003", host.shown(path), "%s has no permission to read this file" % way.description)
                return
        lines = select_errors(errors, way.is_login)
        if not lines:
            return
        # Errors that also occur without the user's files are the site's.
        _output, errors_of_site = start_and_read_errors(way, shell_views.NOWHERE, deadline, line="true")
        for line in [line for line in lines if line not in select_errors(errors_of_site, is_login=False)]:
            shown = self._show_place_of_error(way, line, host)
            if shown:
                text = "%s always prints an error: %s"
                self.report("ENV-003", shown, text % (way.description, describe_error(line)))
                return

    def _show_place_of_error(self, way: ShellWay, message: str, host: Host) -> str:
        """Return the place, for display, that causes an error message; empty if the error must not be reported."""
        place = self._causes.locate_error(_unknown_view(way), message)
        if place and startup.refers_to(place.text(self, host), startup.MARK):
            return ""  # the Ansible role that adds hpc-onboard's line checks the line
        if place:
            return place.shown(host)
        # Errors of csh name no file, and some of ksh name only the file.
        names = (host.shown(path) for path in login_shell_files(host) if message.startswith(host.real(path) + ": "))
        return next(names, way.file if way.shell.endswith("csh") else "")

    def _check_start(self, way: ShellWay, start: Optional[ProgramOutput], host: Host, deadline: float) -> None:
        """Report a start that prints something, takes too long or does not end. start: its output, if known."""
        if start is None:  # the login shell of a simulated account
            start = start_shell(way, host.real(host.home), deadline)
        if start is None or start.why == NOT_RUN:
            return  # without a sandbox, no shell was started
        reported = self.rules_broken() if way.is_login else []  # an ssh command may have the same problem
        if start.why.startswith(ENDLESS):  # the shell was killed at the time limit
            if "ENV-004" not in reported:
                self.report("ENV-004", way.file, "%s %s" % (way.description, start.why))
            return
        if start.text and "ENV-003" not in reported:
            start_of_site = start_shell(way, shell_views.NOWHERE, deadline)  # in a home without start-up files
            self._report_output(way, host, start.text, start_of_site)
        if "ENV-004" not in reported:
            self._check_duration(way, start, host, deadline)

    def _check_duration(self, way: ShellWay, start: ProgramOutput, host: Host, deadline: float) -> None:
        """Report a start that takes too long twice: a busy login node may be slow once."""
        slow = self.options["slow_seconds"]
        again = start_shell(way, host.real(host.home), deadline) if start.seconds > slow else None
        if again and again.seconds > slow:
            place = self._causes.locate_delay(_unknown_view(way))
            text = "%s takes more than %d s to start" % (way.description, slow)
            self.report("ENV-004", place.shown(host) if place else way.file, text)

    def _report_output(self, way: ShellWay, host: Host, output: str, of_site: Optional[ProgramOutput]) -> None:
        """Report output of the user's start-up files or, except at a login, of the site's.

        of_site: the output of a start without the user's files; None if unknown.
        """
        if of_site is None or not of_site.text:
            text = "a start-up file prints text when %s starts, which breaks scp, rsync and other programs"
            place = self._causes.locate_output(_unknown_view(way), output)
            self.report("ENV-003", place.shown(host) if place else way.file, text % way.description)
        elif not way.is_login:
            text = "the site's start-up files print text when %s starts: report this to the site"
            self.report("ENV-003", "/etc", text % way.description)

    def _check_options(self, host: Host, views: List[ShellView]) -> None:
        """Report shell options that end a shell or make the shell print, and a ~/.ssh/rc that prints."""
        for letter, rule, text in SHELL_OPTIONS:
            view = next((view for view in views if letter in view.flags), None)
            if view:
                # a command that sets the option by its letter, or any option by name
                place = self._causes.locate_command(view, r"(?:set|setopt) (?:-\w*%s|-o |\w)" % letter)
                self.report(rule, place.shown(host) if place else view.way.file, text % view.way.description)
        place = self._causes.search(TRACES_FISH, "fish_trace")
        if place:
            self.report("ENV-003", place.shown(host), "fish_trace makes fish print every command")
        number = find_printing_line(read_text(self, host, host.home + "/" + SSH_RC))
        if number:
            text = "sshd runs this file at every connection, and its output breaks scp, rsync and other programs"
            self.report("ENV-003", "~/%s:%d" % (SSH_RC, number), text)

    def _read_login_view(self, way: ShellWay, host: Host) -> Optional[ShellView]:
        """Return the view of the login shell, without umask and programs; None if its environment is unknown."""
        try:
            environment = host.account.environment()
        except AccountError as error:
            if self.entries("programs"):
                self.skip("hpc-onboard cannot check whether its scripts are on PATH: %s" % error)
            return None
        return ShellView(way, environment, umask=None, programs={}, folder=environment.get("PWD", ""))

    def _start_terminal(self, way: ShellWay, names: List[str], host: Host, deadline: float) -> Optional[ShellView]:
        """Start the shell of a terminal, report its problems, and return its view; None if the state is unknown."""
        if shell_views.starts_session(host):
            self._report_replaced_terminal(host)
            return None  # a start-up file may start a session of tmux, which would remain after the audit
        output, errors = start_and_read_errors(way, host.real(host.home), deadline, build_query(way, names))
        self._check_errors(way, errors, host, deadline)
        if output is None:
            return None  # no time is left
        view = read_view(way, output)
        if view and way.shell.endswith("csh"):  # without a terminal, csh has no variable prompt
            self._report_replaced_terminal(host)
        if "ENV-004" not in self.rules_broken():
            self._check_duration(way, output, host, deadline)
            if view is None and not output.why:  # the shell ended before it answered the query
                self._report_end(way, host)
                self._report_replaced_terminal(host)
        return view

    def _start_job(
        self, way: ShellWay, names: List[str], host: Host, deadline: float, submitter: Optional[ShellView]
    ) -> Optional[ShellView]:
        """Start the shell of a batch job, and return its view; None if the state is unknown.

        submitter: the shell from which the job inherits its environment; None for the login shell.
        """
        if host.account.start is None:
            return None  # the environment of a simulated account does not come from a shell
        try:
            environment = submitter.environment if submitter else host.account.environment()
        except AccountError:
            return None
        output = start_shell(way, host.real(host.home), deadline, build_query(way, names), environment)
        return read_view(way, output) if output else None


def _unknown_view(way: ShellWay) -> ShellView:
    """Return a view for the search of causes, which needs only the way of the start."""
    return ShellView(way, environment={}, umask=None, programs={})
