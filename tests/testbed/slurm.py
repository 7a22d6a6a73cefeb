"""A real Slurm on a stand-in cluster: controller, database and nodes, with the site's partitions, GPUs and limits.

The nodes are processes of this machine, and their GPUs are device files of the right types behind which nothing is.
SPDX-License-Identifier: GPL-3.0-or-later
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.testbed.account import Account
from tests.testbed.cluster import Cluster

_SCRIPT = Path(__file__).with_name("slurm.sh")
_STANDINS = Path(__file__).with_name("containers")
_FIRST_PORT = 17001


@dataclass(frozen=True)
class Node:
    """One node. gpus: Slurm's type of its GPUs and their number; an empty type: none."""

    name: str
    gpu: str = ""
    gpus: int = 0


@dataclass(frozen=True)
class Partition:
    """One partition; the first of a site is its default. qos: the only ones that it takes; empty: any."""

    name: str
    nodes: tuple[str, ...]
    hours: int = 24
    qos: tuple[str, ...] = ()


@dataclass(frozen=True)
class Qos:
    """One quality of service and its limits, as sacctmgr takes them."""

    name: str
    limits: str = ""


@dataclass(frozen=True)
class Queues:
    """What a site's Slurm offers."""

    nodes: tuple[Node, ...]
    partitions: tuple[Partition, ...]
    qos: tuple[Qos, ...] = ()
    default_qos: str = "normal"


_OPP = Qos("opp", "Priority=0 MaxWall=08:00:00 MaxSubmitJobsPerUser=50 Flags=DenyOnLimit")
_REGULAR = Qos("regular", "Priority=25 MaxWall=24:00:00 Flags=DenyOnLimit")
_TEST = Qos("test", "Priority=75 MaxWall=04:00:00 MaxJobsPerUser=1 MaxSubmitJobsPerUser=3 Flags=DenyOnLimit")

QUEUES = {
    "lrz": Queues(
        (Node("gpu-001", "v100", 2), Node("gpu-002", "a100", 4), Node("cpu-001")),
        (
            Partition("lrz-v100x2", ("gpu-001",)),
            Partition("lrz-hgx-a100-80x4", ("gpu-002",)),
            Partition("lrz-cpu", ("cpu-001",), qos=("cpu",)),
        ),
        (Qos("cpu"),),
    ),
    "dfki": Queues(
        (Node("serv-9200", "a100", 8), Node("serv-9201", "a100", 8)),
        (Partition("batch", ("serv-9200", "serv-9201"), hours=72),),
    ),
    "pegasus": Queues(
        (Node("serv-3300", "rtx3090", 8), Node("serv-3301", "a100", 8)),
        (Partition("RTX3090", ("serv-3300",), 72), Partition("A100-40GB", ("serv-3301",), 72)),
    ),
    "wilson": Queues(
        (Node("wcgpu01", "a100", 4), Node("wcgpu02", "v100", 2), Node("wcwn001")),
        (
            Partition("cpu_gce", ("wcwn001",)),
            Partition("cpu_gce_test", ("wcwn001",), hours=4),
            Partition("gpu_gce", ("wcgpu01", "wcgpu02")),
        ),
        (_OPP, _REGULAR, _TEST),
        default_qos="opp",
    ),
    "narval": Queues(
        (Node("ng10101", "a100", 4), Node("ng10102", "a100", 4), Node("nc10101")),
        (Partition("gpubase_bygpu_b1", ("ng10101", "ng10102", "nc10101"), hours=168),),
    ),
    "daint": Queues(
        (Node("nid005001", "gh200", 4), Node("nid005002", "gh200", 4)),
        (Partition("normal", ("nid005001", "nid005002")), Partition("debug", ("nid005001", "nid005002"), 1)),
    ),
}
"""By the name of the stand-in cluster: the names of partitions, types and limits are those that the sites document."""


class Slurm:
    """The Slurm of one cluster; it ends with the cluster's world."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        """Start it, with stand-ins for what starts containers, built in folder. It is there when this returns: some
        four seconds.
        """
        self.cluster = cluster
        self.queues = QUEUES[cluster.name]
        self._projects: set[str] = set()
        root = cluster.world.root
        for name, text in _settings(cluster.name, self.queues).items():
            (root / "etc/slurm" / name).write_text(text, encoding="ascii")
        cluster.world.run("sh", "-c", "chown slurm: /etc/slurm/slurmdbd.conf && chmod 0600 /etc/slurm/slurmdbd.conf")
        shutil.copy(_pyxis(folder), root / "etc/slurm/pyxis.so")
        for tool in ("apptainer", "enroot"):
            shutil.copy(_STANDINS / tool, root / "usr/local/bin" / tool)
        script = root / "etc/slurm/start.sh"
        script.write_bytes(_SCRIPT.read_bytes())
        nodes = [node.name for node in self.queues.nodes]
        cluster.world.run("bash", "/etc/slurm/start.sh", cluster.name, *nodes, timeout=120)
        for qos in self.queues.qos:
            self._manage("add", "qos", qos.name, *(["set", *qos.limits.split()] if qos.limits else []))

    def admit(self, account: Account, projects: Sequence[str] = (), qos: Sequence[str] = ()) -> None:
        """Let a user compute for these projects (Slurm's accounts), the first of which is the default.

        projects: empty: the account's own. qos: those that may be used beside the default one; empty: all of the site.
        """
        names = list(projects) or [account.project]
        every = list(qos) or [one.name for one in self.queues.qos]
        allowed = sorted({self.queues.default_qos, *every})
        for name in names:
            if name not in self._projects:
                self._manage(
                    "add", "account", name, f"qos={','.join(allowed)}", f"defaultqos={self.queues.default_qos}"
                )
                self._projects.add(name)
            self._manage("add", "user", account.user, f"account={name}")
        self._manage("modify", "user", account.user, "set", f"defaultaccount={names[0]}")

    def dismiss(self, account: Account, project: str) -> None:
        """Let a user compute for this project no longer."""
        self._manage("delete", "user", account.user, f"account={project}")

    def hide(self) -> None:
        """Let no program find it, as on a cluster without one, until `show`: for tests that do not want any."""
        self.cluster.world.run("sh", "-c", "cd /etc/slurm && [ ! -e slurm.conf ] || mv slurm.conf slurm.conf.hidden")

    def show(self) -> None:
        """Let it be found."""
        self.cluster.world.run("sh", "-c", "cd /etc/slurm && [ -e slurm.conf ] || mv slurm.conf.hidden slurm.conf")

    def jobs(self, account: Account, running: bool = False) -> list[str]:
        """The names of a user's jobs: of all that there ever were, or of those that wait or run."""
        listed = ["squeue", "-h", "-o", "%i|%j", "-u", account.user]
        if running:
            return [line.partition("|")[2] for line in self.cluster.world.run(*listed).splitlines()]
        noted = ["sacct", "-n", "-X", "-P", "-o", "JobID,JobName", "-S", "2020-01-01", "-u", account.user]
        lines = self.cluster.world.run(*noted) + self.cluster.world.run(*listed, "-t", "all")  # those of now come late
        return list(dict(line.split("|", 1) for line in lines.splitlines()).values())

    def limit(self, qos: str, limits: str) -> None:
        """Change the limits of a quality of service, as sacctmgr takes them."""
        self._manage("modify", "qos", qos, "set", *limits.split())

    def pause(self, partition: str) -> None:
        """Let no job of a partition start until `resume`."""
        self.cluster.world.run("scontrol", "update", f"PartitionName={partition}", "State=DOWN")

    def resume(self, partition: str) -> None:
        """Let jobs start again."""
        self.cluster.world.run("scontrol", "update", f"PartitionName={partition}", "State=UP")

    def _manage(self, *words: str) -> None:
        self.cluster.world.run("sacctmgr", "-i", "-Q", *words)


def _pyxis(folder: Path) -> Path:
    """The plugin that stands for pyxis, built once in a folder."""
    plugin = folder / "pyxis.so"
    if not plugin.exists():
        source = _STANDINS / "pyxis.c"
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", str(plugin), str(source)], check=True)
    return plugin


def _settings(cluster: str, queues: Queues) -> dict[str, str]:
    base = "/run/slurm"
    types = sorted({node.gpu for node in queues.nodes if node.gpu})
    settings = {
        "ClusterName": cluster,
        "SlurmctldHost": f"{cluster}(127.0.0.1)",
        "SlurmUser": "slurm",
        "AuthType": "auth/munge",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU_Memory",
        "SlurmdParameters": "config_overrides",
        "StateSaveLocation": f"{base}/state",
        "SlurmdSpoolDir": f"{base}/spool/%n",
        "SlurmctldPidFile": f"{base}/state/slurmctld.pid",
        "SlurmdPidFile": f"{base}/state/slurmd-%n.pid",
        "SlurmctldLogFile": f"{base}/log/slurmctld.log",
        "SlurmdLogFile": f"{base}/log/slurmd-%n.log",
        "ReturnToService": "2",
        "MailProg": "/bin/true",
        "GresTypes": "gpu",
        "JobAcctGatherType": "jobacct_gather/linux",
        "JobAcctGatherFrequency": "1",
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": "localhost",
        "AccountingStorageTRES": ",".join(["gres/gpu", *(f"gres/gpu:{name}" for name in types)]),
        "AccountingStorageEnforce": "associations,limits,qos",
        "EnforcePartLimits": "ALL",
        "PriorityType": "priority/multifactor",
        "SchedulerParameters": "sched_min_interval=0,batch_sched_delay=0,bf_interval=1",
        "DefMemPerCPU": "500",
    }
    lines = [f"{name}={value}" for name, value in settings.items()]
    for port, node in enumerate(queues.nodes, _FIRST_PORT):
        gpus = f" Gres=gpu:{node.gpu}:{node.gpus}" if node.gpus else ""
        lines.append(f"NodeName={node.name} NodeAddr=127.0.0.1 Port={port} CPUs=288 RealMemory=1000000{gpus}")
    for part in queues.partitions:
        only = f" AllowQos={','.join(part.qos)}" if part.qos else ""
        default = "YES" if part == queues.partitions[0] else "NO"
        lines.append(
            f"PartitionName={part.name} Nodes={','.join(part.nodes)} Default={default} MaxTime={part.hours}:00:00"
            f" DefaultTime=60 State=UP{only}"
        )
    database = {
        "AuthType": "auth/munge",
        "DbdHost": "localhost",
        "DbdPort": "6819",
        "SlurmUser": "slurm",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": "slurm",
        "StoragePass": "testbed",
        "StorageLoc": "slurm_acct_db",
        "LogFile": f"{base}/log/slurmdbd.log",
        "PidFile": f"{base}/state/slurmdbd.pid",
    }
    gpus = [
        f"NodeName={node.name} Name=gpu Type={node.gpu} File={base}/gpu/nvidia[0-{node.gpus - 1}] Flags=nvidia_gpu_env"
        for node in queues.nodes
        if node.gpus
    ]
    return {
        "slurm.conf": "".join(f"{line}\n" for line in lines),
        "slurmdbd.conf": "".join(f"{name}={value}\n" for name, value in database.items()),
        "plugstack.conf": "required /etc/slurm/pyxis.so\n",
        "gres.conf": "".join(f"{line}\n" for line in gpus),
        "cgroup.conf": f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={base}/cgroup\n",  # named, so none is looked for
    }
