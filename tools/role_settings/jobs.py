"""The settings of the roles that keep launchers and scripts of jobs.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from dataclasses import replace

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
PARTITION = Setting("partition", "", "The partition of jobs that name none. Empty is the site's default.")
QOS = Setting("qos", "", "The quality of service of jobs that name none. Empty is Slurm's default.")
RUNTIME = Setting("runtime", "none", "The program that starts containers in jobs.", set_by=FROM_PROFILE)
SITE = [
    Setting("scheduler", "slurm", "The batch system.", set_by=FROM_PROFILE),
    Setting("site", "this cluster", "The name of the cluster.", set_by=FROM_PROFILE),
    RUNTIME,
    Setting("module", "", "The environment module that provides this program.", set_by=FROM_PROFILE),
    Setting("gpu", "--gpus=1", "The options of srun that request one GPU.", set_by=FROM_PROFILE),
    Setting("cpu", "", "The options of srun that a job without a GPU needs.", set_by=FROM_PROFILE),
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
        "`usrun.sh`: run a command in a container on a GPU node, with the same options everywhere",
        [
            "Keeps C(usrun.sh) on PATH, which runs a command on a compute node, optionally in a container and on a GPU."
            " Its options mean the same at every site.",
            "A file of the same name that hpc-onboard did not write, or that was edited, stays and is reported.",
        ],
        [
            Setting("name", "usrun.sh", "The name of the script."),
            Setting("folder", "~/bin", "The folder for the script. It comes first on PATH."),
            state("Whether the script exists. C(absent) removes it."),
            Setting(
                "image",
                "",
                "The container image for commands that name none: a file, an address, or an EDF name at CSCS.",
                set_by=FROM_PROFILE,
            ),
            Setting(
                "images",
                "",
                "The folder with images that are named as declared, such as nvcr.io/nvidia/pytorch:24.03-py3.",
                set_by=FROM_PROFILE,
            ),
            Setting(
                "mounts",
                [],
                "The folders that the container sees, each SOURCE:TARGET.",
                elements="str",
                set_by=FROM_PROFILE,
            ),
            Setting("minutes", 60, "The time limit if the command names none.", set_by=FROM_PROFILE),
            Setting("memory", "", "The memory if the command names none, such as 32G."),
            Setting("cpus", 0, "The processors if the command names none. 0 is Slurm's default."),
            PARTITION,
            *ACCOUNTS,
            QOS,
            *[
                replace(RUNTIME, choices=("pyxis", "environment", "apptainer", "singularity", "none"))
                if setting is RUNTIME
                else setting
                for setting in SITE
            ],
            Setting(
                "accounts_command", "", "The command that shows the accounts that a job may name.", set_by=FROM_PROFILE
            ),
            Setting(
                "home_in_jobs",
                "",
                "The folder that replaces the home in jobs, if they cannot read the real one.",
                set_by=FROM_PROFILE,
            ),
            *PROXY,
        ],
    ),
    Role(
        "job_scripts",
        "Keep scripts of jobs that fit the site",
        "job scripts that fit the site: batch, several GPUs or nodes, chains, staging, and your own",
        [
            "Keeps scripts of jobs in a folder of the account, created from the facts of the site and the account, and"
            " from templates of your own.",
            "A script that was edited on the account stays and is reported.",
        ],
        [
            Setting(
                "templates",
                [],
                "The scripts of hpc-onboard to keep: batch, gpus, nodes, chain, interactive, staging, import; or all.",
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
            Setting("root", "~", "The folder above it that must exist.", set_by=FROM_PROFILE),
            state("Whether they exist. C(absent) removes those that were not edited."),
            Setting("command", "hostname", "The command to run, as one line of a shell."),
            Setting("minutes", 60, "The time limit of a job, in minutes."),
            Setting("gpus", 2, "The number of GPUs on one node, for scripts with several."),
            Setting("nodes", 2, "The number of nodes, for the script with several."),
            Setting("links", 10, "The number of jobs in a chain."),
            Setting("mail", "", "The address that Slurm notifies when a job ends or fails. Empty is none."),
            *ACCOUNTS,
            PARTITION,
            QOS,
            Setting("modules", [], "The environment modules to load, in this order.", elements="str"),
            Setting("environment", "", "The Python environment to activate, such as ~/envs/ml."),
            Setting("nccl", {}, "Variables for NCCL, for jobs on several nodes, such as C({NCCL_SOCKET_IFNAME: ib0})."),
            Setting(
                "ask_slurm",
                False,
                "Whether each run asks Slurm if it would accept the scripts (C(sbatch --test-only)).",
            ),
            *SITE,
            Setting("tmp", "", "The folder of a node's own disk in a job, such as $SLURM_TMPDIR.", set_by=FROM_PROFILE),
            *PROXY,
        ],
    ),
]
