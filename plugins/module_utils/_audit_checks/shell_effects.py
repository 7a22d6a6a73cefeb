# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison of the account's shells with the settings file that hpc-onboard wrote for them.

The comparison uses the file as it is on the account. If the file itself lacks desired settings, the Ansible role that
writes the file reports this. A view (ShellView) is the state of a shell after its start-up files; view.way says how the
shell was started. A difference with one cause in several views is one problem, at the line that causes the difference.
In the functions, check is the audit check that reports the problems, and dialect is sh, csh or fish.
"""

import os
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._fixes import offers
from .._formats import environment, section, startup
from .._formats.settings import find_job_overrides, find_overrides
from .._scan.amounts import format_count
from .._shells.hazards import (
    COMMAND,
    DROPPED_OUTPUT,
    EMPTIED,
    HAZARDS,
    LIMITS,
    SEARCH_PATHS,
    SEARCHES_HERE,
    TIMES_OUT,
    pattern_of_replacement,
)
from .._shells.shell_views import ShellView
from .._shells.start_up import FOLDER, env_file, login_shell_files, start_up_files
from .audit_check import AuditCheck, is_in, read_text, real_home
from .effect_places import CauseFinder, Place
from .path_effects import check_path, check_programs

WITHOUT_FILES = ("sh", "dash", "ksh", "ksh93", "mksh")  # shells that read no start-up file for a command over ssh
EVERY_USER_WRITES = 0o002  # the permission that a umask must remove from new files
HAZARDOUS_LINES = (  # word in a line, pattern of the line, and its problem
    ("limit", LIMITS % COMMAND, "this line limits every program that you start, including jobs"),
    ("exec", DROPPED_OUTPUT, "this line redirects output or errors of the shell and of all its programs"),
    ("TMOUT", TIMES_OUT, "TMOUT: %s" % HAZARDS["TMOUT"]),
    ("env", EMPTIED % COMMAND, "this line starts a shell without the variables of hpc-onboard and of the site"),
    (
        "",  # the name may be in lower case
        pattern_of_replacement("MODULEPATH"),
        "this line removes the site's folders from MODULEPATH, so 'module' does not find the site's modules",
    ),
)


class ViewDifference(NamedTuple):
    """Variables of hpc-onboard that are unset, or have a different value, in the shells of these views."""

    names: Tuple[str, ...]
    is_unset: bool  # False: the variables have a different value
    views: Tuple[ShellView, ...]


def check_effects(
    check: AuditCheck, host: Host, views: Sequence[ShellView], programs: Sequence[str], causes: CauseFinder
) -> None:
    """Report where the shells deviate from hpc-onboard's settings, and settings that are unsafe in any shell.

    views: the account's shells. programs: the paths of hpc-onboard's scripts. causes: finds the line to report.
    """
    dialect, text = _read_own_file(check, host)
    own_values = read_own_variables(check, host)
    is_read = bool(text) and _has_lines(check, host, dialect)  # if not, the role reports the missing line
    if text:
        _check_file(check, host, dialect, text)
    if own_values:
        _check_variables(check, host, own_values, views, is_read, causes)
    if is_read:
        # A shell without the variables did not read the file, so a finding about its PATH would add nothing.
        names = set(own_values)
        readers = [view for view in views if _reads_files(view)]
        complete = [view for view in readers if names <= set(view.environment) or not _was_started(host, view)]
        check_programs(check, programs, complete, host, causes)
    check_path(check, host, views, causes)
    _check_hazards(check, host, views, causes)
    _check_umask(check, host, views, causes)


def read_own_variables(check: AuditCheck, host: Host) -> Dict[str, str]:
    """Return the variables that hpc-onboard's settings file sets in the login shell; empty without such a file."""
    dialect, text = _read_own_file(check, host)
    return dict(environment.parse(dialect, text).variables) if text else {}


def _read_own_file(check: AuditCheck, host: Host) -> Tuple[str, str]:
    """Return the dialect of the login shell and the text of its settings file; empty if the shell is unknown."""
    dialect = environment.BY_SHELL.get(os.path.basename(host.account.shell), "")
    return dialect, read_text(check, host, env_file(host, dialect)) if dialect else ""


# -- variables ---------------------------------------------------------------------------------


def _has_lines(check: AuditCheck, host: Host, dialect: str) -> bool:
    """Return True if every start-up file contains the unchanged line that reads hpc-onboard's file."""
    line = environment.source_line(dialect, "%s/env.%s" % (FOLDER, dialect), startup.MARK)
    return all(startup.find_our_line(read_text(check, host, path)) == line for path in start_up_files(host))


def _check_file(check: AuditCheck, host: Host, dialect: str, text: str) -> None:
    """Report the first line of hpc-onboard's file that is outside of the sections, so hpc-onboard did not write it.

    text: the content of the file.
    """
    number = section.first_line_outside(text)
    if number:
        why = "hpc-onboard did not write this line: move it from hpc-onboard's file to your own start-up file"
        check.report("ENV-002", "%s:%d" % (host.shown(env_file(host, dialect)), number), why)


def _check_variables(
    check: AuditCheck,
    host: Host,
    own_values: Mapping[str, str],
    views: Sequence[ShellView],
    is_read: bool,
    causes: CauseFinder,
) -> None:
    """Report hpc-onboard's variables that are unset or different in a shell.

    own_values: variable -> value that hpc-onboard's file sets. is_read: all start-up files read hpc-onboard's file.
    """
    explained = _check_lines(check, host, own_values, views)
    unexplained = {name: value for name, value in own_values.items() if name not in explained}
    for difference in _find_differences(host, unexplained, views):
        if difference.is_unset and not is_read:
            continue  # the role reports the missing line
        name, view = difference.names[0], difference.views[0]
        place = causes.locate_variable(view, name, difference.is_unset)
        fix = offers.offer_variable_fix(host, place.path, name) if place and not difference.is_unset else None
        # Without a known line: if several variables are unset, a start-up file as a whole is the likely cause.
        are_several_unset = difference.is_unset and len(difference.names) > 1
        file_or_variable = view.way.file if are_several_unset else "$" + name
        check.report("ENV-007", place.shown(host) if place else file_or_variable, _describe(difference), auto_fix=fix)


def _check_lines(check: AuditCheck, host: Host, own_values: Mapping[str, str], views: Sequence[ShellView]) -> List[str]:
    """Report the lines of start-up files that override a variable, and return the names of these variables.

    Lines that override a variable in jobs only are reported too, but do not count for the returned names.
    """
    explained: List[str] = []
    for path in login_shell_files(host):
        for setting in find_overrides(read_text(check, host, path), own_values, host.home):
            name, own_value = setting.name, own_values[setting.name]
            values = [view.environment.get(name, own_value) for view in views]
            other_values = [value for value in values if value != own_value]
            # Either the line alone determines the value, or a shell shows its effect.
            if setting.is_certain(host.home) or other_values:
                explained.append(name)
                text = "this line overrides hpc-onboard's %s" % name
                warning = _warn_of_unused_folder(host, other_values[0] if other_values else setting.value(host.home))
                text += "; " + warning if warning else ""
                fix = offers.offer_variable_fix(host, path, name)
                check.report("ENV-007", "%s:%d" % (host.shown(path), setting.line), text, auto_fix=fix)
        for line, name in find_job_overrides(read_text(check, host, path), own_values, host.home):
            if name not in explained:
                text = "in a job, this line overrides or unsets hpc-onboard's %s"
                check.report("ENV-007", "%s:%d" % (host.shown(path), line), text % name)
    return explained


def _find_differences(host: Host, own_values: Mapping[str, str], views: Sequence[ShellView]) -> List[ViewDifference]:
    """Return the variables that are unset or different, with one ViewDifference for all views with the same names."""
    grouped: Dict[Tuple[bool, Tuple[str, ...]], List[ShellView]] = {}  # (is_unset, names) -> views
    for view in views:
        # Of other views, a missing variable proves nothing.
        is_complete = _was_started(host, view) and _reads_files(view)
        unset = [name for name in own_values if name not in view.environment] if is_complete else []
        different = [name for name, value in own_values.items() if view.environment.get(name, value) != value]
        for is_unset, names in ((True, unset), (False, different)):
            if names:
                grouped.setdefault((is_unset, tuple(sorted(names))), []).append(view)
    return [ViewDifference(names, is_unset, tuple(group)) for (is_unset, names), group in grouped.items()]


def _was_started(host: Host, view: ShellView) -> bool:
    """Return True if the view comes from a shell that ran; False for the login environment of a simulated account.

    A simulated account has no login shell (host.account.start), but the audit starts its other shells.
    """
    is_at_terminal = "-i" in view.way.options
    return bool(host.account.start) or not view.way.is_login or is_at_terminal


def _reads_files(view: ShellView) -> bool:
    """Return False for a command over ssh in ksh or sh, which read no start-up file then."""
    is_command = not (view.way.is_login or view.way.is_job)
    return not (is_command and os.path.basename(view.way.shell) in WITHOUT_FILES)


def _describe(difference: ViewDifference) -> str:
    """Return a sentence that names the first variable, the number of the others, and the shells."""
    first, others = difference.names[0], len(difference.names) - 1
    where = " and ".join(sorted({view.way.description for view in difference.views}))
    more = format_count(others, "more variable")
    if difference.is_unset:
        text = "%s and %s of hpc-onboard are not set in %s" if others else "%s is not set in %s"
    elif others:
        text = "%s and %s have values other than hpc-onboard's in %s"
    else:
        text = "%s has a value other than hpc-onboard's in %s"
    return text % ((first, more, where) if others else (first, where))


def _warn_of_unused_folder(host: Host, folder: str) -> str:
    """Return a warning that a folder is unused after the line is removed; empty if the folder has no content."""
    try:
        has_content = folder.startswith("/") and host.resolved_kind(folder) == "folder" and bool(host.names(folder))
    except AccountError:
        return ""
    if not has_content:
        return ""
    return "after you remove this line, %s is no longer used, but its content remains" % host.shown(folder)


# -- other settings ---------------------------------------------------------------------------


def _check_umask(check: AuditCheck, host: Host, views: Sequence[ShellView], causes: CauseFinder) -> None:
    """Report the first shell in which every user gets write permission for new files."""
    for view in views:
        if view.umask is not None and not view.umask & EVERY_USER_WRITES:
            place = causes.locate_command(view, r"umask\s+(?:-S\s+)?[0-7augo]")
            text = "umask %04o lets every user change the files that you create in %s"
            shown = place.shown(host) if place else view.way.file
            check.report("ENV-008", shown, text % (view.umask, view.way.description))
            return


def _check_hazards(check: AuditCheck, host: Host, views: Sequence[ShellView], causes: CauseFinder) -> None:
    """Report lines that affect every program: its current folder, its limits, its output or its variables."""
    for view in views:
        # A job starts in the folder from which it was submitted, and at a terminal, the user may want cd.
        is_command = not view.way.is_job and "-i" not in view.way.options
        if is_command and view.folder and view.folder not in ("/", host.home, host.real(host.home)):
            place = causes.locate_command(view, r"(?:cd|chdir|pushd)\b")
            _report_hazard(check, host, place, "every command starts in a folder other than the home directory")
        for name, text in _hazardous_variables(host, view):
            _report_hazard(check, host, causes.locate_variable(view, name, is_unset=False), text)
    for word, pattern, text in HAZARDOUS_LINES:
        _report_hazard(check, host, causes.search(pattern, word), text)


def _hazardous_variables(host: Host, view: ShellView) -> Iterator[Tuple[str, str]]:
    """Yield (name, problem) of each variable in a shell that affects every program."""
    for name in HAZARDS:
        if name in view.environment:
            yield name, "%s: %s" % (name, HAZARDS[name])
    for name in SEARCH_PATHS:
        if SEARCHES_HERE.search(view.environment.get(name, "")):
            text = "%s contains the current folder, so programs load code from any folder in which they start"
            yield name, text % name
    homes = (host.home, real_home(host), host.real(host.home))
    if view.environment.get("HOME", host.home) not in homes:
        yield "HOME", "HOME is not your home directory, so programs do not find your settings and keys"
    if any(is_in(view.environment.get("TMPDIR", ""), home) for home in homes):
        yield "TMPDIR", "TMPDIR is in the home directory, which is small, and every job writes to TMPDIR"


def _report_hazard(check: AuditCheck, host: Host, place: Optional[Place], text: str) -> None:
    """Report a line of the user that causes a problem. A line of the site, or an unknown line, is not reported.

    place: the line; None if it was not found. text: the problem.
    """
    if place and not place.is_of_site:
        check.report("ENV-011", place.shown(host), text)
