# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take an audit check to an account the way the audit does, twice, and see to it that nothing was written."""

from __future__ import annotations

from typing import Any, NamedTuple

from account_scene import HOME, KEY, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.audit_check import AuditCheck
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from forked import as_nobody


class CheckReport(NamedTuple):
    """What an audit check found, by rule and place, and what it could not look at."""

    found: dict[str, str]
    remarks: list[str]
    document: dict[str, Any]


def complete_options(kind: type[AuditCheck], options: dict[str, Any]) -> dict[str, Any]:
    """The options with the defaults of those that are not given."""
    assert set(options) <= set(kind.OPTIONS)
    return {**{name: spec["default"] for name, spec in kind.OPTIONS.items() if "default" in spec}, **options}


def examine_check(scene: Scene, kind: type[AuditCheck], seconds: float = 30.0, **options: Any) -> dict[str, Any]:
    """The outcome of the check, from the engine's own isolated child."""
    entry = {"kind": kind.KIND, "capability": "watch", "options": complete_options(kind, options)}
    sandbox = {"root": str(scene.root), "home": HOME, "shell": scene.shell, "environment": scene.environment}
    plan = {"resources": [entry], "work": "examine", "fingerprint_key": KEY, "sandbox": sandbox, "seconds": seconds}
    said = answer(plan, {kind.KIND: kind})
    assert said["error"] is None
    return {name: value for name, value in said["outcomes"][0].items() if name != "seconds"}


def check_as_nobody(
    kind: type[AuditCheck], home: str = "/nonexistent", environment: dict[str, str] | None = None, **options: Any
) -> tuple[dict[str, str], list[str]]:
    """Return what the check of a real home finds, and its remarks, if a user without rights runs it."""

    def look() -> list[Any]:
        host = Host(Account(home, "/bin/sh", environment or {}), bytes.fromhex(KEY))
        check = kind(complete_options(kind, options)).with_expanded_paths(host)
        return [dict(check.inspect(host)), check.remarks(host)]

    found, remarks = as_nobody(look)
    return found, remarks


def run_check(scene: Scene, kind: type[AuditCheck], again: bool = True, **options: Any) -> CheckReport:
    """Return what the check finds. It must leave no trace and, if asked again, find the same."""
    before = scene.footprints()
    outcome = examine_check(scene, kind, **options)
    assert not again or examine_check(scene, kind, **options) == outcome
    assert scene.footprints() == before
    assert outcome["status"] in ("ok", "extra"), outcome["reason"]
    return CheckReport(outcome["before"], outcome["remarks"], outcome)
