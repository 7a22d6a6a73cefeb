# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an account shows of its cluster: folders, variables, programs, modules, quotas and nodes of Slurm.

Only `hpc-onboard probe` sends this. It reads, submits no job, and starts each of the site's programs once. The
controller compares what was observed with the profile.
"""

import os
import platform
import pwd
import shlex
import sys
from typing import Any, Dict, List, Mapping, Optional

from .._core.errors import AccountError, as_account_error
from .._core.host import Host
from .._core.program import run_program
from .._core.resource import Evidence, State
from .._core.search_path import find_program, find_programs
from .._formats.quota import read_usage
from .._slurm.offers import MEMORY_KEY, REPORTED, get_offers
from .audit_check import AuditCheck

SECONDS = 8.0  # the time limit of each program
USUAL_QUOTA = "quota -s -w"
END = "hpc.onboard-ended"
NODES = ["sinfo", "-a", "-h", "-o", "%R|%G|%D|%l"]  # -a: partitions that are hidden from this account, too
MOST_NODES = 200  # kinds of nodes
OS_RELEASE = "/etc/os-release"


class SiteProbe(AuditCheck):
    """Observations of one account, each by a name and as text."""

    KIND = "site_probe"
    TITLE = "the cluster as the account shows it"
    PATH_OPTIONS = ("areas",)
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "areas": {"type": "list", "elements": "dict", "default": []},  # {name, path}
        "variables": {"type": "list", "elements": "str", "default": []},  # without the dollar
        "programs": {"type": "list", "elements": "str", "default": []},
        "modules": {"type": "list", "elements": "str", "default": []},
        "quota": {"type": "str", "default": ""},  # the site's command; it only reads
    }

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._observed: State = {}
        self._environment: Dict[str, str] = {}

    def bound(self, host: Host) -> "AuditCheck":
        get_offers(host)  # before the engine forks
        return super().bound(host)

    def run(self, host: Host) -> None:
        self._environment = dict(_login_environment(host), LC_ALL="C", TERM="dumb", COLUMNS="200")
        self._see_machine(host)
        self._see_variables()
        for area in self.entries("areas"):
            self._see_area(area["name"], area["path"], host)
        if host.root:
            self.skip("a sandbox has no programs of a site")
            return
        self._see_programs()
        self._see_modules(host)
        self._see_quotas(host)
        self._see_slurm()

    def evidence(self, before: State, host: Host) -> Evidence:
        evidence = super().evidence(before, host)  # runs the probe
        offers = host.account.found[MEMORY_KEY]
        return dict(evidence, observed=self._observed, slurm={name: offers.get(name) for name in REPORTED})

    # -- what is read --------------------------------------------------------------------------

    def _see_machine(self, host: Host) -> None:
        self._observed.update({
            "home": host.home if host.root else pwd.getpwuid(os.getuid()).pw_dir,
            "home folder": host.resolve(host.home) or host.home,
            "arch": os.uname().machine,
            "python": "%s %s" % (sys.executable, platform.python_version()),
        })  # fmt: skip
        try:
            with open(OS_RELEASE, encoding="utf-8", errors="replace") as file:
                words = [line.partition("=") for line in file.read(10000).splitlines()]
        except OSError:
            return
        self._observed["os"] = next((text.strip("\"'") for name, _is, text in words if name == "PRETTY_NAME"), "")

    def _see_variables(self) -> None:
        for name in self.options["variables"]:
            if self._environment.get(name):
                self._observed["variable " + name] = self._environment[name]

    def _see_area(self, name: str, path: str, host: Host) -> None:
        try:
            real = host.resolve(path)
            kind = host.resolved_kind(path)
            self._observed.update({"area %s" % name: kind, "area %s path" % name: path})
            if real and kind == "folder":
                can_write = os.access(host.real(real), os.W_OK | os.X_OK)
                self._observed["area %s writable" % name] = "yes" if can_write else "no"
        except OSError as error:
            self.skip(str(as_account_error(error, "looking at %s" % host.shown(path))))
        except AccountError as error:
            self.skip(str(error))

    # -- what the site's programs print ----------------------------------------------------------

    def _ask(self, words: List[str]) -> Optional[str]:
        """Return what a program prints; None, and a remark, if it is missing or does not end well."""
        program = find_program(words[0], self._environment.get("PATH") or os.defpath)
        if program is None:
            return None
        line = ["/bin/sh", "-c", '"$0" "$@" 2>&1 && echo ' + END, program] + words[1:]
        output = run_program(line, self._environment, SECONDS)
        text, end, _rest = output.text.rpartition(END)
        if not end:
            self.skip("'%s' gave no answer: %s" % (" ".join(words), output.why or "it failed"))
            return None
        return text

    def _see_programs(self) -> None:
        path = self._environment.get("PATH") or os.defpath
        for name, place in find_programs(self.options["programs"], path).items():
            self._observed["program " + name] = place

    def _see_modules(self, host: Host) -> None:
        """Ask a login shell, since `module` is a function there. Lmod prints to stderr, and `avail` never fails."""
        names = self.options["modules"]
        if not names:
            return
        query = " ".join(shlex.quote(name) for name in names)
        command = "type module >/dev/null 2>&1 || exit 0; module -t avail %s 2>&1; echo %s" % (query, END)
        output = run_program(["/bin/bash", "-lc", command], self._environment, SECONDS)
        if END not in output.text:
            return
        found = output.text.split()
        for name in names:
            is_there = any(one.partition("(")[0] == name or one.startswith(name + "/") for one in found)
            self._observed["module " + name] = "yes" if is_there else "no"

    def _see_quotas(self, host: Host) -> None:
        command = self.options["quota"] or USUAL_QUOTA
        text = self._ask(shlex.split(command))
        reading = read_usage(text or "")
        for one in reading.usages:
            self._observed["quota %s %s" % (one.what, one.place)] = "%d" % one.limit
        if text is not None and not reading.known:
            self.skip("the output of '%s' has an unknown form" % command)

    def _see_slurm(self) -> None:
        for number, line in enumerate(sorted(set((self._ask(NODES) or "").splitlines()))[:MOST_NODES]):
            self._observed["nodes %d" % number] = line


def _login_environment(host: Host) -> Mapping[str, str]:
    try:
        return host.account.environment()
    except AccountError:
        return os.environ
