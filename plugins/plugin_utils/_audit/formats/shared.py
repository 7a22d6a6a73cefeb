# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts that all formats of the audit's report share: harmless text, orders, words and numbers.

The report is the document of docs/schemas/audit.schema.json. Much of its text was written on accounts: each
format first makes it harmless() and then escapes it by its own rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..._text.amounts import count
from ..._text.sanitise import visible
from ..rules.catalogue import SEVERITIES

if TYPE_CHECKING:
    from ..._documents.finding import AuditedAccount, AuditReport, BySeverity, Cell, Finding

Document = TypeVar("Document")

CHOOSING = ("-l", "--tags")  # options that choose accounts and roles
SOURCE = "https://github.com/hpc-onboard/hpc.onboard"

SYMBOLS = {  # each with its replacement in ASCII
    "critical": ("◆", "#"),
    "high": ("▲", "!"),
    "medium": ("●", "~"),
    "low": ("○", ","),
    "info": ("i", "i"),
    "ok": ("✓", "*"),
    "not_applicable": ("-", "-"),
    "unknown": ("?", "?"),
}
WORDS = {"not_applicable": "does not apply"}
CAUSES = {
    "spec": "the settings were changed",
    "hand": "changed by hand on the account",
    "site": "changed by the site",
    "time": "due to the date",
    "unknown": "unknown",
}


def harmless(document: Document) -> Document:
    """Return a copy of the document in which every text is visible()."""
    copy: Document = _harmless(document)
    return copy


def _harmless(document: Any) -> Any:
    if isinstance(document, str):
        return visible(document)
    if isinstance(document, Mapping):
        return {visible(name): _harmless(value) for name, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [_harmless(value) for value in document]
    return document


def word(state: str) -> str:
    """Return a severity or another state of a cell in words."""
    return WORDS.get(state, state)


def words(name: str) -> str:
    """Return a name of the document, such as at_risk, in words."""
    return name.replace("_", " ")


def rank(state: str) -> int:
    """Return the rank of a state of a cell, the worst first; unmeasured ranks between low and info."""
    order = ("critical", "high", "medium", "low", "unknown", "info", "ok", "not_applicable")
    return order.index(state)


def reaches(severity: str, fail_on: str) -> bool:
    """Return True if a finding of this severity makes an audit fail that fails on that one."""
    return fail_on != "never" and SEVERITIES.index(severity) <= SEVERITIES.index(fail_on)


def unwaived(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that count."""
    return [finding for finding in findings if not finding["waiver"]]


def capabilities(report: AuditReport) -> list[str]:
    """Return the roles of all accounts, in the order in which accounts name them."""
    return list(dict.fromkeys(name for account in report["accounts"] for name in account["capabilities"]))


def state(account: AuditedAccount, capability: str) -> Cell:
    """Return the state of a cell; a role that an account does not name does not apply to it."""
    unnamed: Cell = "not_applicable" if account["state"] == "measured" else "unknown"
    return account["capabilities"].get(capability, unnamed)


def worst_first(accounts: Iterable[AuditedAccount]) -> list[AuditedAccount]:
    """Return the accounts with the worst first; among equals the one with more of it, then by name."""

    def key(account: AuditedAccount) -> tuple[Any, ...]:
        states = [rank(found) for found in account["capabilities"].values()]
        first = 0 if account["state"] == "unknown" else 1
        return (
            min(states, default=9) if first else -1,
            [-states.count(number) for number in range(6)],
            account["name"],
        )

    return sorted(accounts, key=key)


def in_order(account: AuditedAccount) -> bool:
    """Return True if the account has nothing worse than info."""
    fine = ("ok", "not_applicable", "info")
    return account["state"] == "measured" and all(found in fine for found in account["capabilities"].values())


def severities(numbers: BySeverity) -> str:
    """Return '1 critical, 2 high', or 'nothing found'."""
    said = ", ".join(f"{numbers[name]:,} {name}" for name in SEVERITIES if numbers[name])
    return said or "nothing found"


def moment(started: str) -> str:
    """Return '2026-11-21 18:00 UTC' for a time of the document."""
    return f"{started[:10]} {started[11:16]} UTC"


def help_url(target: str) -> str:
    """Return the public address of a rule's description."""
    return f"{SOURCE}/blob/main/{target}" if target.startswith("docs/") else ""


def fields(finding: Finding) -> list[tuple[str, str, str]]:
    """Return name, desired and actual value of each field of a finding."""
    names = dict.fromkeys([*finding["desired"], *finding["actual"]])
    return [(name, finding["desired"].get(name, ""), finding["actual"].get(name, "")) for name in names]


def declared(finding: Finding) -> str:
    """Return 'inventory/accounts.yml:12', or empty."""
    where = finding["declared"]
    return f"{where['file']}:{where['line']}" if where else ""


def verdict(report: AuditReport) -> str:
    """Return the result of the audit in a few words."""
    numbers, accounts = report["summary"]["by_severity"], report["accounts"]
    missed = report["summary"]["unknown"]
    if not accounts:
        return "No account was looked at"
    bad = {finding["account"] for finding in unwaived(report["findings"]) if finding["severity"] != "info"}
    if not any(numbers[name] for name in SEVERITIES[:-1]) or not bad:
        if missed == len(accounts):
            return "Nothing could be measured"
        return "All is as it should be" if not missed else f"What was measured is as it should be, {missed:,} was not"
    found = severities({**numbers, "info": 0})
    return f"{found}, on {len(bad):,} of {count(len(accounts), 'account')}"


def fixing_commands(report: AuditReport) -> list[tuple[list[str], list[str]]]:
    """Return the commands that fix the findings, those for the most findings first, each with its accounts.

    Commands for single accounts and roles are one: without -l and --tags it does the work of all of them. Accounts that
    are unknown have commands of their own.
    """
    gone = {account["name"] for account in report["accounts"] if account["state"] == "unknown"}
    found: dict[tuple[str, ...], list[str]] = {}
    for finding in unwaived(report["findings"]):
        if finding["severity"] == "info" or finding["account"] in gone:
            continue
        for step in finding["fix"]:
            if step["kind"] == "command" and step["where"] == "here":
                found.setdefault(without_choice(step["command"]), []).append(finding["account"])
    most = sorted(found, key=lambda one: -len(found[one]))
    return [(list(one), list(dict.fromkeys(found[one]))) for one in most]


def without_choice(command: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command without the options that choose accounts and roles."""
    chosen = {position + step for position, word in enumerate(command) if word in CHOOSING for step in (0, 1)}
    return tuple(word for position, word in enumerate(command) if position not in chosen)


def in_two_lines(commands: Sequence[str]) -> list[str]:
    """Return at most two lines for a shell that run all of the commands: the first, then the rest in one line."""
    return [*commands[:1], *(["; ".join(commands[1:])] if commands[1:] else [])]
