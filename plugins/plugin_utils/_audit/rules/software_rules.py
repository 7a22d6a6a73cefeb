# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about conda, Python environments, Slurm and container images."""

from __future__ import annotations

from .rule import CHECKS, Rule

SOFTWARE_RULES = {
    "PKG-001": Rule(
        title="conda is in a folder that the site forbids, or on storage that the site purges",
        severity="medium",
        reported_by=CHECKS,
        why="The rule reports a conda installation in the home directory if the site forbids or discourages conda, or"
        " wants conda in a different folder. The rule also reports a conda installation on storage that the site"
        " purges. A conda installation contains thousands of small files, which slow down a parallel file system for"
        " all users. On storage that the site purges, these files disappear one by one, so conda environments slowly"
        " break. ENV-001 reports conda's cache of packages, and the Python environments of other programs.",
        fix="First, save each conda environment (`conda env export -n NAME > NAME.yml`). If the site allows conda,"
        " set a different folder for conda in the accounts file (`conda: {prefix: FOLDER}`), run `hpc-onboard onboard"
        " ACCOUNT --tags conda`, and create the environments again. Otherwise, use containers or the site's own"
        " Python. Then remove the conda folder that the finding names. Do not move this folder, because the programs"
        " in the folder contain its path.",
        advice="First, save each environment (conda env export -n NAME > NAME.yml). Create the environments again in a"
        " folder that the site allows, then remove {place}. Do not move {place}, because the programs in it"
        " contain its path.",
        cases={
            "without_conda": "First, save each environment (conda env export -n NAME > NAME.yml). Create the"
            " environments again without conda, either with the site's Python (python_envs in the accounts file)"
            " or in a container (container_images). Then remove {place}.",
            "moved": "First, save each environment (conda env export -n NAME > NAME.yml). Set up conda in the folder"
            " that the site recommends ({onboard} --tags conda), and create the environments again there. Then"
            " remove {place}. Do not move {place}, because the programs in it contain its path.",
        },
    ),
    "PKG-002": Rule(
        title="A start-up file contains a 'conda init' block",
        severity="medium",
        reported_by=CHECKS,
        why="The block that `conda init`, `mamba shell init` or `micromamba shell init` adds to a start-up file (of"
        " bash, zsh, tcsh or fish) runs conda or mamba in each new shell and overrides the site's modules. Some sites"
        " forbid this block.",
        fix="To remove the `conda init` block, run `conda init --reverse` (for mamba, `mamba shell deinit`) on the"
        " account. hpc-onboard adds conda to PATH without such a block.",
        advice="Remove the 'conda init' block from {place}: conda init --reverse",
    ),
    "PKG-003": Rule(
        title="conda would use Anaconda's default channels",
        severity="medium",
        reported_by=f"the Ansible role `conda` and by {CHECKS}",
        why="conda's settings name Anaconda's default channels, or name no channels, so that conda uses the default"
        " channels. The terms of these channels require larger organisations, often including universities, to pay"
        " for their use.",
        fix="To stop using Anaconda's default channels, run `conda config --remove channels defaults` on the account."
        " Alternatively, use Miniforge: set `conda: {distribution: miniforge}` in the accounts file.",
        advice="Remove the default channels from {place}: conda config --remove channels defaults",
    ),
    "PKG-004": Rule(
        title="The installed conda differs from the declared version",
        severity="medium",
        reported_by="the Ansible role `conda`",
        why="The version or the checksum of the installed conda differs from your settings, or a conda environment was"
        " created from a file that differs from the one in your settings. As a result, the same environment may differ"
        " between clusters.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags conda` to install the declared version of conda. Alternatively,"
        " declare the installed version in the accounts file.",
    ),
    "PKG-005": Rule(
        title="conda or one of its environments is missing",
        severity="high",
        reported_by="the Ansible role `conda`",
        why="conda, or a conda environment that your settings declare, does not exist or is incomplete. Jobs that"
        " activate the environment fail.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags conda`, which installs conda and its environments, or continues"
        " an interrupted installation.",
    ),
    "PKG-006": Rule(
        title="A Python environment is missing, or cannot start",
        severity="high",
        reported_by="the Ansible role `python_envs`",
        why="A Python environment that your settings declare does not exist, its files were purged, or its Python"
        " interpreter was removed. When a site removes old modules, all environments that use these modules break."
        " Jobs that activate a broken environment fail at once.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags python_envs`, which creates the Python environment again in a new"
        " folder. If the site has removed a module, first set a newer module under `modules` in the accounts file.",
    ),
    "PKG-007": Rule(
        title="A Python environment differs from its declaration",
        severity="medium",
        reported_by="the Ansible role `python_envs`",
        why="Your settings for the modules or packages of a Python environment have changed, or packages were"
        " installed or removed by hand. Jobs then use versions that differ from the lock file. Onboarding does not"
        " undo changes that were made by hand.",
        fix="To keep packages that you installed by hand, add them to `packages` in the accounts file. To discard"
        " these packages, remove the link with the name of the environment. Then run `hpc-onboard onboard ACCOUNT"
        " --tags python_envs` to create the environment again.",
    ),
    "JOB-001": Rule(
        title="Slurm refuses jobs for the chosen Slurm account",
        severity="high",
        reported_by=CHECKS,
        owner="group",
        why="Slurm charges each job to a Slurm account, which usually belongs to a project. Either you are not a"
        " member of the Slurm account that your accounts file or your job script names, or you have no Slurm account"
        " on this cluster. Slurm therefore refuses jobs that you submit with `sbatch` or with hpc-onboard's script"
        " `usrun.sh`.",
        fix="Set one of your Slurm accounts in the accounts file (`scheduler: {account: NAME}`), then run"
        " `hpc-onboard onboard ACCOUNT`. If the finding names a job script, correct the Slurm account in this script."
        " If you should be a member of the Slurm account, ask the project's leader to add you.",
        found_class="broken",
        found_cause="site",
        advice="Set one of your Slurm accounts in the accounts file (scheduler: {{account: NAME}}), or ask your"
        " project's leader to add you to the Slurm account.",
        cases={
            "own_request": "Set one of your Slurm accounts in {place}, or remove the line if it is for another site."
        },
    ),
    "JOB-002": Rule(
        title="Slurm does not list the requested partition",
        severity="low",
        reported_by=CHECKS,
        why="The cluster's profile, your job script or a variable such as `SBATCH_PARTITION` names a partition that"
        " Slurm does not list for you. The partition was removed or renamed, or is reserved for other users. If jobs"
        " of hpc-onboard use the partition, Slurm refuses these jobs, and the severity is medium.",
        fix="Run `sinfo -s` on the account to list the partitions, and use one of these partitions for your job. If"
        " the cluster's profile names the missing partition, inform the profile's maintainers.",
        found_class="changed",
        found_cause="site",
        advice="Use a partition that Slurm lists, and report the missing partition to the profile's maintainers.",
        cases={"own_request": "Use a different partition in {place}, or remove the line if it is for another site."},
    ),
    "JOB-003": Rule(
        title="Jobs are not allowed to use the requested quality of service",
        severity="medium",
        reported_by=CHECKS,
        owner="group",
        why="The cluster's profile or your job script requests a quality of service (QOS), but your Slurm account is"
        " not allowed to use this QOS. Slurm refuses jobs that request this QOS.",
        fix="To list the QOS that you can use, run `sacctmgr show assoc user=$USER format=account,qos` on the account."
        " Use one of the listed QOS, or ask the site for access to the requested QOS.",
        found_class="changed",
        found_cause="site",
        advice="Use a quality of service other than {place}, or ask the site for access to {place}.",
        cases={
            "own_request": "Use a different quality of service in {place}, or ask the site for access to the requested"
            " one."
        },
    ),
    "JOB-004": Rule(
        title="You have several Slurm accounts, but have not chosen one",
        severity="low",
        reported_by=CHECKS,
        why="You have several Slurm accounts, but the accounts file does not name the Slurm account to use. Slurm"
        " charges your jobs to your default Slurm account, or refuses the jobs if the site requires you to choose a"
        " Slurm account.",
        fix="Choose a Slurm account in the accounts file (`scheduler: {account: NAME}`), then run `hpc-onboard onboard"
        " ACCOUNT`. Some sites have separate Slurm accounts for jobs with and without GPUs (`def-pi_gpu`,"
        " `def-pi_cpu`). At such a site, write the name without the suffix (`def-pi`), and hpc-onboard uses the"
        " right Slurm account for each job.",
        found_cause="site",
        advice="Choose one of your Slurm accounts in the accounts file, without a suffix such as _gpu: scheduler:"
        " {{account: NAME}}",
    ),
    "JOB-005": Rule(
        title="A job script uses the home directory, which jobs cannot access",
        severity="low",
        reported_by=CHECKS,
        why="A job script uses the home directory, but jobs at this site cannot use the home directory: on compute"
        " nodes, the home directory does not exist, is read-only, or requires a Kerberos ticket that jobs do not"
        " have. The job fails when it first uses a file there. If the home directory is read-only, jobs can still read"
        " their files there, so the rule reports only a job's working directory and output files.",
        fix="In the job script, use a folder in a storage area instead of the home directory, for example with"
        " `#SBATCH --chdir=/work1/PROJECT/USER`.",
        advice="Use a folder in a storage area instead of the home directory in {place}.",
    ),
    "JOB-006": Rule(
        title="A job requests resources that are not available",
        severity="low",
        reported_by=CHECKS,
        why="Your job script, alias or variable requests GPUs that no partition has, more GPUs than a node has, or a"
        " time limit that the partition does not allow. The finding also appears if the job uses an image, an"
        " environment, a file or a folder that does not exist. Slurm refuses such a job, or the job fails. This rule"
        " also reports a job script whose first line does not name a shell, because Slurm refuses the script, and"
        " `#SBATCH` lines below the first command, because Slurm ignores these lines.",
        fix="Correct the line that requests the unavailable resource. To list partitions, limits and GPUs, run"
        " `hpc-onboard cheatsheet ACCOUNT`.",
        advice="Correct {place}, or remove the line if it is for another site.",
    ),
    "IMG-001": Rule(
        title="A container image is missing",
        severity="high",
        reported_by="the Ansible role `container_images`",
        why="Your settings declare a container image that does not exist. Either the image was never imported, or the"
        " site has purged the image. Jobs that use the image fail.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags container_images` to import the missing image. The import takes"
        " several minutes and continues in the background.",
    ),
    "IMG-002": Rule(
        title="A container image differs from its declaration",
        severity="medium",
        reported_by="the Ansible role `container_images`",
        why="Either the image's tag now has a different digest in the registry, or the image file was changed. The"
        " rule also reports old versions of the image that still exist, and an image to which the registry no longer"
        " gives your key access.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags container_images`, which imports the new version of the image and"
        " keeps the old version. Remove old versions that you no longer need. If the registry refuses your key, replace"
        " the key with `hpc-onboard rotate`. To always use the same version, declare the image with its digest"
        " (`pytorch:24.03-py3@sha256:…`).",
    ),
    "IMG-003": Rule(
        title="A container image is in the home directory",
        severity="medium",
        reported_by=CHECKS,
        why="A container image of at least 1 MB (`.sqsh`, `.squashfs`, `.sqfs`, `.sif` or `.simg`) is in the home"
        " directory. An image usually takes up gigabytes, but the home directory is small and slow. Jobs that use the"
        " image start slowly. If the home directory is full, even a login can fail.",
        fix="Move the image to a storage area. Alternatively, declare the image under `container_images` in the"
        " accounts file, and remove the image file from the home directory.",
        advice="Move {place} to a storage area, or declare the image in the accounts file (container_images) and"
        " remove {place}.",
    ),
    "IMG-004": Rule(
        title="Containers are in the home directory",
        severity="medium",
        reported_by=CHECKS,
        why="Unpacked containers are in the home directory, in enroot's default folder (`~/.local/share/enroot`) or in"
        " another folder. These containers take up gigabytes in many files. hpc-onboard does not remove containers,"
        " because changes that you made in a container are not in its image. If `ENROOT_DATA_PATH` names a different"
        " folder, enroot cannot find the containers.",
        fix="Move each container to a storage area with the program that created it. For enroot, run `enroot export"
        " -o NAME.sqsh NAME`, set `ENROOT_DATA_PATH` to a folder in a storage area, and run `enroot create -n NAME"
        " NAME.sqsh`. Then remove the container from the home directory.",
        advice="Keep {place}, because no program can create its content again. To move the content, use the program"
        " that wrote it (for enroot: enroot export, then enroot create).",
    ),
}
