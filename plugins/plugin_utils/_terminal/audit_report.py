# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of an audit on a terminal: findings by severity, a matrix of accounts and roles, totals, next commands.

A finding is a problem that a rule of the audit has found on an account. Its class is unknown if the rule could not be
checked; its capability is a role. Equal findings form a group. An account is unknown if it was not audited, else it is
measured. The user has accepted the waived findings. A finding is resolved if only the last audit before has found it.
where_rest is a sentence that says where the user can read the findings that are not listed. files: the report files.
"""

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
    describe_expired_waivers,
    describe_severities,
    describe_state,
    escape_invisible,
    find_state,
    format_time,
    is_in_order,
    join_in_two_lines,
    list_fixing_commands,
    list_roles,
    list_unwaived,
    rank_state,
    sort_accounts,
    spell_out,
)
from .._documents.finding import AuditedAccount, AuditReport
from .._documents.fix import FixPart, describe_fix, manual_steps
from .._input.command_line import describe_options
from .._text.amounts import count, describe_duration
from .._text.cells import count_cells, fit_names
from .._text.sanitise import clean_line
from .difference import finding_diff_lines
from .layout import (
    NARROW,
    WORD,
    Line,
    Span,
    Terminal,
    aligned_line,
    indented_lines,
    labelled_lines,
    limit_option,
    table_row,
    text_column,
    wrap_command,
    wrap_spans,
)

STYLES = {  # severity of a finding, or other state of a role on an account -> style
    "critical": "error",
    "high": "error",
    "medium": "changed",
    "low": "note",
    "info": "faint",
    "ok": "ok",
    "not_applicable": "faint",
    "unknown": "error",
}
MOST_GROUPS = 24  # of findings; with more of them, findings are grouped more coarsely
LOGIN_RULES = ("SES-001",)  # the reason why an account is unknown, which is shown with its name
MOST_ROWS = 12  # with more accounts, the matrix shows only those with findings, at most twice this number
MOST_INFOS = 4  # findings of severity info that are listed


def report_lines(report: AuditReport, terminal: Terminal, files: Sequence[str] = (), every: bool = False) -> list[Line]:
    """Return the lines of a report. files: the report files. every: also list all findings of severity info."""
    report = escape_invisible(report)
    option = describe_options("audit", "--output", "FOLDER")
    where_rest = "The report files list all findings." if files else f"To write all findings to files, use {option}."
    if report["run"]["since"] == "last":  # the option --since last
        return _change_lines(report, terminal, files, where_rest)
    parts = (
        _finding_lines(report, terminal, where_rest, every),
        _unknown_account_lines(report["accounts"], terminal),
        _matrix_lines(report, terminal),
        _closing_lines(report, terminal, files),
    )
    lines: list[Line] = [line for part in parts if part for line in ((), *part)]
    return lines[1:]  # the other parts begin with an empty line


def _change_lines(report: AuditReport, terminal: Terminal, files: Sequence[str], where_rest: str) -> list[Line]:
    """Return the new, changed and resolved findings since the last audit; a sentence if no finding differs."""
    last, summary = find_last_start(report), report["summary"]  # last: the start of the audit before this one
    if not (summary["new"] or summary["changed"] or summary["resolved"]):
        unchanged = count(sum(not is_recent(finding) for finding in list_unwaived(report["findings"])), "finding")
        since = f"Nothing new since the last audit ({format_time(last)})" if last else "No earlier audit was found"
        return indented_lines(f"{since}. {unchanged} unchanged.", 0, terminal) + _failure_lines(report, terminal)
    recent = select_recent(report)  # the report with only the new and changed findings
    unknown = {finding["account"] for finding in recent["findings"] if finding["rule"] == "RUN-002"}  # not audited
    lines = _finding_lines(recent, terminal, where_rest, every=True) + _resolved_lines(report, terminal)
    lines += _unknown_account_lines([account for account in report["accounts"] if account["name"] in unknown], terminal)
    return [*lines, (), *_closing_lines(report, terminal, files)]


def _resolved_lines(report: AuditReport, terminal: Terminal) -> list[Line]:
    """Return a line for each rule and resource whose findings were resolved since the last audit."""
    groups, lines = group_resolved(report["resolved"]), list[Line]()
    for rule, resource, accounts in groups[:MOST_GROUPS]:
        who = accounts[0] if len(accounts) == 1 else count(len(accounts), "account")
        lines += labelled_lines(terminal.mark("good"), "resolved", "ok", f"{who}: {resource} ({rule})", terminal)
    hidden = len(groups) - MOST_GROUPS
    return lines + (_faint_lines(f"and {hidden:,} more", terminal) if hidden > 0 else [])


def _finding_lines(report: AuditReport, terminal: Terminal, where_rest: str, every: bool) -> list[Line]:
    """Return the findings in groups, the worst first. every: list all of severity info, not only the important ones."""
    unknown = {account["name"] for account in report["accounts"] if account["state"] == "unknown"}
    findings = []
    for finding in list_unwaived(report["findings"]):
        # the lines of an unknown account already give this reason
        says_why_unknown = finding["class"] == "unknown" or finding["rule"] in LOGIN_RULES
        if finding["account"] not in unknown or not says_why_unknown:
            findings.append(finding)
    groups = group_findings([finding for finding in findings if finding["severity"] != "info"], MOST_GROUPS)
    lines = [line for group in groups[:MOST_GROUPS] for line in _group_lines(group, terminal)]
    hidden = sum(group.number for group in groups[MOST_GROUPS:])
    lines += _faint_lines(f"and {count(hidden, 'less severe finding')}. {where_rest}", terminal) if hidden else []
    infos = [finding for finding in findings if finding["severity"] == "info"]
    # a role's resource whose state is unknown; the findings of audit checks have "watch" in place of a role
    important = [finding for finding in infos if finding["class"] == "unknown" and finding["capability"] != "watch"]
    important += [finding for finding in infos if finding["rule"] == "STP-002"]  # a manual step is due soon
    return lines + _info_lines(group_findings(infos if every else important, MOST_INFOS), terminal, where_rest)


def _info_lines(groups: Sequence[FindingGroup], terminal: Terminal, where_rest: str) -> list[Line]:
    """Return findings of severity info in one line each: accounts, text and rule."""
    mark, lines = SYMBOLS["info"][terminal.ascii], list[Line]()
    for group in groups[:MOST_INFOS]:
        text = f"{_join_names(group.accounts, terminal)}: {group.text.rstrip('.')} ({group.first['rule']})"
        lines += labelled_lines(mark, "info", STYLES["info"], text, terminal)
    hidden = sum(group.number for group in groups[MOST_INFOS:])
    return lines + (_faint_lines(f"and {hidden:,} more. {where_rest}", terminal) if hidden else [])


def _group_lines(group: FindingGroup, terminal: Terminal) -> Iterator[Line]:
    """Yield the lines of a group of equal findings: text; place, rule and age; accounts, difference and fix."""
    finding, severity = group.first, group.first["severity"]
    mark, style = SYMBOLS[severity][terminal.ascii], STYLES[severity]
    who = finding["account"] if len(group.accounts) == 1 else count(len(group.accounts), "account")
    yield from labelled_lines(mark, severity, style, f"{who}: {group.text}", terminal)
    # findings in several places: only their number, if it differs from that of the accounts
    place = group.place or (count(group.number, "finding") if group.number > len(group.accounts) else "")
    yield from _faint_lines(", ".join(filter(None, (place, finding["rule"], group.since))), terminal)
    if len(group.accounts) > 1:
        yield from _faint_lines(_join_names(group.accounts, terminal), terminal)
    yield from finding_diff_lines(group.diff, terminal)
    for part in describe_fix(manual_steps(finding["fix"])):  # the commands for this machine are in the last lines
        yield from indented_lines(clean_line(part.text), text_column(terminal), terminal, "bold")


def _faint_lines(text: str, terminal: Terminal) -> list[Line]:
    """Return a faint text in the column of the texts of labelled_lines()."""
    return indented_lines(text, text_column(terminal), terminal, "faint")


def _join_names(names: Sequence[str], terminal: Terminal) -> str:
    """Return as many names as fit into two lines, and the number of the others."""
    return fit_names(names, 2 * (terminal.width - 8 - (WORD if terminal.width >= NARROW else 0)))  # 8: margins


def _unknown_account_lines(accounts: Sequence[AuditedAccount], terminal: Terminal) -> list[Line]:
    """Return the accounts that were not audited, grouped by reason, with what to do next."""
    reasons: dict[tuple[str, tuple[FixPart, ...]], list[str]] = {}
    for account in accounts:
        if account["state"] == "unknown":
            reasons.setdefault((account["reason"], tuple(describe_fix(account["next"]))), []).append(account["name"])
    lines: list[Line] = []
    for (reason, next_steps), names in reasons.items():
        mark = Span(f"{terminal.mark('bad')} unknown", "error")
        heading = (mark, Span("  "), Span(_join_names(names, terminal), "bold"))
        lines += wrap_spans(heading, terminal) + indented_lines(reason or "No reason was given.", 4, terminal)
        for part in next_steps:
            render = wrap_command if part.is_command else indented_lines
            lines += render(clean_line(part.text), 4, terminal)
    return lines


def _matrix_lines(report: AuditReport, terminal: Terminal) -> list[Line]:
    """Return a matrix of accounts and roles, or a list for a single account or a narrow terminal.

    With many accounts, those without findings are only counted.
    """
    accounts = [account for account in report["accounts"] if account["state"] == "measured"]
    clean = [account for account in accounts if len(accounts) > MOST_ROWS and is_in_order(account)]  # only counted
    shown = sort_accounts(account for account in accounts if account not in clean)
    rows, hidden = shown[: 2 * MOST_ROWS], shown[2 * MOST_ROWS :]
    roles = [role for role in list_roles(report) if {find_state(row, role) for row in rows} - {"not_applicable"}]
    matrix = _draw_matrix(rows, roles, terminal) if roles and len(accounts) > 1 else []
    lines = matrix or _list_roles_by_state(rows, terminal)
    if hidden:
        lines += indented_lines(f"and {count(len(hidden), 'other')} with findings", 0, terminal, "faint")
    if clean:
        text = f"{count(len(clean), 'other account' if rows else 'account')} without findings"
        lines.append((Span(terminal.mark("good"), "ok"), Span(f" {text}")))
    return lines


def _draw_matrix(accounts: Sequence[AuditedAccount], roles: Sequence[str], terminal: Terminal) -> list[Line]:
    """Return a stepped heading with the roles, a line for each account, and a legend; no lines if they are too wide."""
    width = max(count_cells(account["name"]) for account in accounts) + 2  # of the column with the accounts
    # each heading begins above the column of its role, 2 cells to the right of the one before
    if max(width + 2 * number + count_cells(spell_out(role)) for number, role in enumerate(roles)) > terminal.width:
        return []
    bar = "|" if terminal.ascii else "│"
    lines: list[Line] = []
    for number, role in enumerate(roles):
        lines.append((Span(" " * width + f"{bar} " * number, "faint"), Span(spell_out(role))))
    for account in accounts:
        spans = [Span(account["name"] + " " * (width - count_cells(account["name"])))]
        for role in roles:
            state = find_state(account, role)
            spans += [Span(SYMBOLS[state][terminal.ascii], STYLES[state]), Span(" ")]
        lines.append(tuple(spans[:-1]))  # without the last space
    return [*lines, *_legend_lines(accounts, roles, terminal)]


def _legend_lines(accounts: Iterable[AuditedAccount], roles: Sequence[str], terminal: Terminal) -> list[Line]:
    """Return the meanings of the symbols in the matrix of these accounts and roles."""
    states = sorted({find_state(account, role) for account in accounts for role in roles}, key=rank_state)
    meanings = [Span(f"{SYMBOLS[state][terminal.ascii]} {describe_state(state)}", "faint") for state in states]
    return wrap_spans(tuple(span for meaning in meanings for span in (meaning, Span("   "))), terminal)


def _list_roles_by_state(accounts: Iterable[AuditedAccount], terminal: Terminal) -> list[Line]:
    """Return each account with its roles grouped by state, the worst state first."""
    lines: list[Line] = []
    for account in accounts:
        lines.append((Span(account["name"], "bold"),))
        role_states = account["capabilities"]  # role -> its state
        distinct = sorted(set(role_states.values()) - {"not_applicable"}, key=rank_state)
        column = max((count_cells(describe_state(state)) for state in distinct), default=0)
        for state in distinct:
            symbol = SYMBOLS[state][terminal.ascii]
            text = ", ".join(spell_out(role) for role, role_state in role_states.items() if role_state == state)
            lines += table_row(symbol, STYLES[state], describe_state(state), text, column, terminal)
    return lines


def _closing_lines(report: AuditReport, terminal: Terminal, files: Sequence[str]) -> list[Line]:
    """Return the last lines: totals, the reasons why the run fails, the report files and the next commands."""
    summary, run = report["summary"], report["run"]
    head = f"{count(summary['accounts'], 'account')}: {describe_severities(summary['by_severity'])}"
    style = "error" if summary["failed"] else "changed" if any(summary["by_severity"].values()) else "ok"
    when = ", ".join(filter(None, (format_time(run["started"]), describe_duration(run["seconds"]))))
    lines = aligned_line((Span(head, style),), when, terminal)
    lines += indented_lines(f"{'. '.join(_list_totals(report))}.", 0, terminal)
    lines += _failure_lines(report, terminal)
    if files:
        folder = files[0].rpartition("/")[0] or "."
        names = ", ".join(file.rpartition("/")[2] for file in files)
        lines += indented_lines(f"Written to {folder}: {names}", 0, terminal)
    return lines + _next_lines(report, terminal)


def _failure_lines(report: AuditReport, terminal: Terminal) -> list[Line]:
    """Return the reasons why the run fails."""
    mark, reasons = terminal.mark("bad"), report["summary"]["reasons"]
    return [line for reason in reasons for line in labelled_lines(mark, "fails", "error", reason, terminal)]


def _list_totals(report: AuditReport) -> Iterator[str]:
    """Yield the sentences of the totals, each without its full stop: checks, unknown accounts, findings by state."""
    summary = report["summary"]
    yield f"{summary['ok']:,} of {count(summary['checks'], 'check')} up to date"
    if summary["unknown"]:
        yield f"{count(summary['unknown'], 'account')} unknown"
    numbers = [(summary[name], str(name)) for name in ("new", "changed", "resolved", "waived")]
    numbers.append((summary["accepted"], "in the baseline"))
    if parts := [f"{number:,} {word}" for number, word in numbers if number]:
        yield ", ".join(parts)
    if expired := describe_expired_waivers(report):
        yield expired


def _next_lines(report: AuditReport, terminal: Terminal) -> list[Line]:
    """Return the commands that fix the findings, each for the accounts with these findings, in at most two lines."""
    run_limit, fixes = report["run"]["limit"], list_fixing_commands(report)
    commands = [shlex.join(command) + limit_option(accounts, run_limit) for command, accounts in fixes]
    lines: list[Line] = [(), *indented_lines("Next:", 0, terminal)] if commands else []
    return lines + [line for joined in join_in_two_lines(commands) for line in wrap_command(joined, 2, terminal)]
