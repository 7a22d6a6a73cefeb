# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about scripts, copies of files from this machine, and manual steps."""

from __future__ import annotations

from .rule import Rule

CHECKS = "audit checks"

FILE_RULES = {
    "SCR-001": Rule(
        title="A script is missing",
        severity="medium",
        owner="path_scripts",
        why="A declared script does not exist, so it is not on PATH. A batch job that calls it fails with exit code"
        " 127.",
        fix="`hpc-onboard onboard ACCOUNT --tags path_scripts` writes the script.",
    ),
    "SCR-002": Rule(
        title="The content of a script differs from the declared one",
        severity="medium",
        owner="path_scripts",
        why="The content of the script differs from the declared one. The script was changed on the account, or you"
        " have a script with the same name there.",
        fix="Copy your changes into the file that the accounts file names, then run `hpc-onboard onboard ACCOUNT --tags"
        " path_scripts`.",
    ),
    "OWN-001": Rule(
        title="Your own file is missing on the account",
        severity="medium",
        owner="own_files",
        why="You declared one of the files on this machine for the account, but the account does not have it. Programs"
        " on the account run without the settings in this file.",
        fix="`hpc-onboard onboard ACCOUNT --tags own_files` writes the file.",
    ),
    "OWN-002": Rule(
        title="Your own file differs on the account",
        severity="medium",
        owner="own_files",
        why="The file on the account differs from the file on this machine. It was changed on the account, or it"
        " existed before onboarding.",
        fix="If only the file on this machine has changed, run `hpc-onboard onboard ACCOUNT --tags own_files`."
        " Otherwise, first copy the lines that you want to keep into the file on this machine. Then move the file on"
        " the account away (`mv -n ~/.condarc ~/.condarc.mine`) and run the command.",
    ),
    "STP-001": Rule(
        title="A manual step is not marked as done",
        severity="info",
        owner=CHECKS,
        why="The site requires a step that hpc-onboard cannot check. For example, you must accept the site's rules or"
        " apply for a group.",
        fix="Do the step at the address in the finding, then run `hpc-onboard done ACCOUNT STEP`. `hpc-onboard done"
        " ACCOUNT` lists all steps.",
        found_class="missing",
        found_cause="unknown",
        advice="Do the step, then mark it as done.",
    ),
    "STP-002": Rule(
        title="A manual step is due",
        severity="info",
        owner=CHECKS,
        why="You did a yearly step more than a year ago. Or the date that you set in the accounts file (`steps:`) has"
        " passed or is less than 30 days ahead. A site may close your account without further notice if you do not do"
        " the step in time.",
        fix="Do the step, then run `hpc-onboard done ACCOUNT STEP`, which records the date.",
        found_class="stale",
        found_cause="time",
        advice="Do the step again, then mark it as done.",
    ),
}
