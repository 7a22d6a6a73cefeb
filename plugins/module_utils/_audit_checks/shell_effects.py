# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare what arrives in the account's shells with what hpc-onboard's file of settings sets there.

The comparison is with what the file says on the account, whatever is desired by now: what is desired and missing there
is another finding. A difference that several shells have from one cause is one problem, at the line that causes it.
"""

import os
import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._fixes import offers
from .._formats import environment, startup
from .._formats.lines import split_lines
from .._formats.settings import Setting, find_overrides
from .._scan.shell_views import ShellView, TracedLine, trace
from .._scan.start_up import FOLDER, env_file, login_shell_files, start_up_files
from .audit_check import NOT_ON_PATH, AuditCheck, read_text

EVERY_USER_WRITES = 0o002  # which a umask must take from what is created

ENDS = r"(?:[^#\n]*[;&|)\s])?(?:return|exit)\b"


class ViewDifference(NamedTuple):
    """Variables that the shells of these views lack, or have with another value."""

    names: Tuple[str, ...]
    is_unset: bool
    views: Tuple[ShellView, ...]


def check_effects(
    check: AuditCheck, host: Host, views: Sequence[ShellView], programs: Sequence[str], deadline: float
) -> None:
    """Report variables of hpc-onboard that do not arrive in a shell, scripts that it does not find, and its umask."""
    dialect = environment.BY_SHELL.get(os.path.basename(host.account.shell))
    text = read_text(check, host, env_file(host, dialect)) if dialect else ""
    ours = dict(environment.parse(dialect, text).variables) if dialect and text else {}
    is_read = bool(dialect and text) and _has_lines(check, host, str(dialect))  # else that is a finding of its own
    if ours:
        _check_variables(check, host, ours, views, is_read, deadline)
    if is_read:
        reading = [view for view in views if not _was_asked(host, view) or not set(ours) - set(view.environment)]
        if programs and not any(view.environment.get("PATH") for view in reading):
            check.skip("whether hpc-onboard's scripts are on PATH is unknown: the login shell has no PATH")
        for path in programs:
            _check_program(check, path, reading, host)
    for view in views:
        if view.umask is not None and not view.umask & EVERY_USER_WRITES:
            _report_umask(check, host, view, deadline)
            break


# -- variables ---------------------------------------------------------------------------------


def _has_lines(check: AuditCheck, host: Host, dialect: str) -> bool:
    """Return True if the start-up files have the line that reads hpc-onboard's file, as it was written."""
    line = environment.source_line(dialect, "%s/env.%s" % (FOLDER, dialect), startup.MARK)
    return all(startup.our_line(read_text(check, host, path)) == line for path in start_up_files(host))


def _check_variables(
    check: AuditCheck,
    host: Host,
    ours: Mapping[str, str],
    views: Sequence[ShellView],
    is_read: bool,
    deadline: float,
) -> None:
    explained = _check_lines(check, host, ours, views)
    for difference in _differences(host, {name: ours[name] for name in ours if name not in explained}, views):
        if difference.is_unset and not is_read:
            continue
        view = difference.views[0]
        lines = trace(view.way, host.real(host.home), deadline, _given(view))
        place = _find_cause(host, lines, difference) or _find_line(check, host, difference)
        for name in difference.names if place is None else difference.names[:1]:
            text = _describe(difference, name) if place is None else _describe(difference)
            fix = offers.offer_variable_fix(host, place[0], name) if place and not difference.is_unset else None
            shown = "%s:%d" % (host.shown(place[0]), place[1]) if place else "$" + name
            check.report("ENV-007", shown, text, "", fix)


def _check_lines(check: AuditCheck, host: Host, ours: Mapping[str, str], views: Sequence[ShellView]) -> List[str]:
    """Report the lines of start-up files that certainly, or in a shell, give a variable another value."""
    explained: List[str] = []
    for path in login_shell_files(host):
        for setting in find_overrides(read_text(check, host, path), ours, host.home):
            name = setting.name
            actual = [view.environment[name] for view in views if view.environment.get(name, ours[name]) != ours[name]]
            if setting.is_certain(host.home) or actual:
                explained.append(name)
                text = "%s has another value than hpc-onboard sets" % name
                text += _describe_folder(host, actual[0] if actual else ours[name], ours[name], setting)
                fix = offers.offer_variable_fix(host, path, name)
                check.report("ENV-007", "%s:%d" % (host.shown(path), setting.line), text, "", fix)
    return explained


def _differences(host: Host, ours: Mapping[str, str], views: Sequence[ShellView]) -> List[ViewDifference]:
    """Return the differences, each once: views with the same variables unset, or with another value, are one."""
    grouped: Dict[Tuple[bool, Tuple[str, ...]], List[ShellView]] = {}
    for view in views:
        is_asked = _was_asked(host, view)
        unset = tuple(sorted(name for name in ours if name not in view.environment)) if is_asked else ()
        other = tuple(sorted(name for name in ours if view.environment.get(name, ours[name]) != ours[name]))
        for is_unset, names in ((True, unset), (False, other)):
            if names:
                grouped.setdefault((is_unset, names), []).append(view)
    return [ViewDifference(names, is_unset, tuple(found)) for (is_unset, names), found in grouped.items()]


def _was_asked(host: Host, view: ShellView) -> bool:
    """Return True if a shell was started for the view; the environment of a simulated account is given."""
    return bool(host.account.start) or not view.way.is_login or bool(view.way.options[1:])


def _describe(difference: ViewDifference, name: str = "") -> str:
    first, more = name or difference.names[0], len(difference.names) - 1
    subject = first if name or not more else "%s and %d more variables of hpc-onboard" % (first, more)
    verb = "is" if subject == first else "are"
    where = " and ".join(sorted({view.way.description for view in difference.views}))
    if difference.is_unset:
        return "%s %s not set in %s" % (subject, verb, where)
    has = "has" if subject == first else "have"
    return "%s %s another value than hpc-onboard sets, in %s" % (subject, has, where)


def _given(view: ShellView) -> Dict[str, str]:
    return dict(view.environment) if view.way.is_job else {}


def _find_cause(host: Host, lines: Sequence[TracedLine], difference: ViewDifference) -> Optional[Tuple[str, int]]:
    """Return the file, a path, and the line that a shell ran last of those that set or unset the first variable.

    If the shell never read hpc-onboard's file, it is the last line of the file that should have.
    """
    name = difference.names[0]
    home = host.real(host.home)
    own = os.path.join(home, FOLDER) + "/"
    sets = re.compile(r"(?:^|[ ;])(?:unset(?: -\w+)* .*\b%s\b|(?:[A-Za-z]+ )?(?:-\w+ )*%s=)" % (name, name))
    in_home = [one for one in lines if one.file.startswith(home + "/") and not one.file.startswith(own)]
    found = [one for one in in_home if sets.search(one.text)]
    if not found and difference.is_unset and not any(one.file.startswith(own) for one in lines):
        with_line = [home + path[len(host.home) :] for path in start_up_files(host)]
        found = [one for one in in_home if one.file in with_line]
    if not found:
        return None
    return host.home + found[-1].file[len(home) :], found[-1].line


def _find_line(check: AuditCheck, host: Host, difference: ViewDifference) -> Optional[Tuple[str, int]]:
    """Return the line of a start-up file that unsets the first variable, or ends the file before hpc-onboard's line."""
    if not difference.is_unset:
        return None
    unsets = r"(?:unset|unsetenv|set -e|set -eg|export -n)\b.*\b%s\b" % difference.names[0]
    return _search_files(check, host, unsets) or _search_files(check, host, ENDS, True)


def _search_files(check: AuditCheck, host: Host, pattern: str, is_above: bool = False) -> Optional[Tuple[str, int]]:
    """Return the file and the number of the first line that begins so. is_above: before hpc-onboard's line alone."""
    begins = re.compile(r"\s*" + pattern)
    for path in login_shell_files(host):
        for number, line in enumerate(split_lines(read_text(check, host, path)), 1):
            if is_above and startup.reads(line, startup.MARK):
                break
            if begins.match(line):
                return path, number
    return None


def _describe_folder(host: Host, actual: str, ours: str, setting: Setting) -> str:
    """Return a warning about the folder that no program uses once the line is gone; empty if there is none."""
    folder = actual if actual != ours else setting.value(host.home)
    try:
        is_used = folder.startswith("/") and host.resolved_kind(folder) == "folder" and bool(host.names(folder))
    except AccountError:
        return ""
    return "; %s stays, and without this line no program uses it" % host.shown(folder) if is_used else ""


# -- scripts -----------------------------------------------------------------------------------


def _check_program(check: AuditCheck, path: str, views: Sequence[ShellView], host: Host) -> None:
    """Report a script that a shell does not find, or in whose place another program would start."""
    for view in views:
        search = view.environment.get("PATH", "")
        if not search:
            continue
        if _check_search(check, path, search, view, host) or _check_answer(check, path, view, host):
            return


def _check_search(check: AuditCheck, path: str, search: str, view: ShellView, host: Host) -> bool:
    """Report what PATH makes of a script; return True if there was something to report."""
    folder, name = os.path.split(path)
    folders = [os.path.normpath(one) for one in search.split(":") if one.startswith("/")]
    on_path = [host.resolve(one) for one in folders]
    if host.resolve(folder) not in on_path:
        text = "%s is not on PATH of %s" % (host.shown(folder), view.way.description)
        check.report("ENV-005", host.shown(path), text, case=NOT_ON_PATH)
        return True
    for earlier in folders[: on_path.index(host.resolve(folder))]:
        other = os.path.join(earlier, name)
        if is_executable(other, host):
            text = "it comes before %s on PATH of %s" % (host.shown(path), view.way.description)
            check.report("ENV-005", host.shown(other), text)
            return True
    return False


def _check_answer(check: AuditCheck, path: str, view: ShellView, host: Host) -> bool:
    """Report an alias or a function in the place of a script; return True if there is one."""
    answer = view.programs.get(os.path.basename(path), "")
    if not answer or answer.startswith("/"):
        return False
    text = "an alias or a function of this name comes before %s in %s" % (host.shown(path), view.way.description)
    check.report("ENV-005", view.way.file, text)
    return True


def is_executable(path: str, host: Host) -> bool:
    """Return True if a path is a program that the account can start."""
    try:
        real = host.resolve(path)
        entry = host.entry(real) if real else None
    except AccountError:
        return False  # a shell cannot look into the folder either
    return entry is not None and entry.kind == "file" and bool(entry.mode & 0o111)


# -- umask -------------------------------------------------------------------------------------


def _report_umask(check: AuditCheck, host: Host, view: ShellView, deadline: float) -> None:
    """Report a umask by which every user can write what the account creates, at the line that sets it."""
    home = host.real(host.home)
    lines = [one for one in trace(view.way, home, deadline, _given(view)) if re.match(r"umask \S", one.text)]
    own = [one for one in lines if one.file.startswith(home + "/")]
    traced = (host.home + own[-1].file[len(home) :], own[-1].line) if own else None
    found = traced or _search_files(check, host, r"umask\s+\d")
    place = "%s:%d" % (host.shown(found[0]), found[1]) if found else view.way.file
    text = "with umask %04o, every user can write what is created in %s" % (view.umask or 0, view.way.description)
    check.report("ENV-008", place, text)
