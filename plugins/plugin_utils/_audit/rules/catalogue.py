# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""All rules of the audit, and the values of severity, class and cause.

The meaning of an id never changes, and a retired id is never used again, because waivers, baselines and other programs
refer to ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .environment_rules import ENVIRONMENT_RULES
from .exposure_rules import EXPOSURE_RULES
from .file_rules import FILE_RULES
from .key_rules import KEY_RULES
from .place_rules import PLACE_RULES
from .rule import Rule
from .run_rules import RUN_RULES
from .software_rules import SOFTWARE_RULES

if TYPE_CHECKING:
    from ..._documents.finding import Cause, Class
    from ..._documents.outcome import Severity

SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "info")
"""From the worst to the mildest."""

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
"""The classes of findings. A resource that is up to date has no finding."""

CAUSES: tuple[Cause, ...] = ("spec", "hand", "site", "time", "unknown")
"""The causes of findings: the settings changed, the account was changed by hand, the site changed, or time passed."""

RULES: dict[str, Rule] = {
    **EXPOSURE_RULES,
    **KEY_RULES,
    **PLACE_RULES,
    **ENVIRONMENT_RULES,
    **FILE_RULES,
    **SOFTWARE_RULES,
    **RUN_RULES,
}
"""All rules by their id, in the order of docs/rules.md."""
