# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as one HTML page that needs neither a network nor another file.

The page can be read without JavaScript, which is only needed for filters. Its content security policy allows only the
page's own style and script, by their hashes. The layout is in page/page.html. jinja2 escapes all values except for the
style, the script and the embedded document, which the template marks as safe.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..._documents.finding import AuditReport, Finding, FormerAudit
from ..._text.amounts import count, format_duration
from ..rules.catalogue import SEVERITIES
from .groups import find_last_start
from .html_events import list_events
from .shared import (
    describe_result,
    describe_state,
    escape_invisible,
    find_state,
    format_time,
    list_roles,
    sort_accounts,
    spell_out,
)
from .templates import PAGE, template_environment

INCOMPLETE = {"fail": "fails on unknown accounts", "ignore": "ignores unknown accounts"}
NO_FINDING = ("ok", "not_applicable", "unknown")  # states of a role without a finding to which its cell could link
WIDTH, HEIGHT, MARGIN = 520, 30, 4  # of a plot, in its own units


class Plot(NamedTuple):
    """The history of one severity, as SVG paths.

    base: path of the base line. line: path of the graph. label: for screen readers. now, most: the number of findings
    in the last run, and the largest number of all runs.
    """

    severity: str
    base: str
    line: str
    label: str
    now: int
    most: int
    width: int = WIDTH
    height: int = HEIGHT


def render(report: AuditReport) -> str:
    """Return the whole page."""
    style, script = ((PAGE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    environment = template_environment(autoescape=True)
    # filters: functions that the template calls by these names
    environment.filters.update(word=describe_state, thousands=lambda number: f"{number:,}")
    parts = {
        "policy": _build_policy(style, script),
        "style": style,
        "script": script,
        "document": embed_document(report),
    }
    return environment.get_template("page.html").render(**parts, **_list_variables(escape_invisible(report)))


def embed_document(report: AuditReport) -> str:
    """Return the report as JSON, compressed by gzip, in base64. The page offers it for download."""
    document = json.dumps(report, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(document, mtime=0)).decode()


def _build_policy(style: str, script: str) -> str:
    """Return a content security policy that allows only this style and this script."""
    hashes = {
        name: base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        for name, content in (("style-src", style), ("script-src", script))
    }
    parts = [f"{name} 'sha256-{digest}'" for name, digest in hashes.items()]
    return "; ".join(["default-src 'none'", *parts, "base-uri 'none'", "form-action 'none'"])


def _list_variables(report: AuditReport) -> dict[str, Any]:
    """Return the variables of the template: of the summary, the matrix of accounts, the findings, and the history."""
    run, summary, findings = report["run"], report["summary"], report["findings"]
    runs = _list_runs(report)
    last = find_last_start(report)
    since = f"Only changes since {format_time(last)} are shown." if last else "No earlier audit was found."
    return {
        "run": run,
        "summary": summary,
        "severities": list(SEVERITIES),
        "verdict": describe_result(report),
        "number_text": count(summary["accounts"], "account"),
        "duration_text": format_duration(run["seconds"]),
        "missed": [account for account in report["accounts"] if account["state"] == "unknown"],  # could not be measured
        "columns": ["account", *map(spell_out, list_roles(report))],  # of the matrix
        "rows": list(_list_rows(report)),
        "choices": [  # of the filters
            (name, sorted({str(finding[name]) for finding in findings})) for name in ("account", "class", "cause")
        ],
        "groups": list(list_events(findings)),  # by severity
        "since": since if run["since"] else "",  # only with --since last
        "plots": _list_plots(runs),
        "runs": runs,
        "lists": list(_list_tables(report)),  # resolved findings, and waivers
        "incomplete": INCOMPLETE[run["incomplete"]],
    }


def _list_rows(report: AuditReport) -> Iterator[dict[str, Any]]:
    """Yield a row for each account. A cell has the state of a role and the number of the finding that it links to."""
    numbers = _number_worst(report["findings"])
    columns = list_roles(report)
    for account in sort_accounts(report["accounts"]):
        name = account["name"]
        states = [(find_state(account, column), numbers.get((name, column))) for column in columns]
        cells = [{"state": state, "is_found": state not in NO_FINDING, "number": number} for state, number in states]
        yield {"name": name, "site": account["site"], "cells": cells}


def _number_worst(findings: Iterable[Finding]) -> dict[tuple[str, str], int]:
    """Return the number of the first finding without a waiver, which is the worst, by account and role."""
    numbers: dict[tuple[str, str], int] = {}
    for number, finding in enumerate(findings):
        if not finding["waiver"]:
            numbers.setdefault((finding["account"], finding["capability"]), number)
    return numbers


def _list_tables(report: AuditReport) -> Iterator[dict[str, Any]]:
    """Yield the tables of resolved findings and of waivers, unless they are empty. names: of fields, one per column."""
    if report["resolved"]:
        names = ["account", "rule", "resource", "since"]
        yield {"anchor": "resolved", "title": "Resolved", "names": names, "entries": report["resolved"]}
    if report["waivers"]:
        names = ["state", "rule", "account", "resource", "justification", "by", "expires", "where"]
        yield {"anchor": "waivers", "title": "Waivers", "names": names, "entries": report["waivers"]}


def _list_runs(report: AuditReport) -> list[FormerAudit]:
    """Return this run and all former ones, the latest first."""
    summary = report["summary"]
    this_run: FormerAudit = {
        "started": report["run"]["started"],
        "accounts": summary["accounts"],
        "unknown": summary["unknown"],
        "by_severity": summary["by_severity"],
        "new": summary["new"],
        "resolved": summary["resolved"],
    }
    return [this_run, *reversed(report["history"])]


def _list_plots(runs: Sequence[FormerAudit]) -> list[Plot]:
    """Return a plot for each severity except for info; none for the first run."""
    if len(runs) < 2:
        return []
    return [_draw_plot(name, [run["by_severity"][name] for run in reversed(runs)]) for name in SEVERITIES[:-1]]


def _draw_plot(name: str, numbers: Sequence[int]) -> Plot:
    """Return a plot with a line in steps, because nothing is known about the time between two runs.

    name: of the severity. numbers: of its findings, one number for each run, the earliest first; at least two.
    """
    now, most = numbers[-1], max(numbers)
    step = (WIDTH - 2 * MARGIN) / (len(numbers) - 1)
    scale = (HEIGHT - 2 * MARGIN) / max(most, 1)
    points = [(MARGIN + index * step, HEIGHT - MARGIN - scale * number) for index, number in enumerate(numbers)]
    first_x, first_y = points[0]
    steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])  # SVG: to the right, then up or down
    line = f"M{first_x:.1f} {first_y:.1f}{steps}h{MARGIN}"  # h: on to the right edge
    label = f"{name}: {now:,} now, maximum {most:,} over {len(numbers)} runs"
    return Plot(name, f"M0 {HEIGHT - MARGIN}H{WIDTH}", line, label, now, most)
