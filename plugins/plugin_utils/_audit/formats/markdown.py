# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report in Markdown (GitHub's and GitLab's), for tickets and wikis.

Names, paths and commands stand as code; sentences are escaped, so that nothing in them is a link, a picture, HTML
or somebody's name that is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..._documents.finding import AuditReport, Excuse, Finding, WaiverEntry
from ..._documents.fix import Fix, describe_fix, render_in_one_line
from ..._text.amounts import count
from ..rules.catalogue import SEVERITIES
from .shared import (
    CAUSES,
    SYMBOLS,
    capabilities,
    declared,
    fields,
    harmless,
    help_url,
    in_order,
    moment,
    state,
    unwaived,
    verdict,
    word,
    words,
    worst_first,
)

SPECIAL = re.compile(r"[\\`*_{}\[\]<>|~&$]|:(?=//)|(?<=www)\.")
CALLS = re.compile(r"([@#])(?=\w)")
ROWS = 50
"""With more accounts than this, those that are in order have no row of their own."""


def text(report: AuditReport) -> str:
    """The whole report."""
    report = harmless(report)
    parts = (_head, _matrix, _findings, _waived, _not_measured, _resolved, _run)
    return "\n\n".join(block for part in parts for block in part(report)) + "\n"


def prose(said: str) -> str:
    """A sentence in which nothing means anything to a reader of Markdown."""
    return CALLS.sub(r"\1<!-- -->", SPECIAL.sub(r"\\\g<0>", said))


def code(said: str) -> str:
    """A text that stands as it is, also in a table."""
    fence = "`" * (max(map(len, re.findall("`+", said)), default=0) + 1)
    inner = f" {said} " if said[:1] in ("`", " ") or said[-1:] in ("`", " ") or not said else said
    return f"{fence}{inner}{fence}"


def cell(said: str) -> str:
    """A text in a cell, as it is. A bar would begin the next cell, also in code, and readers escape it differently."""
    if "|" not in said:
        return code(said)
    return "<code>" + "".join(c if c.isalnum() or c in " /" else f"&#{ord(c)};" for c in said) + "</code>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    lines = [heads, ["--:" if at in right else "---" for at in range(len(heads))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _head(report: AuditReport) -> Iterator[str]:
    summary = report["summary"]
    yield f"# Audit: {prose(verdict(report))}"
    yield f"{prose(moment(report['run']['started']))}, {count(summary['accounts'], 'account')}."
    for reason in summary["reasons"]:
        yield f"**Fails:** {prose(reason)}"
    names = [f"{SYMBOLS[name][0]} {name}" for name in SEVERITIES]
    numbers = [f"{summary['by_severity'][name]}" for name in SEVERITIES]
    heads = [*names, "new", "resolved", "waived", "in the baseline", "not measured", "up to date"]
    row = [*numbers, *(f"{summary[name]}" for name in ("new", "resolved", "waived", "accepted", "unknown"))]
    yield _table(heads, [[*row, f"{summary['ok']} of {summary['checks']}"]], range(len(heads)))


def _matrix(report: AuditReport) -> Iterator[str]:
    columns, accounts = capabilities(report), report["accounts"]
    fine = [account for account in accounts if in_order(account)] if len(accounts) > ROWS else []
    names = {account["name"] for account in fine}
    shown = worst_first(account for account in accounts if account["name"] not in names)
    if accounts:
        yield "## Accounts"
    if shown:
        heads = ["account", *(prose(words(name)) for name in columns)]
        rows = [[cell(one["name"]), *(_state(state(one, name)) for name in columns)] for one in shown]
        yield _table(heads, rows)
    if fine:
        yield f"{SYMBOLS['ok'][0]} {count(len(fine), 'account')} in order."


def _state(found: str) -> str:
    return "" if found == "not_applicable" else f"{SYMBOLS[found][0]} {word(found)}"


def _findings(report: AuditReport) -> Iterator[str]:
    found = unwaived(report["findings"])
    if found:
        yield "## Findings"
    for severity in SEVERITIES:
        alike = [finding for finding in found if finding["severity"] == severity]
        if alike:
            yield f"### {SYMBOLS[severity][0]} {severity} ({len(alike)})"
        for finding in alike:
            yield "\n".join(_finding(finding))


def _finding(finding: Finding) -> Iterator[str]:
    """One finding: a list item with all that is known of it."""
    yield f"- **{prose(finding['text'].strip() or '-')}**" + (" (new)" if finding["new"] else "")
    place = f", at {code(finding['place'])}" if finding["place"] else ""
    yield f"  {code(finding['account'])}: {code(finding['resource'])}{place}"
    yield ""
    about = [_rule(finding), words(finding["class"]), CAUSES[finding["cause"]], f"since {prose(finding['since'])}"]
    yield f"  {', '.join(about)}" + (f", declared in {code(declared(finding))}" if declared(finding) else "")
    rows = [[cell(name), cell(wanted), cell(actual)] for name, wanted, actual in fields(finding)]
    if rows:
        yield ""
        yield from (f"  {line}" for line in _table(["", "wanted", "found"], rows).splitlines())
    if finding["fix"]:
        yield ""
        yield f"  Do: {_fix(finding['fix'])}"


def _fix(fix: Fix) -> str:
    return " ".join(code(part.text) if part.is_command else prose(part.text) for part in describe_fix(fix))


def _rule(finding: Finding) -> str:
    url = help_url(finding["help"])
    safe = re.fullmatch(r"[\w:/.#-]+", url)
    return f"[{prose(finding['rule'])}]({url})" if safe else prose(finding["rule"])


def _waived(report: AuditReport) -> Iterator[str]:
    found = [(finding, finding["waiver"]) for finding in report["findings"] if finding["waiver"]]
    if found:
        yield f"## Waived ({len(found)})"
        rows = [[cell(word) for word in _excused(finding, excuse)] for finding, excuse in found]
        yield _table(["account", "rule", "resource", "why", "who", "until", "where"], rows)
    idle = [entry for entry in report["waivers"] if entry["state"] != "used"]
    if idle:
        yield "Waivers that do nothing:"
        rows = [[entry["state"], *(cell(word) for word in _idle(entry))] for entry in idle]
        yield _table(["", "rule", "account", "resource", "until", "where"], rows)


def _excused(finding: Finding, excuse: Excuse) -> tuple[str, ...]:
    about = (finding["account"], finding["rule"], finding["resource"])
    return (*about, excuse["justification"], excuse["by"], excuse["expires"], excuse["where"])


def _idle(entry: WaiverEntry) -> tuple[str, ...]:
    return entry["rule"], entry["account"], entry["resource"], entry["expires"], entry["where"]


def _not_measured(report: AuditReport) -> Iterator[str]:
    missed = [account for account in report["accounts"] if account["state"] == "unknown"]
    if missed:
        yield f"## Not measured ({len(missed)})"
        rows = [
            [cell(one["name"]), cell(one["reason"]), cell(render_in_one_line(one["next"])) if one["next"] else ""]
            for one in missed
        ]
        yield _table(["account", "why", "do"], rows)


def _resolved(report: AuditReport) -> Iterator[str]:
    if report["resolved"]:
        yield f"## Resolved ({len(report['resolved'])})"
        names = ("account", "rule", "resource", "since")
        gone = [(one["account"], one["rule"], one["resource"], one["since"]) for one in report["resolved"]]
        yield _table(names, [[cell(word) for word in one] for one in gone])


def _run(report: AuditReport) -> Iterator[str]:
    run = report["run"]
    limit = f" -l {run['limit']}" if run["limit"] else ""
    tags = f" --tags {','.join(run['tags'])}" if run["tags"] else ""
    yield (
        f"Run {code(run['id'])}: {code(run['playbook'] + limit + tags)}, fails on {run['fail_on']}, "
        f"hpc.onboard {prose(run['tool'])}, ansible-core {prose(run['ansible'])}."
    )
