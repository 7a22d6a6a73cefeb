# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live line: who is under way, how far, since when. Pure functions from a moment of a run to one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._text.amounts import amount, duration
from .._text.sanitise import flat
from .layout import Line, Look, Span, cells, shortened

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


def live(moment: Moment, progress: Mapping[str, JobProgress], look: Look) -> Line:
    """One line of less than the width: count, time, and either the names under way or one account's long step."""
    frames = FRAMES[look.ascii]
    head = [Span(frames[moment.frame % len(frames)], "note"), Span(" ")]
    if moment.total > 1:
        head += [Span(f"{moment.done}/{moment.total}", "bold"), Span("  ")]
    head += [Span(duration(moment.seconds), "faint"), Span("  ")]
    room = look.width - 1 - sum(cells(span.text) for span in head)
    long_ones = [name for name in moment.under_way if name in progress]
    if long_ones:
        name = long_ones[int(moment.seconds / SECONDS_EACH) % len(long_ones)]
        body = _step(name, progress[name], room, look)
    else:
        body = (Span(names(moment.under_way, room, look)),)
    return (*head, *body)


def _step(name: str, progress: JobProgress, room: int, look: Look) -> Line:
    """A long step: its account, what it is, a bar and the amounts, as far as there is room for them."""
    why = f": {progress['why']}" if "why" in progress else ""
    text = flat(f"{name}  {progress['step']}{why}")
    said = amount(progress)
    if not said or room - cells(said) < 12:
        return (Span(shortened(text, room, look.mark("more"))),)
    left = room - cells(said) - 2
    wide = min(BAR_WIDEST, max(BAR_LEAST, left - cells(text) - 2))
    done, total = progress["done"], progress["total"]
    if done is None or not total or left - wide < 2 * BAR_LEAST:
        return (Span(shortened(text, left, look.mark("more"))), Span("  "), Span(said))
    text = shortened(text, left - wide - 2, look.mark("more"))
    drawn = progress_bar(done, total, wide, look)
    return (Span(text), Span("  "), *drawn, Span("  "), Span(said))


def progress_bar(done: float, total: float, width: int, look: Look) -> Line:
    """How much of the whole is done; full and empty cells differ in shape, not by colour alone."""
    full, empty = BAR[look.ascii]
    filled = int(width * min(1.0, max(0.0, done / total)))
    return (Span(full * filled, "ok"), Span(empty * (width - filled), "faint"))


def names(under_way: Sequence[str], room: int, look: Look) -> str:
    """As many names as there is room for, and how many more there are."""
    under_way = [flat(name) for name in under_way]
    for shown in range(len(under_way), 0, -1):
        hidden = len(under_way) - shown
        text = ", ".join(under_way[:shown]) + (f" and {hidden} more" if hidden else "")
        if cells(text) <= room:
            return text
    return shortened(", ".join(under_way), room, look.mark("more"))
