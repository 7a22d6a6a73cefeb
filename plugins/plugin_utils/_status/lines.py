# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of the status on a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from .._input import command_line
from .._terminal.layout import (
    Line,
    Span,
    Terminal,
    command,
    count_cells,
    indented_lines,
    list_item,
    table_row,
    with_command,
)
from .._text.amounts import count
from .standing import AccountStatus, KeyStatus, RunEnd, Status

ONBOARDED = {
    "ok": "up to date",
    "changed": "set up",
    "empty": "no resources declared",
    "failed": "not up to date",
    "unreachable": "unreachable",
}
SEVERITIES = ("critical", "high", "medium", "low")
WIDEST_NAME = 30


def lines(status: Status, now: datetime, terminal: Terminal) -> list[Line]:
    """Return all lines of the status."""
    column = min(WIDEST_NAME, max((count_cells(one["name"]) for one in status["accounts"]), default=0))
    out = [line for one in status["accounts"] for line in _account(one, column, now, terminal)]
    out += _section("Slurm", [line for one in status["accounts"] for line in _slurm(one, column, now, terminal)])
    out += _section("Manual steps", _steps(status["accounts"], terminal))
    out += _section("Keys", [line for one in status["keys"] for line in _key(one, terminal)])
    for reminder in status["reminders"]:
        out += [(), *indented_lines(reminder["text"] + (":" if reminder["command"] else ""), 0, terminal, "changed")]
        out += command(reminder["command"], 2, terminal) if reminder["command"] else []
    out.append(())
    if not status["next"]:
        return out + indented_lines("Nothing is left to run.", 0, terminal, "ok")
    return out + indented_lines("Next:", 0, terminal) + command(shlex.join(status["next"]), 2, terminal)


def _section(heading: str, found: list[Line]) -> list[Line]:
    return [(), (Span(heading, "bold"),), *found] if found else []


def _account(one: AccountStatus, column: int, now: datetime, terminal: Terminal) -> list[Line]:
    mark, style = _mark(one, terminal)
    parts = [_set_up(one, now), _audited(one["audit"], now) if one["onboard"] or one["audit"] else ""]
    parts += [f"{count(len(one['steps']), 'manual step')} open"] if one["steps"] else []
    parts += [f"rotation of '{name}' open" for name in one["rotations"]]
    parts += ["practice"] if one["sandbox"] else []
    return table_row(mark, style, one["name"], "; ".join(filter(None, parts)), column, terminal)


def _slurm(one: AccountStatus, column: int, now: datetime, terminal: Terminal) -> list[Line]:
    """Return the offers of Slurm when it was last asked."""
    if "slurm" not in one:
        return []
    offers, when = one["slurm"]["offers"], ago(one["slurm"]["at"], now)
    accounts = offers["accounts"] or []
    marked = offers["default"] if len(accounts) > 1 else ""
    names = [f"{own['name']} (default)" if own["name"] == marked else own["name"] for own in accounts]
    qos = sorted({word for own in accounts for word in own["qos"]})
    partitions = offers["partitions"] or []
    gpus = sorted({gpu or "without a type" for partition in partitions for gpu in partition["gpus"]})
    parts = [f"account{'s' * (len(names) > 1)} {', '.join(names) or 'none'}"]
    parts = ["accounts unknown"] if offers["accounts"] is None else parts
    parts += [f"QOS {', '.join(qos)}"] if qos else []
    parts += [f"partitions {', '.join(part['name'] for part in partitions)}"] if partitions else []
    parts += [f"GPUs {', '.join(gpus)}"] if gpus else []
    return table_row(" ", "", one["name"], f"{'; '.join(parts)}; as of {when}", column, terminal)


def _mark(one: AccountStatus, terminal: Terminal) -> tuple[str, str]:
    if one["onboard"] is None and not one["known"]:
        return "-", "faint"
    if one["next"] in ("onboard", "preflight"):
        return terminal.mark("bad"), "error"
    found = one["audit"] is not None and one["audit"]["ended"] != "ok"
    return ("!", "changed") if found or one["rotations"] else (terminal.mark("good"), "ok")


def _set_up(one: AccountStatus, now: datetime) -> str:
    onboard, offboard = one["onboard"], one["offboard"]
    if offboard and (onboard is None or onboard["at"] < offboard["at"]):
        return f"removed {ago(offboard['at'], now)}" + (
            "" if offboard["ended"] in ("ok", "changed", "empty") else ", not all"
        )
    if onboard is None:
        return "set up, date unknown" if one["known"] else "never set up from this machine"
    return f"{ONBOARDED.get(onboard['ended'], onboard['ended'])} {ago(onboard['at'], now)}"


def _audited(audit: RunEnd | None, now: datetime) -> str:
    if audit is None:
        return "never audited"
    when = ago(audit["at"], now)
    if audit["ended"] == "unreachable":
        return f"audit {when}: unknown"
    found = dict(audit.get("by_severity", {}))
    counts = [f"{found[name]} {name}" for name in SEVERITIES if found.get(name)]
    return f"audit {when}: {', '.join(counts) or 'up to date'}"


def _steps(accounts: Sequence[AccountStatus], terminal: Terminal) -> list[Line]:
    """Return each step once, open or done, with its accounts, and the command that marks the first one as done."""
    out = [line for open_step in (True, False) for line in _steps_of(accounts, open_step, terminal)]
    first = next(((one["name"], step["id"]) for one in accounts for step in one["steps"]), None)
    if first:
        said = shlex.join(command_line.command_for("done", list(first)))
        out += with_command("When one is done:", said, 2, terminal)
    return out


def _steps_of(accounts: Iterable[AccountStatus], is_open: bool, terminal: Terminal) -> list[Line]:
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for account in accounts:
        for step in account["steps" if is_open else "steps_done"]:
            what = (step["id"], step["text"], step.get("url", ""), step.get("due", ""))
            found.setdefault(what, []).append(account["name"])
    mark, style = (terminal.mark("open"), "note") if is_open else (terminal.mark("good"), "ok")
    out: list[Line] = []
    for (name, text, url, due), names in found.items():
        about = ", ".join([name, *names, *([f"due {due}"] if due else [])])
        out += list_item(mark, f"{text.rstrip('.')} ({about})", 2, terminal, style)
        out += indented_lines(url, 4, terminal, "faint") if url and is_open else []
    return out


def _key(one: KeyStatus, terminal: Terminal) -> list[Line]:
    age = f"in use since {one['since']}, {count(one['days'] or 0, 'day')}" if one["since"] else "age unknown"
    ends = f"last day {one['expires']}" if one["expires"] else "last day unknown"
    parts: Sequence[str] = [age, ends, *(["rotation open"] if one["open"] else [])]
    return table_row(" ", "", one["name"], "; ".join(parts), max(8, count_cells(one["name"])), terminal)


def ago(moment: str, now: datetime) -> str:
    """Return how long ago a moment of UTC was, in words."""
    seconds = (now - datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds / 60)} min ago"
    return f"{int(seconds / 3600)} h ago" if seconds < 48 * 3600 else f"{int(seconds / 86400)} days ago"
