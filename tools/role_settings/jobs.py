"""The settings of the roles that keep launchers and scripts of jobs.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from tools.role_pages import FROM_ACCOUNTS, FROM_PROFILE, Role, Setting, item, state
from tools.role_settings.files import FILES_FROM

ACCOUNTS = [
    Setting("account", "", "The Slurm account of jobs. Empty is the one that you have there.", set_by=FROM_ACCOUNTS),
    Setting(
        "likely_account",
        "",
        "The Slurm account to use if you have several and this is one of them: the project, if the site names them so.",
        set_by=FROM_PROFILE,
    ),
]
LIMITS = Setting(
    "limits",
    {},
    "What the site offers and asks of jobs: gpu_vendor, gpus_per_node, whole_nodes, cpus_per_gpu, memory_per_gpu,"
    " memory_per_cpu, partition_required, partitions, partition_hours, hours, account_suffixes, gpu_nodes. A request"
    " beyond it is refused.",
    set_by=FROM_PROFILE,
)
REQUEST = [
    Setting(
        "partition",
        "",
        "The partition of jobs. Empty is the site's default. Where partitions for jobs without a GPU are others, it is"
        " for jobs with GPUs.",
    ),
    Setting("cpu_partition", "", "The partition of jobs without a GPU. Empty is the site's default."),
    Setting("qos", "", "The quality of service of jobs. Empty is the site's or Slurm's default."),
    Setting("gpu_type", "", "The type of GPU, as Slurm names it there. Empty is the site's usual one."),
    Setting("cpus", 0, "The processors of each task. 0 is what the site advises for each GPU, or Slurm's default."),
    Setting(
        "memory",
        "",
        "The memory on each node, such as 32G. Empty is what the site advises for each GPU, or Slurm's default.",
    ),
]
IMAGES = Setting(
    "images",
    "",
    "The folder with images that are named as declared, such as nvcr.io/nvidia/pytorch:24.03-py3.",
    set_by=FROM_PROFILE,
)
MOUNTS = Setting(
    "mounts", [], "The folders that the container sees, each SOURCE:TARGET.", elements="str", set_by=FROM_PROFILE
)
HOME_IN_JOBS = Setting(
    "home_in_jobs",
    "",
    "The folder that replaces the home in jobs, if they cannot read the real one.",
    set_by=FROM_PROFILE,
)
RUNTIME = Setting(
    "runtime",
    "none",
    "The program that starts containers in jobs.",
    choices=("pyxis", "environment", "apptainer", "singularity", "none"),
    set_by=FROM_PROFILE,
)
ROOT = Setting("root", "~", "The folder above it that must exist.", set_by=FROM_PROFILE)
SITE = [
    Setting("scheduler", "slurm", "The batch system.", set_by=FROM_PROFILE),
    Setting("site", "this cluster", "The name of the cluster.", set_by=FROM_PROFILE),
    RUNTIME,
    Setting("module", "", "The environment module that provides the container tool.", set_by=FROM_PROFILE),
    Setting("gpu", "--gpus=1", "The options of srun that request one GPU.", set_by=FROM_PROFILE),
    Setting("cpu", "", "The options of srun that a job without a GPU needs.", set_by=FROM_PROFILE),
    LIMITS,
    Setting("account_required", False, "Whether a job must name its account.", set_by=FROM_PROFILE),
]
PROXY = [
    Setting("proxy", "", "The proxy by which jobs reach the Internet.", set_by=FROM_PROFILE),
    Setting("proxy_module", "", "The environment module that lets compute nodes reach it.", set_by=FROM_PROFILE),
]

ROLES = [
    Role(
        "launchers",
        "Keep usrun.sh, which runs a command on a compute node",
        "`usrun.sh`, which runs a command in a container on a GPU node, with the same options on every cluster",
        [
            "Keeps C(usrun.sh) on PATH, which runs a command on a compute node, optionally in a container and on a GPU."
            " Its options mean the same at every site.",
            "A file of the same name that hpc-onboard did not write, or that was edited, stays and is reported.",
        ],
        [
            Setting("name", "usrun.sh", "The name of the script."),
            Setting("folder", "~/bin", "The folder for the script. It comes first on PATH.", set_by=FROM_PROFILE),
            ROOT,
            state("Whether the script exists. C(absent) removes it."),
            Setting(
                "image",
                "",
                "The container image for commands that name none: a file, an address, or an EDF name at CSCS.",
                set_by=FROM_PROFILE,
            ),
            IMAGES,
            MOUNTS,
            Setting("gpus", 1, "The GPUs on each node if the command names no number. 0 is none.", set_by=FROM_PROFILE),
            Setting("minutes", 60, "The time limit if the command names none.", set_by=FROM_PROFILE),
            *REQUEST,
            *ACCOUNTS,
            *SITE,
            Setting(
                "accounts_command", "", "The command that shows the accounts that a job may name.", set_by=FROM_PROFILE
            ),
            HOME_IN_JOBS,
            *PROXY,
        ],
    ),
    Role(
        "job_scripts",
        "Keep scripts of jobs that fit the site",
        "job scripts for the site: batch, several GPUs or nodes, arrays, chains, Jupyter, and your own scripts",
        [
            "Keeps scripts of jobs in a folder of the account, created from the facts of the site and the account, and"
            " from templates of your own.",
            "A script that was edited on the account stays and is reported.",
        ],
        [
            Setting(
                "templates",
                [],
                "The scripts of hpc-onboard to keep: batch, gpus, nodes, array, chain, farm, interactive, jupyter,"
                " staging, import, build; or all.",
                elements="str",
            ),
            Setting(
                "own",
                [],
                "Templates of your own, such as C({name: train.sh, file: templates/train.sh}). They may contain words"
                " such as @person@ and @gpu@; the role's README lists them.",
                items=[
                    item("name", "The name of the script.", required=True),
                    item("file", "The file on this machine.", required=True),
                ],
            ),
            FILES_FROM,
            Setting("folder", "~/jobs", "The folder for the scripts. It gets a folder C(output).", set_by=FROM_PROFILE),
            ROOT,
            state("Whether they exist. C(absent) removes those that were not edited."),
            Setting("command", "hostname", "The command to run, as one line of a shell."),
            Setting("minutes", 60, "The time limit of a job, in minutes."),
            Setting(
                "gpus",
                2,
                "The number of GPUs on one node, for scripts with several. 0 makes all scripts ones without a GPU.",
                set_by=FROM_PROFILE,
            ),
            Setting("nodes", 2, "The number of nodes, for the script with several.", set_by=FROM_PROFILE),
            Setting("links", 10, "The number of jobs in a chain."),
            Setting("mail", "", "The address that Slurm notifies when a job ends or fails. Empty is none."),
            *REQUEST,
            *ACCOUNTS,
            Setting(
                "image",
                "",
                "The container image that the command runs in: a file, a name as declared, an address, or an EDF name"
                " at CSCS. C(none) is none.",
                set_by=FROM_PROFILE,
            ),
            IMAGES,
            MOUNTS,
            HOME_IN_JOBS,
            Setting("modules", [], "The environment modules to load, in this order.", elements="str"),
            Setting(
                "environment",
                "",
                "The Python environment to activate, such as ~/envs/ml or /data/ada/envs/ml. Without it, a job ends.",
            ),
            Setting(
                "nccl",
                {},
                "Variables for NCCL, for jobs on several nodes, such as C({NCCL_SOCKET_IFNAME: ib0}).",
                set_by=FROM_PROFILE,
            ),
            Setting(
                "ask_slurm",
                False,
                "Whether each run asks Slurm if it would accept the scripts (C(sbatch --test-only)).",
            ),
            *SITE,
            Setting("importer", "none", "The program that imports and builds images.", set_by=FROM_PROFILE),
            Setting("login", "", "The login node, for the tunnel to Jupyter.", set_by=FROM_PROFILE),
            Setting("internet", "", "How compute nodes reach the Internet: full, none, or empty.", set_by=FROM_PROFILE),
            Setting("tmp", "", "The folder of a node's own disk in a job, such as $SLURM_TMPDIR.", set_by=FROM_PROFILE),
            *PROXY,
        ],
    ),
]
