# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the audit: what each one says, and how bad a break of it is where nothing makes it worse or better.

An id never changes its meaning, and one that is given up stays reserved: waivers, baselines and other people's
programs name them. docs/rules.md says for each what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .._documents.finding import Cause, Class
    from .._documents.outcome import Severity

SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "info")
"""The worst first."""

CLASSES: tuple[Class, ...] = (
    "missing",
    "changed",
    "stale",
    "unmanaged",
    "orphan",
    "broken",
    "at_risk",
    "not_applicable",
    "unknown",
)
"""What a finding can be; what is up to date is none."""

CAUSES: tuple[Cause, ...] = ("spec", "hand", "site", "time", "unknown")
"""Who moved: the wish, a hand on the account, the site, the calendar; or nobody can say."""


class Rule(NamedTuple):
    """What is found wrong, in a few words, and how bad it is."""

    title: str
    severity: Severity


RULES = {
    "SEC-001": Rule("A file with a key can be read by others", "critical"),
    "SEC-002": Rule("The folder of a key is open to others", "critical"),
    "SEC-003": Rule("An access list opens a key to others", "critical"),
    "SEC-004": Rule("A key stands in a start-up file, a history or a job script", "high"),
    "SEC-005": Rule("A key stands in a file that git keeps", "critical"),
    "SEC-006": Rule("A copy of a file with a key is left over", "high"),
    "SEC-007": Rule("A password begins with '$', which enroot hands to a shell", "high"),
    "SEC-008": Rule("A variable of the environment goes before the file with the key", "high"),
    "SEC-009": Rule("A container tool's store of tokens is left over", "low"),
    "KEY-001": Rule("A key is missing", "high"),
    "KEY-002": Rule("A file holds another key than the current one", "high"),
    "KEY-003": Rule("A machine has several lines, and the first one counts", "high"),
    "KEY-004": Rule("A key is written so that its reader does not find it", "high"),
    "KEY-005": Rule("The issuer refuses the key", "high"),
    "KEY-006": Rule("The key is good, but may not do what it is for", "high"),
    "KEY-007": Rule("A key expires soon", "medium"),
    "KEY-008": Rule("A key of the older kind is in use", "low"),
    "KEY-009": Rule("A key lies in a folder that this site does not read", "medium"),
    "KEY-010": Rule("Jobs cannot read the key where it lies", "info"),
    "KEY-011": Rule("A replaced key is not known to be dead", "medium"),
    "LNK-001": Rule("A link is missing", "high"),
    "LNK-002": Rule("A link leads elsewhere", "high"),
    "LNK-003": Rule("A link leads nowhere", "high"),
    "LNK-004": Rule("Something else is where a link belongs", "high"),
    "LNK-005": Rule("A link turns in a circle, or leads to storage that is purged", "medium"),
    "DIR-001": Rule("A folder is missing", "medium"),
    "DIR-002": Rule("A folder is not as it should be", "medium"),
    "ENV-001": Rule("A cache lies in the home", "medium"),
    "ENV-002": Rule("What shells read at their start was changed", "medium"),
    "ENV-003": Rule("A start-up file prints where nobody asked", "medium"),
    "ENV-004": Rule("Start-up files take seconds", "low"),
    "ENV-005": Rule("A program is not found on PATH, or another one goes before it", "medium"),
    "ENV-006": Rule("What shells read at their start is missing", "medium"),
    "ENV-007": Rule("A start-up file sets a variable of ours anew", "medium"),
    "SCR-001": Rule("A script is missing", "medium"),
    "SCR-002": Rule("A script is another one than ours", "medium"),
    "PKG-001": Rule("conda lies where the site forbids it, or on purged storage", "medium"),
    "PKG-002": Rule("A start-up file holds a block of 'conda init'", "medium"),
    "PKG-003": Rule("conda would use Anaconda's default channels", "medium"),
    "PKG-004": Rule("An installed version is another one than wanted", "medium"),
    "PKG-005": Rule("conda or one of its environments is missing", "high"),
    "PKG-006": Rule("A Python environment is missing, or cannot start", "high"),
    "PKG-007": Rule("A Python environment is not what was declared", "medium"),
    "JOB-001": Rule("Slurm starts no job for the account that is chosen", "high"),
    "JOB-002": Rule("Slurm shows no partition of that name", "low"),
    "JOB-003": Rule("Jobs may not ask for this quality of service", "medium"),
    "JOB-004": Rule("You have several Slurm accounts, and none is chosen", "low"),
    "IMG-001": Rule("A container image is missing", "high"),
    "IMG-002": Rule("A container image is not the one that is wanted", "medium"),
    "IMG-003": Rule("A container image lies in the home", "medium"),
    "OWN-001": Rule("A file of your own is missing", "medium"),
    "OWN-002": Rule("A file of your own is another one on the account", "medium"),
    "USE-001": Rule("The quota of space is nearly used up", "medium"),
    "USE-002": Rule("The quota of files is nearly used up", "medium"),
    "USE-003": Rule("Files were purged, or will be soon", "medium"),
    "SES-001": Rule("A certificate or a ticket ends soon", "medium"),
    "PRO-001": Rule("Nobody has checked the cluster's profile for months", "low"),
    "STP-001": Rule("A step that only you can do is not said to be done", "info"),
    "STP-002": Rule("A step that only you can do is due", "info"),
    "ORP-001": Rule("Something that was set up here is not declared any more", "low"),
    "RUN-001": Rule("It could not be measured", "info"),
    "RUN-002": Rule("An account could not be measured", "high"),
    "RUN-003": Rule("What was made on an account cannot be noted there", "high"),
    "RUN-004": Rule("What was noted on an account is gone, or was changed by hand", "medium"),
}

WATCHED: dict[str, tuple[Class, Cause]] = {  # of what no capability declares: the class of its finding, and who moved
    "SEC-001": ("unmanaged", "hand"),
    "SEC-002": ("unmanaged", "hand"),
    "SEC-003": ("unmanaged", "hand"),
    "SEC-004": ("unmanaged", "hand"),
    "SEC-005": ("unmanaged", "hand"),
    "SEC-006": ("unmanaged", "hand"),
    "SEC-007": ("unmanaged", "hand"),
    "SEC-008": ("unmanaged", "hand"),
    "SEC-009": ("unmanaged", "hand"),
    "KEY-003": ("broken", "hand"),
    "KEY-004": ("broken", "hand"),
    "KEY-009": ("unmanaged", "hand"),
    "KEY-010": ("broken", "site"),
    "LNK-003": ("broken", "site"),
    "LNK-005": ("broken", "hand"),
    "ENV-001": ("unmanaged", "hand"),
    "ENV-003": ("unmanaged", "hand"),
    "ENV-004": ("unmanaged", "hand"),
    "ENV-005": ("changed", "hand"),
    "ENV-007": ("changed", "hand"),
    "PKG-001": ("unmanaged", "hand"),
    "PKG-002": ("unmanaged", "hand"),
    "PKG-003": ("unmanaged", "hand"),
    "JOB-001": ("broken", "site"),
    "JOB-002": ("changed", "site"),
    "JOB-003": ("changed", "site"),
    "JOB-004": ("unmanaged", "spec"),
    "IMG-003": ("unmanaged", "hand"),
    "USE-001": ("at_risk", "time"),
    "USE-002": ("at_risk", "time"),
    "USE-003": ("at_risk", "time"),
    "SES-001": ("at_risk", "time"),
    "PRO-001": ("at_risk", "time"),
    "STP-001": ("missing", "unknown"),
    "STP-002": ("stale", "time"),
    "KEY-007": ("at_risk", "time"),
    "KEY-008": ("at_risk", "unknown"),
    "KEY-011": ("at_risk", "hand"),
}
