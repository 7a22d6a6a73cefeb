# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What came of one account, in lines for a person: pure functions from a result to text of a given width."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.result import (
    CHANGES,
    FAILURES,
    FORESEEN,
    WORDS,
    counted,
    state_lines,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import (
    Line,
    Look,
    Span,
    ended,
    indented,
    item,
    row,
    told,
)

STYLES = {
    "in_place": ("=", "ok"),
    "missing": ("+", "changed"),
    "different": ("~", "changed"),
    "unwanted": ("-", "changed"),
    "blocked": ("!", "error"),
    "failed": ("!", "error"),
    "not_measured": ("?", "error"),
}
CHECKS = {"ok": ("good", "ok"), "warning": ("!", "changed"), "failed": ("bad", "error")}
MANY = 10
"""With more accounts than this, a person wants the exceptions."""


class Detail(Enum):
    """How much is said of an account."""

    EXCEPTIONS = 1
    CHANGES = 2
    EVERYTHING = 3


class View(NamedTuple):
    """How results are shown."""

    look: Look = Look()
    check: bool = False
    detail: Detail = Detail.CHANGES


def detail_of(accounts: int, verbosity: int, diff: bool) -> Detail:
    """How much to say: all of it when asked for, and with many accounts what went wrong."""
    if verbosity > 0:
        return Detail.EVERYTHING
    return Detail.EXCEPTIONS if accounts > MANY and not diff else Detail.CHANGES


def is_quiet(result: Mapping[str, Any], view: View) -> bool:
    """Whether there is nothing to say of this account by itself: among many, one that is as wanted."""
    if view.detail is not Detail.EXCEPTIONS or result.get("failed") or result.get("unreachable"):
        return False
    if "checks" in result:
        return all(check["status"] == "ok" for check in result["checks"])
    return all(outcome["status"] == "in_place" for outcome in result.get("outcomes", [{"status": ""}]))


def account(name: str, result: Mapping[str, Any], view: View, like: str | None = None) -> list[Line]:
    """What came of one account: a heading, then what changed or failed and why, notes, and what a person must do.

    like: an account that failed for the same reason, which need not be told again.
    """
    if "checks" in result:
        return checks(str(result.get("title", name)), result, view)
    if "outcomes" not in result:
        return _without_outcomes(name, result, view, like)
    lines = _heading(name, result, counted(result["outcomes"], view.check) or "nothing to do", view)
    for outcome in result["outcomes"]:
        if _shown(outcome, view.detail):
            lines += _outcome(outcome, view, "diff" in result)
    if view.detail is not Detail.EXCEPTIONS:
        for note in result.get("notes", []):
            lines += _note(note, view.look)
        for remark in result.get("remarks", []):
            lines += told("", "mind", "note", f"{remark['capability']}: {remark['text']}", view.look)
        lines += steps("Left for you:", result.get("human_steps", []), view.look)
    return lines


def _shown(outcome: Mapping[str, Any], detail: Detail) -> bool:
    if outcome["status"] in FAILURES or detail is Detail.EVERYTHING:
        return True
    return outcome["status"] in CHANGES and detail is Detail.CHANGES


def _without_outcomes(name: str, result: Mapping[str, Any], view: View, like: str | None) -> list[Line]:
    """An account that could not be reached, or whose settings are wrong."""
    state = "unreachable" if result.get("unreachable") else "failed"
    if like:
        return _heading(name, {**result, "failed": True}, f"{state}, as {like}", view)
    lines = _heading(name, {**result, "failed": True}, state, view)
    lines += indented(str(result.get("msg") or result.get("censored") or "no reason was given"), 4, view.look)
    if result.get("exception"):
        lines += indented("-vvv shows where this comes from.", 4, view.look, "faint")
    if view.detail is not Detail.EXCEPTIONS:
        lines += steps("Before it can be reached:", result.get("human_steps", []), view.look)
    return lines


def _heading(name: str, result: Mapping[str, Any], text: str, view: View) -> list[Line]:
    statuses = {outcome["status"] for outcome in result.get("outcomes", [])}
    bad = result.get("failed") or statuses & set(FAILURES)
    style = "error" if bad else "changed" if statuses & set(CHANGES) else "ok"
    mark = "~" if style == "changed" and view.check else view.look.mark("bad" if bad else "good")
    right = ["sandbox"] if result.get("sandbox") else []
    right += [f"{result['seconds']:.1f} s".rjust(6)] if "seconds" in result else []
    line = (
        Span(mark, "ok" if mark == view.look.mark("good") else style),
        Span(" "),
        Span(name, "bold"),
        Span("  "),
        Span(text, style),
    )
    return ended(line, "  ".join(right), view.look)


def _note(note: Mapping[str, str], look: Look) -> list[Line]:
    """Why something was left out; the words need not be said twice."""
    return told("", "left out", "note", f"{note['capability']}: {note['text'].removeprefix('left out: ')}", look)


def _outcome(outcome: Mapping[str, Any], view: View, with_diff: bool) -> Iterator[Line]:
    status = outcome["status"]
    word = FORESEEN.get(status, WORDS[status]) if view.check else WORDS[status]
    mark, style = STYLES[status]
    text = outcome["identity"]
    if outcome["after"].get("target"):
        text += f" -> {outcome['after']['target']}"
    yield from told(mark, word, style, text, view.look)
    if outcome["reason"]:
        yield from told("", "", "", outcome["reason"], view.look)
    progress = outcome.get("progress")
    if progress:
        yield from told("", "", "note", f"under way: {progress['step']}{_so_far(progress)}", view.look)
    if with_diff and status in CHANGES:
        yield from difference(outcome["before"], outcome["after"], view.look)


def _so_far(progress: Mapping[str, Any]) -> str:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._text.amounts import amount  # little takes minutes

    said = amount(progress)
    return f", {said}" if said else ""


def difference(before: Mapping[str, str], after: Mapping[str, str], look: Look) -> Iterator[Line]:
    """What changes of a state, line by line; what stays is shown only near it."""
    import difflib  # here, since a run without --diff need not wait for it

    old, new = state_lines(before), state_lines(after)
    indent = 6 if look.width < 60 else 17
    for line in list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]:
        mark, text = line[:1], line[1:]
        if mark == "@":
            continue
        style = {"+": "added", "-": "removed"}.get(mark, "faint")
        yield from item(mark, text, indent, look, style)


def steps(heading: str, left: list[dict[str, str]], look: Look, indent: int = 4) -> list[Line]:
    """What only a person can do, each with its link on a line of its own, to be opened or copied."""
    lines = indented(heading, indent, look, "note") if left else []
    for step in left:
        lines += item("-", step["text"], indent, look)
        if step.get("url"):
            lines += indented(step["url"], indent + 2, look, "faint")
    return lines


def checks(name: str, result: Mapping[str, Any], view: View) -> list[Line]:
    """What a doctor found: one line for each check, and the next command where something is to be done."""
    found, look = result["checks"], view.look
    failed = any(check["status"] == "failed" for check in found)
    lines = _heading(name, {**result, "failed": failed}, verdict(found), view)
    shown = [check for check in found if check["status"] != "ok" or view.detail is not Detail.EXCEPTIONS]
    if "then" in result:
        return [*lines, *_table(shown, look)]
    for check in shown:
        mark, style = _marked(check, look)
        lines += told(mark, check["status"], style, f"{check['name']}: {check['text']}", look)
        if check["status"] != "ok" and check.get("next"):
            lines += indented(check["next"], 6 if look.width < 60 else 17, look, "bold")
    return lines


def _table(found: list[dict[str, Any]], look: Look) -> Iterator[Line]:
    """Every target with what is known of it in a column of its own; what else is said is below."""
    column = max((len(check["name"]) for check in found if ":" in check["name"]), default=0)
    for check in found:
        mark, style = _marked(check, look)
        if ":" in check["name"]:
            yield from row(mark, style, check["name"], check["text"], column, look)
        else:
            yield from row(mark, style, check["name"], check["text"], look.width, look)


def _marked(check: dict[str, Any], look: Look) -> tuple[str, str]:
    """The mark of a check, and its style."""
    mark, style = CHECKS[check["status"]]
    return mark if mark == "!" else look.mark(mark), style


def verdict(found: list[dict[str, Any]]) -> str:
    """How many checks failed, warn and are fine, in words."""
    counts = {status: sum(check["status"] == status for check in found) for status in ("failed", "warning", "ok")}
    words = {"failed": "failed", "warning": "warning" if counts["warning"] == 1 else "warnings", "ok": "ok"}
    return ", ".join(f"{number} {words[status]}" for status, number in counts.items() if number) or "nothing to check"
