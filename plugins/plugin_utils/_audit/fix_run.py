# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of fix.yml on this machine: show the offered fixes, ask for agreement, and report the results."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from ...module_utils._core.resource import FAILURES
from .._input import command_line, extra_vars
from .._input.agreement import Agreement
from .._input.extra_vars import Value
from .._state.durable_files import StateError
from . import offered_fixes, run

if TYPE_CHECKING:
    from .._documents.result import AuditReported, FixAsked, FixShown, RefusedResult

Variables = Mapping[str, Any]  # Ansible's, of the host that the part is run for
AGREEMENT = Agreement(
    "fix",
    {"fix_sure": extra_vars.read_bool},
    "fix_sure",
    "Apply the fixes listed above? Nothing else is changed. [y/N] ",
    "nothing was fixed",
)


def show_fixes(variables: Variables, value: Value, ansible_run: run.AnsibleRun) -> FixShown | RefusedResult:
    """Return the fixes that the last audits of these accounts offer. Accounts without an audit are an error."""
    try:
        AGREEMENT.settings(variables, value)
        run.read_settings(variables, value)
        audit = shlex.join(command_line.command_for("audit"))
        if not offered_fixes.was_audited(ansible_run.options):
            raise AccountError(f"this machine has no audit results for these accounts. Run: {audit}")
        offered = offered_fixes.find_fixable(variables, ansible_run.options)
        if not offered and (offboarded := offered_fixes.find_offboarded(variables["ansible_play_hosts_all"])):
            names = ", ".join(sorted(offboarded))
            raise AccountError(f"these accounts were offboarded after the last audit: {names}. Run: {audit}")
    except (AccountError, StateError) as error:
        return {"kind": "fix_shown", "failed": True, "msg": str(error)}
    result: FixShown = {"kind": "fix_shown", "changed": False, "offered": [finding._asdict() for finding in offered]}
    return result


def ask_to_fix(
    variables: Variables, value: Value, ansible_run: run.AnsibleRun, ask: Callable[[str], str | None]
) -> FixAsked | RefusedResult:
    """Return whether the user agrees; without a terminal fix_sure must be set. ask: prompts and returns the answer."""
    result: FixAsked = {"kind": "fix_asked", "changed": False}
    try:
        is_needed = AGREEMENT.is_needed(variables, value) and offered_fixes.find_fixable(variables, ansible_run.options)
        if is_needed and not AGREEMENT.is_given(ask(AGREEMENT.question), variables, value, ansible_run.options):
            result["cancelled"] = True
    except (AccountError, StateError) as error:
        return {"kind": "fix_asked", "failed": True, "msg": str(error)}
    return result


def report_fixes(
    variables: Variables, value: Value, ansible_run: run.AnsibleRun, warn: Callable[[str], None], started: float
) -> AuditReported | RefusedResult:
    """Return the report after the fixes. A fix that failed fails the run, whatever its severity."""
    report = run.report_audit(variables, value, ansible_run, warn, started)
    results = [variables["hostvars"][host].get("audited") or {} for host in variables["ansible_play_hosts_all"]]
    failures = sum(outcome["status"] in FAILURES for result in results for outcome in result.get("outcomes") or [])
    if not failures or report["failed"]:
        return report
    return {**report, "failed": True, "msg": f"fixes that failed: {failures}; see above"}
