# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report on a terminal: the worst first, how the accounts compare, the numbers, and what to run next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from .._audit.formats.groups import (
    FindingGroup,
    find_last_start,
    group_findings,
    group_resolved,
    is_recent,
    select_recent,
)
from .._audit.formats.shared import (
    SYMBOLS,
    describe_severities,
    describe_state,
    find_state,
    format_time,
    is_in_order,
    join_in_two_lines,
    list_fixing_commands,
    list_roles,
    list_unwaived,
    make_harmless,
    rank_state,
    sort_accounts,
    spell_out,
)
from .._documents.finding import AuditedAccount, AuditReport
from .._documents.fix import FixPart, describe_fix, manual_steps
from .._input.command_line import describe_options
from .._text.amounts import count, format_duration
from .._text.sanitise import clean_line
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
    list_item,
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
EACH = 24  # lines of findings; with more of them, coarser groups are taken
DIFF = {"+": "added", "-": "removed"}
LOGIN = ("SES-001",)  # why an account is unknown, which is said with its name
ROWS = 12  # with more accounts, the matrix shows those with findings, and at most twice as many
INFOS = 4  # the most facts without a severity that are listed


def text(report: AuditReport, terminal: Terminal | None = None) -> str:
    """The lines as plain text."""
    return "".join(f"{plain(line)}\n" for line in lines(report, terminal or Terminal()))


def lines(report: AuditReport, terminal: Terminal, files: Sequence[str] = (), every: bool = False) -> list[Line]:
    """Return the whole report for a terminal. files: where the report was written. every: all facts."""
    report, output = make_harmless(report), describe_options("audit", "--output", "FOLDER")
    rest = "in the report's files" if files else f"which {output} writes to files"
    if report["run"]["since"] == "last":
        return _changes(report, terminal, files, rest)
    parts = (
        _findings(report, terminal, rest, every),
        _missed(report["accounts"], terminal),
        matrix(report, terminal),
        _last(report, terminal, files),
    )
    out: list[Line] = []
    for part in parts:
        out += [(), *part] if part and out else part
    return out


def _changes(report: AuditReport, terminal: Terminal, files: Sequence[str], rest: str) -> list[Line]:
    """Return what is new, changed or resolved since the last audit; one line if nothing is."""
    last, summary = find_last_start(report), report["summary"]
    if not (summary["new"] or summary["changed"] or summary["resolved"]):
        known = sum(not is_recent(one) for one in list_unwaived(report["findings"]))
        since = (
            f"Nothing new since the last audit ({format_time(last)})"
            if last
            else "There is no earlier audit to compare with"
        )
        out = indented_lines(f"{since}. {count(known, 'finding')} unchanged.", 0, terminal)
        return out + _failures(report, terminal)
    fresh = select_recent(report)
    lost = {one["account"] for one in fresh["findings"] if one["rule"] == "RUN-002"}
    out = _findings(fresh, terminal, rest, every=True) + _resolved(report, terminal)
    out += _missed([account for account in report["accounts"] if account["name"] in lost], terminal)
    return [*out, (), *_last(report, terminal, files)]


def _resolved(report: AuditReport, terminal: Terminal) -> list[Line]:
    """Return what is up to date again."""
    found, out = group_resolved(report["resolved"]), list[Line]()
    for rule, resource, names in found[:EACH]:
        who = names[0] if len(names) == 1 else count(len(names), "account")
        out += labelled_lines(terminal.mark("good"), "resolved", "ok", f"{who}: {resource} ({rule})", terminal)
    left = len(found) - EACH
    return out + (_below(f"and {left:,} more", terminal) if left > 0 else [])


def _findings(report: AuditReport, terminal: Terminal, rest: str, every: bool) -> list[Line]:
    """Return what counts, and with every the facts. rest: where what is not shown can be read."""
    gone = {account["name"] for account in report["accounts"] if account["state"] == "unknown"}
    known = list_unwaived(report["findings"])
    counting = [f for f in known if f["account"] not in gone or (f["class"] != "unknown" and f["rule"] not in LOGIN)]
    found = group_findings([finding for finding in counting if finding["severity"] != "info"], EACH)
    out = [line for group in found[:EACH] for line in _group(group, terminal)]
    left = sum(group.number for group in found[EACH:])
    out += _below(f"and {count(left, 'milder finding')}, {rest}", terminal) if left else []
    facts = [one for one in counting if one["severity"] == "info"]
    shown = [one for one in facts if one["class"] == "unknown" and one["capability"] != "watch"]
    shown += [one for one in facts if one["rule"] == "STP-002"]  # a day that is near
    return out + _infos(group_findings(facts if every else shown, INFOS), terminal, rest)


def _infos(found: Sequence[FindingGroup], terminal: Terminal, rest: str) -> list[Line]:
    """Bare facts: whom they are about, and by which rule."""
    mark, out = SYMBOLS["info"][terminal.ascii], list[Line]()
    for group in found[:INFOS]:
        who = _names(group.accounts, terminal)
        out += labelled_lines(
            mark, "info", STYLES["info"], f"{who}: {group.text.rstrip('.')} ({group.first['rule']})", terminal
        )
    left = sum(group.number for group in found[INFOS:])
    return out + (_below(f"and {left:,} more, {rest}", terminal) if left else [])


def _group(group: FindingGroup, terminal: Terminal) -> Iterator[Line]:
    finding, severity = group.first, group.first["severity"]
    mark, style = SYMBOLS[severity][terminal.ascii], STYLES[severity]
    who = finding["account"] if len(group.accounts) == 1 else count(len(group.accounts), "account")
    yield from labelled_lines(mark, severity, style, f"{who}: {group.text}", terminal)
    place = group.place or (count(group.number, "finding") if group.number > len(group.accounts) else "")
    yield from _below(", ".join(filter(None, (place, finding["rule"], group.since))), terminal)
    if len(group.accounts) > 1:
        yield from _below(_names(group.accounts, terminal), terminal)
    for line in group.diff:
        yield from list_item(line[:1], line[1:], _indent(terminal), terminal, DIFF.get(line[:1], "faint"))
    for part in describe_fix(manual_steps(finding["fix"])):
        yield from indented_lines(clean_line(part.text), _indent(terminal), terminal, "bold")


def _below(said: str, terminal: Terminal) -> list[Line]:
    """Something faint in the column of the text."""
    return indented_lines(said, _indent(terminal), terminal, "faint")


def _indent(terminal: Terminal) -> int:
    """Return the column of the text."""
    return 6 if terminal.width < NARROW else 4 + WORD


def _names(names: Sequence[str], terminal: Terminal) -> str:
    """As many names as fit into two lines, and how many more there are."""
    return fit_names(names, 2 * (terminal.width - 8 - (WORD if terminal.width >= NARROW else 0)))


def _missed(accounts: Sequence[AuditedAccount], terminal: Terminal) -> list[Line]:
    """The accounts that were not measured, each reason once."""
    reasons: dict[tuple[str, tuple[FixPart, ...]], list[str]] = {}
    for account in accounts:
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
    return [line for part in fix for line in show[part.is_command](clean_line(part.text), indent, terminal)]


def matrix(report: AuditReport, terminal: Terminal) -> list[Line]:
    """Return accounts in rows and the roles that apply in columns; of many, the exceptions; of one account, a list."""
    accounts = [account for account in report["accounts"] if account["state"] == "measured"]
    fine = [account for account in accounts if is_in_order(account)] if len(accounts) > ROWS else []
    shown = sort_accounts(account for account in accounts if account not in fine)
    rows, rest = shown[: 2 * ROWS], shown[2 * ROWS :]
    columns = [name for name in list_roles(report) if any(find_state(one, name) != "not_applicable" for one in rows)]
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
    if max(left + 2 * at + count_cells(spell_out(name)) for at, name in enumerate(columns)) > terminal.width:
        return []
    line = "|" if terminal.ascii else "│"
    out: list[Line] = []
    for at, name in enumerate(columns):
        out.append((Span(" " * left + f"{line} " * at, "faint"), Span(spell_out(name))))
    for account in rows:
        spans = [Span(account["name"].ljust(left - count_cells(account["name"]) + len(account["name"])))]
        for name in columns:
            found = find_state(account, name)
            spans += [Span(SYMBOLS[found][terminal.ascii], STYLES[found]), Span(" ")]
        out.append(tuple(spans[:-1]))
    return [*out, *_legend(rows, columns, terminal)]


def _legend(rows: Iterable[AuditedAccount], columns: Sequence[str], terminal: Terminal) -> list[Line]:
    """Return what the symbols that occur stand for."""
    found = sorted({find_state(account, name) for account in rows for name in columns}, key=rank_state)
    said = [Span(f"{SYMBOLS[one][terminal.ascii]} {describe_state(one)}", "faint") for one in found]
    return wrap_spans(tuple(span for one in said for span in (one, Span("   "))), terminal)


def _listed(rows: Iterable[AuditedAccount], terminal: Terminal) -> list[Line]:
    """Return each account with its roles by state, the worst first: for one account, and where no matrix fits."""
    out: list[Line] = []
    for account in rows:
        out.append((Span(account["name"], "bold"),))
        states = account["capabilities"]
        found = sorted(set(states.values()) - {"not_applicable"}, key=rank_state)
        column = max((count_cells(describe_state(one)) for one in found), default=0)
        for one in found:
            text = ", ".join(spell_out(name) for name, cell in states.items() if cell == one)
            out += table_row(SYMBOLS[one][terminal.ascii], STYLES[one], describe_state(one), text, column, terminal)
    return out


def _last(report: AuditReport, terminal: Terminal, files: Sequence[str]) -> list[Line]:
    """Return the numbers, why the run fails, where the report is, and what to run next."""
    summary, run = report["summary"], report["run"]
    head = f"{count(summary['accounts'], 'account')}: {describe_severities(summary['by_severity'])}"
    style = "error" if summary["failed"] else "changed" if any(summary["by_severity"].values()) else "ok"
    took = [format_time(run["started"])] + ([format_duration(run["seconds"])] if run["seconds"] >= 1 else [])
    out = aligned_line((Span(head, style),), ", ".join(took), terminal)
    out += indented_lines(f"{'. '.join(_counts(report))}.", 0, terminal)
    out += _failures(report, terminal)
    if files:
        folder = files[0].rpartition("/")[0] or "."
        out += indented_lines(
            f"Written to {folder}: {', '.join(file.rpartition('/')[2] for file in files)}", 0, terminal
        )
    return out + _next(report, terminal)


def _failures(report: AuditReport, terminal: Terminal) -> list[Line]:
    """Return why the run fails."""
    mark = terminal.mark("bad")
    return [
        line
        for reason in report["summary"]["reasons"]
        for line in labelled_lines(mark, "fails", "error", reason, terminal)
    ]


def _counts(report: AuditReport) -> Iterator[str]:
    summary = report["summary"]
    yield f"{summary['ok']:,} of {count(summary['checks'], 'check')} up to date"
    if summary["unknown"]:
        yield f"{count(summary['unknown'], 'account')} unknown"
    counts = {
        "new": summary["new"],
        "changed": summary["changed"],
        "resolved": summary["resolved"],
        "waived": summary["waived"],
    }
    counts["in the baseline"] = summary["accepted"]
    if said := [f"{number:,} {word}" for word, number in counts.items() if number]:
        yield ", ".join(said)


def _next(report: AuditReport, terminal: Terminal) -> list[Line]:
    """Return the commands that fix the findings, in at most two lines for a shell."""
    commands = [shlex.join(words) + limit(names) for words, names in list_fixing_commands(report)]
    out: list[Line] = [(), *indented_lines("Next:", 0, terminal)] if commands else []
    return out + [line for one in join_in_two_lines(commands) for line in command(one, 2, terminal)]
