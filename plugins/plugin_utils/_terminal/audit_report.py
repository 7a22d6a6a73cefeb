# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report on a terminal: the worst first, how the accounts compare, the numbers, and what to run next."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .._audit.formats.shared import (
    SYMBOLS,
    capabilities,
    harmless,
    in_order,
    moment,
    rank,
    severities,
    state,
    unwaived,
    word,
    words,
    worst_first,
)
from .._audit.rules import RULES
from .._documents.finding import AuditedAccount, AuditReport, Finding
from .._documents.fix import FixPart, describe_fix
from .._text.amounts import count, duration
from .._text.sanitise import flat
from .layout import NARROW, WORD, Line, Look, Span, broken, cells, command, ended, indented, plain, told

STYLES = {
    "critical": "error",
    "high": "error",
    "medium": "changed",
    "low": "note",
    "info": "faint",
    "ok": "ok",
    "not_applicable": "faint",
    "unknown": "error",
}
EACH = 24
"""With more findings than this, those of one rule are told together."""
ROWS = 12
"""With more accounts than this, the matrix shows those with findings; and of these no more than twice as many."""
INFOS = 4
"""More bare facts than this nobody reads each time."""
IN_FILES, NO_FILES = "in the report's files", "which -e audit_output=FOLDER writes into files"
NEXT = 4
"""More commands than this nobody runs one by one."""


def text(report: AuditReport, look: Look | None = None) -> str:
    """The lines as plain text."""
    return "".join(f"{plain(line)}\n" for line in lines(report, look or Look()))


def lines(report: AuditReport, look: Look, files: Sequence[str] = ()) -> list[Line]:
    """All of it, for a terminal of that look. files: where the report was written."""
    report, rest = harmless(report), IN_FILES if files else NO_FILES
    parts = (_findings(report, look, rest), _missed(report, look), matrix(report, look), _last(report, look, files))
    out: list[Line] = []
    for part in parts:
        out += [(), *part] if part and out else part
    return out


class Group(NamedTuple):
    """Findings that are told together, the worst of them first: their accounts, and what all of them share."""

    first: Finding
    number: int
    names: list[str]
    text: str
    place: str
    since: str


def groups(findings: Sequence[Finding]) -> list[Group]:
    """The findings in their order: what is the same on several accounts once, and where there are many, by rule."""
    many = len(findings) > EACH

    def same(finding: Finding) -> Hashable:
        own = () if many else tuple(finding[name] for name in ("resource", "place", "text"))
        return (finding["severity"], finding["rule"], *own)

    found: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        found.setdefault(same(finding), []).append(finding)
    return [_grouped(alike) for alike in found.values()]


def _grouped(alike: Sequence[Finding]) -> Group:
    first = alike[0]
    names = list(dict.fromkeys(finding["account"] for finding in alike))
    text = _shared([finding["text"] for finding in alike]) or f"{RULES[first['rule']].title}."
    place = _shared([finding["place"] or finding["resource"] for finding in alike])
    since = _shared(["new" if one["new"] else f"since {one['since']}" for one in alike])
    number = len(alike)
    return Group(first, number, names, text, place or (count(number, "finding") if number > len(names) else ""), since)


def _shared(texts: Sequence[str]) -> str:
    """What all of them say, or nothing."""
    return texts[0] if len(set(texts)) == 1 else ""


def _findings(report: AuditReport, look: Look, rest: str) -> list[Line]:
    """What counts, then bare facts in a line each; accounts that were not measured come by themselves.

    rest: where what is not told can be read.
    """
    gone = {account["name"] for account in report["accounts"] if account["state"] == "unknown"}
    counting = [
        finding
        for finding in unwaived(report["findings"])
        if not (finding["account"] in gone and finding["class"] == "unknown")
    ]
    found = groups([finding for finding in counting if finding["severity"] != "info"])
    out = [line for group in found[:EACH] for line in _group(group, look)]
    left = sum(group.number for group in found[EACH:])
    out += _below(f"and {count(left, 'milder finding')}, {rest}", look) if left else []
    return out + _infos(groups([finding for finding in counting if finding["severity"] == "info"]), look, rest)


def _infos(found: Sequence[Group], look: Look, rest: str) -> list[Line]:
    """Bare facts: whom they are about, and by which rule."""
    mark, out = SYMBOLS["info"][look.ascii], list[Line]()
    for group in found[:INFOS]:
        who = _names(group.names, look)
        out += told(mark, "info", STYLES["info"], f"{who}: {group.text.rstrip('.')} ({group.first['rule']})", look)
    left = sum(group.number for group in found[INFOS:])
    return out + (_below(f"and {left:,} more, {rest}", look) if left else [])


def _group(group: Group, look: Look) -> Iterator[Line]:
    finding, severity = group.first, group.first["severity"]
    mark, style = SYMBOLS[severity][look.ascii], STYLES[severity]
    who = finding["account"] if group.number == 1 else count(len(group.names), "account")
    yield from told(mark, severity, style, f"{who}: {group.text}", look)
    about = [finding["rule"], *([group.since] if group.since else [])]
    yield from _below(", ".join([*([group.place] if group.place else []), *about]), look)
    if group.number > 1:
        yield from _below(_names(group.names, look), look)


def _below(said: str, look: Look) -> list[Line]:
    """Something faint in the column of the text."""
    return indented(said, 6 if look.width < NARROW else 4 + WORD, look, "faint")


def _names(names: Sequence[str], look: Look) -> str:
    """As many names as fit into two lines, and how many more there are."""
    room = 2 * (look.width - 8 - (WORD if look.width >= NARROW else 0)) - len(" and 999 others")
    shown = list(names[:1])
    for name in names[1:]:
        if cells(", ".join([*shown, name])) > room:
            break
        shown.append(name)
    others = len(names) - len(shown)
    return ", ".join(shown) + (f" and {count(others, 'other')}" if others else "")


def _missed(report: AuditReport, look: Look) -> list[Line]:
    """The accounts that were not measured, each reason once."""
    reasons: dict[tuple[str, tuple[FixPart, ...]], list[str]] = {}
    for account in report["accounts"]:
        if account["state"] == "unknown":
            reasons.setdefault((account["reason"], tuple(describe_fix(account["next"]))), []).append(account["name"])
    out: list[Line] = []
    for (reason, then), names in reasons.items():
        heading = (Span(f"{look.mark('bad')} not measured", "error"), Span("  "), Span(_names(names, look), "bold"))
        out += broken(heading, look) + indented(reason or "No reason was given.", 4, look)
        out += _to_do(then, 4, look)
    return out


def _to_do(fix: Iterable[FixPart], indent: int, look: Look) -> list[Line]:
    show = {True: command, False: indented}
    return [line for part in fix for line in show[part.is_command](flat(part.text), indent, look)]


def matrix(report: AuditReport, look: Look) -> list[Line]:
    """Accounts in rows and capabilities in columns, each named on a step above its own; many accounts by exception."""
    columns = capabilities(report)
    accounts = [account for account in report["accounts"] if account["state"] == "measured"]
    fine = [account for account in accounts if in_order(account)] if len(accounts) > ROWS else []
    shown = worst_first(account for account in accounts if account not in fine)
    rows, rest = shown[: 2 * ROWS], shown[2 * ROWS :]
    out = (_steps(rows, columns, look) or _listed(rows, look)) if columns and rows else []
    if rest:
        out += indented(f"and {count(len(rest), 'other')} with findings", 0, look, "faint")
    if fine:
        many = f"{len(fine):,} others are in order" if rows else f"{count(len(fine), 'account')}, all in order"
        out.append((Span(look.mark("good"), "ok"), Span(f" {'and ' if rows else ''}{many}")))
    return out


def _steps(rows: Sequence[AuditedAccount], columns: Sequence[str], look: Look) -> list[Line]:
    """The matrix, where it fits."""
    left = max(cells(account["name"]) for account in rows) + 2
    if max(left + 2 * at + cells(words(name)) for at, name in enumerate(columns)) > look.width:
        return []
    line = "|" if look.ascii else "│"
    out: list[Line] = []
    for at, name in enumerate(columns):
        out.append((Span(" " * left + f"{line} " * at, "faint"), Span(words(name))))
    for account in rows:
        spans = [Span(account["name"].ljust(left - cells(account["name"]) + len(account["name"])))]
        for name in columns:
            found = state(account, name)
            spans += [Span(SYMBOLS[found][look.ascii], STYLES[found]), Span(" ")]
        out.append(tuple(spans[:-1]))
    return [*out, *_legend(rows, columns, look)]


def _legend(rows: Iterable[AuditedAccount], columns: Sequence[str], look: Look) -> list[Line]:
    """What the symbols that occur stand for."""
    found = sorted({state(account, name) for account in rows for name in columns}, key=rank)
    said = [Span(f"{SYMBOLS[one][look.ascii]} {word(one)}", "faint") for one in found]
    return broken(tuple(span for one in said for span in (one, Span("   "))), look)


def _listed(rows: Iterable[AuditedAccount], look: Look) -> list[Line]:
    """Where the matrix does not fit: each account with what is not in order."""
    out: list[Line] = []
    for account in rows:
        bad = [
            (name, found) for name, found in account["capabilities"].items() if found not in ("ok", "not_applicable")
        ]
        out += broken((Span(account["name"], "bold"), *([] if bad else [Span("  "), Span("ok", "ok")])), look)
        for name, found in sorted(bad, key=lambda one: rank(one[1])):
            head = Span(f"  {SYMBOLS[found][look.ascii]} {word(found)}", STYLES[found])
            out += broken((head, Span("  "), Span(words(name))), look)
    return out


def _last(report: AuditReport, look: Look, files: Sequence[str]) -> list[Line]:
    """The numbers, why it fails, where it is written, and what to run next."""
    summary, run = report["summary"], report["run"]
    head = f"{count(summary['accounts'], 'account')}: {severities(summary['by_severity'])}"
    style = "error" if summary["failed"] else "changed" if any(summary["by_severity"].values()) else "ok"
    took = [moment(run["started"])] + ([duration(run["seconds"])] if run["seconds"] >= 1 else [])
    out = ended((Span(head, style),), ", ".join(took), look)
    out += indented(f"{'. '.join(_counts(report))}.", 0, look)
    for reason in summary["reasons"]:
        out += told(look.mark("bad"), "fails", "error", reason, look)
    if files:
        folder = files[0].rpartition("/")[0] or "."
        out += indented(f"Written to {folder}: {', '.join(file.rpartition('/')[2] for file in files)}", 0, look)
    return out + _next(report, look, IN_FILES if files else NO_FILES)


def _counts(report: AuditReport) -> Iterator[str]:
    summary = report["summary"]
    yield f"{summary['ok']:,} of {count(summary['checks'], 'check')} up to date"
    if summary["unknown"]:
        yield f"{count(summary['unknown'], 'account')} not measured"
    counts = {"new": summary["new"], "resolved": summary["resolved"], "waived": summary["waived"]}
    counts["in the baseline"] = summary["accepted"]
    if said := [f"{number:,} {word}" for word, number in counts.items() if number]:
        yield ", ".join(said)


def _next(report: AuditReport, look: Look, rest: str) -> list[Line]:
    """What fixes the worst: each command or sentence once."""
    missed = [tuple(describe_fix(one["next"])) for one in report["accounts"] if one["state"] == "unknown"]
    findings = [finding for finding in unwaived(report["findings"]) if finding["severity"] != "info"]
    every = dict.fromkeys(tuple(describe_fix(finding["fix"])) for finding in findings)
    fixes = [fix for fix in every if fix and fix not in missed]
    if not fixes:
        return []
    out: list[Line] = [(), *indented("Next:", 0, look)]
    for fix in fixes[:NEXT]:
        out += _to_do(fix, 2, look)
    left = len(fixes) - NEXT
    return out + (indented(f"and {left:,} more, {rest}", 2, look, "faint") if left > 0 else [])
