# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as one page that needs only a browser: no network and no other file.

It can be read without JavaScript, which only filters. A policy in the page allows its one style and its one script, by
their hashes, and nothing else. The layout is in page/page.html; jinja2 escapes all values except for three parts of the
page itself that the template marks as safe.
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
from .groups import last_started
from .html_events import list_events
from .shared import (
    capabilities,
    harmless,
    moment,
    state,
    verdict,
    word,
    words,
    worst_first,
)
from .templates import PAGE, template_environment

INCOMPLETE = {"fail": "unknown fails", "ignore": "unknown is ignored"}
NO_FINDING = ("ok", "not_applicable", "unknown")
WIDE, HIGH, EDGE = 520, 30, 4  # size and margin of a plot, in units of its own


class Plot(NamedTuple):
    """The history of one severity: its paths in SVG and its description."""

    severity: str
    base: str
    line: str
    told: str
    now: int
    most: int
    wide: int = WIDE
    high: int = HIGH


def text(report: AuditReport) -> str:
    """Return the whole page."""
    style, script = ((PAGE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    environment = template_environment(autoescape=True)
    environment.filters.update(word=word, thousands=lambda number: f"{number:,}")
    parts = {"policy": _policy(style, script), "style": style, "script": script, "document": embedded(report)}
    return environment.get_template("page.html").render(**parts, **_contents(harmless(report)))


def embedded(report: AuditReport) -> str:
    """Return the report as JSON, compressed by gzip, in base64: the browser unpacks it to save it."""
    document = json.dumps(report, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(document, mtime=0)).decode()


def _policy(style: str, script: str) -> str:
    hashes = {
        name: base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        for name, content in (("style-src", style), ("script-src", script))
    }
    parts = [f"{name} 'sha256-{digest}'" for name, digest in hashes.items()]
    return "; ".join(["default-src 'none'", *parts, "base-uri 'none'", "form-action 'none'"])


def _contents(report: AuditReport) -> dict[str, Any]:
    """Return the variables of the template."""
    run, summary, findings = report["run"], report["summary"], report["findings"]
    runs = _list_runs(report)
    return {
        "run": run,
        "summary": summary,
        "severities": list(SEVERITIES),
        "verdict": verdict(report),
        "accounts_said": count(summary["accounts"], "account"),
        "time_said": format_duration(run["seconds"]),
        "missed": [account for account in report["accounts"] if account["state"] == "unknown"],
        "columns": ["account", *map(words, capabilities(report))],
        "rows": list(_matrix(report)),
        "choices": [(name, sorted({str(one[name]) for one in findings})) for name in ("account", "class", "cause")],
        "groups": list(list_events(findings)),
        "since": f"Only what is new, changed or resolved since {moment(last_started(report)) or 'the last audit'}."
        if run["since"]
        else "",
        "plots": _plots(runs),
        "runs": runs,
        "lists": list(_lists(report)),
        "incomplete": INCOMPLETE[run["incomplete"]],
    }


def _matrix(report: AuditReport) -> Iterator[dict[str, Any]]:
    """Yield each account with its cells: the state of a role, and the number of the finding to link to."""
    numbers = _first_numbers(report["findings"])
    columns = capabilities(report)
    for account in worst_first(report["accounts"]):
        name = account["name"]
        states = [(state(account, column), numbers.get((name, column))) for column in columns]
        cells = [{"state": found, "is_found": found not in NO_FINDING, "number": number} for found, number in states]
        yield {"name": name, "site": account["site"], "cells": cells}


def _first_numbers(findings: Iterable[Finding]) -> dict[tuple[str, str], int]:
    """Return the number of the worst finding that counts, by account and role."""
    numbers: dict[tuple[str, str], int] = {}
    for number, finding in enumerate(findings):
        if not finding["waiver"]:
            numbers.setdefault((finding["account"], finding["capability"]), number)
    return numbers


def _lists(report: AuditReport) -> Iterator[dict[str, Any]]:
    """Yield the plain tables: what is resolved, and the waivers."""
    if report["resolved"]:
        names = ["account", "rule", "resource", "since"]
        yield {"anchor": "resolved", "title": "Resolved", "names": names, "entries": report["resolved"]}
    if report["waivers"]:
        names = ["state", "rule", "account", "resource", "justification", "by", "expires", "where"]
        yield {"anchor": "waivers", "title": "Waivers", "names": names, "entries": report["waivers"]}


# -- history ---------------------------------------------------------------------------------------


def _list_runs(report: AuditReport) -> list[FormerAudit]:
    """Return this run and all former ones, the latest first."""
    summary = report["summary"]
    this: FormerAudit = {
        "started": report["run"]["started"],
        "accounts": summary["accounts"],
        "unknown": summary["unknown"],
        "by_severity": summary["by_severity"],
        "new": summary["new"],
        "resolved": summary["resolved"],
    }
    return [this, *reversed(report["history"])]


def _plots(runs: Sequence[FormerAudit]) -> list[Plot]:
    """Return a plot for each severity but info; none for a first run."""
    if len(runs) < 2:
        return []
    return [_plot(name, [run["by_severity"][name] for run in reversed(runs)]) for name in SEVERITIES[:-1]]


def _plot(name: str, numbers: Sequence[int]) -> Plot:
    """Return a line in steps, because nothing is known between two runs; its last point is this run."""
    most = max(*numbers, 1)
    step = (WIDE - 2 * EDGE) / (len(numbers) - 1)
    points = [
        (EDGE + index * step, HIGH - EDGE - (HIGH - 2 * EDGE) * number / most) for index, number in enumerate(numbers)
    ]
    line = f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:]) + f"h{EDGE}"
    told = f"{name}: {numbers[-1]:,} now, at most {most if any(numbers) else 0:,} in {len(numbers)} runs"
    return Plot(name, f"M0 {HIGH - EDGE}H{WIDE}", line, told, numbers[-1], max(numbers))
