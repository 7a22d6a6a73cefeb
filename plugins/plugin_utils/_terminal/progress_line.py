# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of the live line (active accounts, progress and time), and of work in a job.

The live line is the last line of the terminal while a run works. Pure functions render a moment of the run as a line.
A long step is work on an account that lasts minutes, such as a download in a job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._text.cells import count_cells, truncate
from .._text.sanitise import clean_line
from .layout import Line, Span, Terminal

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress, Progress

# in Unicode, and in ASCII
FRAMES = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")  # the first character of the line, which seems to turn
BAR = (("━", "─"), ("#", "-"))  # a full and an empty cell
BAR_LEAST, BAR_WIDEST = 8, 20  # cells
NAME_LEAST = 12  # cells for the account and its step next to the amounts
SECONDS_EACH = 3  # each of several long steps is shown for this time


class Moment(NamedTuple):
    """A run at one moment. done, total: numbers of finished and of all accounts; total is 0 if unknown.

    seconds: since the start of the run. frame: the number of the drawing, which selects from FRAMES.
    """

    active_accounts: Sequence[str]
    done: int
    total: int
    seconds: float
    frame: int = 0


def render_moment(moment: Moment, progress: Mapping[str, JobProgress], terminal: Terminal) -> Line:
    """Return a line that fits the width: count, time, and the active accounts or the long step of one of them.

    progress: account -> its long step. The long steps of several accounts are shown in turn.
    """
    from .._text.amounts import format_duration  # imported late: only for terminals

    frames = FRAMES[terminal.ascii]
    head = [Span(frames[moment.frame % len(frames)], "note"), Span(" ")]
    if moment.total > 1:
        head += [Span(f"{moment.done}/{moment.total}", "bold"), Span("  ")]
    head += [Span(format_duration(moment.seconds), "faint"), Span("  ")]
    room = terminal.width - 1 - sum(count_cells(span.text) for span in head)  # the last cell stays free
    with_progress = [name for name in moment.active_accounts if name in progress]
    if with_progress:
        name = with_progress[int(moment.seconds / SECONDS_EACH) % len(with_progress)]
        body = _render_step(name, progress[name], room, terminal)
    else:
        body = (Span(join_names(moment.active_accounts, room, terminal)),)
    return (*head, *body)


def _render_step(name: str, progress: JobProgress, room: int, terminal: Terminal) -> Line:
    """Return an account (name) and its long step in at most `room` cells: text, bar, and amounts such as 12/98 MB.

    If the room is too small, omit the bar and then the amounts. Steps without a known total have no bar.
    """
    reason = f": {progress['why']}" if "why" in progress else ""
    text = clean_line(f"{name}  {progress['step']}{reason}")
    from .._text.amounts import format_progress

    amounts = format_progress(progress)
    if not amounts or room - count_cells(amounts) < NAME_LEAST:  # show the text alone
        return (Span(truncate(text, room, terminal.mark("more"))),)
    text_room = room - count_cells(amounts) - 2  # for the text and the bar
    bar_width = min(BAR_WIDEST, max(BAR_LEAST, text_room - count_cells(text) - 2))
    done, total = progress["done"], progress["total"]
    has_room = text_room - bar_width >= 2 * BAR_LEAST  # for the text next to the bar
    if done is None or not total or not has_room:
        return (Span(truncate(text, text_room, terminal.mark("more"))), Span("  "), Span(amounts))
    text = truncate(text, text_room - bar_width - 2, terminal.mark("more"))
    bar = progress_bar(done, total, bar_width, terminal)
    return (Span(text), Span("  "), *bar, Span("  "), Span(amounts))


def progress_bar(done: float, total: float, width: int, terminal: Terminal) -> Line:
    """Return a bar that shows the finished part (done) of the total. width: of the bar, in cells.

    Full and empty cells differ in shape, for terminals without colours.
    """
    full, empty = BAR[terminal.ascii]
    filled = int(width * min(1.0, max(0.0, done / total)))
    return (Span(full * filled, "ok"), Span(empty * (width - filled), "faint"))


def join_names(names: Sequence[str], room: int, terminal: Terminal) -> str:
    """Return as many names as fit into `room` cells, and the number of the others. If none fits, cut the text."""
    names = [clean_line(name) for name in names]
    for shown in range(len(names), 0, -1):
        hidden = len(names) - shown
        text = ", ".join(names[:shown]) + (f" and {hidden} more" if hidden else "")
        if count_cells(text) <= room:
            return text
    return truncate(", ".join(names), room, terminal.mark("more"))


def describe_progress(progress: Progress) -> str:
    """Return the progress of work in a job, or why the job failed."""
    if "failed" in progress:
        return f"an earlier attempt failed: {progress['failed']}"
    from .._text.amounts import format_progress  # imported late: few resources need a job

    return ", ".join(filter(None, [f"in progress: {progress['step']}", format_progress(progress)]))
