# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions for all formats of the audit's report: escaping, sorting, and texts for states and numbers.

The report is the document of docs/schemas/audit.schema.json. It has a cell for each role ("capability") of an account:
the worst severity of the role's findings, or another state. A waived finding is one that the user has accepted. Much of
the text was written on accounts: each format first escapes invisible characters in the whole report, and then each text
by the rules of the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..._text.amounts import count
from ..._text.sanitise import visible
from ..rules.catalogue import SEVERITIES

if TYPE_CHECKING:
    from ..._documents.finding import AuditedAccount, AuditReport, BySeverity, Cell, Excuse, Finding

Document = TypeVar("Document")

SELECTING = ("-l", "--tags")  # options that select accounts and roles
SOURCE = "https://github.com/hpc-onboard/hpc.onboard"

SYMBOLS = {  # symbol, and its replacement in ASCII
    "critical": ("◆", "#"),
    "high": ("▲", "!"),
    "medium": ("●", "~"),
    "low": ("○", ","),
    "info": ("i", "i"),
    "ok": ("✓", "*"),
    "not_applicable": ("-", "-"),
    "unknown": ("?", "?"),
}
STATE_TEXTS = {"not_applicable": "does not apply"}
CAUSES = {
    "spec": "the settings were changed",
    "hand": "changed by hand on the account",
    "site": "changed by the site",
    "time": "due to the passage of time",
    "unknown": "unknown",
}


def escape_invisible(document: Document) -> Document:
    """Return a copy of the document in which control characters and invisible characters are written as \\uXXXX.

    Text that is a command for a CI system, which may read the report, loses its effect.
    """
    copy: Document = _make_visible(document)
    return copy


def _make_visible(document: Any) -> Any:
    """Return a copy of a document, or of a part of it, with all invisible characters in texts and names escaped."""
    if isinstance(document, str):
        return visible(document)
    if isinstance(document, Mapping):
        return {visible(name): _make_visible(value) for name, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [_make_visible(value) for value in document]
    return document


def describe_state(state: str) -> str:
    """Return the text for a severity or for another state of a cell."""
    return STATE_TEXTS.get(state, state)


def spell_out(name: str) -> str:
    """Return a name of the report, such as at_risk, with spaces instead of underscores."""
    return name.replace("_", " ")


def rank_state(state: str) -> int:
    """Return the rank of a cell's state, 0 for the worst. The rank of "unknown" is between low and info."""
    worst_first = ("critical", "high", "medium", "low", "unknown", "info", "ok", "not_applicable")
    return worst_first.index(state)


def is_failure(severity: str, fail_on: str) -> bool:
    """Return True if a finding of this severity makes the audit fail. fail_on: the least severity that does."""
    return fail_on != "never" and SEVERITIES.index(severity) <= SEVERITIES.index(fail_on)


def list_unwaived(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings without a waiver."""
    return [finding for finding in findings if not finding["waiver"]]


def list_roles(report: AuditReport) -> list[str]:
    """Return the names of the roles of all accounts, each once."""
    return list(dict.fromkeys(name for account in report["accounts"] for name in account["capabilities"]))


def find_state(account: AuditedAccount, role: str) -> Cell:
    """Return the state of a role on an account. A role that a measured account does not have is not applicable."""
    default: Cell = "not_applicable" if account["state"] == "measured" else "unknown"
    return account["capabilities"].get(role, default)


def sort_accounts(accounts: Iterable[AuditedAccount]) -> list[AuditedAccount]:
    """Return the accounts: unknown ones first, then by the worst state, by the numbers of bad states, and by name."""

    def rank_account(account: AuditedAccount) -> tuple[Any, ...]:  # the key of the sort: smaller is worse
        """Return the rank of the worst state, the negated number of each bad state, and the name."""
        ranks = [rank_state(state) for state in account["capabilities"].values()]
        worst = -1 if account["state"] == "unknown" else min(ranks, default=9)  # 9: an account without roles is last
        return worst, [-ranks.count(rank) for rank in range(6)], account["name"]  # 6: all states worse than ok

    return sorted(accounts, key=rank_account)


def is_in_order(account: AuditedAccount) -> bool:
    """Return True if the account was measured and has no finding worse than info."""
    fine = ("ok", "not_applicable", "info")
    return account["state"] == "measured" and all(state in fine for state in account["capabilities"].values())


def describe_severities(numbers: BySeverity) -> str:
    """Return '1 critical, 2 high', or 'nothing found'."""
    text = ", ".join(f"{numbers[name]:,} {name}" for name in SEVERITIES if numbers[name])
    return text or "nothing found"


def describe_expired_waivers(report: AuditReport) -> str:
    """Return the number and the places of the waivers that have expired, without a full stop; empty if none has."""
    places = [waiver["where"] for waiver in report["waivers"] if waiver["state"] == "expired"]
    verb = "has" if len(places) == 1 else "have"
    return f"{count(len(places), 'waiver')} {verb} expired ({', '.join(places)})" if places else ""


def describe_waiver(waiver: Excuse) -> str:
    """Return the end, the author (if the file names one), the reason and the place of the waiver of a finding."""
    author = f" by {waiver['by']}" if waiver["by"] else ""
    return f"until {waiver['expires']}{author}: {waiver['justification']} ({waiver['where']})"


def format_time(started: str) -> str:
    """Return a time of the report as '2026-11-21 18:00 UTC'."""
    return f"{started[:10]} {started[11:16]} UTC"


def help_url(target: str) -> str:
    """Return the public address of a rule's description. target: docs/rules.md#ID; any other text is not a link."""
    return f"{SOURCE}/blob/main/{target}" if target.startswith("docs/") else ""


def list_fields(finding: Finding) -> list[tuple[str, str, str]]:
    """Return name, desired and actual value of each field of a finding."""
    names = dict.fromkeys([*finding["desired"], *finding["actual"]])
    return [(name, finding["desired"].get(name, ""), finding["actual"].get(name, "")) for name in names]


def show_declaration(finding: Finding) -> str:
    """Return file and line that declare the account, 'inventory/accounts.yml:12'; empty if they are not known."""
    where = finding["declared"]
    return f"{where['file']}:{where['line']}" if where else ""


def describe_result(report: AuditReport) -> str:
    """Return the result of the audit, such as '1 high, on 1 of 3 accounts', without a full stop."""
    numbers, accounts = report["summary"]["by_severity"], report["accounts"]
    unknown = report["summary"]["unknown"]
    if not accounts:
        return "No account was audited"
    affected = {finding["account"] for finding in list_unwaived(report["findings"]) if finding["severity"] != "info"}
    if not any(numbers[name] for name in SEVERITIES[:-1]):
        if unknown == len(accounts):
            return "No account could be measured"
        rest = f"; {count(unknown, 'account')} could not be measured" if unknown else ""
        return f"No problems found{rest}"
    problems = describe_severities({**numbers, "info": 0})
    if not affected:  # --since last removed all findings from the list
        return f"{problems}; none of them is new or changed"
    return f"{problems}, on {len(affected):,} of {count(len(accounts), 'account')}"


def list_fixing_commands(report: AuditReport) -> list[tuple[list[str], list[str]]]:
    """Return the commands that fix the findings, each with its accounts. The command for the most findings is first.

    Commands that differ only in accounts and roles are merged into one without -l and --tags. Unknown accounts are
    skipped: their commands are listed with their reasons.
    """
    unknown = {account["name"] for account in report["accounts"] if account["state"] == "unknown"}
    accounts: dict[tuple[str, ...], list[str]] = {}  # one name for each finding that the command fixes
    for finding in list_unwaived(report["findings"]):
        if finding["severity"] == "info" or finding["account"] in unknown:
            continue
        for step in finding["fix"]:
            if step["kind"] == "command" and step["where"] == "here":  # on this machine, not on the account
                accounts.setdefault(remove_selection(step["command"]), []).append(finding["account"])
    commands = sorted(accounts, key=lambda command: -len(accounts[command]))
    return [(list(command), list(dict.fromkeys(accounts[command]))) for command in commands]


def remove_selection(command: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of a command without the options that select accounts and roles, and their values."""
    options = [position for position, argument in enumerate(command) if argument in SELECTING]
    removed = {*options, *(position + 1 for position in options)}
    return tuple(argument for position, argument in enumerate(command) if position not in removed)


def join_in_two_lines(commands: Sequence[str]) -> list[str]:
    """Return at most two shell lines that run all commands, for short texts: the first command, then all others."""
    return [*commands[:1], *(["; ".join(commands[1:])] if commands[1:] else [])]
