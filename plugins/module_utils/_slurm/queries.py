# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries to Slurm's programs on the login node: a user's accounts, QOS, partitions and GPUs.

Each program runs at most once in a run, with the login shell's PATH and a time limit.
"""

import os
import pwd
import re
from typing import Any, Dict, List, Match, Optional

from .._core.errors import AccountError, printable
from .._core.host import Host
from .._core.program import run_program
from .._core.search_path import find_programs
from .directives import parse_minutes

SECONDS = 10.0  # the time limit of each program
END_LINE = "hpc.onboard-ended"
COMMAND = '"$0" "$@" && echo ' + END_LINE  # missing in the output of a failed program, and in incomplete output
TEST_COMMAND = '"$0" --test-only --time=1 --wrap=true 2>&1; echo ' + END_LINE  # submits nothing
NO_DEFAULT = "No partition specified"  # Slurm's error for a job without a partition
RIGHTS = "format=Cluster,Account,QOS,DefaultQOS,DefaultAccount"  # the columns of sacctmgr's output
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*\Z")  # a valid name
GPU = re.compile(r"gpu(?::([A-Za-z0-9_.-]+))?:([0-9]+)\Z")  # gpu:NUMBER or gpu:TYPE:NUMBER
MOST = 200  # the largest number of accounts, and of partitions, that are reported

Document = Dict[str, Any]  # see offers.py, or a part of it


class _Programs:
    """Slurm's programs on this login node. missed: reason -> the programs that gave no output."""

    def __init__(self, host: Host) -> None:
        try:
            self._environment = dict(host.account.environment(), LC_ALL="C")
        except AccountError:  # the login shell failed
            self._environment = dict(os.environ, LC_ALL="C")
        search_path = self._environment.get("PATH") or os.defpath
        self._paths = find_programs(("sacctmgr", "sshare", "sinfo", "sbatch"), search_path)
        self.missed: Dict[str, List[str]] = {}

    def run(self, line: List[str], command: str = COMMAND) -> Optional[str]:
        """Return the output of a program; None if the program is missing or fails, which is noted in missed.

        line: the name of the program and its arguments. command: the shell command that runs the program and then
        prints END_LINE.
        """
        name = line[0]
        path = self._paths.get(name)
        if path is None:
            self.missed.setdefault("not found", []).append(name)
            return None
        shell_command = ["/bin/sh", "-c", command, path] + line[1:]
        output = run_program(shell_command, self._environment, SECONDS, end=END_LINE.encode())
        text, end_line, _rest = output.text.rpartition(END_LINE)
        if output.why or not end_line:
            self.missed.setdefault(output.why or "failed", []).append(name)
            return None
        return text


def query_offers(host: Host, earlier_accounts: List[Document]) -> Document:
    """Return the current offers (see Document in offers.py).

    earlier_accounts: the "accounts" of earlier offers, for their details if only names can be queried now.
    """
    offers: Document = {"accounts": None, "default": None, "partitions": None, "default_partition": None}
    if host.root:  # a sandbox, which simulates an account
        return dict(offers, missed=["Slurm is not available in a sandbox"])
    programs = _Programs(host)
    offers.update(_query_accounts(programs, earlier_accounts))
    offers.update(_query_partitions(programs))
    missed = ["%s: %s" % (printable(why), ", ".join(names)) for why, names in programs.missed.items()]
    return dict(offers, missed=missed)


def _query_accounts(programs: _Programs, earlier_accounts: List[Document]) -> Document:
    """Return the fields "accounts" and "default" of the offers, without those that are unknown."""
    user = pwd.getpwuid(os.getuid()).pw_name
    rights = programs.run(["sacctmgr", "-nP", "show", "user", "name=" + user, "withassoc", RIGHTS])
    names_here = None  # of this cluster's accounts: sacctmgr's database may serve several clusters
    if rights is None or len(parse_clusters(rights)) > 1:
        shares = programs.run(["sshare", "-U", "-nP", "-o", "Account"])  # lists only the accounts of this cluster
        names_here = None if shares is None else parse_shares(shares)
    if rights is not None:
        return parse_accounts(rights, names_here)
    if not names_here:
        return {}
    # only the names are known: the other details are those of earlier accounts
    earlier = {account["name"]: account for account in earlier_accounts}
    names = names_here[:MOST]
    return {"accounts": [earlier.get(name, {"name": name, "qos": [], "default_qos": ""}) for name in names]}


def _query_partitions(programs: _Programs) -> Document:
    """Return the fields "partitions" and "default_partition" of the offers; None if they are unknown."""
    nodes = programs.run(["sinfo", "-h", "-o", "%P|%l|%G"])  # partition, time limit, generic resources
    partitions = None if nodes is None else parse_partitions(nodes)
    default = parse_default_partition(nodes or "") or None
    if partitions and default is None:  # the site rejects jobs without a partition, or chooses one by other means
        is_rejected = NO_DEFAULT in (programs.run(["sbatch"], TEST_COMMAND) or "")
        default = "" if is_rejected else None
    return {"partitions": partitions, "default_partition": default}


# -- the output of the programs -------------------------------------------------------------------


def parse_accounts(text: str, names_here: Optional[List[str]]) -> Document:
    """Return {accounts, default} from sacctmgr's output, which has a line for each account and partition of a user.

    names_here: the names of this cluster's accounts; None accepts all.
    """
    by_name: Dict[str, Document] = {}
    default = ""
    for line in text.splitlines():
        _cluster, name, qos, default_qos, default_account = (line.split("|") + [""] * 5)[:5]  # the fields of RIGHTS
        is_here = names_here is None or name in names_here
        if WORD.match(name) and is_here:
            default_qos = default_qos if WORD.match(default_qos) else ""
            account = by_name.setdefault(name, {"name": name, "qos": [], "default_qos": default_qos})
            account["qos"] = sorted({*account["qos"], *(word for word in qos.split(",") if WORD.match(word))})
            default = default_account if default_account in by_name else default
    return {"accounts": [by_name[name] for name in sorted(by_name)][:MOST], "default": default}


def parse_clusters(text: str) -> List[str]:
    """Return the names of the clusters in sacctmgr's output."""
    return sorted({line.partition("|")[0] for line in text.splitlines() if line})


def parse_shares(text: str) -> List[str]:
    """Return the names of the accounts in sshare's output."""
    names = {line.partition("|")[0].strip() for line in text.splitlines()}
    return sorted(name for name in names if WORD.match(name))


def parse_partitions(text: str) -> List[Document]:
    """Return the "partitions" of the offers from sinfo's output, which has a line for each partition and node type."""
    by_name: Dict[str, Document] = {}
    for line in text.splitlines():
        name, limit, gres = (line.split("|") + ["", ""])[:3]
        name = name.rstrip("*")
        if WORD.match(name):
            partition = by_name.setdefault(name, {"name": name, "gpus": [], "minutes": parse_minutes(limit)})
            partition["gpus"] = sorted({*partition["gpus"], *parse_gpu_types(gres)})
            if partition["gpus"]:  # most: the GPUs of its largest node
                partition["most"] = max(partition.get("most", 0), count_gpus(gres))
    return [by_name[name] for name in sorted(by_name)][:MOST]


def parse_default_partition(text: str) -> str:
    """Return the partition that sinfo marks with a star, as the default of jobs that name none, or ""."""
    names = (line.partition("|")[0] for line in text.splitlines())
    return next((name[:-1] for name in names if name.endswith("*") and WORD.match(name[:-1])), "")


def parse_gpu_types(gres: str) -> List[str]:
    """Return the types of GPUs in a node's generic resources; "" for GPUs without a type.

    >>> parse_gpu_types("gpu:a100:4(S:0-1),nvme:1")
    ['a100']
    """
    return [match.group(1) or "" for match in _match_gpus(gres)]


def count_gpus(gres: str) -> int:
    """Return the number of GPUs in a node's generic resources."""
    return sum(int(match.group(2)) for match in _match_gpus(gres))


def _match_gpus(gres: str) -> "List[Match[str]]":
    """Return the matches of GPU in a node's generic resources, without the sockets that sinfo adds in parentheses."""
    matches = (GPU.match(word) for word in re.sub(r"\([^)]*\)", "", gres).split(","))
    return [match for match in matches if match]
