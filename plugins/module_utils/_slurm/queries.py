# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries to Slurm's programs on the login node: a user's accounts, qualities of service, partitions and GPUs.

Each program runs once in a run at most, with the login shell's PATH and a time limit.
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
COMMAND = '"$0" "$@" && echo ' + END_LINE  # output that was cut off, or of a failed program, lacks this line
TEST_COMMAND = '"$0" --test-only --time=1 --wrap=true 2>&1; echo ' + END_LINE  # submits nothing
NO_DEFAULT = "No partition specified"  # what Slurm answers to a job that names none
RIGHTS = "format=Cluster,Account,QOS,DefaultQOS,DefaultAccount"
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*\Z")
GPU = re.compile(r"gpu(?::([A-Za-z0-9_.-]+))?:([0-9]+)\Z")
MOST = 200  # accounts, and partitions, in the answer

Document = Dict[str, Any]  # see offers.py, or a part of it


def query_offers(host: Host, kept: List[Document]) -> Document:
    """Return the current offers (offers.py). kept: the accounts of before, used if Slurm now tells only names."""
    missed: Dict[str, List[str]] = {}
    if host.root:
        unknown = {"accounts": None, "default": None, "partitions": None, "default_partition": None}
        return dict(unknown, missed=["a sandbox has no Slurm"])
    try:
        environment = dict(host.account.environment(), LC_ALL="C")
    except AccountError:
        environment = dict(os.environ, LC_ALL="C")

    programs = find_programs(("sacctmgr", "sshare", "sinfo", "sbatch"), environment.get("PATH") or os.defpath)

    def ask(line: List[str], command: str = COMMAND) -> Optional[str]:
        program = programs.get(line[0])
        if program is None:
            missed.setdefault("not found", []).append(line[0])
            return None
        answer = run_program(
            ["/bin/sh", "-c", command, program] + line[1:], environment, SECONDS, end=END_LINE.encode()
        )
        text, _end, _rest = answer.text.rpartition(END_LINE)
        if answer.why or not _end:
            missed.setdefault(answer.why or "failed", []).append(line[0])
            return None
        return text

    user = pwd.getpwuid(os.getuid()).pw_name
    rights = ask(["sacctmgr", "-nP", "show", "user", "name=" + user, "withassoc", RIGHTS])
    # sacctmgr's database may serve several clusters; sshare knows the accounts of this one.
    is_needed = rights is None or len(parse_clusters(rights)) > 1
    here = ask(["sshare", "-U", "-nP", "-o", "Account"]) if is_needed else None
    own = parse_accounts(rights, None if here is None else parse_shares(here)) if rights is not None else {}
    if rights is None and here is not None and parse_shares(here):
        former = {account["name"]: account for account in kept}
        bare = [{"name": name, "qos": [], "default_qos": ""} for name in parse_shares(here)[:MOST]]
        own = {"accounts": [former.get(account["name"], account) for account in bare]}
    nodes = ask(["sinfo", "-h", "-o", "%P|%l|%G"])
    partitions = None if nodes is None else parse_partitions(nodes)
    default = parse_default_partition(nodes or "") or None
    if partitions and default is None and NO_DEFAULT in (ask(["sbatch"], TEST_COMMAND) or ""):
        default = ""  # a site may also choose the partition of a job that names none
    return {
        "accounts": own.get("accounts"),
        "default": own.get("default"),
        "partitions": partitions,
        "default_partition": default,
        "missed": ["%s: %s" % (printable(why), ", ".join(missed[why])) for why in missed],
    }


# -- the output of the programs -------------------------------------------------------------------


def parse_accounts(text: str, here: Optional[List[str]]) -> Document:
    """Return accounts and default from sacctmgr's output, one line for each account and partition of a user.

    here: the accounts of this cluster; None accepts all.
    """
    every: Dict[str, Document] = {}
    default = ""
    for line in text.splitlines():
        _cluster, name, qos, usual, default_account = (line.split("|") + [""] * 5)[:5]
        if WORD.match(name) and (here is None or name in here):
            default_qos = usual if WORD.match(usual) else ""
            account = every.setdefault(name, {"name": name, "qos": [], "default_qos": default_qos})
            account["qos"] = sorted({*account["qos"], *(word for word in qos.split(",") if WORD.match(word))})
            default = default_account if default_account in every else default
    return {"accounts": [every[name] for name in sorted(every)][:MOST], "default": default}


def parse_clusters(text: str) -> List[str]:
    """Return the clusters in sacctmgr's output."""
    return sorted({line.partition("|")[0] for line in text.splitlines() if line})


def parse_shares(text: str) -> List[str]:
    """Return the accounts in sshare's output, which are those of this cluster."""
    names = {line.partition("|")[0].strip() for line in text.splitlines()}
    return sorted(name for name in names if WORD.match(name))


def parse_partitions(text: str) -> List[Document]:
    """Return the partitions in sinfo's output, which has one line for each partition and type of node."""
    every: Dict[str, Document] = {}
    for line in text.splitlines():
        name, limit, gres = (line.split("|") + ["", ""])[:3]
        name = name.rstrip("*")
        if WORD.match(name):
            partition = every.setdefault(name, {"name": name, "gpus": [], "minutes": parse_minutes(limit)})
            partition["gpus"] = sorted({*partition["gpus"], *parse_gpu_types(gres)})
            if partition["gpus"]:
                partition["most"] = max(partition.get("most", 0), count_gpus(gres))
    return [every[name] for name in sorted(every)][:MOST]


def parse_default_partition(text: str) -> str:
    """Return the partition that sinfo marks with a star, or an empty text."""
    names = (line.partition("|")[0] for line in text.splitlines())
    return next((name[:-1] for name in names if name.endswith("*") and WORD.match(name[:-1])), "")


def parse_gpu_types(gres: str) -> List[str]:
    """Return the types of GPUs in a node's generic resources; "" for GPUs without a type.

    >>> parse_gpu_types("gpu:a100:4(S:0-1),nvme:1")
    ['a100']
    """
    return [match.group(1) or "" for match in _gpus_in(gres)]


def count_gpus(gres: str) -> int:
    """Return how many GPUs a node has according to its generic resources."""
    return sum(int(match.group(2)) for match in _gpus_in(gres))


def _gpus_in(gres: str) -> "List[Match[str]]":
    matches = (GPU.match(word) for word in re.sub(r"\([^)]*\)", "", gres).split(","))
    return [match for match in matches if match]
