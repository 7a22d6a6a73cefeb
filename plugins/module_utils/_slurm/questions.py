# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Slurm offers to a person: accounts, qualities of service, partitions and GPUs, as its programs say on a node.

Each program is asked once in a run at most, by the words that the login shell finds it by, and none is waited for long.
"""

import os
import pwd
import re
from typing import Any, Dict, List, Optional

from .._core.errors import AccountError, printable
from .._core.host import Host
from .._core.program import find_program, run_program

SECONDS = 10.0  # for each program
ENDED = "hpc.onboard-ended"
WHOLE = '"$0" "$@" && echo ' + ENDED  # what was cut short, or failed, lacks the last line
RIGHTS = "format=Cluster,Account,QOS,DefaultQOS,DefaultAccount"
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*\Z")
GPU = re.compile(r"gpu(?::([A-Za-z0-9_.-]+))?:[0-9]+\Z")
MOST = 200  # accounts, and partitions, that are told

Document = Dict[str, Any]  # see _jobs/slurm_offers.py, or a part of it


def asked(host: Host, kept: List[Document]) -> Document:
    """What Slurm offers now. kept: the accounts that were known before, for where only their names are told."""
    missed: Dict[str, List[str]] = {}
    if host.root:
        return {"accounts": None, "default": None, "partitions": None, "missed": ["a sandbox has no Slurm"]}
    try:
        environment = dict(host.account.environment(), LC_ALL="C")
    except AccountError:
        environment = dict(os.environ, LC_ALL="C")

    def ask(line: List[str]) -> Optional[str]:
        program = find_program(line[0], environment.get("PATH") or os.defpath)
        if program is None:
            missed.setdefault("not found", []).append(line[0])
            return None
        answer = run_program(["/bin/sh", "-c", WHOLE, program] + line[1:], environment, SECONDS, end=ENDED.encode())
        text, _end, _rest = answer.text.rpartition(ENDED)
        if answer.why or not _end:
            missed.setdefault(answer.why or "failed", []).append(line[0])
            return None
        return text

    user = pwd.getpwuid(os.getuid()).pw_name
    rights = ask(["sacctmgr", "-nP", "show", "user", "name=" + user, "withassoc", RIGHTS])
    here = ask(["sshare", "-U", "-nP", "-o", "Account"]) if rights is None or len(clusters(rights)) > 1 else None
    own = accounts(rights, None if here is None else shares(here)) if rights is not None else {}
    if rights is None and here is not None and shares(here):
        former = {one["name"]: one for one in kept}
        bare = [{"name": name, "qos": [], "default_qos": ""} for name in shares(here)[:MOST]]
        own = {"accounts": [former.get(one["name"], one) for one in bare]}
    nodes = ask(["sinfo", "-h", "-o", "%R|%G"])
    return {
        "accounts": own.get("accounts"),
        "default": own.get("default"),
        "partitions": None if nodes is None else partitions(nodes),
        "missed": ["%s: %s" % (printable(why), ", ".join(missed[why])) for why in missed],
    }


# -- what the programs print -------------------------------------------------------------------


def accounts(text: str, here: Optional[List[str]]) -> Document:
    """What sacctmgr prints of a user, one line for each account and partition. here: the accounts of this cluster."""
    every: Dict[str, Document] = {}
    default = ""
    for line in text.splitlines():
        _cluster, name, qos, usual, default_account = (line.split("|") + [""] * 5)[:5]
        if WORD.match(name) and (here is None or name in here):
            one = every.setdefault(name, {"name": name, "qos": [], "default_qos": usual if WORD.match(usual) else ""})
            one["qos"] = sorted({*one["qos"], *(word for word in qos.split(",") if WORD.match(word))})
            default = default_account if default_account in every else default
    return {"accounts": [every[name] for name in sorted(every)][:MOST], "default": default}


def clusters(text: str) -> List[str]:
    """The clusters that sacctmgr's lines are about; one database may serve several."""
    return sorted({line.partition("|")[0] for line in text.splitlines() if line})


def shares(text: str) -> List[str]:
    """The accounts that sshare prints, which are those of this cluster."""
    names = {line.partition("|")[0].strip() for line in text.splitlines()}
    return sorted(name for name in names if WORD.match(name))


def partitions(text: str) -> List[Document]:
    """What sinfo prints, one line for each partition and kind of node."""
    every: Dict[str, List[str]] = {}
    for line in text.splitlines():
        name, _bar, gres = line.partition("|")
        if WORD.match(name):
            every.setdefault(name, []).extend(gpus(gres))
    return [{"name": name, "gpus": sorted(set(every[name]))} for name in sorted(every)][:MOST]


def gpus(gres: str) -> List[str]:
    """The types of GPUs in a node's generic resources; "" for those that have none.

    >>> gpus("gpu:a100:4(S:0-1),nvme:1")
    ['a100']
    """
    words = (GPU.match(one) for one in re.sub(r"\([^)]*\)", "", gres).split(","))
    return [one.group(1) or "" for one in words if one]
