# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of the live line: active accounts, progress and time. Pure functions from a moment of a run to a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._text.sanitise import clean_line
from .layout import Line, Span, Terminal, count_cells, truncate

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress

FRAMES = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")
BAR = (("━", "─"), ("#", "-"))
BAR_LEAST, BAR_WIDEST = 8, 20  # cells
NAME_LEAST = 12  # cells for the account and its step next to the amounts
SECONDS_EACH = 3  # each of several long steps is shown for this time


class Moment(NamedTuple):
    """A run at one moment. done, total: accounts; total is 0 if unknown. frame: the number of the drawing."""

    active_accounts: Sequence[str]
    done: int
    total: int
    seconds: float
    frame: int = 0


def render_moment(moment: Moment, progress: Mapping[str, JobProgress], terminal: Terminal) -> Line:
    """Return a line that fits the width: count, time, and the active accounts or the long step of one of them.

    progress: account -> its long step. Several long steps are shown in turn.
    """
    from .._text.amounts import format_duration  # imported late: only for terminals

    frames = FRAMES[terminal.ascii]
    head = [Span(frames[moment.frame % len(frames)], "note"), Span(" ")]
    if moment.total > 1:
        head += [Span(f"{moment.done}/{moment.total}", "bold"), Span("  ")]
    head += [Span(format_duration(moment.seconds), "faint"), Span("  ")]
    room = terminal.width - 1 - sum(count_cells(span.text) for span in head)
    with_progress = [name for name in moment.active_accounts if name in progress]
    if with_progress:
        name = with_progress[int(moment.seconds / SECONDS_EACH) % len(with_progress)]
        body = _render_step(name, progress[name], room, terminal)
    else:
        body = (Span(join_names(moment.active_accounts, room, terminal)),)
    return (*head, *body)


def _render_step(name: str, progress: JobProgress, room: int, terminal: Terminal) -> Line:
    """Return an account and its long step in so many cells (room). Little room first omits the bar, then the amounts.

    Steps without a known total have no bar.
    """
    reason = f": {progress['why']}" if "why" in progress else ""
    text = clean_line(f"{name}  {progress['step']}{reason}")
    from .._text.amounts import format_progress

    amounts = format_progress(progress)
    if not amounts or room - count_cells(amounts) < NAME_LEAST:
        return (Span(truncate(text, room, terminal.mark("more"))),)
    text_room = room - count_cells(amounts) - 2
    bar_width = min(BAR_WIDEST, max(BAR_LEAST, text_room - count_cells(text) - 2))
    done, total = progress["done"], progress["total"]
    if done is None or not total or text_room - bar_width < 2 * BAR_LEAST:
        return (Span(truncate(text, text_room, terminal.mark("more"))), Span("  "), Span(amounts))
    text = truncate(text, text_room - bar_width - 2, terminal.mark("more"))
    bar = progress_bar(done, total, bar_width, terminal)
    return (Span(text), Span("  "), *bar, Span("  "), Span(amounts))


def progress_bar(done: float, total: float, width: int, terminal: Terminal) -> Line:
    """Return a bar of full and empty cells. width: its cells. The two differ in shape, not only in colour."""
    full, empty = BAR[terminal.ascii]
    filled = int(width * min(1.0, max(0.0, done / total)))
    return (Span(full * filled, "ok"), Span(empty * (width - filled), "faint"))


def join_names(names: Sequence[str], room: int, terminal: Terminal) -> str:
    """Return as many names as fit into the room (cells), and the number of the others; one name may be cut."""
    names = [clean_line(name) for name in names]
    for shown in range(len(names), 0, -1):
        hidden = len(names) - shown
        text = ", ".join(names[:shown]) + (f" and {hidden} more" if hidden else "")
        if count_cells(text) <= room:
            return text
    return truncate(", ".join(names), room, terminal.mark("more"))
