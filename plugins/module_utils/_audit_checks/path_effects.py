# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of PATH and of the programs that the account's shells start: hpc-onboard's scripts and the launchers.

An alias or a function can also hide a program. A view (ShellView) is the state of a shell after its start-up files, and
view.way says how the shell was started. In the functions, check is the audit check that reports the problems, path is
the path of a script of hpc-onboard, and causes finds the line of a start-up file to report.
"""

import os
from typing import Sequence

from .._core.host import Host
from .._shells.hazards import pattern_of_replacement
from .._shells.shell_views import ShellView
from .audit_check import (
    CURRENT_FOLDER,
    NAME_TAKEN,
    NOT_ON_PATH,
    PATH_REPLACED,
    AuditCheck,
    find_entry,
    is_in,
    resolve_readable,
)
from .effect_places import CauseFinder

LAUNCHERS = ("sbatch", "srun", "salloc", "enroot", "apptainer", "singularity")
"""Programs that start jobs and containers. In every shell, these names should start the site's programs."""


def is_executable(path: str, host: Host) -> bool:
    """Return True if a path is an executable file."""
    entry = find_entry(path, host)
    return entry is not None and entry.kind == "file" and bool(entry.mode & 0o111)


def check_programs(
    check: AuditCheck, programs: Sequence[str], views: Sequence[ShellView], host: Host, causes: CauseFinder
) -> None:
    """Report scripts that a shell does not find, or in place of which the shell starts something else.

    programs: the paths of hpc-onboard's scripts. views: the account's shells. causes: finds the line to report.
    """
    if programs and not any(view.environment.get("PATH") for view in views):
        check.skip("hpc-onboard cannot check whether its scripts are on PATH, because the login shell has no PATH")
    for path in programs:
        _check_program(check, path, views, host, causes)


def check_path(check: AuditCheck, host: Host, views: Sequence[ShellView], causes: CauseFinder) -> None:
    """Report hidden launchers, and a PATH with the current folder or without the site's folders."""
    _check_launchers(check, host, views, causes)
    _check_current_folder(check, host, views, causes)
    _check_replaced_path(check, host, causes)


def _check_program(check: AuditCheck, path: str, views: Sequence[ShellView], host: Host, causes: CauseFinder) -> None:
    """Report a script that a shell does not find, or for which a shell starts something else."""
    for view in views:
        if not view.environment.get("PATH"):
            continue
        # One problem of a script is enough: its cause usually affects every shell.
        if _check_position(check, path, view, host, causes) or _check_alias(check, path, view, host, causes):
            return


def _check_position(check: AuditCheck, path: str, view: ShellView, host: Host, causes: CauseFinder) -> bool:
    """Report a script whose folder is not on PATH, or that another program precedes on PATH.

    Return True if a problem was reported.
    """
    folder, name = os.path.split(path)
    folders = [os.path.normpath(part) for part in view.environment["PATH"].split(":") if part.startswith("/")]
    real_folders = [resolve_readable(part, host) for part in folders]
    if host.resolve(folder) not in real_folders:
        text = "%s is not on PATH in %s" % (host.shown(folder), view.way.description)
        place = causes.locate_path_loss(view, folder)
        if place:
            check.report("ENV-005", place.shown(host), "after this line, " + text, case=PATH_REPLACED)
        else:
            check.report("ENV-005", host.shown(path), text, case=NOT_ON_PATH)
        return True
    for earlier in folders[: real_folders.index(host.resolve(folder))]:
        other = os.path.join(earlier, name)
        if is_executable(other, host):
            text = "this program comes before %s on PATH in %s" % (host.shown(path), view.way.description)
            check.report("ENV-005", host.shown(other), text)
            return True
    return False


def _check_alias(check: AuditCheck, path: str, view: ShellView, host: Host, causes: CauseFinder) -> bool:
    """Report an alias or a function with the name of a script. Return True if a problem was reported."""
    name = os.path.basename(path)
    started = view.programs.get(name, "")  # the path, alias or function that the shell starts for this name
    if not started or started.startswith("/"):  # unknown, or the path of a program
        return False
    text = "an alias or a function of the same name hides %s in %s" % (host.shown(path), view.way.description)
    place = causes.locate_definition(view, name)
    check.report("ENV-005", place.shown(host) if place else view.way.file, text, case=NAME_TAKEN)
    return True


def _check_launchers(check: AuditCheck, host: Host, views: Sequence[ShellView], causes: CauseFinder) -> None:
    """Report the user's own program, alias or function with the name of a program that starts jobs or containers."""
    for name in LAUNCHERS:
        for view in views:
            if _check_launcher(check, name, host, view, causes):
                break  # its cause usually affects every shell


def _check_launcher(check: AuditCheck, name: str, host: Host, view: ShellView, causes: CauseFinder) -> bool:
    """Report what a shell starts in place of the site's launcher. Return True if a problem was reported."""
    home = host.real(host.home)
    started = view.programs.get(name, "")  # the path, alias or function that the shell starts for this name
    if is_in(started, home) and _hides_program(view, started):
        text = "this program comes before the site's %s on PATH in %s" % (name, view.way.description)
        check.report("ENV-005", host.shown(host.home + started[len(home) :]), text)
        return True
    if not started or _is_on_path(view, started):
        return False
    place = causes.locate_definition(view, name)
    if place is None or place.is_of_site:  # the site may replace its own programs
        return False
    text = "an alias, a function or a hashed path hides the site's %s in %s" % (name, view.way.description)
    check.report("ENV-005", place.shown(host), text, case=NAME_TAKEN)
    return True


def _is_on_path(view: ShellView, program: str) -> bool:
    """Return True if a folder of PATH contains the program. With 'hash NAME=PATH', a shell starts other programs."""
    folders = [folder.rstrip("/") for folder in view.environment.get("PATH", "").split(":")]
    return program.startswith("/") and os.path.dirname(program) in folders


def _hides_program(view: ShellView, program: str) -> bool:
    """Return True if another folder of PATH contains a program of the same name."""
    folder, name = os.path.split(program)
    others = [part for part in view.environment.get("PATH", "").split(":") if part.startswith("/") and part != folder]
    return any(os.access(os.path.join(other, name), os.X_OK) for other in others)


def _check_current_folder(check: AuditCheck, host: Host, views: Sequence[ShellView], causes: CauseFinder) -> None:
    """Report a PATH that contains the current folder, or a path relative to the current folder."""
    for view in views:
        folders = view.environment.get("PATH", "/").split(":")  # "/": without a PATH, there is nothing to report
        relative = [folder for folder in folders if not folder.startswith("/")]
        if relative:
            place = causes.locate_current_folder(view)
            if place or "." in relative:  # without a line, an empty entry may be the site's, so it is not reported
                where, shown = view.way.description, place.shown(host) if place else "$PATH"
                text = (
                    "PATH contains the current folder in %s, so a program in that folder can hide the usual one" % where
                )
                if not {"", "."} & set(relative):  # such as "~/bin", if ~ is in quotes
                    text = "PATH contains '%s' in %s, which is relative to the current folder" % (relative[0], where)
                check.report("ENV-005", shown, text, case=CURRENT_FOLDER)
                return


def _check_replaced_path(check: AuditCheck, host: Host, causes: CauseFinder) -> None:
    """Report a line that sets PATH to literal folders only, unless its effect on a program is reported already."""
    place = None if "ENV-005" in check.rules_broken() else causes.search(pattern_of_replacement("PATH"))
    if place:
        text = "this line removes the folders that the site and its modules have added to PATH"
        check.report("ENV-005", place.shown(host), text, case=PATH_REPLACED)
