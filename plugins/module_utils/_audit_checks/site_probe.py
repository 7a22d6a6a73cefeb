# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe of a cluster from one account: folders, variables, programs, modules, quotas and Slurm nodes.

Only `hpc-onboard probe` sends this check. It submits no job, and runs each of the site's programs once. The user's
machine compares the observations with the profile, which describes the cluster. An area is a storage folder.
"""

import os
import platform
import pwd
import shlex
import string
import sys
from typing import Any, Dict, List, Mapping, Optional

from .._core.errors import AccountError, as_account_error
from .._core.host import Host
from .._core.program import run_program
from .._core.resource import Evidence, State
from .._core.search_path import find_program, find_programs
from .._formats.quota import read_usage
from .._slurm.offers import REPORTED, get_offers
from .audit_check import AuditCheck

SECONDS = 8.0  # the time limit of each program
USUAL_QUOTA = "quota -s -w"  # if the profile names no command
END = "hpc.onboard-ended"  # printed after the output of a program that succeeded
NODES = ["sinfo", "-a", "-h", "-o", "%R|%G|%D|%l"]  # -a: also partitions that are hidden from this account
MOST_NODES = 200  # lines of sinfo
OS_RELEASE = "/etc/os-release"


class SiteProbe(AuditCheck):
    """Observations from one account, each with a name, such as "variable SCRATCH", and a text."""

    KIND = "site_probe"
    TITLE = "observations of the cluster"
    PATH_OPTIONS = ("areas",)
    NEEDS_SHELL = True
    NEEDS_SLURM = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "areas": {"type": "list", "elements": "dict", "default": []},  # each entry has the keys name and path
        "variables": {"type": "list", "elements": "str", "default": []},  # names, without the dollar sign
        "programs": {"type": "list", "elements": "str", "default": []},  # names of programs that should be on PATH
        "modules": {"type": "list", "elements": "str", "default": []},  # names of modules that should be available
        "quota": {"type": "str", "default": ""},  # the site's quota command
    }

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._observed: State = {}
        self._environment: Dict[str, str] = {}

    def run(self, host: Host) -> None:
        """Record all observations. In a sandbox of test files, the programs of the site are not available."""
        self._environment = site_environment(host)
        self._observe_machine(host)
        self._observe_variables()
        for area in self.entries("areas"):
            self._observe_area(area["name"], area["path"], host)
        if host.root:  # the root folder of a sandbox
            self.skip("site programs are not available in a sandbox")
            return
        self._observe_programs()
        self._observe_modules()
        self._observe_quotas()
        self._observe_nodes()

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return the evidence of every check, the observations as "observed", and Slurm's offers as "slurm"."""
        offers = get_offers(host)
        evidence = super().evidence(before, host)
        return dict(evidence, observed=self._observed, slurm={name: offers.get(name) for name in REPORTED})

    # -- files ---------------------------------------------------------------------------------

    def _observe_machine(self, host: Host) -> None:
        """Record home directory, architecture, Python, and the name of the operating system, if known."""
        self._observed.update({
            "home": host.home if host.root else pwd.getpwuid(os.getuid()).pw_dir,  # may be a link
            "home folder": host.resolve(host.home) or host.home,
            "arch": os.uname().machine,
            "python": "%s %s" % (sys.executable, platform.python_version()),
        })  # fmt: skip
        try:
            with open(OS_RELEASE, encoding="utf-8", errors="replace") as file:
                settings = [line.partition("=") for line in file.read(10000).splitlines()]
        except OSError:
            return
        self._observed["os"] = next((text.strip("\"'") for name, _is, text in settings if name == "PRETTY_NAME"), "")

    def _observe_variables(self) -> None:
        """Record the value of each expected variable that is set."""
        for name in self.options["variables"]:
            if self._environment.get(name):
                self._observed["variable " + name] = self._environment[name]

    def _observe_area(self, name: str, path: str, host: Host) -> None:
        """Record the kind and the path of a storage area and, for a folder, if the account can write to the folder."""
        try:
            real = host.resolve(path)
            kind = host.resolved_kind(path)
            self._observed.update({"area %s" % name: kind, "area %s path" % name: path})
            if real and kind == "folder":
                can_write = os.access(host.real(real), os.W_OK | os.X_OK)
                self._observed["area %s writable" % name] = "yes" if can_write else "no"
        except OSError as error:
            self.skip(str(as_account_error(error, "checking %s" % host.shown(path))))
        except AccountError as error:
            self.skip(str(error))

    # -- programs of the site --------------------------------------------------------------------

    def _run_site_program(self, command: List[str]) -> Optional[str]:
        """Return the output of a program; None if the program is missing or fails. A failure adds a remark."""
        program = find_program(command[0], self._environment.get("PATH") or os.defpath)
        if program is None:
            return None
        # Some sites' commands print to stderr. END shows that the program ($0, with the arguments $@) succeeded.
        shell_command = ["/bin/sh", "-c", '"$0" "$@" 2>&1 && echo ' + END, program] + command[1:]
        output = run_program(shell_command, self._environment, SECONDS)
        text, end, _rest = output.text.rpartition(END)
        if not end:
            # why: the reason if the program did not run or did not end, else ""
            self.skip("'%s' failed%s" % (" ".join(command), ": " + output.why if output.why else ""))
            return None
        return text

    def _observe_programs(self) -> None:
        """Record the path of each program of the option programs that is on the login shell's PATH."""
        path = self._environment.get("PATH") or os.defpath
        for name, place in find_programs(self.options["programs"], path).items():
            self._observed["program " + name] = place

    def _observe_modules(self) -> None:
        """Record which modules are available.

        `module` is a function of the login shell. Lmod prints to stderr, and `module avail` always succeeds.
        """
        names = self.options["modules"]
        if not names:
            return
        query = " ".join(shlex.quote(name) for name in names)
        command = "type module >/dev/null 2>&1 || exit 0; module -t avail %s 2>&1; echo %s" % (query, END)
        output = run_program(["/bin/bash", "-lc", command], self._environment, SECONDS)
        if END not in output.text:
            return  # the module command is missing, failed or timed out: the modules stay unknown
        modules = output.text.split()
        for name in names:  # listed as NAME, NAME(default) or NAME/VERSION
            is_found = any(module.partition("(")[0] == name or module.startswith(name + "/") for module in modules)
            self._observed["module " + name] = "yes" if is_found else "no"

    def _observe_quotas(self) -> None:
        """Record the limits of bytes and files that the site's quota command reports for each file system."""
        command = self.options["quota"] or USUAL_QUOTA
        text = self._run_site_program(split_command(command, self._environment))
        reading = read_usage(text or "")
        for usage in reading.usages:
            self._observed["quota %s %s" % (usage.what, usage.place)] = "%d" % usage.limit
        if text is not None and not reading.known:
            self.skip("the output of '%s' has an unknown format" % command)

    def _observe_nodes(self) -> None:
        """Record the distinct lines of sinfo, each with a partition, its GPUs, number of nodes and time limit."""
        lines = sorted(set((self._run_site_program(NODES) or "").splitlines()))
        for number, line in enumerate(lines[:MOST_NODES]):
            self._observed["nodes %d" % number] = line


def split_command(command: str, environment: Mapping[str, str]) -> List[str]:
    """Return the words of a site's command with the values of its variables, such as $USER. No shell runs it."""
    return [string.Template(word).safe_substitute(environment) for word in shlex.split(command)]


def site_environment(host: Host) -> Dict[str, str]:
    """Return the environment for programs of the site, so that they print English in wide lines.

    This is the environment of the login shell or, if the login shell fails, of this process.
    """
    try:
        environment: Mapping[str, str] = host.account.environment()
    except AccountError:
        environment = os.environ  # may be enough to find the programs
    # Some sites' commands are in Python, and must not write bytecode files.
    return dict(environment, LC_ALL="C", TERM="dumb", COLUMNS="200", PYTHONDONTWRITEBYTECODE="1")
