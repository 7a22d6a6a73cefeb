# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about scripts, and about files that users keep on this machine."""

from __future__ import annotations

from .rule import Rule

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
        why="The content of the script differs from the declared one. The script was changed on the account, or it is"
        " your own script with the same name.",
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
}
