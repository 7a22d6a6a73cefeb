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
        why="A script that should be on PATH does not exist. A batch job that calls it fails with exit code 127.",
        fix="`hpc-onboard onboard ACCOUNT --tags path_scripts` writes it.",
    ),
    "SCR-002": Rule(
        title="A script has another content",
        severity="medium",
        owner="path_scripts",
        why="A script of that name has another content than declared. It was changed on the account, or is your own.",
        fix="Put your changes into the file that the accounts file names, then run `hpc-onboard onboard ACCOUNT --tags"
        " path_scripts`.",
    ),
    "OWN-001": Rule(
        title="A file of your own is missing",
        severity="medium",
        owner="own_files",
        why="A file that you keep on this machine and declare for the account does not exist there. Programs run with"
        " other settings than you expect.",
        fix="`hpc-onboard onboard ACCOUNT --tags own_files` writes it.",
    ),
    "OWN-002": Rule(
        title="A file of your own has another content on the account",
        severity="medium",
        owner="own_files",
        why="The file on the account differs from the one on this machine. It was changed there, or existed before.",
        fix="Copy what you want to keep into your file and move the other one away (`mv -n ~/.condarc"
        " ~/.condarc.mine`), then run `hpc-onboard onboard ACCOUNT --tags own_files`. If only your file on this"
        " machine has changed, that command alone updates the account.",
    ),
}
