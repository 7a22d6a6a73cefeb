# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report on a terminal: the worst first, how the accounts compare, the numbers, and what to run next."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .._audit.formats.shared import (
    SYMBOLS,
    capabilities,
    fixing_commands,
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
from .._audit.rules.catalogue import RULES
from .._documents.finding import AuditedAccount, AuditReport, Finding
from .._documents.fix import FixPart, describe_fix, manual_steps
from .._input.command_line import describe_options
from .._text.amounts import count, duration
from .._text.sanitise import flat
from .layout import (
    NARROW,
    WORD,
    Line,
    Span,
    Terminal,
    aligned_line,
    command,
    count_cells,
    fit_names,
    indented_lines,
    labelled_lines,
    plain,
    table_row,
    wrap_spans,
)
from .summary import limit

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
EACH = 24  # with more findings, those of one rule are one line
LOGIN = ("SES-001",)  # why an account is unknown, which is said with its name
NEXT = 2  # the most commands that are listed
ROWS = 12  # with more accounts, the matrix shows those with findings, and at most twice as many
INFOS = 4  # the most facts without a severity that are listed


def text(report: AuditReport, terminal: Terminal | None = None) -> str:
    """The lines as plain text."""
    return "".join(f"{plain(line)}\n" for line in lines(report, terminal or Terminal()))


def lines(report: AuditReport, terminal: Terminal, files: Sequence[str] = (), every: bool = False) -> list[Line]:
    """Return the whole report for a terminal. files: where the report was written. every: all facts."""
    report, output = harmless(report), describe_options("audit", "--output", "FOLDER")
    rest = "in the report's files" if files else f"which {output} writes into files"
    parts = (
        _findings(report, terminal, rest, every),
        _missed(report, terminal),
        matrix(report, terminal),
        _last(report, terminal, files, rest),
    )
    out: list[Line] = []
    for part in parts:
        out += [(), *part] if part and out else part
    return out


class FindingGroup(NamedTuple):
    """Findings that are told together, the worst of them first: their accounts, and what all of them share."""

    first: Finding
    number: int
    names: list[str]
    text: str
    place: str
    since: str


def groups(findings: Sequence[Finding]) -> list[FindingGroup]:
    """The findings in their order: what is the same on several accounts once, and where there are many, by rule."""
    many = len(findings) > EACH

    def same(finding: Finding) -> Hashable:
        own = () if many else tuple(finding[name] for name in ("resource", "place", "text"))
        return (finding["severity"], finding["rule"], *own)

    found: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        found.setdefault(same(finding), []).append(finding)
    return [_grouped(alike) for alike in found.values()]


def _grouped(alike: Sequence[Finding]) -> FindingGroup:
    first = alike[0]
    names = list(dict.fromkeys(finding["account"] for finding in alike))
    text = _shared([finding["text"] for finding in alike]) or f"{RULES[first['rule']].title}."
    place = _shared([finding["place"] or finding["resource"] for finding in alike])
    since = _shared(["new" if one["new"] else f"since {one['since']}" for one in alike])
    number = len(alike)
    return FindingGroup(
        first, number, names, text, place or (count(number, "finding") if number > len(names) else ""), since
    )


def _shared(texts: Sequence[str]) -> str:
    """What all of them say, or nothing."""
    return texts[0] if len(set(texts)) == 1 else ""


def _findings(report: AuditReport, terminal: Terminal, rest: str, every: bool) -> list[Line]:
    """Return what counts, and with every the facts. rest: where what is not shown can be read."""
    gone = {account["name"] for account in report["accounts"] if account["state"] == "unknown"}
    known = unwaived(report["findings"])
    counting = [f for f in known if f["account"] not in gone or (f["class"] != "unknown" and f["rule"] not in LOGIN)]
    found = groups([finding for finding in counting if finding["severity"] != "info"])
    out = [line for group in found[:EACH] for line in _group(group, terminal)]
    left = sum(group.number for group in found[EACH:])
    out += _below(f"and {count(left, 'milder finding')}, {rest}", terminal) if left else []
    facts = [one for one in counting if one["severity"] == "info"]
    shown = [one for one in facts if one["class"] == "unknown" and one["capability"] != "watch"]
    shown += [one for one in facts if one["rule"] == "STP-002"]  # a day that is near
    return out + _infos(groups(facts if every else shown), terminal, rest)


def _infos(found: Sequence[FindingGroup], terminal: Terminal, rest: str) -> list[Line]:
    """Bare facts: whom they are about, and by which rule."""
    mark, out = SYMBOLS["info"][terminal.ascii], list[Line]()
    for group in found[:INFOS]:
        who = _names(group.names, terminal)
        out += labelled_lines(
            mark, "info", STYLES["info"], f"{who}: {group.text.rstrip('.')} ({group.first['rule']})", terminal
        )
    left = sum(group.number for group in found[INFOS:])
    return out + (_below(f"and {left:,} more, {rest}", terminal) if left else [])


def _group(group: FindingGroup, terminal: Terminal) -> Iterator[Line]:
    finding, severity = group.first, group.first["severity"]
    mark, style = SYMBOLS[severity][terminal.ascii], STYLES[severity]
    who = finding["account"] if group.number == 1 else count(len(group.names), "account")
    yield from labelled_lines(mark, severity, style, f"{who}: {group.text}", terminal)
    about = [finding["rule"], *([group.since] if group.since else [])]
    yield from _below(", ".join([*([group.place] if group.place else []), *about]), terminal)
    if group.number > 1:
        yield from _below(_names(group.names, terminal), terminal)
    for part in describe_fix(manual_steps(finding["fix"])):
        yield from indented_lines(flat(part.text), 6 if terminal.width < NARROW else 4 + WORD, terminal, "bold")


def _below(said: str, terminal: Terminal) -> list[Line]:
    """Something faint in the column of the text."""
    return indented_lines(said, 6 if terminal.width < NARROW else 4 + WORD, terminal, "faint")


def _names(names: Sequence[str], terminal: Terminal) -> str:
    """As many names as fit into two lines, and how many more there are."""
    return fit_names(names, 2 * (terminal.width - 8 - (WORD if terminal.width >= NARROW else 0)))


def _missed(report: AuditReport, terminal: Terminal) -> list[Line]:
    """The accounts that were not measured, each reason once."""
    reasons: dict[tuple[str, tuple[FixPart, ...]], list[str]] = {}
    for account in report["accounts"]:
        if account["state"] == "unknown":
            reasons.setdefault((account["reason"], tuple(describe_fix(account["next"]))), []).append(account["name"])
    out: list[Line] = []
    for (reason, then), names in reasons.items():
        mark = Span(f"{terminal.mark('bad')} unknown", "error")
        heading = (mark, Span("  "), Span(_names(names, terminal), "bold"))
        out += wrap_spans(heading, terminal) + indented_lines(reason or "No reason was given.", 4, terminal)
        out += _to_do(then, 4, terminal)
    return out


def _to_do(fix: Iterable[FixPart], indent: int, terminal: Terminal) -> list[Line]:
    show = {True: command, False: indented_lines}
    return [line for part in fix for line in show[part.is_command](flat(part.text), indent, terminal)]


def matrix(report: AuditReport, terminal: Terminal) -> list[Line]:
    """Return accounts in rows and the roles that apply in columns; of many, the exceptions; of one account, a list."""
    accounts = [account for account in report["accounts"] if account["state"] == "measured"]
    fine = [account for account in accounts if in_order(account)] if len(accounts) > ROWS else []
    shown = worst_first(account for account in accounts if account not in fine)
    rows, rest = shown[: 2 * ROWS], shown[2 * ROWS :]
    columns = [name for name in capabilities(report) if any(state(one, name) != "not_applicable" for one in rows)]
    drawn = _steps(rows, columns, terminal) if columns and len(accounts) > 1 else []
    out = drawn or _listed(rows, terminal)
    if rest:
        out += indented_lines(f"and {count(len(rest), 'other')} with findings", 0, terminal, "faint")
    if fine:
        many = f"{len(fine):,} others are in order" if rows else f"{count(len(fine), 'account')}, all in order"
        out.append((Span(terminal.mark("good"), "ok"), Span(f" {'and ' if rows else ''}{many}")))
    return out


def _steps(rows: Sequence[AuditedAccount], columns: Sequence[str], terminal: Terminal) -> list[Line]:
    """The matrix, where it fits."""
    left = max(count_cells(account["name"]) for account in rows) + 2
    if max(left + 2 * at + count_cells(words(name)) for at, name in enumerate(columns)) > terminal.width:
        return []
    line = "|" if terminal.ascii else "│"
    out: list[Line] = []
    for at, name in enumerate(columns):
        out.append((Span(" " * left + f"{line} " * at, "faint"), Span(words(name))))
    for account in rows:
        spans = [Span(account["name"].ljust(left - count_cells(account["name"]) + len(account["name"])))]
        for name in columns:
            found = state(account, name)
            spans += [Span(SYMBOLS[found][terminal.ascii], STYLES[found]), Span(" ")]
        out.append(tuple(spans[:-1]))
    return [*out, *_legend(rows, columns, terminal)]


def _legend(rows: Iterable[AuditedAccount], columns: Sequence[str], terminal: Terminal) -> list[Line]:
    """What the symbols that occur stand for."""
    found = sorted({state(account, name) for account in rows for name in columns}, key=rank)
    said = [Span(f"{SYMBOLS[one][terminal.ascii]} {word(one)}", "faint") for one in found]
    return wrap_spans(tuple(span for one in said for span in (one, Span("   "))), terminal)


def _listed(rows: Iterable[AuditedAccount], terminal: Terminal) -> list[Line]:
    """Return each account with its roles by state, the worst first: for one account, and where no matrix fits."""
    out: list[Line] = []
    for account in rows:
        out.append((Span(account["name"], "bold"),))
        states = account["capabilities"]
        found = sorted(set(states.values()) - {"not_applicable"}, key=rank)
        column = max((count_cells(word(one)) for one in found), default=0)
        for one in found:
            text = ", ".join(words(name) for name, cell in states.items() if cell == one)
            out += table_row(SYMBOLS[one][terminal.ascii], STYLES[one], word(one), text, column, terminal)
    return out


def _last(report: AuditReport, terminal: Terminal, files: Sequence[str], rest: str) -> list[Line]:
    """Return the numbers, why the run fails, where the report is, and what to run next."""
    summary, run = report["summary"], report["run"]
    head = f"{count(summary['accounts'], 'account')}: {severities(summary['by_severity'])}"
    style = "error" if summary["failed"] else "changed" if any(summary["by_severity"].values()) else "ok"
    took = [moment(run["started"])] + ([duration(run["seconds"])] if run["seconds"] >= 1 else [])
    out = aligned_line((Span(head, style),), ", ".join(took), terminal)
    out += indented_lines(f"{'. '.join(_counts(report))}.", 0, terminal)
    for reason in summary["reasons"]:
        out += labelled_lines(terminal.mark("bad"), "fails", "error", reason, terminal)
    if files:
        folder = files[0].rpartition("/")[0] or "."
        out += indented_lines(
            f"Written to {folder}: {', '.join(file.rpartition('/')[2] for file in files)}", 0, terminal
        )
    return out + _next(report, terminal, rest)


def _counts(report: AuditReport) -> Iterator[str]:
    summary = report["summary"]
    yield f"{summary['ok']:,} of {count(summary['checks'], 'check')} up to date"
    if summary["unknown"]:
        yield f"{count(summary['unknown'], 'account')} unknown"
    counts = {"new": summary["new"], "resolved": summary["resolved"], "waived": summary["waived"]}
    counts["in the baseline"] = summary["accepted"]
    if said := [f"{number:,} {word}" for word, number in counts.items() if number]:
        yield ", ".join(said)


def _next(report: AuditReport, terminal: Terminal, rest: str) -> list[Line]:
    """Return the commands that fix most findings."""
    commands = fixing_commands(report)
    out: list[Line] = [(), *indented_lines("Next:", 0, terminal)] if commands else []
    for one, names in commands[:NEXT]:
        out += command(shlex.join(one) + limit(names), 2, terminal)
    left = len(commands) - NEXT
    return out + (indented_lines(f"and {left:,} more, {rest}", 2, terminal, "faint") if left > 0 else [])
