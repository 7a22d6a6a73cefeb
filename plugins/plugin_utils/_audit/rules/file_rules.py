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
        owner="the role `path_scripts`",
        why="A declared script does not exist, so it is not on PATH. A batch job that calls the script fails with exit"
        " code 127.",
        fix="`hpc-onboard onboard ACCOUNT --tags path_scripts` writes the script.",
    ),
    "SCR-002": Rule(
        title="The content of a script differs from its declaration",
        severity="medium",
        owner="the role `path_scripts`",
        why="The content of a script differs from its declaration. Either the script was changed on the account, or"
        " the account had its own script of the same name.",
        fix="If the script was changed on the account, copy the changes into its source, the file that the accounts"
        " file names. If it is a script of your own, rename it. Then run `hpc-onboard onboard ACCOUNT --tags"
        " path_scripts`.",
    ),
    "OWN-001": Rule(
        title="Your own file is missing on the account",
        severity="medium",
        owner="the role `own_files`",
        why="You declared a file on this machine for the account, but the account does not have the file. Programs on"
        " the account run without the settings in it.",
        fix="`hpc-onboard onboard ACCOUNT --tags own_files` writes the file.",
    ),
    "OWN-002": Rule(
        title="Your own file differs on the account",
        severity="medium",
        owner="the role `own_files`",
        why="The file on the account differs from the file on this machine. Either the file was changed on the"
        " account, or it existed before onboarding.",
        fix="If only the file on this machine has changed, run `hpc-onboard onboard ACCOUNT --tags own_files`."
        " Otherwise, copy the lines that you want to keep to the file on this machine. Then move the file on the"
        " account away (`mv -n ~/.condarc ~/.condarc.mine`), and run the same command.",
    ),
    "STP-001": Rule(
        title="A manual step is not marked as done",
        severity="info",
        owner=CHECKS,
        why="The site requires a manual step that hpc-onboard cannot check, such as accepting the site's rules or"
        " applying for a group.",
        fix="Complete the manual step at the address in the finding, then run `hpc-onboard done ACCOUNT STEP`."
        " `hpc-onboard done ACCOUNT` lists all steps.",
        found_class="missing",
        found_cause="unknown",
        advice="Do the step, then mark it as done.",
    ),
    "STP-002": Rule(
        title="A manual step is due",
        severity="info",
        owner=CHECKS,
        why="You last did a yearly step more than a year ago, or the date that you set in the accounts file (`steps:`)"
        " has passed or is less than 30 days away. If you miss the step, a site may close your account without further"
        " notice.",
        fix="Do the manual step, then run `hpc-onboard done ACCOUNT STEP`, which records the date.",
        found_class="stale",
        found_cause="time",
        advice="Do the step again, then mark it as done.",
    ),
}
