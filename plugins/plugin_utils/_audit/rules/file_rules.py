# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about quotas, purges, scripts, copies of files from this machine, and manual steps."""

from __future__ import annotations

from .rule import CHECKS, Rule

FILE_RULES = {
    "USE-001": Rule(
        title="Your disk quota is nearly used up",
        severity="medium",
        reported_by=CHECKS,
        why="You use 90% or more of your disk quota. When the quota is full, programs cannot finish writing their"
        " files, and some of these programs report no error. If you are over the quota and in its grace period, the"
        " severity is high. The rule also reports a file system whose free space is less than 10% of your limit in"
        " the cluster's profile. If the profile contains no limit, the rule reports less than 1 GB of free space.",
        fix="Run `du -xh --max-depth=1 ~ | sort -h` on the account to list your largest folders, and run the site's"
        " own quota command to see your quota. Then remove the files that you do not need, or move them to a"
        " storage area.",
        found_class="at_risk",
        found_cause="time",
        advice="Move or remove files to free disk space in {place}.",
    ),
    "USE-002": Rule(
        title="Your file quota is nearly used up",
        severity="medium",
        reported_by=CHECKS,
        why="Your quota limits the number of your files, and you have 90% or more of this number. When this quota is"
        " full, programs report a full disk although there is still free space. If you are over the quota and in its"
        " grace period, the severity is high. The rule also reports a file system with room for less than 10% of the"
        " files that the cluster's profile allows you. If the profile contains no limit, the rule reports room for"
        " fewer than 1,000 files.",
        fix="Run `du --inodes -x --max-depth=1 ~ | sort -n` on the account to find the folders with the most files,"
        " usually environments and caches. Then remove the files that you do not need. Alternatively, replace an"
        " environment with a container image, which is a single file.",
        found_class="at_risk",
        found_cause="time",
        advice="Remove files that you do not need from {place}.",
    ),
    "USE-004": Rule(
        title="The home directory is more than half full",
        severity="low",
        reported_by=CHECKS,
        why="More than half of the space in the home directory is used. The finding names up to three of the largest"
        " folders. If the home directory becomes full, programs and even logins can fail. The rule applies only to a"
        " home directory with its own file system.",
        fix="Move large folders from the home directory to a storage area, or remove folders that you no longer need.",
        found_class="at_risk",
        found_cause="time",
        advice="Move the largest folders to a storage area, or remove folders that you no longer need.",
    ),
    "USE-003": Rule(
        title="Files were purged, or will be purged soon",
        severity="medium",
        reported_by=CHECKS,
        why="The site deletes files in a storage area if they have not been used for the number of days in the"
        " cluster's profile. The rule reports how many of your files the site will delete in the next 7 days. The"
        " rule also reports a folder in which only empty folders or broken links are left, because the folder's files"
        " were probably deleted. Most sites forbid running `touch` on files only to prevent their deletion.",
        fix="Before the site deletes files that you need, copy these files to permanent storage: `rsync -a SOURCE"
        " TARGET`. If you still need files that the site has already deleted, create or download them again.",
        found_class="at_risk",
        found_cause="time",
        advice="Copy the files that you need from {place} to permanent storage. If you need files that the site has"
        " deleted, create them again.",
    ),
    "SCR-001": Rule(
        title="A script is missing",
        severity="medium",
        reported_by="the Ansible role `path_scripts`",
        why="Your settings declare a script that does not exist on the account. A batch job that calls the missing"
        " script fails with exit code 127.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags path_scripts` to write the missing script.",
    ),
    "SCR-002": Rule(
        title="The content of a script differs from its declaration",
        severity="medium",
        reported_by="the Ansible role `path_scripts`",
        why="The content of a script on the account differs from the script that your settings declare. Either the"
        " script was changed on the account, or the account already had its own script of the same name.",
        fix="If the declared script was changed on the account, copy the changes to its source file, which the"
        " accounts file names. If the script on the account is your own, rename it. Then run `hpc-onboard onboard"
        " ACCOUNT --tags path_scripts`, which writes the declared script.",
    ),
    "OWN-001": Rule(
        title="Your own file is missing on the account",
        severity="medium",
        reported_by="the Ansible role `own_files`",
        why="The accounts file declares a file on your machine that hpc-onboard copies to the account, but the file"
        " is missing on the account. Programs on the account therefore run without the settings in this file.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags own_files` to copy the missing file to the account.",
    ),
    "OWN-002": Rule(
        title="Your own file differs on the account",
        severity="medium",
        reported_by="the Ansible role `own_files`",
        why="A file on the account differs from the declared file on your machine. Either one of the two files was"
        " changed, or the file on the account existed before onboarding.",
        fix="If only the file on your machine has changed, run `hpc-onboard onboard ACCOUNT --tags own_files`."
        " Otherwise, first copy the lines that you want to keep from the file on the account to the file on your"
        " machine. Then rename the file on the account (`mv -n ~/.condarc ~/.condarc.mine`), and run `hpc-onboard"
        " onboard ACCOUNT --tags own_files`.",
    ),
    "STP-001": Rule(
        title="A manual step is not marked as done",
        severity="info",
        reported_by=CHECKS,
        why="The site requires a manual step that hpc-onboard cannot check, such as accepting the site's terms or"
        " applying for a group. You have not marked the step as done yet.",
        fix="Complete the manual step at the address in the finding, then run `hpc-onboard done ACCOUNT STEP`. To list"
        " all steps, run `hpc-onboard done ACCOUNT`.",
        found_class="missing",
        found_cause="unknown",
        advice="Complete the manual step, then mark it as done.",
    ),
    "STP-002": Rule(
        title="A manual step is due",
        severity="info",
        reported_by=CHECKS,
        why="The site requires you to repeat a manual step regularly (usually every year), and the step is due again."
        " The finding also appears if a date that you set for a step in the accounts file (`steps:`) has passed or is"
        " at most 30 days away. If you miss the step, the site may close your account without further notice.",
        fix="Complete the manual step, then run `hpc-onboard done ACCOUNT STEP`, which records the date.",
        found_class="stale",
        found_cause="time",
        advice="Complete the manual step again, then mark it as done.",
    ),
}
