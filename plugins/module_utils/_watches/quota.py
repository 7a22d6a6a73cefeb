# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of its quotas an account has used, as the site's own command says, and whether a file system is full."""

import os
import shlex
from typing import Any, Dict, Mapping

from .._core.errors import AccountError, as_account_error
from .._core.host import Host
from .._core.program import find_program, run_program
from .._formats.quota import Usage, read_usage
from .._scan.amounts import count, size
from .base import Look

SECONDS = 15.0
USUAL = "quota -s -w"
RULES = {"bytes": "USE-001", "files": "USE-002"}


class Quota(Look):
    """The limits of the home and of the account's areas."""

    KIND = "quota"
    PLACES = ("places",)
    KNOWS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "command": {"type": "str", "default": ""},  # the site's; it only reads
        "places": {"type": "list", "elements": "dict", "default": []},  # {name, path, bytes?, files?}
        "percent": {"type": "int", "default": 90},
    }

    def name(self) -> str:
        return "quotas"

    def look(self, host: Host) -> None:
        """A sandbox lies on somebody's own machine, which has none of the cluster's quotas."""
        if host.root:
            self.miss("a sandbox has no quotas")
            return
        self._ask(host)
        for one in self.places("places"):
            self._full(one, host)

    # -- what the site says --------------------------------------------------------------------

    def _ask(self, host: Host) -> None:
        command = self.options["command"] or USUAL
        environment = _environment(host)
        words = shlex.split(command)
        program = find_program(words[0], environment.get("PATH") or os.defpath)
        if program is None:
            whose = "" if self.options["command"] else "this site's profile names no quota command, and "
            self.miss("how much of the quotas is used is not known: %s'%s' is not there" % (whose, words[0]))
            return
        answer = run_program([program] + words[1:], environment, SECONDS)
        reading = read_usage(answer.text)
        if answer.why:
            self.miss("how much of the quotas is used is not known for sure: '%s' %s" % (command, answer.why))
        elif not reading.known and (answer.text.strip() or self.options["command"]):
            self.miss("how much of the quotas is used is not known: nobody can read what '%s' prints" % command)
        elif not reading.known:
            self.miss("how much of the quotas is used is not known: '%s' says nothing" % command)
        if reading.unread:
            lines = "1 line" if len(reading.unread) == 1 else "%d lines" % len(reading.unread)
            self.miss("'%s' prints %s that nobody can read" % (command, lines))
        for usage in reading.usages:
            self._judge(usage, host)

    def _judge(self, usage: Usage, host: Host) -> None:
        if usage.used * 100 < usage.limit * self.options["percent"]:
            return
        amount = _words(usage.what)
        text = "%s of %s used (%d %%)" % (amount(usage.used), amount(usage.limit), usage.used * 100 / usage.limit)
        severity = ""
        if usage.over and usage.grace:
            severity = "high"  # a soft limit is passed: writing will fail by itself
            text += "; the grace period " + ("is over" if usage.grace == "over" else "ends: " + usage.grace)
        self.find(RULES[usage.what], host.shown(usage.place), text, severity)

    # -- what the file systems say -------------------------------------------------------------

    def _full(self, place: Mapping[str, Any], host: Host) -> None:
        """A file system that is nearly full for everybody; the profile's size says what would be much for one."""
        try:
            real = host.resolve(place["path"])
            if not real or host.resolved_kind(real) != "folder":
                return
            status = os.statvfs(host.real(real))
        except OSError as error:
            self.miss(str(as_account_error(error, "asking how full %s is" % host.shown(place["path"]))))
            return
        except AccountError as error:
            self.miss(str(error))
            return
        free = {"bytes": status.f_bavail * status.f_frsize, "files": status.f_favail}
        every = {"bytes": status.f_blocks * status.f_frsize, "files": status.f_files}
        enough = {"bytes": place.get("bytes") or 10000000000, "files": place.get("files") or 10000}
        for what in ("bytes", "files"):
            if every[what] and free[what] * 100 < min(every[what], enough[what]) * (100 - self.options["percent"]):
                amount = _words(what)
                text = "the file system has %s left of %s" % (amount(free[what]), amount(every[what]))
                self.find(RULES[what], host.shown(place["path"]), text)


def _environment(host: Host) -> Dict[str, str]:
    """That of the login shell, where the site's commands are on PATH; in English, and leaving no files of Python's."""
    try:
        known: Mapping[str, str] = host.account.environment()
    except AccountError:
        known = os.environ
    return dict(known, LC_ALL="C", TERM="dumb", COLUMNS="200", PYTHONDONTWRITEBYTECODE="1")


def _words(what: str) -> Any:
    return size if what == "bytes" else lambda number: count(number, "file")
