# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about conda, Python environments, Slurm, images, logins, manual steps, and the audit itself."""

from __future__ import annotations

from .rule import Rule

CHECKS = "audit checks"

SOFTWARE_RULES = {
    "PKG-001": Rule(
        title="conda is where the site forbids it, or on purged storage",
        severity="medium",
        owner=CHECKS,
        why="Thousands of small files slow a parallel file system down for every user, and a purge deletes them one by"
        " one, so environments break slowly.",
        fix="Save each environment first (`conda env export -n NAME > NAME.yml`). If the site allows conda, name"
        " another place, run `hpc-onboard onboard ACCOUNT --tags conda` and create the environments again;"
        " elsewhere use containers or the site's own Python. Then remove the old folder. Do not move it: its"
        " programs contain their own path.",
        advice="Save each environment first: conda env export -n NAME > NAME.yml. Create it again where the site allows"
        " it (docs/rules.md), then remove {place}. Do not move the folder: its programs contain their own path.",
        cases={
            "without_conda": "Save each environment first: conda env export -n NAME > NAME.yml. Create it again without"
            " conda, from the site's Python (python_envs in the accounts file) or in a container (container_images),"
            " then remove {place}.",
            "moved": "Save each environment first: conda env export -n NAME > NAME.yml. Set up conda where the site"
            " wants it ({onboard} --tags conda), create the environments again there, then remove {place}. Do not move"
            " the folder: its programs contain their own path.",
        },
    ),
    "PKG-002": Rule(
        title="A start-up file contains a block of 'conda init'",
        severity="medium",
        owner=CHECKS,
        why="The block that `conda init` writes runs conda at each login and overrides the site's modules. Some sites"
        " forbid it.",
        fix="`conda init --reverse` removes it. hpc-onboard puts conda on PATH without it.",
        advice="Remove the block from {place}: conda init --reverse",
    ),
    "PKG-003": Rule(
        title="conda would use Anaconda's default channels",
        severity="medium",
        owner=f"conda, {CHECKS}",
        why="The terms of Anaconda's default channels ask larger organisations to pay. A university is often one.",
        fix="Run `conda config --remove channels defaults` on the account, or use Miniforge: `conda: {distribution:"
        " miniforge}`.",
        advice="Name the channels in {place}: conda config --remove channels defaults",
    ),
    "PKG-004": Rule(
        title="An installed version differs from the declared one",
        severity="medium",
        owner="conda",
        why="The version or checksum of the installation differs from the declared one, so an environment is not the"
        " same on two clusters.",
        fix="`hpc-onboard onboard ACCOUNT --tags conda` installs the declared version. Or declare the installed one.",
    ),
    "PKG-005": Rule(
        title="conda or one of its environments is missing",
        severity="high",
        owner="conda",
        why="conda, or a declared environment, does not exist or is incomplete. Jobs that activate it fail at once.",
        fix="`hpc-onboard onboard ACCOUNT --tags conda` installs it and continues where a former run stopped.",
    ),
    "PKG-006": Rule(
        title="A Python environment is missing, or cannot start",
        severity="high",
        owner="python_envs",
        why="A declared environment does not exist, its files were purged, or its Python was removed: when a site"
        " removes old modules, every environment made from them breaks. Jobs that activate it fail at once.",
        fix="`hpc-onboard onboard ACCOUNT --tags python_envs` creates it again, next to what exists. If a module was"
        " removed, name the next one in `modules` first.",
    ),
    "PKG-007": Rule(
        title="A Python environment differs from its declaration",
        severity="medium",
        owner="python_envs",
        why="The declared modules or packages have changed, or packages were installed or removed by hand: a job"
        " computes with other versions than its lock says. Onboarding leaves changes by hand as they are.",
        fix="Name those packages in `packages`, or remove the environment's link, then run `hpc-onboard onboard ACCOUNT"
        " --tags python_envs` to create it again.",
    ),
    "JOB-001": Rule(
        title="Slurm starts no job for the chosen Slurm account",
        severity="high",
        owner=CHECKS,
        why="Slurm charges each job to a Slurm account, mostly a project's. The one in your accounts file is not yours,"
        " or no longer, or you have none at this cluster: Slurm refuses `sbatch` and `usrun.sh` at once.",
        fix="Name one of yours in the accounts file, `scheduler: {account: NAME}`, then run `hpc-onboard onboard"
        " ACCOUNT`. If it should be yours, ask your project's leader.",
        found_class="broken",
        found_cause="site",
        advice="Choose one of yours in the accounts file (scheduler: {{account: NAME}}), or ask your project's leader.",
        cases={
            "own_request": "Name one of your Slurm accounts in {place}, or remove the line if it is for another site."
        },
    ),
    "JOB-002": Rule(
        title="Slurm lists no partition of that name",
        severity="low",
        owner=CHECKS,
        why="The profile, a job script of yours or a variable such as `SBATCH_PARTITION` names a partition that Slurm"
        " does not list for you: it was removed or renamed, or is for other users. The severity is medium if jobs of"
        " hpc-onboard use it, because Slurm refuses them.",
        fix="Check with `sinfo -s` on the account, name another one for your job, and tell the profile's maintainers.",
        found_class="changed",
        found_cause="site",
        advice="Name another partition, and tell the profile's maintainers what has changed: {place}.",
        cases={"own_request": "Name another partition in {place}, or remove the line if it is for another site."},
    ),
    "JOB-003": Rule(
        title="Jobs may not use this quality of service",
        severity="medium",
        owner=CHECKS,
        why="The profile's jobs request a quality of service (QOS) that your Slurm account does not have, so Slurm"
        " refuses them.",
        fix="Check with `sacctmgr show assoc user=$USER format=account,qos` on the account, and ask the site for it or"
        " name another one.",
        found_class="changed",
        found_cause="site",
        advice="Name another quality of service than {place}, or ask the site for it.",
        cases={"own_request": "Name another quality of service in {place}, or ask the site for it."},
    ),
    "JOB-004": Rule(
        title="You have several Slurm accounts, and none is chosen",
        severity="low",
        owner=CHECKS,
        why="Slurm charges your jobs to its default, or refuses them if the site requires a name.",
        fix="Choose one in the accounts file, `scheduler: {account: NAME}`, then run `hpc-onboard onboard ACCOUNT`. If"
        " a site has one for jobs with GPUs and one for those without (`def-pi_gpu`, `def-pi_cpu`), write the name"
        " without the suffix, `def-pi`: each job gets the right one.",
        found_cause="site",
        advice="Choose one in the accounts file, without a suffix such as _gpu: scheduler: {{account: NAME}}",
    ),
    "JOB-005": Rule(
        title="A job script uses the home, which jobs cannot use",
        severity="low",
        owner=CHECKS,
        why="At this site jobs do not see the home, cannot write to it, or have no ticket for it. The job fails at its"
        " first file.",
        fix="Work in a storage area: `#SBATCH --chdir=/work1/...`.",
        advice="Name a folder of a storage area in {place}.",
    ),
    "JOB-006": Rule(
        title="A job of yours requests what Slurm cannot give",
        severity="low",
        owner=CHECKS,
        why="A job script, an alias or a variable of yours names GPUs that no partition has, a time that none or its"
        " own does not allow, or an image, an environment or a folder (for its output, to work in, in its container)"
        " that is gone. Slurm refuses the job, or ends it without a message. It also refuses a script whose first line"
        " does not name a shell, and ignores `#SBATCH` lines below the first command.",
        fix="Change the line. `hpc-onboard cheatsheet ACCOUNT` lists partitions, limits and GPUs.",
        advice="Change {place}, or remove the line if it is for another site.",
    ),
    "IMG-001": Rule(
        title="A container image is missing",
        severity="high",
        owner="container_images",
        why="A declared image does not exist: it was never imported, or storage was purged. Jobs that name it fail at"
        " once.",
        fix="`hpc-onboard onboard ACCOUNT --tags container_images` imports it. This takes minutes and continues in the"
        " background.",
    ),
    "IMG-002": Rule(
        title="A container image differs from the declared one",
        severity="medium",
        owner="container_images",
        why="Its tag names another digest by now, the file was changed, or the registry no longer gives the image to"
        " the key.",
        fix="`hpc-onboard onboard ACCOUNT --tags container_images` imports the new one next to the old one. To keep an"
        " image as it is, declare it with its digest (`pytorch:24.03-py3@sha256:…`).",
    ),
    "IMG-003": Rule(
        title="A container image is in the home",
        severity="medium",
        owner=CHECKS,
        why="A `.sqsh` or `.sif` holds gigabytes, and the home is small and slow: jobs wait for it, and a full home"
        " stops even a login.",
        fix="Move it to a storage area, or declare it in `container_images` and remove the one in the home.",
        advice="Move {place} to a storage area, or declare it in container_images and remove it.",
    ),
    "IMG-004": Rule(
        title="Containers are in the home",
        severity="medium",
        owner=CHECKS,
        why="Unpacked containers take gigabytes and many files. No program makes them again. If no variable points to"
        " their folder any more, their program does not find them.",
        fix="Move each one with its own program: `enroot export -o NAME.sqsh NAME`, then `enroot create -n NAME"
        " NAME.sqsh` with `ENROOT_DATA_PATH` of the storage area. Then remove the old folder.",
        advice="Keep {place}: no program makes it again. To move it, use its own program (for enroot: enroot export,"
        " then enroot create).",
    ),
    "SES-001": Rule(
        title="A certificate or a ticket expires soon",
        severity="medium",
        owner=CHECKS,
        why="A certificate or a ticket expires within hours, or has expired. After that, jobs lose the home or the next"
        " login is refused.",
        fix="Get a new one as usual: `kinit`, `cscs-key sign`, or what the site says.",
        found_class="at_risk",
        found_cause="time",
        advice="Renew it, then run again.",
    ),
    "PRO-001": Rule(
        title="The cluster's profile was not checked for months",
        severity="low",
        owner=CHECKS,
        why="The facts about this cluster were last checked months ago. Sites move file systems and change rules, so"
        " the profile may be wrong by now.",
        fix="Compare it with the site's documentation and set `verified_on` in `inventory/clusters/CLUSTER.yml`.",
        found_class="at_risk",
        found_cause="time",
        advice="Read the site's documentation, then tell the profile's maintainers what has changed.",
    ),
    "PRO-002": Rule(
        title="The cluster's profile differs from the cluster",
        severity="low",
        owner=CHECKS,
        why="`hpc-onboard probe` has seen another value than the profile's, on two days or with two accounts. Roles and"
        " job scripts decide by the profile.",
        fix="`hpc-onboard probe CLUSTER --write` writes the value of the cluster into a profile of your own.",
        found_class="at_risk",
        found_cause="site",
        advice="Correct it in a profile of your own, and tell the profile's maintainers: {place}.",
    ),
    "STP-001": Rule(
        title="A manual step is not marked as done",
        severity="info",
        owner=CHECKS,
        why="The site wants something of you that no program can see: that you accept its rules, or ask for a group.",
        fix="Do it where the finding says, then run `hpc-onboard done ACCOUNT STEP`. `hpc-onboard done ACCOUNT` lists"
        " all steps.",
        found_class="missing",
        found_cause="unknown",
        advice="Do it, then mark it as done.",
    ),
    "STP-002": Rule(
        title="A manual step is due",
        severity="info",
        owner=CHECKS,
        why="You did a yearly step longer than a year ago, or the day that you wrote into the accounts file (`steps:`)"
        " is past or less than 30 days ahead. Sites close accounts for it without another message.",
        fix="Do it, then run `hpc-onboard done ACCOUNT STEP`, which records the day.",
        found_class="stale",
        found_cause="time",
        advice="Do it again, then mark it as done.",
    ),
    "ORP-001": Rule(
        title="Something created by hpc-onboard is no longer declared",
        severity="low",
        owner="the receipt",
        why="hpc-onboard created this once, and nothing declares it any more. It does no harm, but nothing keeps it up"
        " to date.",
        fix="Run `hpc-onboard offboard ACCOUNT --only undeclared`, or declare it again.",
    ),
    "RUN-001": Rule(
        title="A thing could not be measured",
        severity="info",
        owner="every role and check",
        why="One thing could not be examined: permission denied, a file system that does not answer, a missing command."
        " The rest of the account was measured. The audit says nothing about this thing, neither good nor bad.",
        fix="Examine it by hand, then run again: `hpc-onboard audit ACCOUNT`.",
        advice="See the problems above, then run again.",
    ),
    "RUN-002": Rule(
        title="An account could not be measured",
        severity="high",
        owner="the audit",
        why="An account that could not be examined does not count as up to date, so the audit fails by default"
        " (`audit_incomplete: fail`).",
        fix="Do what the finding says, such as `kinit` or opening a connection with `ssh -MNf HOST`, then run it again"
        " with `-l ACCOUNT`.",
        advice="See the problems above, then run the audit again.",
    ),
    "RUN-003": Rule(
        title="An account's receipt cannot be used",
        severity="high",
        owner="the receipt",
        why="The receipt of the account (`~/.config/hpc.onboard/receipt.json`) tells what hpc-onboard created there"
        " from what existed before. It is damaged, a newer version wrote it, or something blocks it. Until this is"
        " fixed, onboarding creates nothing there and offboarding removes nothing.",
        fix="Do what the finding says: update with `pip install -U hpc-onboard`, or restore the file from a backup."
        " Without a backup, move it away: `mv -n ~/.config/hpc.onboard/receipt.json ~/receipt.json.damaged` on the"
        " account, then run again. What your machine's copy of the receipt lists is still hpc-onboard's; anything else"
        " counts as yours.",
        advice="Do what the finding says, or restore the receipt from a backup.",
    ),
    "RUN-004": Rule(
        title="The receipt lacks entries, or was changed by hand",
        severity="medium",
        owner="the receipt",
        why="The receipt of the account (`~/.config/hpc.onboard/receipt.json`) differs from what this machine recorded:"
        " an entry is missing for a thing that exists, a thing that existed before is claimed for hpc-onboard, or an"
        " entry is not one that hpc-onboard writes. Offboarding uses the receipt, so it could leave a thing of"
        " hpc-onboard or remove one of yours.",
        fix="Restore the file from a backup, or run `hpc-onboard onboard ACCOUNT`: it records again what your machine's"
        " copy lists and what was not changed. Anything else counts as yours.",
    ),
}
