# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of fix.yml on this machine: show the offered fixes, ask for agreement, and report the results.

An audit's finding offers a fix if hpc-onboard can change the account itself, without loss of data.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from ...module_utils._core.resource import FAILURES
from .._input import command_line, extra_vars
from .._input.agreement import Agreement
from .._input.extra_vars import ReadVariable
from .._state.durable_files import StateError
from . import offered_fixes, run

if TYPE_CHECKING:
    from .._documents.result import AuditReported, FixShown, PartResult, RefusedResult

Variables = Mapping[str, Any]  # Ansible's, of the host that the part is run for
AGREEMENT = Agreement(
    owner="fix",
    readers={"fix_sure": extra_vars.read_bool},
    sure="fix_sure",
    question="Apply the fixes listed above? Nothing else will be changed. [y/N] ",
    not_done="nothing was fixed",
)


def show_fixes(variables: Variables, read_variable: ReadVariable, call: run.AnsibleCall) -> FixShown | RefusedResult:
    """Return the fixes that the last audits of these accounts offer. Accounts without an audit are an error.

    read_variable: returns the value of a variable of Ansible. call: how the user called Ansible.
    """
    try:
        # Both calls raise AccountError for an unknown setting, before the user is asked anything.
        AGREEMENT.settings(variables, read_variable)
        run.read_settings(variables, read_variable)
        audit = shlex.join(command_line.command_for("audit"))
        if not offered_fixes.was_audited(call.options):
            raise AccountError(f"this machine has no audit results for these accounts. Run: {audit}")
        offered = offered_fixes.find_fixable_findings(variables, call.options)
        if not offered and (offboarded := offered_fixes.find_offboarded_accounts(variables)):
            names = ", ".join(sorted(offboarded))
            raise AccountError(f"these accounts were offboarded after the last audit: {names}. Run: {audit}")
    except (AccountError, StateError) as error:
        return {"kind": "fix_shown", "failed": True, "msg": str(error)}
    result: FixShown = {"kind": "fix_shown", "changed": False, "offered": [finding._asdict() for finding in offered]}
    return result


def ask_to_fix(
    variables: Variables, read_variable: ReadVariable, call: run.AnsibleCall, ask: Callable[[str], str | None]
) -> PartResult | RefusedResult:
    """Return a result that is cancelled if the user declines, or failed without a terminal unless fix_sure is set.

    read_variable, call: as for show_fixes. ask: prompts and returns the answer, None without a terminal.
    """
    result: PartResult = {"kind": "fix_asked", "changed": False}
    try:
        is_needed = AGREEMENT.is_needed(variables, read_variable)
        # without fixable findings, no question is necessary
        must_ask = is_needed and offered_fixes.find_fixable_findings(variables, call.options)
        if must_ask and not AGREEMENT.is_given(ask(AGREEMENT.question), variables, read_variable, call.options):
            result["cancelled"] = True
    except (AccountError, StateError) as error:
        return {"kind": "fix_asked", "failed": True, "msg": str(error)}
    return result


def report_fixes(
    variables: Variables,
    read_variable: ReadVariable,
    call: run.AnsibleCall,
    warn: Callable[[str], None],
    started_at: float,
) -> AuditReported | RefusedResult:
    """Return the report after the fixes. A fix that failed fails the run, whatever its severity.

    read_variable, call: as for show_fixes. warn: shows a warning. started_at: the time.monotonic() at the start of the
    run.
    """
    report = run.report_audit(variables, read_variable, call, warn, started_at)
    # "audited": the variable in which fix.yml registers the result of an account
    results = [variables["hostvars"][host].get("audited") or {} for host in variables["ansible_play_hosts_all"]]
    failures = sum(outcome["status"] in FAILURES for result in results for outcome in result.get("outcomes") or [])
    if not failures or report["failed"]:  # a report that fails has its own message
        return report
    text = "1 fix failed; see above" if failures == 1 else f"{failures} fixes failed; see above"
    return {**report, "failed": True, "msg": text}
