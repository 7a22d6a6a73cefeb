# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of its quotas an account has used, as the site's own command says, and whether a file system is full."""

import os
import shlex
from typing import Any, Dict, Mapping

from .._audit_checks.audit_check import AuditCheck, real_home
from .._core.errors import AccountError, as_account_error
from .._core.host import Host
from .._core.program import run_program
from .._core.search_path import find_program
from .._formats.quota import Usage, read_usage
from .._scan.amounts import format_count, format_size
from .._scan.walk import Limits, Walk

SECONDS = 15.0
USUAL = "quota -s -w"
OWN_FILE_SYSTEM = 2  # times the size of a home in the profile: a larger file system is shared
LIMITS = Limits(entries=20000, seconds=6.0)
LARGEST = 3  # folders that are named
RULES = {"bytes": "USE-001", "files": "USE-002"}


class Quota(AuditCheck):
    """The limits of the home and of the account's areas."""

    KIND = "quota"
    TITLE = "quotas"
    PATH_OPTIONS = ("places",)
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "command": {"type": "str", "default": ""},  # the site's; it only reads
        "places": {"type": "list", "elements": "dict", "default": []},  # {name, path, bytes?, files?}
        "percent": {"type": "int", "default": 90},
    }

    def run(self, host: Host) -> None:
        if host.root:  # a folder on the user's own machine
            self.skip("a sandbox has no quotas")
            return
        self._check_quotas(host)
        for place in self.entries("places"):
            self._check_file_system(place, host)
        self._check_largest(host)

    def _check_quotas(self, host: Host) -> None:
        command = self.options["command"] or USUAL
        environment = _environment(host)
        words = shlex.split(command)
        program = find_program(words[0], environment.get("PATH") or os.defpath)
        if program is None:
            reason = "" if self.options["command"] else "this site's profile names no quota command, and "
            self.skip("the usage of quotas is unknown: %s'%s' was not found" % (reason, words[0]))
            return
        output = run_program([program] + words[1:], environment, SECONDS)
        reading = read_usage(output.text)
        if output.why:
            self.skip("the usage of quotas is uncertain: '%s' %s" % (command, output.why))
        elif not reading.known and (output.text.strip() or self.options["command"]):
            self.skip("the usage of quotas is unknown: the output of '%s' has an unknown form" % command)
        elif not reading.known:
            self.skip("the usage of quotas is unknown: '%s' prints nothing" % command)
        if reading.unread:
            self.skip("'%s' prints %s of an unknown form" % (command, format_count(len(reading.unread), "line")))
        for usage in reading.usages:
            self._check_usage(usage, host)

    def _check_usage(self, usage: Usage, host: Host) -> None:
        if usage.used * 100 < usage.limit * self.options["percent"]:
            return
        used, limit = _format(usage.what, usage.used), _format(usage.what, usage.limit)
        text = "%s of %s used (%d %%)" % (used, limit, usage.used * 100 / usage.limit)
        severity = ""
        if usage.over and usage.grace:
            severity = "high"  # a soft limit is passed: writing will fail without further use
            text += "; the grace period " + ("is over" if usage.grace == "over" else "ends: " + usage.grace)
        self.report(RULES[usage.what], host.shown(usage.place), text, severity)

    def _check_largest(self, host: Host) -> None:
        """Report the largest folders of a home that is more than half full, if its file system is the user's own."""
        size = next((int(place.get("bytes") or 0) for place in self.entries("places") if place["path"] == host.home), 0)
        try:
            status = os.statvfs(host.real(host.home))
        except (OSError, AccountError):
            return  # the check of the file system says why
        total, used = ((number * status.f_frsize) for number in (status.f_blocks, status.f_blocks - status.f_bfree))
        if "USE-001" in self.rules_broken() or used * 2 < total or not 0 < total <= size * OWN_FILE_SYSTEM:
            return
        walk = Walk(host, LIMITS)
        folders = sorted(((number, path) for path, number in _sizes(real_home(host), walk).items()), reverse=True)
        large = ["%s (%s)" % (host.shown(path), format_size(number)) for number, path in folders[:LARGEST]
                 if number * 20 >= used]  # fmt: skip
        text = "%s of %s used; the largest folders: %s" % (format_size(used), format_size(total), ", ".join(large))
        if large:
            self.report("USE-004", "~", text + (", as far as they were counted" if walk.cut else ""))

    def _check_file_system(self, place: Mapping[str, Any], host: Host) -> None:
        """Report a file system that is nearly full. The profile's size says how much is enough for one user."""
        try:
            real = host.resolve(place["path"])
            if not real or host.resolved_kind(real) != "folder":
                return
            status = os.statvfs(host.real(real))
        except OSError as error:
            self.skip(str(as_account_error(error, "reading how full %s is" % host.shown(place["path"]))))
            return
        except AccountError as error:
            self.skip(str(error))
            return
        free = {"bytes": status.f_bavail * status.f_frsize, "files": status.f_favail}
        total = {"bytes": status.f_blocks * status.f_frsize, "files": status.f_files}
        enough = {"bytes": place.get("bytes") or 10000000000, "files": place.get("files") or 10000}
        for what in ("bytes", "files"):
            if total[what] and free[what] * 100 < min(total[what], enough[what]) * (100 - self.options["percent"]):
                text = "the file system has %s left of %s" % (_format(what, free[what]), _format(what, total[what]))
                self.report(RULES[what], host.shown(place["path"]), text)


def _sizes(home: str, walk: Walk) -> Dict[str, int]:
    """Return the bytes on disk of each folder directly in the home, and of each file there."""
    sizes: Dict[str, int] = {}
    for entry in walk.below(home):
        top = home + "/" + entry.path[len(home) :].lstrip("/").split("/")[0]
        sizes[top] = sizes.get(top, 0) + entry.status.st_blocks * 512
    return sizes


def _environment(host: Host) -> Dict[str, str]:
    """Return the login shell's environment, for the site's commands on PATH; in English, without files of Python."""
    try:
        known: Mapping[str, str] = host.account.environment()
    except AccountError:
        known = os.environ
    return dict(known, LC_ALL="C", TERM="dumb", COLUMNS="200", PYTHONDONTWRITEBYTECODE="1")


def _format(what: str, number: float) -> str:
    return format_size(number) if what == "bytes" else format_count(number, "file")
