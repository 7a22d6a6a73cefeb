# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live line: who is under way, how far, since when. Pure functions from a moment of a run to one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._text.sanitise import clean_line
from .layout import Line, Span, Terminal, count_cells, truncate

if TYPE_CHECKING:
    from .._documents.outcome import JobProgress

FRAMES = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")
BAR = (("━", "─"), ("#", "-"))
BAR_LEAST, BAR_WIDEST = 8, 20
SECONDS_EACH = 3  # with several long steps, each is shown for so long


class Moment(NamedTuple):
    """A run at one moment. total: 0 when it is not known; frame: counts the drawings."""

    under_way: Sequence[str]
    done: int
    total: int
    seconds: float
    frame: int = 0


def live(moment: Moment, progress: Mapping[str, JobProgress], terminal: Terminal) -> Line:
    """One line of less than the width: count, time, and either the names under way or one account's long step."""
    from .._text.amounts import format_duration  # only at a terminal

    frames = FRAMES[terminal.ascii]
    head = [Span(frames[moment.frame % len(frames)], "note"), Span(" ")]
    if moment.total > 1:
        head += [Span(f"{moment.done}/{moment.total}", "bold"), Span("  ")]
    head += [Span(format_duration(moment.seconds), "faint"), Span("  ")]
    room = terminal.width - 1 - sum(count_cells(span.text) for span in head)
    long_ones = [name for name in moment.under_way if name in progress]
    if long_ones:
        name = long_ones[int(moment.seconds / SECONDS_EACH) % len(long_ones)]
        body = _step(name, progress[name], room, terminal)
    else:
        body = (Span(names(moment.under_way, room, terminal)),)
    return (*head, *body)


def _step(name: str, progress: JobProgress, room: int, terminal: Terminal) -> Line:
    """A long step: its account, what it is, a bar and the amounts, as far as there is room for them."""
    why = f": {progress['why']}" if "why" in progress else ""
    text = clean_line(f"{name}  {progress['step']}{why}")
    from .._text.amounts import format_progress

    said = format_progress(progress)
    if not said or room - count_cells(said) < 12:
        return (Span(truncate(text, room, terminal.mark("more"))),)
    left = room - count_cells(said) - 2
    wide = min(BAR_WIDEST, max(BAR_LEAST, left - count_cells(text) - 2))
    done, total = progress["done"], progress["total"]
    if done is None or not total or left - wide < 2 * BAR_LEAST:
        return (Span(truncate(text, left, terminal.mark("more"))), Span("  "), Span(said))
    text = truncate(text, left - wide - 2, terminal.mark("more"))
    drawn = progress_bar(done, total, wide, terminal)
    return (Span(text), Span("  "), *drawn, Span("  "), Span(said))


def progress_bar(done: float, total: float, width: int, terminal: Terminal) -> Line:
    """Return how much of the whole is done; full and empty cells differ in shape, not by colour alone."""
    full, empty = BAR[terminal.ascii]
    filled = int(width * min(1.0, max(0.0, done / total)))
    return (Span(full * filled, "ok"), Span(empty * (width - filled), "faint"))


def names(under_way: Sequence[str], room: int, terminal: Terminal) -> str:
    """As many names as there is room for, and how many more there are."""
    under_way = [clean_line(name) for name in under_way]
    for shown in range(len(under_way), 0, -1):
        hidden = len(under_way) - shown
        text = ", ".join(under_way[:shown]) + (f" and {hidden} more" if hidden else "")
        if count_cells(text) <= room:
            return text
    return truncate(", ".join(under_way), room, terminal.mark("more"))
