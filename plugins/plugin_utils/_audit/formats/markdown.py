# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report in the Markdown of GitHub and GitLab, for tickets and wikis.

Names, paths and commands are written as code. Sentences are escaped, so that they contain no link, picture, HTML or
mention of a user. The layout is in page/report.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..._documents.finding import AuditedAccount, AuditReport, Finding, WaiverEntry
from ..._documents.fix import render_in_one_line
from ..rules.catalogue import SEVERITIES
from .shared import (
    CAUSES,
    SYMBOLS,
    describe_result,
    describe_state,
    escape_invisible,
    find_state,
    help_url,
    is_in_order,
    list_roles,
    list_unwaived,
    show_declaration,
    sort_accounts,
    spell_out,
)
from .templates import template_environment

SPECIAL = re.compile(r"[\\`*_{}\[\]<>|~&$]|:(?=//)|(?<=www)\.")  # also the ":" and "." that make an address a link
MENTION = re.compile(r"([@#])(?=\w)")  # of a user or an issue
ROWS = 50  # accounts that are all shown; with more, see _list_variables


def render(report: AuditReport) -> str:
    """Return the report in Markdown."""
    environment = template_environment(autoescape=False)
    filters = {
        "prose": escape_prose,
        "code": format_code,
        "cell": format_cell,
        "declared": show_declaration,
        "rule": _link_rule,
    }
    environment.filters.update(filters)
    return environment.get_template("report.md").render(_list_variables(escape_invisible(report))) + "\n"


def escape_prose(sentence: str) -> str:
    """Return a sentence in which every special character of Markdown is escaped."""
    return MENTION.sub(r"\1<!-- -->", SPECIAL.sub(r"\\\g<0>", sentence))


def format_code(literal: str) -> str:
    """Return a text as code in Markdown, between more backticks than it contains."""
    fence = "`" * (max(map(len, re.findall("`+", literal)), default=0) + 1)
    needs_space = literal[:1] in ("`", " ") or literal[-1:] in ("`", " ") or not literal
    inner = f" {literal} " if needs_space else literal
    return f"{fence}{inner}{fence}"


def format_cell(literal: str) -> str:
    """Return a text as code in a table. A bar would begin the next cell even in code, so it needs HTML."""
    if "|" not in literal:
        return format_code(literal)
    characters = [
        character if character.isalnum() or character in " /" else f"&#{ord(character)};" for character in literal
    ]
    return f"<code>{''.join(characters)}</code>"


def _list_variables(report: AuditReport) -> dict[str, Any]:
    """Return the variables of the template. The matrix shows the state of each role (columns) on each account."""
    run, summary, accounts = report["run"], report["summary"], report["accounts"]
    columns, findings = list_roles(report), list_unwaived(report["findings"])
    groups = [(name, [finding for finding in findings if finding["severity"] == name]) for name in SEVERITIES]
    # with many accounts, those without problems are only counted
    not_shown = [account for account in accounts if is_in_order(account)] if len(accounts) > ROWS else []
    shown = sort_accounts(account for account in accounts if account not in not_shown)
    numbers = [*(summary["by_severity"][name] for name in SEVERITIES), summary["new"], summary["resolved"]]
    numbers += [summary["waived"], summary["accepted"], summary["unknown"]]
    limit = f" -l {run['limit']}" if run["limit"] else ""
    tags = f" --tags {','.join(run['tags'])}" if run["tags"] else ""
    return {
        "run": run,
        "summary": summary,
        "accounts": accounts,
        "causes": CAUSES,
        "verdict": describe_result(report),
        "number_heads": [
            *(f"{SYMBOLS[name][0]} {name}" for name in SEVERITIES),
            *("new", "resolved", "waived", "in the baseline", "unknown", "up to date"),
        ],
        "numbers": [*numbers, f"{summary['ok']} of {summary['checks']}"],
        "matrix_heads": ["account", *(escape_prose(spell_out(name)) for name in columns)],
        "matrix": [
            [format_cell(account["name"]), *(_label_state(find_state(account, name)) for name in columns)]
            for account in shown
        ],
        "fine": len(not_shown),  # accounts without problems that the matrix omits
        "groups": [(name, members) for name, members in groups if members],  # severities, with their findings
        "waived": list(_list_waived(report["findings"])),
        "idle": [_list_waiver_cells(waiver) for waiver in report["waivers"] if waiver["state"] in IDLE],
        "missed": [_list_reason_cells(account) for account in accounts if account["state"] == "unknown"],
        "resolved": [
            _format_cells(finding["account"], finding["rule"], finding["resource"], finding["since"])
            for finding in report["resolved"]
        ],
        "command": run["playbook"] + limit + tags,  # that has written this report
    }


IDLE = ("unused", "expired")  # states of waivers without effect


def _list_waived(findings: Iterable[Finding]) -> Iterator[list[str]]:
    """Yield the cells of each finding that has a waiver."""
    for finding in findings:
        if waiver := finding["waiver"]:
            yield _format_cells(
                *(finding["account"], finding["rule"], finding["resource"]),
                *(waiver["justification"], waiver["by"], waiver["expires"], waiver["where"]),
            )


def _list_waiver_cells(waiver: WaiverEntry) -> list[str]:
    """Return the cells of a waiver without effect: its state (unused or expired), and its fields."""
    fields = (waiver["rule"], waiver["account"], waiver["resource"], waiver["expires"], waiver["where"])
    return [waiver["state"], *_format_cells(*fields)]


def _list_reason_cells(account: AuditedAccount) -> list[str]:
    """Return the cells of an account that could not be measured: its name, the reason, and the next step, if any."""
    next_step = format_cell(render_in_one_line(account["next"])) if account["next"] else ""
    return [*_format_cells(account["name"], account["reason"]), next_step]


def _format_cells(*literals: str) -> list[str]:
    return [format_cell(literal) for literal in literals]


def _label_state(cell: str) -> str:
    """Return the symbol and the text of a cell's state; empty for a role that does not apply."""
    return "" if cell == "not_applicable" else f"{SYMBOLS[cell][0]} {describe_state(cell)}"


def _link_rule(finding: Finding) -> str:
    """Return the id of the rule, as a link if its address contains no special characters."""
    url = help_url(finding["help"])
    is_safe = re.fullmatch(r"[\w:/.#-]+", url)
    return f"[{escape_prose(finding['rule'])}]({url})" if is_safe else escape_prose(finding["rule"])
