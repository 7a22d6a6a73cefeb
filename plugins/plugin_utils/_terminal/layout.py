# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a line of the console is made of, and how a word and its text are laid out in a terminal's width.

A text is measured in the cells of a terminal, and broken where that does no harm.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .._text.sanitise import clean, clean_line

WORD = 13
NARROW = 60
NARROWEST = 20
WIDEST = 100  # a longer line is hard to read
MARKS = {"good": ("✓", "*"), "bad": ("✗", "x"), "open": ("○", "o"), "more": ("…", "...")}

BREAKS = "/,:=@+&?"
"""Behind these a path or a list may be broken when it is wider than the terminal."""

TOGETHER = re.compile(r"( *)('[^' ]+(?: +[^' ]+)+'[^ ]*|\([^() ]+(?: +[^() ]+)+\)[^ ]*|[^ ]+)")
LEAST = 2  # cells before a word that stands alone
LONGEST_TOGETHER = 44


class Span(NamedTuple):
    """A piece of a line. style: ok, changed, error, note, added, removed, bold, faint, or none."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


class Terminal(NamedTuple):
    """Into how many cells a line must fit, and whether only ASCII can be shown."""

    width: int = 80
    ascii: bool = False

    def mark(self, name: str) -> str:
        """A symbol, or what stands for it in ASCII."""
        return MARKS[name][self.ascii]


def limit_width(columns: int) -> int:
    """Return how wide the lines are on a terminal of so many columns."""
    return max(NARROWEST, min(WIDEST, columns))


def plain(line: Line) -> str:
    """The text of a line."""
    return "".join(span.text for span in line)


def labelled_lines(mark: str, word: str, style: str, text: str, terminal: Terminal) -> list[Line]:
    """A mark and a word in their column, and a text in its own: '  + created      folder /work'."""
    head = f"  {mark or ' '} {word}"
    if terminal.width < NARROW:
        head, indent = f"{head} " if word else "    ", 6
    else:
        head = head.ljust(4 + WORD)
        indent = 4 + WORD
    return _after_head(Span(head, style), clean(text), "", indent, terminal)


def table_row(mark: str, style: str, name: str, text: str, column: int, terminal: Terminal) -> list[Line]:
    """A mark, a name in a column so many cells wide, and a text; where there is no room, the text follows the name."""
    head = f"  {mark} "
    if terminal.width < NARROW or column > terminal.width // 2:
        return _after_head(Span(head, style), clean(f"{name}: {text}"), "", count_cells(head), terminal)
    name = clean(name).ljust(column) + "  "
    (_head, *first), *more = _after_head(Span(head + name), clean(text), "", count_cells(head + name), terminal)
    return [(Span(head, style), Span(name), *first), *more]


def indented_lines(text: str, indent: int, terminal: Terminal, style: str = "") -> list[Line]:
    """A text of its own lines, from that column on."""
    return _after_head(Span(" " * indent), clean(text), style, indent, terminal)


def list_item(mark: str, text: str, indent: int, terminal: Terminal, style: str = "") -> list[Line]:
    """A text behind a mark, its further lines below its first."""
    head = " " * indent + mark + " "
    return _after_head(Span(head, style), clean(text), style, count_cells(head), terminal)


def _after_head(head: Span, text: str, style: str, indent: int, terminal: Terminal) -> list[Line]:
    outdent = min(4, indent)
    (_start, first), *more = wrap_text(text, count_cells(head.text), indent, terminal.width, outdent)
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


def aligned_line(left: Line, right: str, terminal: Terminal) -> list[Line]:
    """A line with something faint at its right end, which is left out where there is no room for both."""
    left = tuple(Span(clean_line(span.text), span.style) for span in left)
    used = sum(count_cells(span.text) for span in left)
    gap = terminal.width - used - count_cells(right)
    if right and gap >= 2:
        return [(*left, Span(" " * gap), Span(right, "faint"))]
    return wrap_spans(left, terminal)


def wrap_spans(line: Line, terminal: Terminal) -> list[Line]:
    """A line of several spans, broken between or in them where it is too wide."""
    lines: list[Line] = []
    now: list[Span] = []
    used = 0
    for span in line:
        if not span.text.strip():
            now.append(span)
            used += len(span.text)
            continue
        for start, words in wrap_text(clean_line(span.text), used, 4, terminal.width):
            if now and start != used:
                lines.append(_trimmed(tuple(now)))
                now = [Span(" " * start)]
            now.append(Span(words, span.style))
            used = start + count_cells(words)
    return [*lines, _trimmed(tuple(now))]


def command(text: str, indent: int, terminal: Terminal) -> list[Line]:
    """A command to copy: where it must be broken, a backslash joins its lines."""
    room = terminal.width - indent - 4
    rows: list[str] = []
    for word in _shell_words(clean_line(text), room):
        joined = f"{rows[-1]} {word}" if rows else word
        if rows and count_cells(joined) > room:
            rows.append(word)
        else:
            rows[-1:] = [joined]
    lines: list[Line] = []
    for number, row in enumerate(rows):
        *above, last = indented_lines(
            row, indent + 2 * (number > 0), terminal._replace(width=terminal.width - 2), "bold"
        )
        lines += [*above, (*last, Span(" \\", "bold")) if number < len(rows) - 1 else last]
    return lines


def with_command(said: str, text: str, indent: int, terminal: Terminal) -> list[Line]:
    """A sentence and the command to copy that belongs to it: behind it where there is room for both, else below it."""
    both = f"{said} {clean_line(text)}"
    if indent + count_cells(both) <= terminal.width:
        return indented_lines(both, indent, terminal, "faint")
    return [*indented_lines(said, indent, terminal, "faint"), *command(text, indent + 2, terminal)]


def _shell_words(text: str, room: int) -> Iterator[str]:
    """The words of a command as they stand there, an option with its value where there is room for both.

    Blanks in quotes are part of a word.
    """
    words = re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^ ])+", text)
    while words:
        word = words.pop(0)
        if re.fullmatch(r"--?[a-z][\w-]*", word) and words and not words[0].startswith("-"):
            pair = f"{word} {words[0]}"
            if count_cells(pair) <= room:
                word = pair
                words.pop(0)
        yield word


def count_cells(text: str) -> int:
    """Return how many cells the text takes: two for wide characters, none for those that combine."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def truncate(text: str, room: int, ellipsis: str) -> str:
    """The beginning of a text that is wider than its room. For what is seen for a moment, never for results."""
    if count_cells(text) <= room:
        return text
    left = max(0, room - count_cells(ellipsis))
    return (_head(text, left).rstrip() + ellipsis) if left else _head(text, room)


def _head(text: str, room: int) -> str:
    """As much of the text as fits; what combines with the last character stays with it."""
    taken = 0
    for position, character in enumerate(text):
        taken += _cell(character)
        if taken > room:
            return text[:position]
    return text


def split_word(word: str, room: int) -> Iterator[str]:
    """A word that is wider than the room in pieces that fit, broken behind a slash or the like where there is one."""
    while count_cells(word) > room:
        head = _head(word, room) or word[:1]
        cut = max((head.rfind(mark) + 1 for mark in BREAKS), default=0)
        head = head[:cut] if cut > len(head) // 2 else head
        yield head
        word = word[len(head) :]
    yield word


def wrap_text(text: str, first: int, indent: int, width: int, outdent: int = 4) -> list[tuple[int, str]]:
    """The text in lines of (indentation, words) that fit into the width; nothing of it is left out.

    first: where the first line begins. A word that is too wide for its column, a path say, gets a line
    of its own further left, so that it can be copied; only one wider than the terminal is broken.
    """
    lines: list[tuple[int, str]] = []
    start = first
    for paragraph in text.split("\n"):
        lines += _paragraph(paragraph, start, indent, width, outdent)
        start = indent
    return lines


def _paragraph(text: str, first: int, indent: int, width: int, outdent: int) -> Iterator[tuple[int, str]]:
    start, line, fresh = first, "", True
    for gap, word in _words(text):
        token = gap + word if line or fresh else word
        if count_cells(line + token) <= width - start:
            line, fresh = line + token, False
            continue
        yield start, line
        start, line, fresh = indent, word, False
        if count_cells(word) > width - indent:
            *alone, (start, line) = _alone(word, outdent, indent if indent <= 8 else outdent, width)
            yield from alone
    yield start, line


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Each word with the blanks before it; a short text in quotes or brackets, a command say, is one word."""
    for gap, word in TOGETHER.findall(text):
        if count_cells(word) <= LONGEST_TOGETHER:
            yield gap, word
        else:
            yield from re.findall(r"( *)([^ ]+)", gap + word)


def _alone(word: str, outdent: int, broken_at: int, width: int) -> Iterator[tuple[int, str]]:
    """A word that is too wide for the column: as far to the right as it fits, or in pieces.

    It never begins a row, where a login node's word could pass for a line of ours.
    """
    spare = width - count_cells(word)
    if spare >= min(outdent, LEAST):
        yield min(outdent, spare), word
    else:
        for piece in split_word(word, width - broken_at):
            yield broken_at, piece


def fit_names(names: Sequence[str], room: int) -> str:
    """Return as many names as fit into so many cells, at least one, and how many more there are."""
    room -= len(" and 999 others")
    shown = list(names[:1])
    for name in names[1:]:
        if count_cells(", ".join([*shown, name])) > room:
            break
        shown.append(name)
    others = len(names) - len(shown)
    return ", ".join(shown) + (f" and {others:,} other{'s' if others > 1 else ''}" if others else "")
