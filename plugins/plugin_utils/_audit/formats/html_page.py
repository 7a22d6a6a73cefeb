# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as one page that needs nothing else: no network, no program but a browser.

All of it is written here, so it can be read without JavaScript, which only filters. A policy in the page allows
its one style and its one script, by their hashes, and nothing further.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from string import Template

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.html_history import history
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.html_parts import badge, heads, sign, wide
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.shared import (
    CAUSES,
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
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules import RULES, SEVERITIES
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.finding import Finding, Report
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import Fix, said
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.amounts import count, duration

PAGE = Path(__file__).with_name("page")
BELOW = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def text(report: Report) -> str:
    """The whole page."""
    shown = harmless(report)
    style, script = (_part(name) for name in ("page.css", "page.js"))
    return Template(_part("page.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        title=escape(f"Audit {moment(shown['run']['started'])}: {verdict(shown)}"),
        document=embedded(report),
        **_sections(shown),
    )


def embedded(report: Report) -> str:
    """The document as JSON that ends no element and no comment, wherever a browser may look for one."""
    written = json.dumps(report, separators=(",", ":"))
    return "".join(BELOW.get(character, character) for character in written)


def _part(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    own = {"style-src": style, "script-src": script}
    parts = [f"{name} 'sha256-{_hash(content)}'" for name, content in own.items()]
    return "; ".join(["default-src 'none'", *parts, "base-uri 'none'", "form-action 'none'"])


def _hash(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _sections(report: Report) -> dict[str, str]:
    parts = {
        "head": _head,
        "numbers": _numbers,
        "missed": _missed,
        "matrix": _matrix,
        "choices": _choices,
        "findings": _findings,
        "history": history,
        "ledger": _ledger,
        "run": _run,
    }
    return {name: "\n".join(part(report)) for name, part in parts.items()}


def _head(report: Report) -> Iterator[str]:
    run, summary = report["run"], report["summary"]
    yield f"<h1>{escape(verdict(report))}.</h1>"
    said = [moment(run["started"]), count(summary["accounts"], "account"), duration(run["seconds"])]
    yield f'<p class="when">{escape(" · ".join(said))}</p>'
    if summary["failed"]:
        reasons = "; ".join(summary["reasons"]) or "it is not as wanted"
        yield f'<p class="fails"><strong>The audit fails:</strong> {escape(reasons)}.</p>'


def _numbers(report: Report) -> Iterator[str]:
    summary = report["summary"]
    for severity in SEVERITIES:
        number = summary["by_severity"][severity]
        yield f'<div class="{severity}{"" if number else " none"}"><dt>{badge(severity)}</dt><dd>{number:,}</dd></div>'
    for name, number in (("new", summary["new"]), ("resolved", summary["resolved"]), ("waived", summary["waived"])):
        yield f'<div class="more{"" if number else " none"}"><dt>{name}</dt><dd>{number:,}</dd></div>'
    as_wanted = f'{summary["ok"]:,}<span class="of"> of {summary["checks"]:,}</span>'
    yield f'<div class="more"><dt>checks as wanted</dt><dd>{as_wanted}</dd></div>'


def _missed(report: Report) -> Iterator[str]:
    missed = [account for account in report["accounts"] if account["state"] == "not_measured"]
    if not missed:
        return
    yield '<section aria-labelledby="missed"><h2 id="missed">Not measured</h2><ul class="missed">'
    for account in missed:
        reason = escape(account["reason"] or "No reason was given.")
        yield f"<li>{badge('not_measured')} <strong>{escape(account['name'])}</strong> <span>{reason}</span>"
        yield f"{_fix(account['next'])}</li>"
    yield "</ul></section>"


def _matrix(report: Report) -> Iterator[str]:
    columns = capabilities(report)
    if not report["accounts"]:
        yield "<p>No account was looked at.</p>"
        return
    first = _first(report["findings"])
    caption = '<caption class="unseen">The worst of each capability on each account</caption>'
    yield f'<table class="matrix">{caption}{heads(["account", *(escape(words(name)) for name in columns)])}<tbody>'
    for account in worst_first(report["accounts"]):
        name = account["name"]
        cells = (_cell(state(account, column), first.get((name, column))) for column in columns)
        yield f'<tr><th scope="row" title="{escape(account["site"])}">{escape(name)}</th>{"".join(cells)}</tr>'
    yield "</tbody></table>"


def _first(findings: Iterable[Finding]) -> dict[tuple[str, str], int]:
    """The number of the worst finding that counts, for each account and capability."""
    found: dict[tuple[str, str], int] = {}
    for number, finding in enumerate(findings):
        if not finding["waiver"]:
            found.setdefault((finding["account"], finding["capability"]), number)
    return found


def _cell(found: str, number: int | None) -> str:
    if found in ("ok", "not_applicable", "not_measured"):
        return f'<td class="{found}">{sign(found)}<span class="unseen">{word(found)}</span></td>'
    said = badge(found)
    return f'<td class="{found}">{said if number is None else f"""<a href="#f{number}">{said}</a>"""}</td>'


def _choices(report: Report) -> Iterator[str]:
    findings = report["findings"]
    yield '<fieldset><legend>Severity</legend><div class="boxes">'
    for severity in SEVERITIES:
        yield f'<label><input type="checkbox" name="severity" value="{severity}" checked>{badge(severity)}</label>'
    yield "</div></fieldset>"
    for name in ("account", "class", "cause"):
        values = sorted({finding[name] for finding in findings})
        said = values if name == "account" else [words(value) for value in values]
        pairs = zip(values, said, strict=True)
        options = "".join(f'<option value="{escape(value)}">{escape(shown)}</option>' for value, shown in pairs)
        every = f'<option value="">all</option>{options}'
        yield f'<label class="choice">{name.capitalize()}<select name="{name}">{every}</select></label>'


def _findings(report: Report) -> Iterator[str]:
    findings = report["findings"]
    if not findings:
        yield '<p class="quiet">Nothing was found.</p>'
    numbered = list(enumerate(findings))
    for severity in SEVERITIES:
        alike = [(number, finding) for number, finding in numbered if finding["severity"] == severity]
        if alike:
            many = f'<span class="many">{len(alike):,}</span>'
            yield f'<section class="group"><h3>{badge(severity)} {many}</h3><ol class="list">'
            for number, finding in alike:
                yield from _finding(number, finding)
            yield "</ol></section>"


def _finding(number: int, finding: Finding) -> Iterator[str]:
    waiver, new = finding["waiver"], finding["baseline"] == "new"
    known = {name: finding[name] for name in ("severity", "account", "class", "cause")}
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in known.items())
    flags = (" data-waived" if waiver else "") + (" data-new" if new else "")
    tags = "".join(f'<span class="tag">{name}</span>' for name, is_so in (("new", new), ("waived", waiver)) if is_so)
    place = f"<code>{escape(finding['place'])}</code>" if finding["place"] else ""
    yield f'<li id="f{number}"{data}{flags}><details><summary>{sign(finding["severity"])}'
    yield f'<span class="who">{escape(finding["account"])}</span>'
    yield f'<span class="what">{escape(finding["text"])} {tags}</span>'
    yield f'<span class="where"><span class="rule">{finding["rule"]}</span> {place}</span></summary><div class="body">'
    yield f"{_table(finding)}{_fix(finding['fix'])}<dl>{''.join(_about(finding))}</dl></div></details></li>"


def _table(finding: Finding) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{_value(wanted)}</td><td>{_value(actual)}</td></tr>'
        for name, wanted, actual in fields(finding)
    )
    head = heads(("field", "wanted", "found"))
    return f'<table class="states">{head}<tbody>{rows}</tbody></table>' if rows else ""


def _value(value: str) -> str:
    return f"<code>{escape(value)}</code>" if value else '<span class="quiet">nothing</span>'


def _fix(fix: Fix) -> str:
    """What to do; a command can be copied, where there is a script to do it."""
    button = '<button type="button" class="copy">Copy</button>'
    forms = {True: f'<p class="fix command"><code>%s</code>{button}</p>', False: '<p class="fix">%s</p>'}
    return "".join(forms[part.is_command] % escape(part.text) for part in said(fix))


def _about(finding: Finding) -> Iterator[str]:
    url, waiver = help_url(finding["help"]), finding["waiver"]
    rule = RULES.get(finding["rule"])
    title = f"{finding['rule']}: {rule.title if rule else 'a rule of another version'}"
    link = f'<a href="{escape(url)}" rel="noreferrer">{escape(title)}</a>' if url else escape(title)
    yield f"<div><dt>rule</dt><dd>{link}</dd></div>"
    said = {
        "resource": finding["resource"],
        "capability": words(finding["capability"]),
        "class": words(finding["class"]),
        "cause": CAUSES[finding["cause"]],
        "since": finding["since"],
        "declared in": declared(finding),
        "fingerprint": finding["fingerprint"][:23],
    }
    if waiver:
        said["waived"] = f"until {waiver['expires']} by {waiver['by']}: {waiver['justification']} ({waiver['where']})"
    yield from (f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in said.items() if value)


def _ledger(report: Report) -> Iterator[str]:
    """What is resolved, and the waivers."""
    if report["resolved"]:
        yield from _listed("resolved", "Resolved", ("account", "rule", "resource", "since"), report["resolved"])
    if report["waivers"]:
        names = ("state", "rule", "account", "resource", "justification", "by", "expires", "where")
        yield from _listed("waivers", "Waivers", names, report["waivers"])


def _listed(anchor: str, title: str, names: tuple[str, ...], entries: Iterable[Mapping[str, object]]) -> Iterator[str]:
    rows = ("".join(f"<td>{escape(str(entry[name]))}</td>" for name in names) for entry in entries)
    yield f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{title}</h2>'
    yield from wide(title, "plain", names, rows)
    yield "</section>"


def _run(report: Report) -> Iterator[str]:
    run = report["run"]
    limit = f" -l {run['limit']}" if run["limit"] else ""
    tags = f" --tags {','.join(run['tags'])}" if run["tags"] else ""
    incomplete = {"fail": "not measured fails", "ignore": "not measured is let pass"}[run["incomplete"]]
    said = (
        run["playbook"] + limit + tags,
        f"fails on {run['fail_on']}",
        incomplete,
        f"exit {report['summary']['exit']}",
    )
    yield f"<p><code>{escape(said[0])}</code>, {escape(', '.join(said[1:]))}</p>"
    yield f"<p>hpc.onboard {escape(run['tool'])}, ansible-core {escape(run['ansible'])}, run {escape(run['id'])}</p>"
