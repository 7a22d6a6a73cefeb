# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user asked of an audit by -e audit_..., checked before any account is visited."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...module_utils._core.errors import AccountError
from .._input import extra_vars
from .._input.extra_vars import Reader, Value
from .formats.files import FORMATS
from .rules import SEVERITIES

SETTINGS: dict[str, Reader] = {
    "audit_fail_on": extra_vars.one_of(*SEVERITIES, "never"),
    "audit_incomplete": extra_vars.one_of("fail", "ignore"),
    "audit_output": extra_vars.whole,
    "audit_formats": extra_vars.some_of(*FORMATS),
    "audit_waivers": extra_vars.whole,
    "audit_baseline": extra_vars.whole,
    "audit_baseline_write": extra_vars.truth,
    "audit_max_age": extra_vars.number,
    "audit_seconds": extra_vars.number,
    "audit_patience": extra_vars.number,
}
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(SETTINGS),
    "audit_fail_on": "high",
    "audit_incomplete": "fail",
    "audit_formats": tuple(FORMATS),
}


def checked(variables: Iterable[object], value: Value) -> dict[str, Any]:
    """All wishes, those that nobody gave as they are then; a misspelt word is an error. Raises AccountError."""
    given = extra_vars.read("the audit", SETTINGS, variables, lambda name: value(name) or None)
    wishes = {**DEFAULTS, **given}
    if wishes["audit_baseline_write"] and not wishes["audit_baseline"]:
        raise AccountError("audit_baseline_write needs to know where: -e audit_baseline=FILE")
    return wishes
