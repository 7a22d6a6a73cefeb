# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as one page that needs nothing else: no network, no program but a browser.

All of it is written here, so it can be read without JavaScript, which only filters. A policy in the page allows
its one style and its one script, by their hashes, and nothing further. What stands where is in page/page.html; what
is put there is escaped by jinja2, but for those three parts of our own that the template calls safe.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..._documents.finding import AuditReport, Finding
from ..._documents.fix import describe_fix
from ..._text.amounts import count, duration
from ..rules.catalogue import RULES, SEVERITIES
from .html_history import plots, runs
from .shared import (
    CAUSES,
    SYMBOLS,
    capabilities,
    declared,
    fields,
    harmless,
    help_url,
    moment,
    state,
    verdict,
    word,
    words,
    worst_first,
)

PAGE = Path(__file__).with_name("page")
BELOW = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
INCOMPLETE = {"fail": "not measured fails", "ignore": "not measured is let pass"}
NO_FINDING = ("ok", "not_applicable", "unknown")


def text(report: AuditReport) -> str:
    """The whole page."""
    shown = harmless(report)
    style, script = (_part(name) for name in ("page.css", "page.js"))
    return (
        _environment()
        .get_template("page.html")
        .render(policy=_policy(style, script), style=style, script=script, document=embedded(report), **contents(shown))
    )


def embedded(report: AuditReport) -> str:
    """The document as JSON that ends no element and no comment, wherever a browser may look for one."""
    written = json.dumps(report, separators=(",", ":"))
    return "".join(BELOW.get(character, character) for character in written)


def contents(report: AuditReport) -> dict[str, Any]:
    """What the template shows, by the names that it uses."""
    run, summary = report["run"], report["summary"]
    return {
        "run": run,
        "summary": summary,
        "severities": list(SEVERITIES),
        "verdict": verdict(report),
        "accounts_said": count(summary["accounts"], "account"),
        "time_said": duration(run["seconds"]),
        "missed": [account for account in report["accounts"] if account["state"] == "unknown"],
        "columns": ["account", *map(words, capabilities(report))],
        "rows": list(_matrix(report)),
        "choices": [
            (name, sorted({str(one[name]) for one in report["findings"]})) for name in ("account", "class", "cause")
        ],
        "groups": list(_groups(report["findings"])),
        "plots": plots(report),
        "runs": runs(report),
        "lists": list(_lists(report)),
        "incomplete": INCOMPLETE[run["incomplete"]],
    }


class Cell(NamedTuple):
    """One account's worst in one capability, and the number of the finding that it leads to."""

    state: str
    is_found: bool
    number: int | None


class Row(NamedTuple):
    """One account in the matrix."""

    name: str
    site: str
    cells: list[Cell]


class Listed(NamedTuple):
    """A plain table of entries of the report, by the names of their members."""

    anchor: str
    title: str
    names: Sequence[str]
    entries: Sequence[Mapping[str, object]]


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        word=word,
        words=words,
        moment=moment,
        fields=fields,
        said=describe_fix,
        about=_about,
        symbol=_symbol,
        thousands=_thousands,
    )
    return environment


def _part(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    own = {"style-src": style, "script-src": script}
    parts = [f"{name} 'sha256-{_hash(content)}'" for name, content in own.items()]
    return "; ".join(["default-src 'none'", *parts, "base-uri 'none'", "form-action 'none'"])


def _hash(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _symbol(found: str) -> str:
    return SYMBOLS[found][0]


def _thousands(number: int) -> str:
    return f"{number:,}"


def _matrix(report: AuditReport) -> Iterator[Row]:
    first = _first(report["findings"])
    columns = capabilities(report)
    for account in worst_first(report["accounts"]):
        name = account["name"]
        states = [(state(account, column), first.get((name, column))) for column in columns]
        yield Row(name, account["site"], [Cell(found, found not in NO_FINDING, number) for found, number in states])


def _first(findings: Iterable[Finding]) -> dict[tuple[str, str], int]:
    """The number of the worst finding that counts, for each account and capability."""
    found: dict[tuple[str, str], int] = {}
    for number, finding in enumerate(findings):
        if not finding["waiver"]:
            found.setdefault((finding["account"], finding["capability"]), number)
    return found


def _groups(findings: Iterable[Finding]) -> Iterator[tuple[str, list[tuple[int, Finding]]]]:
    """Each severity that was found, with the findings and their numbers in the report."""
    numbered = list(enumerate(findings))
    for severity in SEVERITIES:
        alike = [(number, finding) for number, finding in numbered if finding["severity"] == severity]
        if alike:
            yield severity, alike


def _about(finding: Finding) -> Iterator[tuple[str, str, str]]:
    """What else there is to say of a finding: name, words, and an address where more is said."""
    waiver, rule = finding["waiver"], RULES.get(finding["rule"])
    yield "rule", f"{finding['rule']}: {rule.title if rule else 'a rule of another version'}", help_url(finding["help"])
    about = {
        "resource": finding["resource"],
        "capability": words(finding["capability"]),
        "class": words(finding["class"]),
        "cause": CAUSES[finding["cause"]],
        "since": finding["since"],
        "declared in": declared(finding),
        "fingerprint": finding["fingerprint"][:23],
    }
    if waiver:
        about["waived"] = f"until {waiver['expires']} by {waiver['by']}: {waiver['justification']} ({waiver['where']})"
    yield from ((name, value, "") for name, value in about.items() if value)


def _lists(report: AuditReport) -> Iterator[Listed]:
    """What is resolved, and the waivers."""
    if report["resolved"]:
        yield Listed("resolved", "Resolved", ("account", "rule", "resource", "since"), report["resolved"])
    if report["waivers"]:
        names = ("state", "rule", "account", "resource", "justification", "by", "expires", "where")
        yield Listed("waivers", "Waivers", names, report["waivers"])
