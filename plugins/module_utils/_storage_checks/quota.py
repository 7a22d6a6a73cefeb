# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for quotas that are nearly used up, according to the site's quota command, and for full file systems.

The profile describes the site, with its quota command and the sizes that the site grants.
"""

import os
from typing import Any, Dict, Mapping

from .._audit_checks.audit_check import AuditCheck, real_home
from .._audit_checks.site_probe import USUAL_QUOTA, site_environment, split_command
from .._core.errors import AccountError, as_account_error
from .._core.host import Host
from .._core.program import run_program
from .._core.search_path import find_program
from .._formats.quota import Usage, read_usage
from .._scan.amounts import format_count, format_size
from .._scan.walk import Limits, Walk

SECONDS = 15.0  # time limit of the quota command
SHARED_FACTOR = 2  # other users share a file system that is larger than the profile's home size times this number
LIMITS = Limits(entries=20000, seconds=6.0)
LARGEST = 3  # folders that a finding names
LEAST_SHARE = 20  # a folder is named if it uses at least one part in so many of the used space
RULES = {"bytes": "USE-001", "files": "USE-002"}
NEEDED = {"bytes": 10**10, "files": 10**4}  # what one user needs, if the profile gives no size of a place


class Quota(AuditCheck):
    """The quotas of the home directory and of the account's storage areas, and the free space of their file systems."""

    KIND = "quota"
    TITLE = "quotas"
    PATH_OPTIONS = ("places",)
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "command": {"type": "str", "default": ""},  # the site's quota command
        # The home directory and the storage areas. Each entry has the keys name and path, and bytes and files with the
        # sizes from the profile, if the profile gives them.
        "places": {"type": "list", "elements": "dict", "default": []},
        "percent": {"type": "int", "default": 90},  # the lowest usage that is reported
    }

    def run(self, host: Host) -> None:
        """Check the quotas, then the file systems, then the largest folders of a full home."""
        if host.root:  # the sandbox is a folder on the user's own machine
            self.skip("a sandbox has no quotas")
            return
        self._check_quotas(host)
        for place in self.entries("places"):
            self._check_file_system(place, host)
        self._check_largest(host)

    def _check_quotas(self, host: Host) -> None:
        """Run the quota command and report each limit that is nearly reached."""
        command = self.options["command"] or USUAL_QUOTA
        environment = site_environment(host)
        arguments = split_command(command, environment)
        program = find_program(arguments[0], environment.get("PATH") or os.defpath)
        if program is None:
            text = "quota usage is unknown: this site's profile names no quota command, and '%s' was not found"
            if self.options["command"]:
                text = "quota usage is unknown: the command '%s' was not found"
            self.skip(text % arguments[0])
            return
        output = run_program([program] + arguments[1:], environment, SECONDS)
        reading = read_usage(output.text)
        if output.why:
            self.skip("quota usage is uncertain: '%s' %s" % (command, output.why))
        elif not reading.known and not output.text.strip():
            self.skip("quota usage is unknown: '%s' printed nothing" % command)
        elif not reading.known:
            self.skip("quota usage is unknown: the output of '%s' has an unknown format" % command)
        if reading.unread:
            self.skip("'%s' printed %s in an unknown format" % (command, format_count(len(reading.unread), "line")))
        for usage in reading.usages:
            self._check_usage(usage, host)

    def _check_usage(self, usage: Usage, host: Host) -> None:
        """Report a limit whose usage is at least the option percent."""
        if usage.used * 100 < usage.limit * self.options["percent"]:
            return
        used, limit = _format_amount(usage.what, usage.used), _format_amount(usage.what, usage.limit)
        text = "the usage is %s of %s (%d%%)" % (used, limit, usage.used * 100 / usage.limit)
        severity = ""  # the default of the rule
        if usage.over and usage.grace:  # the soft limit is exceeded, which is allowed for a grace period
            severity = "high"  # once the grace period ends, no more files can be written
            grace = "the grace period is over"
            if usage.grace != "over":
                grace = "the remaining grace period is %s" % usage.grace
            text += ", and " + grace
        self.report(RULES[usage.what], host.shown(usage.place), text, severity)

    def _check_largest(self, host: Host) -> None:
        """Report the largest folders of a home directory that is more than half full and has its own file system."""
        homes = [place for place in self.entries("places") if place["path"] == host.home]
        profile_size = int(homes[0].get("bytes") or 0) if homes else 0  # 0 if unknown
        try:
            status = os.statvfs(host.real(host.home))
        except (OSError, AccountError):
            return  # _check_file_system reports the error
        total = status.f_blocks * status.f_frsize
        used = (status.f_blocks - status.f_bfree) * status.f_frsize
        is_own_file_system = 0 < total <= profile_size * SHARED_FACTOR
        is_reported = "USE-001" in self.rules_broken()  # a quota or a file system is nearly full
        if is_reported or used * 2 < total or not is_own_file_system:
            return
        walk = Walk(host, LIMITS)
        sizes = _measure_sizes(real_home(host), walk)
        largest = sorted(((size, name) for name, size in sizes.items()), reverse=True)[:LARGEST]
        large = [(size, name) for size, name in largest if size * LEAST_SHARE >= used]
        if not large:
            return
        text = "the usage is %s of %s; the largest folders are %s"
        if walk.cut:
            text += " (not all files were counted)"
        names = ", ".join("~/%s (%s)" % (name, format_size(size)) for size, name in large)
        self.report("USE-004", "~", text % (format_size(used), format_size(total), names))

    def _check_file_system(self, place: Mapping[str, Any], host: Host) -> None:
        """Report a place whose file system has too little free space or too few free files.

        place: an entry of the option places. If the option percent is 90, at least 10 % of the place's size in the
        profile must be free, or of NEEDED if the profile gives no size.
        """
        try:
            real = host.resolve(place["path"])
            if not real or host.resolved_kind(real) != "folder":
                return  # other checks report a missing folder
            status = os.statvfs(host.real(real))
        except OSError as error:
            self.skip(str(as_account_error(error, "reading the free space of %s" % host.shown(place["path"]))))
            return
        except AccountError as error:
            self.skip(str(error))
            return
        free = {"bytes": status.f_bavail * status.f_frsize, "files": status.f_favail}
        total = {"bytes": status.f_blocks * status.f_frsize, "files": status.f_files}
        for unit in ("bytes", "files"):
            size = min(total[unit], place.get(unit) or NEEDED[unit])
            if total[unit] and free[unit] * 100 < size * (100 - self.options["percent"]):
                text = "the file system has %s of %s left" % (
                    _format_amount(unit, free[unit]),
                    _format_amount(unit, total[unit]),
                )
                self.report(RULES[unit], host.shown(place["path"]), text)


def _measure_sizes(home: str, walk: Walk) -> Dict[str, int]:
    """Return the bytes on disk of each entry of the home directory by its name. Folders include their content.

    home: the home directory without links.
    """
    sizes: Dict[str, int] = {}
    for entry in walk.below(home):
        name = entry.path[len(home) :].lstrip("/").split("/")[0]
        sizes[name] = sizes.get(name, 0) + entry.status.st_blocks * 512
    return sizes


def _format_amount(unit: str, number: float) -> str:
    """Return an amount for a message. unit: bytes or files."""
    return format_size(number) if unit == "bytes" else format_count(number, "file")
