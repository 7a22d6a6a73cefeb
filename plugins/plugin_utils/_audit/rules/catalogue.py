# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""All rules of the audit, and the words for severities, classes and causes.

An id never changes its meaning, and a retired id stays reserved: waivers, baselines and other programs name them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .file_rules import FILE_RULES
from .key_rules import KEY_RULES
from .place_rules import PLACE_RULES
from .rule import Rule
from .software_rules import SOFTWARE_RULES

if TYPE_CHECKING:
    from ..._documents.finding import Cause, Class
    from ..._documents.outcome import Severity

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
"""What a finding can be; what is up to date is no finding."""

CAUSES: tuple[Cause, ...] = ("spec", "hand", "site", "time", "unknown")
"""What has changed: the settings, something by hand on the account, the site, the date."""

RULES: dict[str, Rule] = {**KEY_RULES, **PLACE_RULES, **FILE_RULES, **SOFTWARE_RULES}
