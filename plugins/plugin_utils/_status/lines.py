# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of status on a terminal.

now is the present time, from which ages are counted. column is the width of the column with the names of accounts.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime

from .._input import command_line
from .._terminal.layout import (
    Line,
    Span,
    Terminal,
    indented_lines,
    list_item,
    sentence_with_command,
    table_row,
    wrap_command,
)
from .._text.amounts import count
from .._text.cells import count_cells
from .standing import REMOVED, AccountStatus, KeyStatus, RunEnd, Status

ONBOARD_ENDS = {  # end of the last onboarding -> its text
    "ok": "up to date",
    "changed": "set up",
    "empty": "no resources declared",
    "failed": "not up to date",
    "unreachable": "unreachable",
}
OFFBOARD_ENDS = {  # end of an offboarding that is not complete -> its text
    "failed": "partly removed",
    "partial": "partly removed",
    "unreachable": "not removed (unreachable)",
}
SEVERITIES = ("critical", "high", "medium", "low")
WIDEST_NAME = 30  # cells of the column with the names of accounts, at most
LEAST_NAME = 8  # cells of the column with the name of a key, at least


def status_lines(status: Status, now: datetime, terminal: Terminal) -> list[Line]:
    """Return all lines of the status: accounts, Slurm, manual steps, keys, reminders, and the next command.

    terminal: its width and its symbols. A line () is empty.
    """
    accounts = status["accounts"]
    column = min(WIDEST_NAME, max((count_cells(account["name"]) for account in accounts), default=0))
    out = [line for account in accounts for line in _account_lines(account, column, now, terminal)]
    out += _section("Slurm", [line for account in accounts for line in _slurm_lines(account, column, now, terminal)])
    out += _section("Manual steps", _all_step_lines(accounts, terminal))
    out += _section("Keys", [line for key in status["keys"] for line in _key_lines(key, terminal)])
    for reminder in status["reminders"]:
        text = reminder["text"] + (":" if reminder["command"] else "")
        out += [(), *indented_lines(text, indent=0, terminal=terminal, style="changed")]
        out += wrap_command(reminder["command"], indent=2, terminal=terminal) if reminder["command"] else []
    out.append(())
    if not status["next"]:
        return out + indented_lines("Nothing is left to do.", indent=0, terminal=terminal, style="ok")
    next_command = wrap_command(shlex.join(status["next"]), indent=2, terminal=terminal)
    return out + indented_lines("Next:", indent=0, terminal=terminal) + next_command


def _section(heading: str, lines: list[Line]) -> list[Line]:
    """Return an empty line, the heading, and the lines; [] if there are no lines."""
    return [(), (Span(heading, "bold"),), *lines] if lines else []


def _account_lines(account: AccountStatus, column: int, now: datetime, terminal: Terminal) -> list[Line]:
    """Return the row of an account: its setup, audit, manual steps and rotations."""
    mark, style = _choose_mark(account, terminal)
    parts = [_describe_setup(account, now)]
    parts += [_describe_audit(account["audit"], now)] if account["onboard"] or account["audit"] else []
    parts += [f"{count(len(account['steps']), 'manual step')} open"] if account["steps"] else []
    parts += [f"rotation of '{name}' open" for name in account["rotations"]]
    parts += ["practice"] if account["sandbox"] else []
    return table_row(mark, style, account["name"], "; ".join(parts), column, terminal)


def _slurm_lines(account: AccountStatus, column: int, now: datetime, terminal: Terminal) -> list[Line]:
    """Return the row of an account's Slurm accounts, QOS, partitions and GPUs, as the last query of Slurm showed.

    Return [] if Slurm was never queried.
    """
    if "slurm" not in account:
        return []
    offers, when = account["slurm"]["offers"], describe_age(account["slurm"]["at"], now)
    slurm_accounts = offers["accounts"] or []
    default = offers["default"] if len(slurm_accounts) > 1 else ""  # a single account is always the default
    names = [f"{offer['name']} (default)" if offer["name"] == default else offer["name"] for offer in slurm_accounts]
    qos = sorted({word for offer in slurm_accounts for word in offer["qos"]})
    partitions = offers["partitions"] or []
    gpus = sorted({gpu or "without a type" for partition in partitions for gpu in partition["gpus"]})
    parts = [f"account{'s' * (len(names) > 1)} {', '.join(names)}" if names else "no accounts"]
    parts = ["accounts unknown"] if offers["accounts"] is None else parts  # None: Slurm did not answer
    parts += [f"QOS {', '.join(qos)}"] if qos else []
    parts += [f"partitions {', '.join(partition['name'] for partition in partitions)}"] if partitions else []
    parts += [f"GPUs {', '.join(gpus)}"] if gpus else []
    text = f"{'; '.join(parts)}; as of {when}"
    return table_row(mark=" ", style="", name=account["name"], text=text, column=column, terminal=terminal)


def _choose_mark(account: AccountStatus, terminal: Terminal) -> tuple[str, str]:
    """Return the symbol in front of an account, and its style: "faint", "error", "changed" or "ok"."""
    if account["next"] in ("offboard", "onboard", "preflight"):  # the last onboarding or offboarding failed
        return terminal.mark("bad"), "error"
    if account["onboard"] is None and not account["known"]:  # known: this machine has records of the account
        return "-", "faint"
    # the last audit has findings, or could not check the account; a rotation is open. Without a next subcommand, the
    # account was offboarded after the audit.
    has_problems = account["next"] and account["audit"] is not None and account["audit"]["ended"] != "ok"
    return ("!", "changed") if has_problems or account["rotations"] else (terminal.mark("good"), "ok")


def _describe_setup(account: AccountStatus, now: datetime) -> str:
    """Return the end and the time of the last onboarding or offboarding, in words."""
    onboard, offboard = account["onboard"], account["offboard"]
    if offboard and (onboard is None or onboard["at"] < offboard["at"]):
        end = "removed" if offboard["ended"] in REMOVED else OFFBOARD_ENDS.get(offboard["ended"], offboard["ended"])
        return f"{end} {describe_age(offboard['at'], now)}"
    if onboard is None:  # known: this machine has set up the account, but the record of the run is lost
        return "set up on an unknown date" if account["known"] else "never set up from this machine"
    return f"{ONBOARD_ENDS.get(onboard['ended'], onboard['ended'])} {describe_age(onboard['at'], now)}"


def _describe_audit(audit: RunEnd | None, now: datetime) -> str:
    """Return the time of the last audit, with the numbers of its findings by severity; findings of info are omitted."""
    if audit is None:
        return "never audited"
    when = describe_age(audit["at"], now)
    if audit["ended"] == "unreachable":
        return f"audit {when}: unknown"
    numbers = dict(audit.get("by_severity", {}))
    counts = [f"{numbers[name]} {name}" for name in SEVERITIES if numbers.get(name)]
    return f"audit {when}: {', '.join(counts) or 'up to date'}"


def _all_step_lines(accounts: Sequence[AccountStatus], terminal: Terminal) -> list[Line]:
    """Return the open steps, the steps that are done, and the command that marks the first open step as done."""
    out = [line for is_open in (True, False) for line in _step_lines(accounts, is_open, terminal)]
    first_step = next(([account["name"], step["id"]] for account in accounts for step in account["steps"]), None)
    if first_step:  # the arguments of the command: account and step
        command = shlex.join(command_line.command_for("done", first_step))
        out += sentence_with_command("To mark a step as done:", command, indent=2, terminal=terminal)
    return out


def _step_lines(accounts: Iterable[AccountStatus], is_open: bool, terminal: Terminal) -> list[Line]:
    """Return each step once, with the accounts that share it: the open steps, or the steps that are done."""
    names_by_step: dict[tuple[str, str, str, str], list[str]] = {}
    for account in accounts:
        for step in account["steps" if is_open else "steps_done"]:
            key = (step["id"], step["text"], step.get("url", ""), step.get("due", ""))
            names_by_step.setdefault(key, []).append(account["name"])
    mark, style = (terminal.mark("open"), "note") if is_open else (terminal.mark("good"), "ok")
    lines: list[Line] = []
    for (step_id, text, url, due), names in names_by_step.items():
        details = ", ".join([step_id, *names, *([f"due {due}"] if due else [])])
        lines += list_item(mark, f"{text.rstrip('.')} ({details})", indent=2, terminal=terminal, style=style)
        lines += indented_lines(url, indent=4, terminal=terminal, style="faint") if url and is_open else []
    return lines


def _key_lines(key: KeyStatus, terminal: Terminal) -> list[Line]:
    """Return the row of a key: its age, its last day, and whether a rotation is open."""
    age = f"in use since {key['since']}, {count(key['days'] or 0, 'day')}" if key["since"] else "age unknown"
    expiry = f"last day {key['expires']}" if key["expires"] else "last day unknown"
    parts = [age, expiry, *(["rotation open"] if key["open"] else [])]
    column = max(LEAST_NAME, count_cells(key["name"]))
    return table_row(mark=" ", style="", name=key["name"], text="; ".join(parts), column=column, terminal=terminal)


def describe_age(moment: str, now: datetime) -> str:
    """Return how long ago a moment was, in words. moment: a time in UTC such as 2026-11-21T18:00:00Z."""
    seconds = (now - datetime.fromisoformat(moment)).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds / 60)} min ago"
    return f"{int(seconds / 3600)} h ago" if seconds < 48 * 3600 else f"{int(seconds / 86400)} days ago"
