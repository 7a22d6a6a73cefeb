# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare what arrives in the account's shells with what hpc-onboard's file of settings sets there.

The comparison is with what the file says on the account, whatever is desired by now: what is desired and missing there
is another finding. A difference that several shells have from one cause is one problem, at the line that causes it.
"""

import os
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._fixes import offers
from .._formats import environment, section, startup
from .._formats.settings import Setting, find_job_overrides, find_overrides
from .._scan.hazards import HAZARDS, LIMITS
from .._scan.shell_views import ShellView
from .._scan.start_up import FOLDER, env_file, login_shell_files, start_up_files
from .audit_check import (
    CURRENT_FOLDER,
    NAME_TAKEN,
    NOT_ON_PATH,
    PATH_REPLACED,
    AuditCheck,
    is_in,
    read_own_variables,
    read_text,
    real_home,
)
from .effect_places import COMMAND, Causes, Place

LAUNCHERS = ("sbatch", "srun", "salloc", "enroot", "apptainer", "singularity")
"""Programs that start jobs and containers. What is called so in a shell should be the site's."""
EVERY_USER_WRITES = 0o002  # which a umask must take from what is created


class ViewDifference(NamedTuple):
    """Variables that the shells of these views lack, or have with another value."""

    names: Tuple[str, ...]
    is_unset: bool
    views: Tuple[ShellView, ...]


def check_effects(
    check: AuditCheck, host: Host, views: Sequence[ShellView], programs: Sequence[str], causes: Causes
) -> None:
    """Report variables of hpc-onboard that do not arrive in a shell, scripts that it does not find, and its umask."""
    dialect = environment.BY_SHELL.get(os.path.basename(host.account.shell))
    ours = read_own_variables(check, host)
    has_file = bool(dialect and read_text(check, host, env_file(host, dialect)))
    is_read = has_file and _has_lines(check, host, str(dialect))  # else that is a finding of its own
    if has_file:
        _check_file(check, host, str(dialect))
    if ours:
        _check_variables(check, host, ours, views, is_read, causes)
    if is_read:
        reading = [view for view in views if not _was_asked(host, view) or not set(ours) - set(view.environment)]
        if programs and not any(view.environment.get("PATH") for view in reading):
            check.skip("whether hpc-onboard's scripts are on PATH is unknown: the login shell has no PATH")
        for path in programs:
            _check_program(check, path, reading, host, causes)
    _check_launchers(check, host, views, causes)
    _check_hazards(check, host, views, causes)
    _check_current_folder(check, host, views, causes)
    for view in views:
        if view.umask is not None and not view.umask & EVERY_USER_WRITES:
            place = causes.of_command(view, r"umask \s*0?\d")
            text = "with umask %04o, every user can write what is created in %s"
            shown = place.shown(host) if place else view.way.file
            check.report("ENV-008", shown, text % (view.umask or 0, view.way.description))
            break


# -- variables ---------------------------------------------------------------------------------


def _has_lines(check: AuditCheck, host: Host, dialect: str) -> bool:
    """Return True if the start-up files have the line that reads hpc-onboard's file, as it was written."""
    line = environment.source_line(dialect, "%s/env.%s" % (FOLDER, dialect), startup.MARK)
    return all(startup.find_our_line(read_text(check, host, path)) == line for path in start_up_files(host))


def _check_file(check: AuditCheck, host: Host, dialect: str) -> None:
    """Report the first line of hpc-onboard's file that is in none of its sections: who wrote it is unknown."""
    path = env_file(host, dialect)
    number = section.first_outside(read_text(check, host, path))
    if number:
        text = "this line of hpc-onboard's file is not hpc-onboard's: put it into a start-up file of yours"
        check.report("ENV-002", "%s:%d" % (host.shown(path), number), text)


def _check_variables(
    check: AuditCheck,
    host: Host,
    ours: Mapping[str, str],
    views: Sequence[ShellView],
    is_read: bool,
    causes: Causes,
) -> None:
    explained = _check_lines(check, host, ours, views)
    for difference in _differences(host, {name: ours[name] for name in ours if name not in explained}, views):
        if difference.is_unset and not is_read:
            continue
        place = causes.of_variable(difference.views[0], difference.names[0], difference.is_unset)
        name, view = difference.names[0], difference.views[0]
        fix = offers.offer_variable_fix(host, place.path, name) if place and not difference.is_unset else None
        unplaced = view.way.file if difference.is_unset and difference.names[1:] else "$" + name
        check.report("ENV-007", place.shown(host) if place else unplaced, _describe(difference), "", fix)


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
        for line, name in find_job_overrides(read_text(check, host, path), ours, host.home):
            if name not in explained:
                text = "%s has another value than hpc-onboard sets, or none, in a job"
                check.report("ENV-007", "%s:%d" % (host.shown(path), line), text % name)
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


def _describe(difference: ViewDifference) -> str:
    first, more = difference.names[0], len(difference.names) - 1
    subject = first if not more else "%s and %d more variables of hpc-onboard" % (first, more)
    verb = "is" if subject == first else "are"
    where = " and ".join(sorted({view.way.description for view in difference.views}))
    if difference.is_unset:
        return "%s %s not set in %s" % (subject, verb, where)
    has = "has" if subject == first else "have"
    return "%s %s another value than hpc-onboard sets, in %s" % (subject, has, where)


def _describe_folder(host: Host, actual: str, ours: str, setting: Setting) -> str:
    """Return a warning about the folder that no program uses once the line is gone; empty if there is none."""
    folder = actual if actual != ours else setting.value(host.home)
    try:
        is_used = folder.startswith("/") and host.resolved_kind(folder) == "folder" and bool(host.names(folder))
    except AccountError:
        return ""
    return "; %s stays, and without this line no program uses it" % host.shown(folder) if is_used else ""


# -- scripts -----------------------------------------------------------------------------------


def _check_program(check: AuditCheck, path: str, views: Sequence[ShellView], host: Host, causes: Causes) -> None:
    """Report a script that a shell does not find, or in whose place another program would start."""
    for view in views:
        search = view.environment.get("PATH", "")
        if not search:
            continue
        if _check_search(check, path, search, view, host, causes) or _check_answer(check, path, view, host, causes):
            return


def _check_search(check: AuditCheck, path: str, search: str, view: ShellView, host: Host, causes: Causes) -> bool:
    """Report what PATH makes of a script; return True if there was something to report."""
    folder, name = os.path.split(path)
    folders = [os.path.normpath(one) for one in search.split(":") if one.startswith("/")]
    on_path = [host.resolve(one) for one in folders]
    if host.resolve(folder) not in on_path:
        text, place = "%s is not on PATH of %s", causes.of_path(view, folder)
        text %= host.shown(folder), view.way.description
        if place:
            check.report("ENV-005", place.shown(host), "after this line " + text, case=PATH_REPLACED)
        else:
            check.report("ENV-005", host.shown(path), text, case=NOT_ON_PATH)
        return True
    for earlier in folders[: on_path.index(host.resolve(folder))]:
        other = os.path.join(earlier, name)
        if is_executable(other, host):
            text = "it comes before %s on PATH of %s" % (host.shown(path), view.way.description)
            check.report("ENV-005", host.shown(other), text)
            return True
    return False


def _check_answer(check: AuditCheck, path: str, view: ShellView, host: Host, causes: Causes) -> bool:
    """Report an alias or a function in the place of a script; return True if there is one."""
    name = os.path.basename(path)
    answer = view.programs.get(name, "")
    if not answer or answer.startswith("/"):
        return False
    text = "an alias or a function of this name comes before %s in %s" % (host.shown(path), view.way.description)
    place = causes.of_name(view, name)
    check.report("ENV-005", place.shown(host) if place else view.way.file, text, case=NAME_TAKEN)
    return True


def _check_launchers(check: AuditCheck, host: Host, views: Sequence[ShellView], causes: Causes) -> None:
    """Report an alias or a function of the account's in the place of a program that starts jobs or containers."""
    for name in LAUNCHERS:
        for view in views:
            other = view.programs.get(name, "")
            if is_in(other, host.real(host.home)) and _has_another(view, other):
                text = "it comes before the site's %s on PATH of %s"
                shown = host.shown(host.home + other[len(host.real(host.home)) :])
                check.report("ENV-005", shown, text % (name, view.way.description))
                break
            place = causes.of_name(view, name) if not view.programs.get(name, "/").startswith("/") else None
            if place and not place.is_of_site:
                text = "an alias or a function comes before the site's %s in %s" % (name, view.way.description)
                check.report("ENV-005", place.shown(host), text, case=NAME_TAKEN)
                break


def _has_another(view: ShellView, program: str) -> bool:
    """Return True if PATH has another program of this name."""
    folder, name = os.path.split(program)
    others = [one for one in view.environment.get("PATH", "").split(":") if one.startswith("/") and one != folder]
    return any(os.access(os.path.join(one, name), os.X_OK) for one in others)


def _check_hazards(check: AuditCheck, host: Host, views: Sequence[ShellView], causes: Causes) -> None:
    """Report what a start-up file changes for every command: the folder, limits, and variables of many programs."""
    for view in views:
        of_program = not view.way.is_job and "-i" not in view.way.options  # a user at a terminal may want to be there
        if of_program and view.folder and view.folder not in ("/", host.home, host.real(host.home)):
            _report_hazard(check, host, causes.of_command(view, r"(?:cd|pushd)\b"), "every command starts elsewhere")
        for name in [name for name in HAZARDS if name in view.environment]:
            _report_hazard(check, host, causes.of_variable(view, name, False), "%s: %s" % (name, HAZARDS[name]))
        folder = view.environment.get("TMPDIR", "")
        if any(is_in(folder, home) for home in (host.home, real_home(host), host.real(host.home))):
            text = "TMPDIR is in the home, which is small, and which every job then writes to"
            _report_hazard(check, host, causes.of_variable(view, "TMPDIR", False), text)
    text = "what is started from a shell, a job too, may use no more than this line says"
    _report_hazard(check, host, causes.search(LIMITS % COMMAND), text)


def _report_hazard(check: AuditCheck, host: Host, place: Optional[Place], text: str) -> None:
    if place and not place.is_of_site:
        check.report("ENV-011", place.shown(host), text)


def _check_current_folder(check: AuditCheck, host: Host, views: Sequence[ShellView], causes: Causes) -> None:
    """Report a PATH by which a program of the current folder is started."""
    for view in views:
        folders = view.environment.get("PATH", "/").split(":")
        if not all(one.startswith("/") for one in folders):
            place = causes.of_current_folder(view)
            if place or "." in folders:  # a site's file may leave an empty entry
                text = "PATH has the current folder in %s: a program there starts in the place of the usual one"
                shown = place.shown(host) if place else "$PATH"
                check.report("ENV-005", shown, text % view.way.description, case=CURRENT_FOLDER)
                return


def is_executable(path: str, host: Host) -> bool:
    """Return True if a path is a program that the account can start."""
    try:
        real = host.resolve(path)
        entry = host.entry(real) if real else None
    except AccountError:
        return False  # a shell cannot look into the folder either
    return entry is not None and entry.kind == "file" and bool(entry.mode & 0o111)
