# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a line of the console is made of, and how a word and its text are laid out in a terminal's width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import clean, flat
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.width import cells, laid

WORD = 13
NARROW = 60
MARKS = {"good": ("✓", "*"), "bad": ("✗", "x"), "more": ("…", "...")}


class Span(NamedTuple):
    """A piece of a line. style: ok, changed, error, note, added, removed, bold, faint, or none."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


class Look(NamedTuple):
    """Into how many cells a line must fit, and whether only ASCII can be shown."""

    width: int = 80
    ascii: bool = False

    def mark(self, name: str) -> str:
        """A symbol, or what stands for it in ASCII."""
        return MARKS[name][self.ascii]


def plain(line: Line) -> str:
    """The text of a line."""
    return "".join(span.text for span in line)


def told(mark: str, word: str, style: str, text: str, look: Look) -> list[Line]:
    """A mark and a word in their column, and a text in its own: '  + made         folder /work'."""
    head = f"  {mark or ' '} {word}"
    if look.width < NARROW:
        head, indent = f"{head} " if word else "    ", 6
    else:
        head = head.ljust(4 + WORD)
        indent = 4 + WORD
    return _behind(Span(head, style), clean(text), "", indent, look)


def row(mark: str, style: str, name: str, text: str, column: int, look: Look) -> list[Line]:
    """A mark, a name in a column so many cells wide, and a text; where there is no room, the text follows the name."""
    head = f"  {mark} "
    if look.width < NARROW or column > look.width // 2:
        return _behind(Span(head, style), clean(f"{name}: {text}"), "", cells(head), look)
    name = clean(name).ljust(column) + "  "
    (_head, *first), *more = _behind(Span(head + name), clean(text), "", cells(head + name), look)
    return [(Span(head, style), Span(name), *first), *more]


def indented(text: str, indent: int, look: Look, style: str = "") -> list[Line]:
    """A text of its own lines, from that column on."""
    return _behind(Span(" " * indent), clean(text), style, indent, look)


def item(mark: str, text: str, indent: int, look: Look, style: str = "") -> list[Line]:
    """A text behind a mark, its further lines below its first."""
    head = " " * indent + mark + " "
    return _behind(Span(head, style), clean(text), style, cells(head), look)


def _behind(head: Span, text: str, style: str, indent: int, look: Look) -> list[Line]:
    outdent = min(4, indent)
    (_start, first), *more = laid(text, cells(head.text), indent, look.width, outdent)
    alone = more and not first and not head.text.strip()  # nothing but the indentation of a word that needs it not
    lines: list[Line] = [] if alone else [_trimmed((head, Span(first, style)))]
    return [*lines, *(_trimmed((Span(" " * start), Span(words, style))) for start, words in more)]


def _trimmed(line: Line) -> Line:
    """The line without empty spans and blanks at its end."""
    spans = [span for span in line if span.text]
    while spans and not spans[-1].text.strip():
        spans.pop()
    if spans:
        spans[-1] = Span(spans[-1].text.rstrip(), spans[-1].style)
    return tuple(spans)


def ended(left: Line, right: str, look: Look) -> list[Line]:
    """A line with something faint at its right end, which is left out where there is no room for both."""
    left = tuple(Span(flat(span.text), span.style) for span in left)
    used = sum(cells(span.text) for span in left)
    gap = look.width - used - cells(right)
    if right and gap >= 2:
        return [(*left, Span(" " * gap), Span(right, "faint"))]
    return broken(left, look)


def broken(line: Line, look: Look) -> list[Line]:
    """A line of several spans, broken between or in them where it is too wide."""
    lines: list[Line] = []
    now: list[Span] = []
    used = 0
    for span in line:
        if not span.text.strip():
            now.append(span)
            used += len(span.text)
            continue
        for start, words in laid(flat(span.text), used, 4, look.width):
            if now and start != used:
                lines.append(_trimmed(tuple(now)))
                now = [Span(" " * start)]
            now.append(Span(words, span.style))
            used = start + cells(words)
    return [*lines, _trimmed(tuple(now))]


def command(text: str, indent: int, look: Look) -> list[Line]:
    """A command to copy: where it must be broken, a backslash joins its lines."""
    room = look.width - indent - 4
    rows: list[str] = []
    for word in _shell_words(flat(text), room):
        joined = f"{rows[-1]} {word}" if rows else word
        if rows and cells(joined) > room:
            rows.append(word)
        else:
            rows[-1:] = [joined]
    lines: list[Line] = []
    for number, row in enumerate(rows):
        *above, last = indented(row, indent + 2 * (number > 0), look._replace(width=look.width - 2), "bold")
        lines += [*above, (*last, Span(" \\", "bold")) if number < len(rows) - 1 else last]
    return lines


def _shell_words(text: str, room: int) -> Iterator[str]:
    """The words of a command as they stand there, an option with its value where there is room for both.

    Blanks in quotes are part of a word.
    """
    words = re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^ ])+", text)
    while words:
        word = words.pop(0)
        if re.fullmatch(r"--?[a-z][\w-]*", word) and words and not words[0].startswith("-"):
            pair = f"{word} {words[0]}"
            if cells(pair) <= room:
                word = pair
                words.pop(0)
        yield word
