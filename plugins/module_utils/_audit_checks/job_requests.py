# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user's own job scripts, aliases and variables ask of Slurm, compared with what Slurm offers.

Job scripts, launchers and settings of workflows are looked for in the upper folders of the home and of the user's
storage areas. Several lines with one outdated name are one problem.
"""

import os
import re
from itertools import chain
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple

from .._core.errors import AccountError
from .._core.host import Host
from .._formats.enroot import BYTE_ORDER_MARK
from .._formats.lines import split_lines
from .._scan import tool_places
from .._scan.search import Search
from .._scan.setting_values import expand, find_in_home, find_started, find_values, is_relative
from .._scan.start_up import login_shell_files
from .._scan.walk import Limits
from .._slurm import job_lines
from .._slurm.directives import parse_minutes
from .._slurm.offers import get_offers, list_qos
from .audit_check import (
    OWN_REQUEST,
    AuditCheck,
    is_in,
    is_missing,
    is_on_storage,
    passable_by,
    read_own_variables,
    read_text,
    real_home,
)

ENDS = (".sbatch", ".slurm", ".sl", ".sb", ".job", ".sh", ".bash", ".batch", ".run")
SETTINGS = (".py", ".smk", ".yaml", ".yml", ".toml", ".config", ".cfg")  # of launchers and workflows
ALIASES = (".bash_aliases", ".aliases", ".zsh_aliases")  # read by what users copy into their start-up files
HIDDEN = (".config/snakemake", ".nextflow", ".edf", ".config/dask")  # folders of the home with such settings
NAMED = ("Makefile", "makefile", "Snakefile", "justfile")  # whose lines are of a shell
OF_PROJECTS = (".env", ".envrc", *tool_places.OF_PROJECTS)  # settings of a project, which have variables of tools
VSCODE = ".vscode"
LIMITS = Limits(entries=4000, seconds=4.0, depth=4)
GPUS = re.compile(r"(?:gpu:)?(?:[A-Za-z][\w.-]*:)?([0-9]{1,4})\Z")
GPU_TYPE = re.compile(r"(?:gpu:)?([A-Za-z][\w.-]*):[0-9]+\Z")
EVERYBODY = 0o002
MOST, LARGEST = 400, 8192  # files, and bytes of one


class PlacedRequest(NamedTuple):
    """What a line requests, and the place of the line."""

    what: str
    name: str
    place: str


class JobRequests(AuditCheck):
    """Partitions, Slurm accounts, qualities of service, GPUs, times, images and folders of the user's own jobs."""

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
        places = [host.home] + [path for path in (one["path"] for one in self.entries("areas")) if _is_own(path, host)]
        search = Search(host, places, LIMITS)
        requests = list(self._of_start_up_files(host))
        ours = read_own_variables(self, host)
        for path in self._files(search, places, host):
            text = search.read_bytes(path, LARGEST).decode("latin-1")
            name = os.path.basename(path)
            if "." not in name and name not in NAMED and not (text.startswith("#!") and "#SBATCH" in text):
                continue
            is_script = path.endswith(ENDS) or name in NAMED or job_lines.DIRECTIVE.search(text)
            found = (job_lines.find_in_script if is_script else job_lines.find_in_settings)(text)
            requests += _placed(found, host.shown(path))
            requests += _placed(job_lines.find_submitted(text) if is_script else (), host.shown(path))
            self._check_line_ends(text, host.shown(path))
            self._check_variables(path, text, ours, host)
            is_run = name == ".envrc" or job_lines.DIRECTIVE.search(text)
            entry = host.resolved_entry(path) if is_run else None
            if entry and entry.mode & EVERYBODY and passable_by(host, os.path.dirname(path)) & 0o001:
                self.report(
                    "SEC-010", host.shown(path), "every user can change it (mode %04o), and it runs as you" % entry.mode
                )
            for number, why in job_lines.find_refused(text) if path.endswith(ENDS) else ():
                self.report("JOB-006", "%s:%d" % (host.shown(path), number), why)
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
        self._check_paths(requests, host)

    # -- lines ---------------------------------------------------------------------------------

    def _of_start_up_files(self, host: Host) -> Iterator[PlacedRequest]:
        aliases = [os.path.join(host.home, name) for name in ALIASES]
        for path in [*login_shell_files(host), *aliases]:
            yield from _placed(job_lines.find_in_start_up_file(read_text(self, host, path)), host.shown(path))

    def _files(self, search: Search, places: List[str], host: Host) -> Iterator[str]:
        """Yield the job scripts, launchers and settings of workflows, as far as the limits go."""
        hidden = [path for path in (os.path.join(host.home, name) for name in HIDDEN) if search.names(path)]
        number = 0
        for listing in chain.from_iterable(map(search.walk_tree, places + hidden)):
            listing.folders = [name for name in listing.folders if not name.startswith(".") or name == VSCODE]
            for name in listing.files:
                if number < MOST and _may_request(name, listing.folder):
                    number += 1
                    if search.resolve_file(listing.path(name)):
                        yield listing.path(name)

    def _check_line_ends(self, text: str, shown: str) -> None:
        """Report a job script with a byte-order mark or carriage returns, which Slurm refuses."""
        if text.startswith(BYTE_ORDER_MARK) and "#SBATCH" in text:
            self.report("ENV-010", "%s:1" % shown, "Slurm refuses a job script with a byte-order mark")
        for number, line in enumerate(split_lines(text), 1):
            if line.endswith("\r\n") and "#SBATCH" in text:
                self.report("ENV-010", "%s:%d" % (shown, number), "Slurm refuses a job script with carriage returns")
                return

    def _check_variables(self, path: str, text: str, ours: Mapping[str, str], host: Host) -> None:
        """Report a variable of hpc-onboard's that a project sends into the home, and a tool's folder likewise."""
        for line, name in find_in_home(text, ours, [host.home, real_home(host)]):
            what = "%s is in the home here, and hpc-onboard's names another folder" % name
            self.report("ENV-009", "%s:%d" % (host.shown(path), line), what)
        for line, program in find_started(text) if os.path.basename(os.path.dirname(path)) == VSCODE else ():
            if is_missing(program, host):
                what = "%s does not exist, and this file starts it" % host.shown(program)
                self.report("ENV-009", "%s:%d" % (host.shown(path), line), what)
        file = tool_places.OF_PROJECTS.get(os.path.basename(path))
        for one in find_values(file, text) if file and os.path.dirname(path) != host.home else ():
            folder = expand(one.value, host.home)
            if one.name in ours and folder != ours[one.name].rstrip("/") and (folder or is_relative(one.value)):
                what = "%s names another folder than hpc-onboard's %s" % (one.key, one.name)
                self.report("ENV-009", "%s:%d" % (host.shown(path), one.line), what)

    # -- findings ------------------------------------------------------------------------------

    def _check(
        self, requests: List[PlacedRequest], what: str, rule: str, offered: List[str], known_as: Callable[[str], str]
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

    def _check_sizes(self, requests: List[PlacedRequest], partitions: List[Dict[str, Any]]) -> None:
        """Report types of GPUs that no partition has, and times that no partition allows."""
        types = {name for one in partitions for name in one.get("gpus") or ()}
        limits = [one.get("minutes") or 0 for one in partitions]  # 0: without a limit
        longest = 0 if 0 in limits else max(limits or [0])
        by_file: Dict[str, List[PlacedRequest]] = {}
        for request in requests:
            by_file.setdefault(request.place.rpartition(":")[0], []).append(request)
            asked = GPU_TYPE.match(request.name) if request.what in ("gpus", "node_gpus") else None
            count = GPUS.match(request.name) if request.what == "node_gpus" else None
            most = max([one.get("most", 0) for one in partitions] or [0])
            if count and most and int(count.group(1)) > most:
                text = "requests %s GPUs of a node, and no node has more than %d"
                self.report("JOB-006", request.place, text % (count.group(1), most))
            if asked and types - {""} and asked.group(1).lower() not in {name.lower() for name in types} | {"gpu"}:
                text = "requests GPUs of type %s, which no partition has; available: %s"
                self.report("JOB-006", request.place, text % (asked.group(1), ", ".join(sorted(types - {""}))))
            minutes = parse_minutes(request.name) if request.what == "time" else None
            if minutes and longest and minutes > longest:
                text = "requests %d hours, and no partition allows more than %d" % (minutes // 60, longest // 60)
                self.report("JOB-006", request.place, text)
        for some in by_file.values():
            self._check_time(some, {one["name"]: one.get("minutes") or 0 for one in partitions})

    def _check_time(self, requests: List[PlacedRequest], longest: Mapping[str, int]) -> None:
        """Report a time that the only partition of a script does not allow; a QOS may have a limit of its own."""
        by_what = {what: [one for one in requests if one.what == what] for what in ("partition", "time", "qos")}
        named = {name for one in by_what["partition"] for name in one.name.split(",")}
        if len(by_what["time"]) != 1 or by_what["qos"] or not named or not named <= set(longest):
            return
        limits = [longest[name] for name in named]
        minutes = parse_minutes(by_what["time"][0].name) or 0
        if 0 not in limits and minutes > max(limits):
            text = "requests %d minutes, and partition %s allows no more than %d"
            self.report("JOB-006", by_what["time"][0].place, text % (minutes, ", ".join(sorted(named)), max(limits)))

    def _check_paths(self, requests: List[PlacedRequest], host: Host) -> None:
        """Report what a job needs and what does not exist: Slurm ends such a job, mostly without a message."""
        for request in requests:
            if request.what in MISSING:
                folder = os.path.dirname(host.expand(request.place.rpartition(":")[0]))
                for path in _needed(request, folder, host):
                    text = "requests %s, which does not exist" % (MISSING[request.what] % host.shown(path))
                    self.report("JOB-006", request.place, text)

    def _check_folders(self, requests: List[PlacedRequest], text: str, host: Host) -> None:
        for request in requests if text else ():
            path = os.path.normpath(_in_home(request.name, host))
            if request.what in ("chdir", "use", "output") and is_in(path, host.home):
                self.report("JOB-005", request.place, text % host.shown(path))


WORDS = {"partition": "partition", "account": "Slurm account", "qos": "quality of service"}
MISSING = {  # what a job needs, in words
    "image": "the image %s",
    "output": "the folder %s for its output",
    "chdir": "the folder %s to work in",
    "mounts": "%s in its container",
    "source": "%s",
}
ABOVE = 3  # folders above a script's, from which it may be submitted
HOME_IN_JOBS = {  # on_compute of the profile's home -> what a job that works there meets
    "ticket": "jobs have no ticket for the home, so this job fails when it uses %s",
    "ro": "jobs cannot write to the home, so this job fails when it uses %s",
    "absent": "jobs do not see the home, so this job fails when it uses %s",
}


def _may_request(name: str, folder: str) -> bool:
    """Return True if a file of this name may be a job script, a launcher, or settings of a project."""
    if os.path.basename(folder) == VSCODE:
        return name in ("settings.json", "launch.json")
    if name in OF_PROJECTS:
        return True
    return not name.startswith(".") and (name.endswith(ENDS + SETTINGS) or "." not in name)


def _needed(request: PlacedRequest, folder: str, host: Host) -> Iterator[str]:
    """Yield the paths that a request needs and that do not exist. folder: of the script."""
    words = [one.partition(":")[0] for one in request.name.split(",")] if request.what == "mounts" else [request.name]
    for word in words:
        path = _in_home(word, host)
        wanted = os.path.dirname(path) if request.what == "output" else path
        if not wanted or re.search("[$%]", wanted):
            continue
        if not wanted.startswith("/"):
            places = [os.path.normpath(os.path.join(folder, *[".."] * up, wanted)) for up in range(ABOVE + 1)]
            if request.what == "output" and all(is_missing(one, host) for one in places):
                yield places[0]
        elif is_missing(os.path.normpath(wanted), host) and (request.what in OF_SLURM or is_on_storage(wanted, host)):
            yield os.path.normpath(wanted)


OF_SLURM = ("image", "output")  # whose path is reported even if nothing of it exists


def _is_own(path: str, host: Host) -> bool:
    try:
        entry = host.resolved_entry(path)
    except AccountError:
        return False
    return entry is not None and entry.kind == "folder" and entry.mine


def _in_home(path: str, host: Host) -> str:
    return re.sub(r"^(?:~|\$HOME|\$\{HOME\})(?=/|\Z)", lambda _found: host.home, path)


def _placed(requests: Iterable[job_lines.LineRequest], shown: str) -> Iterator[PlacedRequest]:
    for one in requests:
        yield PlacedRequest(one.what, one.name, "%s:%d" % (shown, one.line))
