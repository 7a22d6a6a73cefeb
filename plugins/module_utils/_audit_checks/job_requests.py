# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user's own job scripts and variables ask of Slurm, compared with what Slurm offers.

Job scripts are looked for in the upper folders of the home. Several lines with one outdated name are one problem.
"""

import os
import re
from typing import Any, Callable, Dict, Iterator, List, NamedTuple

from .._core.host import Host
from .._formats.lines import split_lines
from .._scan.search import Search
from .._scan.start_up import login_shell_files
from .._scan.walk import Limits
from .._slurm.offers import get_offers, list_qos
from .audit_check import OWN_REQUEST, AuditCheck, is_in, read_text

ENDS = (".sbatch", ".slurm", ".sl", ".sb", ".job", ".sh", ".bash", ".batch", ".run")
LIMITS = Limits(entries=4000, seconds=4.0, depth=2)
MOST, LARGEST = 200, 8192  # scripts, and bytes of one
DIRECTIVE = re.compile(r"#SBATCH[ \t]+(.*)")
OPTIONS = {"p": "partition", "A": "account", "q": "qos", "D": "chdir"}
OPTION = re.compile(r"(?:--(partition|account|qos|chdir)(?:=|[ \t]+)|-([pAqD])[ \t]*)[\"']?([^\s\"'#]+)")
VARIABLE = re.compile(r"\b(?:SBATCH|SALLOC|SLURM)_(PARTITION|ACCOUNT|QOS)(?:=|[ \t]+)[\"']?([\w.,+-]+)")


class JobRequest(NamedTuple):
    """A name that a line requests: partition, account, qos or chdir."""

    what: str
    name: str
    place: str


class JobRequests(AuditCheck):
    """Partitions, Slurm accounts, qualities of service and folders of the user's own jobs."""

    KIND = "job_requests"
    TITLE = "what own jobs request"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "home_in_jobs": {"type": "str", "default": ""},  # on_compute of the profile's home
    }

    def bound(self, host: Host) -> "AuditCheck":
        get_offers(host)  # before the engine forks
        return super().bound(host)

    def run(self, host: Host) -> None:
        search = Search(host, [host.home], LIMITS)
        requests = list(self._of_variables(host))
        for path in self._scripts(search, host):
            text = search.read_bytes(path, LARGEST).decode("latin-1")
            requests += find_requests(text, host.shown(path))
            self._check_line_ends(text, host.shown(path))
        self.skip_unread(search)
        offers = get_offers(host)
        accounts, partitions = offers["accounts"], offers["partitions"]
        if partitions is not None:
            names = [one["name"] for one in partitions]
            self._check(requests, "partition", "JOB-002", names, str)
        if accounts is not None:
            self._check(requests, "account", "JOB-001", [one["name"] for one in accounts], str.lower)
            allowed = [list_qos(offers, one["name"]) for one in accounts]
            if allowed and all(allowed):
                self._check(requests, "qos", "JOB-003", sorted({name for some in allowed for name in some or ()}), str)
        self._check_folders(requests, HOME_IN_JOBS.get(self.options["home_in_jobs"], ""), host)

    # -- lines ---------------------------------------------------------------------------------

    def _of_variables(self, host: Host) -> Iterator[JobRequest]:
        for path in login_shell_files(host):
            for number, line in enumerate(split_lines(read_text(self, host, path)), 1):
                for what, name in VARIABLE.findall(line.partition("#")[0]):
                    yield JobRequest(what.lower(), name, "%s:%d" % (host.shown(path), number))

    def _scripts(self, search: Search, host: Host) -> Iterator[str]:
        number = 0
        for listing in search.walk_tree(host.home):
            listing.folders = [name for name in listing.folders if not name.startswith(".")]
            for name in listing.files:
                if name.endswith(ENDS) and not name.startswith(".") and number < MOST:
                    real = search.resolve_file(listing.path(name))
                    number += 1
                    if real:
                        yield listing.path(name)

    def _check_line_ends(self, text: str, shown: str) -> None:
        """Report a job script with carriage returns, which Slurm refuses."""
        for number, line in enumerate(split_lines(text), 1):
            if line.endswith("\r\n") and "#SBATCH" in text:
                self.report("ENV-010", "%s:%d" % (shown, number), "Slurm refuses a job script with carriage returns")
                return

    # -- findings ------------------------------------------------------------------------------

    def _check(
        self, requests: List[JobRequest], what: str, rule: str, offered: List[str], known_as: Callable[[str], str]
    ) -> None:
        places: Dict[str, List[str]] = {}
        for request in requests:
            for name in request.name.split(",") if request.what == what else ():
                if known_as(name) not in offered and request.place not in places.setdefault(name, []):
                    places[name].append(request.place)
        for name, found in places.items():
            more = " (and %d more lines)" % (len(found) - 1) if found[1:] else ""
            text = "this line%s requests %s %s, which Slurm does not offer you; available: %s"
            self.report(
                rule, found[0], text % (more, WORDS[what], name, ", ".join(offered) or "none"), case=OWN_REQUEST
            )

    def _check_folders(self, requests: List[JobRequest], text: str, host: Host) -> None:
        for request in requests if text else ():
            folder = os.path.normpath(_in_home(request.name, host))
            if request.what == "chdir" and is_in(folder, host.home):
                self.report("JOB-005", request.place, text % host.shown(folder))


WORDS = {"partition": "partition", "account": "Slurm account", "qos": "quality of service"}
HOME_IN_JOBS = {  # on_compute of the profile's home -> what a job that works there meets
    "ticket": "jobs have no ticket for the home, so this job fails when it works in %s",
    "ro": "jobs cannot write to the home, so this job fails when it works in %s",
    "absent": "jobs do not see the home, so this job fails when it works in %s",
}


def _in_home(path: str, host: Host) -> str:
    return re.sub(r"^(?:~|\$HOME|\$\{HOME\})(?=/|\Z)", lambda _found: host.home, path)


def find_requests(text: str, shown: str) -> Iterator[JobRequest]:
    """Yield what the directives of a job script request; those below its first command do not count."""
    for number, line in enumerate(split_lines(text), 1):
        if line.strip() and not line.startswith("#"):
            return
        directive = DIRECTIVE.match(line)
        for long, short, name in OPTION.findall(directive.group(1)) if directive else ():
            if "%" not in name and ("$" not in name or short == "D" or long == "chdir"):
                yield JobRequest(long or OPTIONS[short], name, "%s:%d" % (shown, number))
