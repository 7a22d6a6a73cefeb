# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user's own job scripts, aliases and variables ask of Slurm, compared with what Slurm offers.

Job scripts are looked for in the upper folders of the home and of the user's storage areas. Several lines with one
outdated name are one problem.
"""

import os
import re
from itertools import chain
from typing import Any, Callable, Dict, Iterator, List, NamedTuple

from .._core.errors import AccountError
from .._core.host import Host
from .._formats.lines import split_lines
from .._scan.search import Search
from .._scan.start_up import login_shell_files
from .._scan.walk import Limits
from .._slurm.directives import parse_minutes
from .._slurm.offers import get_offers, list_qos
from .audit_check import OWN_REQUEST, AuditCheck, is_in, read_text

ENDS = (".sbatch", ".slurm", ".sl", ".sb", ".job", ".sh", ".bash", ".batch", ".run")
LIMITS = Limits(entries=4000, seconds=4.0, depth=2)
MOST, LARGEST = 200, 8192  # scripts, and bytes of one
DIRECTIVE = re.compile(r"#SBATCH[ \t]+(.*)")
COMMAND = re.compile(r"(?:^|[\s;&|(\"'=])(?:srun|sbatch|salloc)[ \t]+((?:-[^|;&]*)?)")
OPTIONS = {
    "p": "partition",
    "A": "account",
    "q": "qos",
    "D": "chdir",
    "G": "gpus",
    "t": "time",
    "o": "output",
    "e": "error",
}
LONG = "partition|account|qos|chdir|gres|gpus|gpus-per-node|gpus-per-task|time|output|error"
OPTION = re.compile(r"(?<!\S)(?:--(%s)(?:=|[ \t]+)|-([pAqDGtoe])[ \t]*)[\"']?([^\s\"'#]+)" % LONG)
GPU_TYPE = re.compile(r"(?:gpu:)?([A-Za-z][\w.-]*):[0-9]+\Z")
VARIABLE = re.compile(
    r"\b(?:SBATCH|SALLOC|SLURM)_(PARTITION|ACCOUNT|QOS|TIMELIMIT|GRES|GPUS)(?:=|[ \t]+)[\"']?([\w.,:+-]+)"
)
WHAT = {"timelimit": "time", "gpus-per-node": "gpus", "gpus-per-task": "gpus", "gres": "gpus", "error": "output"}


class JobRequest(NamedTuple):
    """What a line requests: partition, account, qos, chdir, gpus (with their type), time or output."""

    what: str
    name: str
    place: str


class JobRequests(AuditCheck):
    """Partitions, Slurm accounts, qualities of service and folders of the user's own jobs."""

    KIND = "job_requests"
    TITLE = "what own jobs request"
    PATH_OPTIONS = ("areas",)
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "home_in_jobs": {"type": "str", "default": ""},  # on_compute of the profile's home
        "areas": {"type": "list", "elements": "dict", "default": []},  # {path}: the user's own folders for large data
    }

    def bound(self, host: Host) -> "AuditCheck":
        get_offers(host)  # before the engine forks
        return super().bound(host)

    def run(self, host: Host) -> None:
        places = [host.home] + [one["path"] for one in self.entries("areas")]
        search = Search(host, places, LIMITS)
        requests = list(self._of_start_up_files(host))
        for path in self._scripts(search, places):
            text = search.read_bytes(path, LARGEST).decode("latin-1")
            requests += find_requests(text, host.shown(path))
            self._check_line_ends(text, host.shown(path))
        self.skip_unread(search)
        offers = get_offers(host)
        accounts, partitions = offers["accounts"], offers["partitions"]
        if partitions is not None:
            names = [one["name"] for one in partitions]
            self._check(requests, "partition", "JOB-002", names, str)
            self._check_sizes(requests, partitions)
        if accounts is not None:
            self._check(requests, "account", "JOB-001", [one["name"] for one in accounts], str.lower)
            allowed = [list_qos(offers, one["name"]) for one in accounts]
            if allowed and all(allowed):
                self._check(requests, "qos", "JOB-003", sorted({name for some in allowed for name in some or ()}), str)
        self._check_folders(requests, HOME_IN_JOBS.get(self.options["home_in_jobs"], ""), host)
        self._check_outputs(requests, host)

    # -- lines ---------------------------------------------------------------------------------

    def _of_start_up_files(self, host: Host) -> Iterator[JobRequest]:
        """Yield what the variables and aliases of the login shell request."""
        for path in login_shell_files(host):
            for number, line in enumerate(split_lines(read_text(self, host, path)), 1):
                place = "%s:%d" % (host.shown(path), number)
                for what, name in VARIABLE.findall(line.partition("#")[0]):
                    yield JobRequest(WHAT.get(what.lower(), what.lower()), name, place)
                yield from _of_commands(line, place)

    def _scripts(self, search: Search, places: List[str]) -> Iterator[str]:
        number = 0
        for listing in chain.from_iterable(map(search.walk_tree, places)):
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

    def _check_sizes(self, requests: List[JobRequest], partitions: List[Dict[str, Any]]) -> None:
        """Report types of GPUs that no partition has, and times that no partition allows."""
        types = {name for one in partitions for name in one.get("gpus") or ()}
        limits = [one.get("minutes") or 0 for one in partitions]  # 0: without a limit
        longest = 0 if 0 in limits else max(limits or [0])
        for request in requests:
            asked = GPU_TYPE.match(request.name) if request.what == "gpus" else None
            if asked and types - {""} and asked.group(1).lower() not in {name.lower() for name in types} | {"gpu"}:
                text = "requests GPUs of type %s, which no partition has; available: %s"
                self.report("JOB-006", request.place, text % (asked.group(1), ", ".join(sorted(types - {""}))))
            minutes = parse_minutes(request.name) if request.what == "time" else None
            if minutes and longest and minutes > longest:
                text = "requests %d hours, and no partition allows more than %d" % (minutes // 60, longest // 60)
                self.report("JOB-006", request.place, text)

    def _check_outputs(self, requests: List[JobRequest], host: Host) -> None:
        """Report output files in folders that do not exist: Slurm ends such a job at once, without a message."""
        for request in requests:
            folder = os.path.dirname(_in_home(request.name, host)) if request.what == "output" else ""
            if not folder.startswith("/") or "%" in folder or "$" in folder:
                continue
            try:
                kind = host.resolved_kind(os.path.normpath(folder))
            except AccountError:
                continue
            if kind != "folder":
                text = "writes its output into %s, which does not exist"
                self.report("JOB-006", request.place, text % host.shown(os.path.normpath(folder)))

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
    """Yield what the directives of a job script request, unless they are below its first command, and its commands."""
    is_head = True
    for number, line in enumerate(split_lines(text), 1):
        is_head = is_head and (not line.strip() or line.startswith("#"))
        place = "%s:%d" % (shown, number)
        directive = DIRECTIVE.match(line) if is_head else None
        if directive:
            yield from _of_options(directive.group(1), place)
        elif not line.lstrip().startswith("#"):
            yield from _of_commands(line, place)


def _of_commands(line: str, place: str) -> Iterator[JobRequest]:
    """Yield what srun, sbatch and salloc request in a line of a shell, by options before their program."""
    for words in COMMAND.findall(line):
        yield from _of_options(" ".join(_before_program(words.split())), place)


def _before_program(words: List[str]) -> Iterator[str]:
    """Yield the options and their values: the first word that can be neither is the program."""
    may_be_value = False
    for word in words:
        if not word.startswith("-") and not may_be_value:
            return
        may_be_value = word.startswith("-") and "=" not in word
        yield word


def _of_options(options: str, place: str) -> Iterator[JobRequest]:
    for long, short, name in OPTION.findall(options):
        what = long or OPTIONS[short]
        what = WHAT.get(what, what)
        if what == "output" or ("%" not in name and ("$" not in name or what == "chdir")):
            yield JobRequest(what, name, place)
