# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report in Markdown (GitHub's and GitLab's), for tickets and wikis.

Names, paths and commands are code; sentences are escaped, so that nothing in them is a link, a picture, HTML or a
mention of a user. The layout is in page/report.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..._documents.finding import AuditReport, Finding
from ..._documents.fix import render_in_one_line
from ..rules.catalogue import SEVERITIES
from .shared import (
    CAUSES,
    SYMBOLS,
    capabilities,
    declared,
    harmless,
    help_url,
    in_order,
    state,
    unwaived,
    verdict,
    word,
    words,
    worst_first,
)
from .templates import template_environment

SPECIAL = re.compile(r"[\\`*_{}\[\]<>|~&$]|:(?=//)|(?<=www)\.")
MENTION = re.compile(r"([@#])(?=\w)")
ROWS = 50
"""With more accounts than this, those that are in order have no row of their own."""


def text(report: AuditReport) -> str:
    """Return the whole report."""
    environment = template_environment(autoescape=False)
    filters = {"prose": prose, "code": code, "cell": cell, "declared": declared, "rule": _rule}
    environment.filters.update(filters)
    return environment.get_template("report.md").render(_contents(harmless(report))) + "\n"


def prose(sentence: str) -> str:
    """Return a sentence in which no character has a meaning in Markdown."""
    return MENTION.sub(r"\1<!-- -->", SPECIAL.sub(r"\\\g<0>", sentence))


def code(literal: str) -> str:
    """Return a text as code."""
    fence = "`" * (max(map(len, re.findall("`+", literal)), default=0) + 1)
    needs_space = literal[:1] in ("`", " ") or literal[-1:] in ("`", " ") or not literal
    inner = f" {literal} " if needs_space else literal
    return f"{fence}{inner}{fence}"


def cell(literal: str) -> str:
    """Return a text as code in a table. Even in code a bar begins the next cell, and its escapes differ by reader."""
    if "|" not in literal:
        return code(literal)
    return "<code>" + "".join(c if c.isalnum() or c in " /" else f"&#{ord(c)};" for c in literal) + "</code>"


def _contents(report: AuditReport) -> dict[str, Any]:
    """Return the variables of the template."""
    run, summary, accounts = report["run"], report["summary"], report["accounts"]
    columns, found = capabilities(report), unwaived(report["findings"])
    groups = [(name, [one for one in found if one["severity"] == name]) for name in SEVERITIES]
    fine = [account for account in accounts if in_order(account)] if len(accounts) > ROWS else []
    shown = worst_first(account for account in accounts if account not in fine)
    numbers = [*(summary["by_severity"][name] for name in SEVERITIES), summary["new"], summary["resolved"]]
    numbers += [summary["waived"], summary["accepted"], summary["unknown"]]
    excused = [(one, one["waiver"]) for one in report["findings"] if one["waiver"]]
    limit = f" -l {run['limit']}" if run["limit"] else ""
    tags = f" --tags {','.join(run['tags'])}" if run["tags"] else ""
    return {
        "run": run,
        "summary": summary,
        "accounts": accounts,
        "causes": CAUSES,
        "verdict": verdict(report),
        "number_heads": [
            *(f"{SYMBOLS[name][0]} {name}" for name in SEVERITIES),
            *("new", "resolved", "waived", "in the baseline", "unknown", "up to date"),
        ],
        "numbers": [*numbers, f"{summary['ok']} of {summary['checks']}"],
        "matrix_heads": ["account", *(prose(words(name)) for name in columns)],
        "matrix": [[cell(one["name"]), *(_state(state(one, name)) for name in columns)] for one in shown],
        "fine": len(fine),
        "groups": [(name, alike) for name, alike in groups if alike],
        "waived": [
            _cells(
                *(one["account"], one["rule"], one["resource"]),
                *(waiver["justification"], waiver["by"], waiver["expires"], waiver["where"]),
            )
            for one, waiver in excused
        ],
        "idle": [
            [one["state"], *_cells(one["rule"], one["account"], one["resource"], one["expires"], one["where"])]
            for one in report["waivers"]
            if one["state"] != "used"
        ],
        "missed": [
            [*_cells(one["name"], one["reason"]), cell(render_in_one_line(one["next"])) if one["next"] else ""]
            for one in accounts
            if one["state"] == "unknown"
        ],
        "resolved": [_cells(one["account"], one["rule"], one["resource"], one["since"]) for one in report["resolved"]],
        "command": run["playbook"] + limit + tags,
    }


def _cells(*literals: str) -> Iterable[str]:
    return [cell(literal) for literal in literals]


def _state(found: str) -> str:
    return "" if found == "not_applicable" else f"{SYMBOLS[found][0]} {word(found)}"


def _rule(finding: Finding) -> str:
    """Return the rule's id, as a link if its address is safe."""
    url = help_url(finding["help"])
    is_safe = re.fullmatch(r"[\w:/.#-]+", url)
    return f"[{prose(finding['rule'])}]({url})" if is_safe else prose(finding["rule"])
