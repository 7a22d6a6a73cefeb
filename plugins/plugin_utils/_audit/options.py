# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user asked of an audit by -e audit_..., checked before any account is visited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.files import FORMATS
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules import SEVERITIES
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import nearest

WISHES = {
    "audit_fail_on": (*SEVERITIES, "never"),
    "audit_incomplete": ("fail", "ignore"),
    "audit_output": None,
    "audit_formats": None,
    "audit_waivers": None,
    "audit_baseline": None,
    "audit_baseline_write": None,
    "audit_max_age": None,
    "audit_seconds": None,
    "audit_patience": None,
}
NUMBERS = ("audit_max_age", "audit_seconds", "audit_patience")
Value = Callable[[str], Any]


def checked(variables: Mapping[str, Any], value: Value) -> dict[str, Any]:
    """All wishes, those that nobody gave as they are then; a misspelt word is an error. Raises AccountError."""
    for name in variables:
        if str(name).startswith("audit_") and name not in WISHES:
            raise AccountError(f"{name} is no setting of the audit; {nearest(str(name), WISHES)}")
    wishes = {name: value(name) for name in WISHES}
    wishes["audit_fail_on"] = wishes["audit_fail_on"] or "high"
    wishes["audit_incomplete"] = wishes["audit_incomplete"] or "fail"
    for name, choices in WISHES.items():
        if choices and str(wishes[name]) not in choices:
            raise AccountError(f"{name} is {str(wishes[name])!r}, not one of {', '.join(choices)}")
    for name in NUMBERS:
        if wishes[name] is not None and not str(wishes[name]).isdecimal():
            raise AccountError(f"{name} is {str(wishes[name])!r}, not a whole number")
    if wishes["audit_baseline_write"] and not wishes["audit_baseline"]:
        raise AccountError("audit_baseline_write needs to know where: -e audit_baseline=FILE")
    formats = wishes["audit_formats"]
    chosen = [str(one).strip() for one in (formats.split(",") if isinstance(formats, str) else formats or FORMATS)]
    for one in chosen:
        if one not in FORMATS:
            raise AccountError(f"audit_formats: {one!r} is none; {nearest(one, FORMATS)}")
    return {**wishes, "audit_formats": chosen}
