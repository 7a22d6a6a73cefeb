# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the Slurm requests in the user's own job scripts, aliases and variables against what Slurm offers.

Job scripts, launchers and settings of workflows are searched for in the upper folders of the home and storage areas.
Several lines with the same outdated name are one problem. Slurm's offers are what this account may request.
"""

import os
import re
import stat
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Set

from .._core.host import Host
from .._formats.lines import split_lines
from .._scan import job_files
from .._scan.amounts import format_count
from .._scan.search import Search
from .._scan.walk import Limits
from .._slurm import job_lines
from .._slurm.directives import DIRECTIVE, parse_minutes
from .._slurm.offers import get_offers, list_qos
from .audit_check import (
    BYTE_ORDER_MARK,
    OWN_REQUEST,
    AuditCheck,
    find_entry,
    is_in,
    read_text,
    traversal_bits,
    via_home,
)
from .effect_places import find_read_files
from .missing_paths import check_project_settings, expand_home, files_in, find_missing_paths
from .shell_effects import read_own_variables
from .trusted_places import find_open_servers

LIMITS = Limits(entries=4000, seconds=4.0, depth=4)  # of the search for files
GPUS = re.compile(r"(?:gpu:)?(?:[A-Za-z][\w.-]*:)?([0-9]{1,4})\Z")  # the group is the number of GPUs
GPU_TYPE = re.compile(r"(?:gpu:)?([A-Za-z][\w.-]*):[0-9]+\Z")  # the group is the type
MOST, HEAD_BYTES = 400, 8192  # files that are read, and bytes that are read of each
REQUEST_NAMES = {"partition": "partition", "account": "Slurm account", "qos": "quality of service"}
REQUIRED_PATHS = {  # kind of request -> the path that must exist
    "image": "the image %s",
    "output": "the output folder %s",
    "chdir": "the working directory %s",
    "mounts": "the mount source %s",
    "source": "%s",
}
WRITTEN_PATHS, READ_PATHS = ("chdir", "output"), ("use", "source")  # kinds of requests; use: a path in a command
HOME_IN_JOBS = {  # how jobs at this site can use the home directory -> why a job that uses it fails
    "ticket": "jobs have no Kerberos ticket for the home directory, so this job fails when it uses %s",
    "ro": "jobs cannot write to the home directory, so this job fails when it uses %s",
    "absent": "jobs cannot access the home directory, so this job fails when it uses %s",
}


class PlacedRequest(NamedTuple):
    """A request of a job, as in job_lines.LineRequest, with the file and line of the request."""

    what: str  # the kind of request, such as "partition", "time", or "node_gpus" for GPUs per node
    name: str  # what is requested: a name, a number or a path
    place: str  # such as ~/job.sh:3


class JobRequests(AuditCheck):
    """Partitions, Slurm accounts, qualities of service, GPUs, times, images and folders of the user's own jobs."""

    KIND = "job_requests"
    TITLE = "resource requests of your own jobs"
    PATH_OPTIONS = ("areas",)
    NEEDS_SLURM = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "home_in_jobs": {"type": "str", "default": ""},  # a key of HOME_IN_JOBS; else jobs can use the home directory
        # the user's own folders for large data; each entry has the key path
        "areas": {"type": "list", "elements": "dict", "default": []},
    }

    def run(self, host: Host) -> None:
        """Collect the requests of all files, and report those that Slurm does not offer or that must fail."""
        areas = [entry["path"] for entry in self.entries("areas")]
        folders = [host.home] + [path for path in areas if _is_own_folder(path, host)]
        search = Search(host, folders, LIMITS)
        requests = list(self._read_start_up_files(host))
        own_values = read_own_variables(self, host)
        for path in self._find_files(search, folders, host):
            requests += self._check_file(path, search, own_values, host)
        self.skip_unread(search)
        self._check_offered(_select_local(requests), get_offers(host))
        self._check_folders(requests, self.options["home_in_jobs"], host)
        self._check_paths(requests, host)

    # -- files ---------------------------------------------------------------------------------

    def _check_file(self, path: str, search: Search, own_values: Mapping[str, str], host: Host) -> List[PlacedRequest]:
        """Report problems of one file, and return its requests. own_values: variable -> value that hpc-onboard sets."""
        name, shown = os.path.basename(path), host.shown(path)
        text = os.fsdecode(search.read_bytes(path, HEAD_BYTES))
        is_known = "." in name or name in job_files.SHELL_FILES or path.endswith(job_files.NEXTFLOW_CONFIG)
        if not is_known and not (text.startswith("#!") and "#SBATCH" in text):
            return []  # a file without an ending may contain anything, unless it is a job script
        has_directives = DIRECTIVE.search(text) is not None
        has_script_ending = path.endswith(job_files.SCRIPT_ENDINGS)
        self._check_line_ends(text, shown)
        check_project_settings(self, path, text, own_values, host)
        if name == ".envrc" or has_directives:  # the content is run: direnv runs .envrc
            self._check_write_permission(path, host)
            self._check_write_permission(os.path.dirname(path), host)
        problems = [("JOB-006", *found) for found in job_lines.find_refused(text)] if has_script_ending else []
        problems += [("SEC-010", *found) for found in find_open_servers(text) if has_script_ending or has_directives]
        for rule, number, why in problems:
            self.report(rule, "%s:%d" % (shown, number), why)
        is_script = has_script_ending or has_directives or name in job_files.SHELL_FILES
        return list(_add_places(_find_requests(name, text, is_script), shown))

    def _check_write_permission(self, path: str, host: Host) -> None:
        """Report a file or folder whose content runs as the account, and that every user can change."""
        mode = getattr(host.resolved_entry(path), "mode", 0)
        can_enter = traversal_bits(host, os.path.dirname(path)) & 0o001
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX and can_enter:
            text = "every user can change this file or folder, whose content runs under your account (mode %04o)" % mode
            self.report("SEC-010", host.shown(path), text)

    def _read_start_up_files(self, host: Host) -> Iterator[PlacedRequest]:
        """Yield the requests in start-up files, files of aliases and ~/.slurm/defaults."""
        paths = [*find_read_files(self, host), *(os.path.join(host.home, name) for name in job_files.ALIASES)]
        paths += files_in(self, ".config/environment.d", (".conf",), host)
        finders = [(path, job_lines.find_in_start_up_file) for path in paths]
        for path, find in [*finders, (os.path.join(host.home, ".slurm/defaults"), job_lines.find_in_defaults)]:
            yield from _add_places(find(read_text(self, host, path)), host.shown(path))

    def _find_files(self, search: Search, folders: List[str], host: Host) -> Iterator[str]:
        """Yield the first MOST files below the folders that may be job scripts, launchers or settings of workflows."""
        hidden = [os.path.join(host.home, name) for name in job_files.HIDDEN_FOLDERS]
        existing = [folder for folder in hidden if search.list_names(folder)]
        number = 0
        for folder in folders + existing:
            for listing in search.walk_tree(folder):
                # The walk enters only the folders that remain in the listing.
                visible = [name for name in listing.folders if not name.startswith(".") or name == job_files.VSCODE]
                listing.folders = visible
                for name in listing.files:
                    if number < MOST and job_files.may_request(name, listing.folder):
                        number += 1
                        if search.resolve_file(listing.path(name)):  # a file of the account
                            yield listing.path(name)

    def _check_line_ends(self, text: str, shown: str) -> None:
        """Report a job script that Slurm refuses because of a byte-order mark or a carriage return.

        text: the content of the script. shown: its path, for messages.
        """
        if text.startswith(BYTE_ORDER_MARK) and "#SBATCH" in text:
            self.report("ENV-010", "%s:1" % shown, "Slurm rejects job scripts with a byte-order mark")
        lines = enumerate(split_lines(text) if "#SBATCH" in text else (), 1)
        number = next((number for number, line in lines if line.endswith("\r\n")), 0)
        if number:
            self.report("ENV-010", "%s:%d" % (shown, number), "Slurm rejects job scripts with carriage returns")

    # -- findings ------------------------------------------------------------------------------

    def _check_offered(self, requests: List[PlacedRequest], offers: Mapping[str, Any]) -> None:
        """Report requests for what Slurm does not offer. offers: see _slurm/offers.py."""
        accounts, partitions = offers["accounts"], offers["partitions"]  # None if unknown
        if partitions is not None:
            names = [partition["name"] for partition in partitions]
            self._check_names(requests, "partition", "JOB-002", names, normalize=str)  # as requested
            self._check_sizes(requests, partitions)
        if accounts is not None:
            names = [account["name"] for account in accounts]
            self._check_names(requests, "account", "JOB-001", names, normalize=str.lower)  # as Slurm stores them
            qos_by_account = [list_qos(offers, name) for name in names]
            if qos_by_account and all(qos_by_account):  # the QOS of every account are known
                names = sorted({name for qos_names in qos_by_account for name in qos_names or ()})
                self._check_names(requests, "qos", "JOB-003", names, normalize=str)

    def _check_names(
        self, requests: List[PlacedRequest], what: str, rule: str, offered: List[str], normalize: Callable[[str], str]
    ) -> None:
        """Report each requested name that Slurm does not offer, once, at the first line that requests the name.

        what: the kind of the requests, a key of REQUEST_NAMES. normalize: a function that returns a requested name as
        Slurm would write it in offered.
        """
        places: Dict[str, List[str]] = {}  # name -> the lines that request the name
        for request in requests:
            for name in request.name.split(",") if request.what == what else ():
                if normalize(name) not in offered and request.place not in places.setdefault(name, []):
                    places[name].append(request.place)
        for name, lines in places.items():
            other_lines = " (and %s)" % format_count(len(lines) - 1, "more line") if lines[1:] else ""
            text = "this line%s requests %s %s, which Slurm does not offer you; available: %s"
            text %= other_lines, REQUEST_NAMES[what], name, ", ".join(offered) or "none"
            self.report(rule, lines[0], text, case=OWN_REQUEST)

    def _check_sizes(self, requests: List[PlacedRequest], partitions: List[Dict[str, Any]]) -> None:
        """Report GPU types, numbers of GPUs and times that no partition offers. partitions: see _slurm/offers.py."""
        types = {name for partition in partitions for name in partition.get("gpus") or ()}
        most_gpus = max([partition.get("most", 0) for partition in partitions], default=0)  # per node; 0: unknown
        limits = {partition["name"]: partition.get("minutes") or 0 for partition in partitions}  # 0: without a limit
        longest = 0 if 0 in limits.values() else max(limits.values(), default=0)
        by_file: Dict[str, List[PlacedRequest]] = {}
        for request in requests:
            by_file.setdefault(request.place.rpartition(":")[0], []).append(request)
            self._check_gpus(request, types, most_gpus)
            minutes = parse_minutes(request.name) if request.what == "time" else None
            if minutes and longest and minutes > longest:
                text = "this line requests %d minutes, but no partition allows more than %d minutes"
                self.report("JOB-006", request.place, text % (minutes, longest))
        for requests_of_file in by_file.values():
            self._check_time(requests_of_file, limits)

    def _check_gpus(self, request: PlacedRequest, types: Set[str], most_gpus: int) -> None:
        """Report GPUs of an unknown type, or more GPUs than a node has.

        types: the types of all partitions, with "" for GPUs without a type. most_gpus: per node, or 0 if unknown.
        """
        gpu_type = GPU_TYPE.match(request.name) if request.what in ("gpus", "node_gpus") else None
        count = GPUS.match(request.name) if request.what == "node_gpus" else None
        if count and most_gpus and int(count.group(1)) > most_gpus:
            text = "this line requests %s GPUs per node, but no node has more than %d"
            self.report("JOB-006", request.place, text % (count.group(1), most_gpus))
        known_types = {name.lower() for name in types} | {"gpu"}  # "gpu" is what GPU_TYPE finds in gpu:2
        available = ", ".join(sorted(types - {""}))
        if gpu_type and available and gpu_type.group(1).lower() not in known_types:
            text = "this line requests GPUs of type %s, which no partition has; available: %s"
            self.report("JOB-006", request.place, text % (gpu_type.group(1), available))

    def _check_time(self, requests: List[PlacedRequest], limits: Mapping[str, int]) -> None:
        """Report a script whose time exceeds the limits of all its partitions.

        requests: the requests of one file. limits: partition -> minutes, or 0 without a limit.
        """
        times = [request for request in requests if request.what == "time"]
        has_qos = any(request.what == "qos" for request in requests)  # a QOS may have a limit of its own
        partitions = {name for request in requests if request.what == "partition" for name in request.name.split(",")}
        if len(times) != 1 or has_qos or not partitions or not partitions <= set(limits):
            return  # the limit of this job is uncertain
        has_unlimited = any(not limits[name] for name in partitions)
        longest = 0 if has_unlimited else max(limits[name] for name in partitions)
        minutes = parse_minutes(times[0].name) or 0
        if longest and minutes > longest:
            text = "this line requests %d minutes, but the time limit of partition %s is %d minutes"
            self.report("JOB-006", times[0].place, text % (minutes, " or ".join(sorted(partitions)), longest))

    def _check_paths(self, requests: List[PlacedRequest], host: Host) -> None:
        """Report the missing paths that a job requires. Without them, Slurm ends the job, usually without a message."""
        for request in requests:
            if request.what in REQUIRED_PATHS:
                folder = os.path.dirname(host.expand(request.place.rpartition(":")[0]))  # of the file with the request
                for path in find_missing_paths(request.what, request.name, folder, host):
                    text = "this line requests %s, which does not exist"
                    self.report("JOB-006", request.place, text % (REQUIRED_PATHS[request.what] % host.shown(path)))

    def _check_folders(self, requests: List[PlacedRequest], home_in_jobs: str, host: Host) -> None:
        """Report requests for paths in the home directory that jobs cannot use.

        home_in_jobs: how jobs can use the home directory, such as "ro" for read-only; a key of HOME_IN_JOBS, or "".
        """
        if home_in_jobs not in HOME_IN_JOBS:  # jobs can use the home directory
            return
        # Jobs can read a read-only home directory.
        failing = WRITTEN_PATHS if home_in_jobs == "ro" else WRITTEN_PATHS + READ_PATHS
        for request in requests:
            path = via_home(os.path.normpath(expand_home(request.name, host)), host)
            if request.what in failing and is_in(path, host.home):
                self.report("JOB-005", request.place, HOME_IN_JOBS[home_in_jobs] % host.shown(path))


def _select_local(requests: List[PlacedRequest]) -> List[PlacedRequest]:
    """Return the requests without those of files that name another cluster, whose offers are unknown."""
    others = {request.place.rpartition(":")[0] for request in requests if request.what == "clusters"}
    return [request for request in requests if request.place.rpartition(":")[0] not in others]


def _find_requests(name: str, text: str, is_script: bool) -> List[job_lines.LineRequest]:
    """Return the requests in a file. name: of the file. text: its content. is_script: a shell runs the file."""
    if is_script:
        requests = [*job_lines.find_in_script(text), *job_lines.find_submitted(text)]
        return requests + (list(job_lines.find_in_settings(text, is_code=True)) if name == "Snakefile" else [])
    if name in job_files.VARIABLE_FILES:
        return list(job_lines.find_in_start_up_file(text))
    return list(job_lines.find_in_settings(text, is_code=name.endswith(job_files.CODE_ENDINGS)))


def _is_own_folder(path: str, host: Host) -> bool:
    """Return True if the path is an existing folder of the user."""
    entry = find_entry(path, host)
    return entry is not None and entry.kind == "folder" and entry.mine


def _add_places(requests: Iterable[job_lines.LineRequest], shown: str) -> Iterator[PlacedRequest]:
    """Yield the requests with their places. shown: the path of the file, for messages."""
    for request in requests:
        yield PlacedRequest(request.what, request.name, "%s:%d" % (shown, request.line))
