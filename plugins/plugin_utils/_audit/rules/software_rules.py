# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about conda, Python environments, Slurm, images, logins, manual steps, and the audit itself."""

from __future__ import annotations

from .rule import Rule

CHECKS = "audit checks"

SOFTWARE_RULES = {
    "PKG-001": Rule(
        title="conda is in a place that the site forbids, or on purged storage",
        severity="medium",
        owner=CHECKS,
        why="A conda installation has thousands of small files, which slow down a parallel file system for all users."
        " On purged storage, these files are deleted one by one, so environments slowly break.",
        fix="First, save each conda environment (`conda env export -n NAME > NAME.yml`). If the site allows conda, set"
        " a different place, run `hpc-onboard onboard ACCOUNT --tags conda` and create the environments again."
        " Otherwise, use containers or the site's own Python. Then remove the old folder. Do not move this folder,"
        " because the programs in it contain its path.",
        advice="First save each environment: conda env export -n NAME > NAME.yml. Create it again in a place that the"
        " site allows (docs/rules.md), then remove {place}. Do not move it: its programs contain their own path.",
        cases={
            "without_conda": "First save each environment: conda env export -n NAME > NAME.yml. Create it again without"
            " conda, from the site's Python (python_envs in the accounts file) or in a container (container_images)."
            " Then remove {place}.",
            "moved": "First save each environment: conda env export -n NAME > NAME.yml. Set up conda where the site"
            " wants it ({onboard} --tags conda), and create the environments again there. Then remove {place}. Do not"
            " move the folder: its programs contain their own path.",
        },
    ),
    "PKG-002": Rule(
        title="A start-up file contains a 'conda init' block",
        severity="medium",
        owner=CHECKS,
        why="The block that `conda init` writes runs conda at each login, and overrides the site's modules. Some sites"
        " forbid this block.",
        fix="To remove the `conda init` block, run `conda init --reverse` on the account. hpc-onboard adds conda to"
        " PATH without such a block.",
        advice="Remove the block from {place}: conda init --reverse",
    ),
    "PKG-003": Rule(
        title="conda would use Anaconda's default channels",
        severity="medium",
        owner=f"the role `conda` and {CHECKS}",
        why="The terms of Anaconda's default channels require larger organisations, often including universities, to"
        " pay.",
        fix="Run `conda config --remove channels defaults` on the account, or use Miniforge: `conda: {distribution:"
        " miniforge}`.",
        advice="Remove the default channels from {place}: conda config --remove channels defaults",
    ),
    "PKG-004": Rule(
        title="An installed version differs from the declared one",
        severity="medium",
        owner="the role `conda`",
        why="The version or the checksum of the installed conda differs from its declaration. An environment may then"
        " differ between two clusters.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags conda` to install the declared version, or declare the installed"
        " one.",
    ),
    "PKG-005": Rule(
        title="conda or one of its environments is missing",
        severity="high",
        owner="the role `conda`",
        why="conda or a declared environment does not exist or is incomplete. Jobs that activate the environment fail.",
        fix="`hpc-onboard onboard ACCOUNT --tags conda` installs conda and the environments, or continues an"
        " interrupted installation.",
    ),
    "PKG-006": Rule(
        title="A Python environment is missing, or cannot start",
        severity="high",
        owner="the role `python_envs`",
        why="A declared environment does not exist, its files were purged, or its Python was removed. When a site"
        " removes old modules, all environments that use these modules break. Jobs that activate a broken environment"
        " fail at once.",
        fix="`hpc-onboard onboard ACCOUNT --tags python_envs` creates the Python environment again, in a new folder."
        " If the site has removed a module, first set its successor in `modules`.",
    ),
    "PKG-007": Rule(
        title="A Python environment differs from its declaration",
        severity="medium",
        owner="the role `python_envs`",
        why="The declared modules or packages have changed, or packages were installed or removed by hand. Jobs then"
        " use versions that differ from the lock file. Onboarding does not undo changes that were made by hand.",
        fix="Add the packages that you installed by hand to `packages`, or remove the environment's link. Then run"
        " `hpc-onboard onboard ACCOUNT --tags python_envs` to create the environment again.",
    ),
    "JOB-001": Rule(
        title="Slurm refuses jobs for the chosen Slurm account",
        severity="high",
        owner=CHECKS,
        why="Slurm charges each job to a Slurm account, which usually belongs to a project. You are not a member of"
        " the Slurm account in your accounts file, or you have no Slurm account at this cluster. Slurm refuses"
        " `sbatch` and `usrun.sh` at once.",
        fix="Set one of your Slurm accounts in the accounts file, `scheduler: {account: NAME}`, then run `hpc-onboard"
        " onboard ACCOUNT`. If you should be a member of the Slurm account, ask the project's leader.",
        found_class="broken",
        found_cause="site",
        advice="Set one of your Slurm accounts in the accounts file (scheduler: {{account: NAME}}), or ask your"
        " project's leader.",
        cases={
            "own_request": "Set one of your Slurm accounts in {place}, or remove the line if it is for another site."
        },
    ),
    "JOB-002": Rule(
        title="Slurm does not list the requested partition",
        severity="low",
        owner=CHECKS,
        why="The profile, your job script or a variable such as `SBATCH_PARTITION` names a partition that Slurm does"
        " not list for you. The partition was removed or renamed, or is reserved for other users. If jobs of"
        " hpc-onboard use the partition, Slurm refuses them, and the severity is medium.",
        fix="List the partitions with `sinfo -s` on the account, and use one of them for your job. Report the change"
        " to the profile's maintainers.",
        found_class="changed",
        found_cause="site",
        advice="Use a different partition, and inform the profile's maintainers of the change: {place}.",
        cases={"own_request": "Use a different partition in {place}, or remove the line if it is for another site."},
    ),
    "JOB-003": Rule(
        title="Jobs are not allowed to use the requested quality of service",
        severity="medium",
        owner=CHECKS,
        why="Jobs that follow the profile request a quality of service (QOS) that your Slurm account does not have."
        " Slurm refuses these jobs.",
        fix="Run `sacctmgr show assoc user=$USER format=account,qos` on the account to list the QOS that you can use."
        " Use one of these, or ask the site for the missing one.",
        found_class="changed",
        found_cause="site",
        advice="Use a quality of service other than {place}, or ask the site for it.",
        cases={"own_request": "Use a different quality of service in {place}, or ask the site for it."},
    ),
    "JOB-004": Rule(
        title="You have several Slurm accounts, but have not chosen one",
        severity="low",
        owner=CHECKS,
        why="You have several Slurm accounts, and the accounts file does not choose one. Slurm charges your jobs to"
        " its default account, or refuses them if the site requires you to choose.",
        fix="Choose a Slurm account in the accounts file, `scheduler: {account: NAME}`, then run `hpc-onboard onboard"
        " ACCOUNT`. Some sites have one Slurm account for jobs with GPUs and one for jobs without GPUs (`def-pi_gpu`,"
        " `def-pi_cpu`). In this case, write the name without the suffix, `def-pi`, and each job gets the right Slurm"
        " account.",
        found_cause="site",
        advice="Choose one in the accounts file, without a suffix such as _gpu: scheduler: {{account: NAME}}",
    ),
    "JOB-005": Rule(
        title="A job script uses the home directory, which jobs cannot access",
        severity="low",
        owner=CHECKS,
        why="At this site, jobs cannot access the home directory, or have no ticket for it. The job fails when it"
        " opens its first file in the home directory.",
        fix="In the job script, use a folder in a storage area: `#SBATCH --chdir=/work1/...`.",
        advice="Use a folder of a storage area in {place}.",
    ),
    "JOB-006": Rule(
        title="A job requests resources that are not available",
        severity="low",
        owner=CHECKS,
        why="Your job script, alias or variable requests GPUs that no partition has, more GPUs than a node has, or a"
        " time limit that its partition does not allow. Or it uses an image, an environment or a folder that does not"
        " exist. Slurm refuses the job, or the job fails. Slurm also refuses a script whose first line does not name a"
        " shell, and ignores `#SBATCH` lines below the first command.",
        fix="Correct the line that requests the unavailable resource. `hpc-onboard cheatsheet ACCOUNT` lists"
        " partitions, limits and GPUs.",
        advice="Change {place}, or remove the line if it is for another site.",
    ),
    "IMG-001": Rule(
        title="A container image is missing",
        severity="high",
        owner="the role `container_images`",
        why="A declared image does not exist. Either the image was never imported, or its storage was purged. Jobs"
        " that use the image fail.",
        fix="`hpc-onboard onboard ACCOUNT --tags container_images` imports the image. The import takes minutes and"
        " continues in the background.",
    ),
    "IMG-002": Rule(
        title="A container image differs from its declaration",
        severity="medium",
        owner="the role `container_images`",
        why="The image's tag now has a different digest in the registry, the image file was changed, or the registry"
        " no longer gives your key access to the image.",
        fix="`hpc-onboard onboard ACCOUNT --tags container_images` imports the new version of the image and keeps the"
        " old one. To keep using one version, declare the image with its digest (`pytorch:24.03-py3@sha256:…`).",
    ),
    "IMG-003": Rule(
        title="A container image is in the home directory",
        severity="medium",
        owner=CHECKS,
        why="A `.sqsh` or `.sif` image takes up gigabytes, but the home directory is small and slow. Jobs that use the"
        " image start slowly. If the home directory is full, even a login can fail.",
        fix="Move the image to a storage area. Or declare the image in `container_images` and remove it from the home"
        " directory.",
        advice="Move {place} to a storage area, or declare it in container_images and remove it.",
    ),
    "IMG-004": Rule(
        title="Containers are in the home directory",
        severity="medium",
        owner=CHECKS,
        why="Unpacked containers take up gigabytes in many files. No program can create them again. If no variable"
        " points to their folder, their program cannot find them.",
        fix="Move each container with its own program. For enroot, run `enroot export -o NAME.sqsh NAME`, set"
        " `ENROOT_DATA_PATH` to a folder in a storage area, and run `enroot create -n NAME NAME.sqsh`. Then remove the"
        " old folder.",
        advice="Keep {place}, because no program can create it again. To move it, use its own program (for enroot:"
        " enroot export, then enroot create).",
    ),
    "SES-001": Rule(
        title="A certificate or a ticket expires soon",
        severity="medium",
        owner=CHECKS,
        why="A certificate or a ticket has expired, or expires within hours. Without it, jobs lose access to the home"
        " directory, or the next login is refused.",
        fix="Get a new certificate or ticket: run `kinit`, `cscs-key sign`, or the command that the site recommends.",
        found_class="at_risk",
        found_cause="time",
        advice="Renew it, then run the audit again.",
    ),
    "PRO-001": Rule(
        title="The cluster's profile was last checked months ago",
        severity="low",
        owner=CHECKS,
        why="The facts about this cluster were last checked months ago. Sites move file systems and change rules, so"
        " the profile may be out of date.",
        fix="Compare the profile with the site's documentation, and set `verified_on` in"
        " `inventory/clusters/CLUSTER.yml`.",
        found_class="at_risk",
        found_cause="time",
        advice="Compare the profile with the site's documentation, and inform the profile's maintainers of changes.",
    ),
    "PRO-002": Rule(
        title="The cluster's profile differs from the cluster",
        severity="low",
        owner=CHECKS,
        why="`hpc-onboard probe` has found a value that differs from the profile, on two days or with two accounts."
        " Roles and job scripts rely on the profile.",
        fix="Run `hpc-onboard probe CLUSTER --write` to write the cluster's value to your own profile.",
        found_class="at_risk",
        found_cause="site",
        advice="Correct the value in your own profile, and inform the profile's maintainers: {place}.",
    ),
    "ORP-001": Rule(
        title="A resource created by hpc-onboard is no longer declared",
        severity="low",
        owner="the comparison with the receipt",
        why="hpc-onboard created this resource earlier, but your settings no longer declare it. The resource does no"
        " harm, but it is no longer updated.",
        fix="To remove the resource, run `hpc-onboard offboard ACCOUNT --only undeclared`. To keep it up to date,"
        " declare it again.",
    ),
    "RUN-001": Rule(
        title="A part of an account could not be checked",
        severity="info",
        owner="all roles and audit checks",
        why="One part of the account could not be checked, because permission was denied, a file system did not"
        " respond, or a command was missing. The audit makes no statement about this part. All other parts were"
        " checked.",
        fix="Check the part of the account that the finding names by hand, then run `hpc-onboard audit ACCOUNT` again.",
        advice="Solve the problems above, then run the audit again.",
    ),
    "RUN-002": Rule(
        title="An account could not be checked",
        severity="high",
        owner="the audit",
        why="The state of an account that could not be checked is unknown. By default, such an account makes the audit"
        " fail (`audit_incomplete: fail`).",
        fix="Follow the advice in the finding: for example, run `kinit`, or open a connection with `ssh -MNf HOST`."
        " Then run `hpc-onboard audit ACCOUNT` again.",
        advice="Solve the problems above, then run the audit again.",
    ),
    "RUN-003": Rule(
        title="An account's receipt cannot be used",
        severity="high",
        owner="the comparison with the receipt",
        why="The receipt of the account (`~/.config/hpc.onboard/receipt.json`) lists the resources that hpc-onboard"
        " created. The receipt is damaged or was written by a newer version, or something else is in its place. Until"
        " you fix the problem, onboarding creates nothing on the account, and offboarding removes nothing.",
        fix="Follow the advice in the finding: run `pip install -U hpc-onboard`, or restore the receipt from a backup."
        " If you have no backup, move the receipt away on the account: `mv -n ~/.config/hpc.onboard/receipt.json"
        " ~/receipt.json.damaged`. Then run hpc-onboard again, which uses the copy of the receipt on your machine."
        " Resources that this copy does not list are treated as yours.",
        advice="Follow the advice in the finding, or restore the receipt from a backup.",
    ),
    "RUN-004": Rule(
        title="The receipt lacks entries or was changed by hand",
        severity="medium",
        owner="the comparison with the receipt",
        why="The receipt of the account (`~/.config/hpc.onboard/receipt.json`) differs from the copy on this machine."
        " An entry for an existing resource is missing, a resource that existed before is recorded as created by"
        " hpc-onboard, or an entry was not written by hpc-onboard. Offboarding relies on the receipt, so it could"
        " leave resources of hpc-onboard or remove yours.",
        fix="Restore the receipt from a backup, or run `hpc-onboard onboard ACCOUNT`. Onboarding records the unchanged"
        " resources that the copy on your machine lists. All other resources are treated as yours.",
    ),
}
