# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a start-up file that change every command: variables of many programs, and limits."""

HAZARDS = {  # variables that change what programs do, and how
    "CDPATH": "cd in a script goes elsewhere, and prints",
    "GREP_OPTIONS": "grep in a script finds something else",
    "POSIXLY_CORRECT": "programs understand their options in another way",
    "PYTHONHOME": "every other Python lacks its own library",
    "LD_PRELOAD": "every program loads it",
    "IFS": "scripts split words elsewhere",
    "LD_AUDIT": "every program loads it",
    "GIT_DIR": "git in a script works on another repository",
    "GIT_WORK_TREE": "git in a script works on another folder",
    "TAR_OPTIONS": "tar in a script does something else",
    "SHELLOPTS": "every script has other options",
    "BASHOPTS": "every script has other options",
    "GLOBIGNORE": "scripts find fewer files",
    "PERL5OPT": "every Perl program loads or does more",
    "RUBYOPT": "every Ruby program loads or does more",
    "PYTHONOPTIMIZE": "Python programs skip their own checks",
}
LIMITS = (
    r"\s*%s(?:ulimit\s+(?:-[HS]\s+)*(?:-[HS]?[ftvdm]\s+\d|-[HS]?n\s+\d{1,3}\b|-[HS]?u\s+\d{1,2}\b)"
    r"|limit\s+(?:filesize|cputime|vmemoryuse|datasize|memoryuse|descriptors\s+\d{1,3}\b|maxproc\s+\d{1,2}\b)\s*\d*)"
)
"""Lines that limit what is started from a shell; of open files and processes only limits that are low. %s: before it"""
