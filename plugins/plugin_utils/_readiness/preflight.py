# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight: a check, without the user, of the accounts to which hpc-onboard can log in now.

If a ticket or certificate has expired, or a required session is not open, no connection is tried. Else one connection
checks the account's Python, home and quotas. A finding is a problem of an account, found by a rule of the audit, with a
severity. A profile contains the facts about a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._audit import findings, place_checks
from .._audit.account import local_findings
from .._authentication.login_diagnosis import FailedLogin
from .._authentication.unattended import LoginQuestion
from .._delivery.conversation import Conversation
from .._documents.fix import render_in_one_line
from .._input import extra_vars
from .._text.amounts import count
from .._text.ssh_words import STATES, State
from .account_reports import read_results, write_report

if TYPE_CHECKING:
    from .._delivery.account_session import AccountSession
    from .._documents.result import PreflightAccount, PreflightReport

RESULT_VARIABLE = "hpc_onboard_preflight"  # in which playbooks/preflight.yml registers the result of each account
SCHEMA = "hpc.onboard/preflight/1.0"
SETTINGS: dict[str, extra_vars.Reader] = {
    "preflight_output": extra_vars.read_text,
    "preflight_patience": extra_vars.read_number,
}
CREDENTIAL_RULE = "SES-001"  # of the audit, for tickets and certificates
BLOCKING = ("critical", "high")  # severities of findings, such as a used-up quota, that block onboarding
SECONDS = 20  # for the home and the quotas
NOT_CHECKED = {"state": "not_ready", "text": "the account was not checked", "next": "run the command again with -vv"}


def read_settings(variables: Mapping[str, Any], read_variable: extra_vars.ReadVariable) -> dict[str, Any]:
    """Return the settings of this run by name. Raise AccountError for an unknown or invalid setting.

    variables: of Ansible. read_variable: returns the value of a variable; None if it is not set.
    """
    return extra_vars.read_settings("preflight", SETTINGS, variables, read_variable)  # "preflight": for error messages


def check_credential(variables: Mapping[str, Any]) -> PreflightAccount | None:
    """Return the result ("ended") if the ticket or certificate of an account is missing or expired, else None.

    variables: of Ansible, for the account.
    """
    for finding in local_findings(variables):  # which need no connection
        if finding["rule"] == CREDENTIAL_RULE and finding["class"] != "at_risk":  # at_risk: valid, but expires soon
            return account_result("ended", finding["text"], render_in_one_line(finding.get("fix", [])))
    return None


def check_account(session: AccountSession) -> PreflightAccount:
    """Log in, and return the result of the checks of Python, home and quotas. Raise the errors of a session.

    session: the connection to the account; it starts a Python program there, which fails without a suitable Python.
    """
    cluster, account = session.variables.get("cluster") or {}, session.variables.get("account") or {}
    plan = place_checks.plan_place_checks(cluster, account, declared=[]) if cluster else []
    entries = [entry for entry in plan if entry["kind"] == "quota"]  # only the checks of quotas
    # examine: change nothing. receipt: read the file in the home that records what hpc-onboard created.
    conversation = Conversation(session, entries, {"work": "examine", "seconds": SECONDS, "receipt": True})
    outcomes = conversation.fetch_outcomes(wait=0)  # wait: for jobs, which a check does not start
    if conversation.receipt and conversation.receipt["problem"]:  # such as an unreadable home
        return account_result("not_ready", conversation.receipt["problem"])
    problems = [
        finding["text"]
        for entry, outcome in zip(entries, outcomes, strict=True)
        for finding in findings.check_findings(entry, outcome)
        if finding["severity"] in BLOCKING
    ]
    return account_result("not_ready", " ".join(problems)) if problems else account_result("open", "")


def explain_failure(output: str, login: FailedLogin, unanswered: Sequence[LoginQuestion]) -> PreflightAccount:
    """Return the result for a failed login, with its cause. output: of ssh.

    login: the account and its ssh settings. unanswered: the questions of the login that only the user can answer.
    """
    cause = login.diagnose(output, unanswered)
    return account_result(cause.state, cause.text, cause.next)


def account_result(state: State, text: str, next_step: str = "") -> PreflightAccount:
    """Return the result for one account. state: one of STATES, such as "open" for a ready account.

    text: the reason, if the account is not ready. next_step: for the user.
    """
    return {"kind": "preflight_account", "changed": False, "state": state, "text": text, "next": next_step}


def report_accounts(
    variables: Mapping[str, Any], read_variable: extra_vars.ReadVariable, moment: str
) -> PreflightReport:
    """Return the report on all accounts of the play, and write it to a file if the settings name one.

    variables: of Ansible. read_variable: see read_settings(). moment: the end of the run, ISO 8601. Raise AccountError.
    """
    settings = read_settings(variables, read_variable)
    rows = [{"name": name, **_build_row(result)} for name, result in read_results(variables, RESULT_VARIABLE).items()]
    failures = sum(row["state"] != "open" for row in rows)
    if settings.get("preflight_output"):
        document = {"schema": SCHEMA, "finished": moment, "accounts": rows}
        write_report("preflight_output", Path(settings["preflight_output"]), document)
    problem = f"{failures} of {count(len(rows), 'account')} {'is' if failures == 1 else 'are'} not ready"
    text = problem if failures else "all accounts are ready"
    return {"kind": "preflight_report", "changed": False, "failed": bool(failures), "msg": text, "accounts": rows}


def _build_row(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the row of an account for the report. result: of its task; empty if the account has none."""
    if result.get("state") not in STATES:  # a failed task, or none: the account was not checked
        return {**NOT_CHECKED, "text": str(result.get("msg") or NOT_CHECKED["text"])}
    return {field: str(result.get(field, "")) for field in ("state", "text", "next")}
