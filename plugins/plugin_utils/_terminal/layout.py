# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The layout of text in the width of a terminal: labelled lines, lists, tables and commands to copy.

Widths are measured in cells of the terminal. Lines are broken where this does no harm to paths and commands. clean()
and clean_line() replace control characters, which could change the terminal. indent is the number of cells before the
lines of a text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._text.cells import count_cells, split_word
from .._text.sanitise import clean, clean_line

if TYPE_CHECKING:
    from .._documents.result import ManualStep

WORD = 13  # cells for the word before a text
NARROW = 60  # below this width, words have no column of their own
NARROWEST = 20
WIDEST = 100  # a longer line is hard to read
LONGEST_LIMIT = 66  # cells of the list of accounts after -l, which limits a run to these accounts
# name of a mark -> symbol, and its replacement in ASCII
MARKS = {"good": ("✓", "*"), "bad": ("✗", "x"), "open": ("○", "o"), "more": ("…", "...")}

# the spaces before a word, and the word, or a text in quotes or brackets that is not broken if it is short
UNBROKEN = re.compile(r"( *)('[^' ]+(?: +[^' ]+)+'[^ ]*|\([^() ]+(?: +[^() ]+)+\)[^ ]*|[^ ]+)")
LEAST_INDENT = 2  # before a wide word on a line of its own
FAR_COLUMN = 8  # to the right of this column, too little room is left for the pieces of a word
LONGEST_UNBROKEN = 44  # cells of a text in quotes or brackets


class Span(NamedTuple):
    """A piece of a line with one style: ok, changed, error, note, added, removed, bold, faint, or none."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


class Terminal(NamedTuple):
    """A terminal. width: the cells of a line. ascii: it can show ASCII characters only."""

    width: int = 80
    ascii: bool = False

    def mark(self, name: str) -> str:
        """Return the symbol of this name in MARKS, or its replacement in ASCII."""
        return MARKS[name][self.ascii]


def limit_width(columns: int) -> int:
    """Return the width of all lines on a terminal with this number of columns."""
    return max(NARROWEST, min(WIDEST, columns))


def plain_text(line: Line) -> str:
    """Return the text of a line without its styles."""
    return "".join(span.text for span in line)


def join_lines(lines: Iterable[Line]) -> str:
    """Return the text of several lines, each with its line break."""
    return "".join(f"{plain_text(line)}\n" for line in lines)


def labelled_lines(mark: str, word: str, style: str, text: str, terminal: Terminal) -> list[Line]:
    """Return a mark and a word in one column, and a text in the next: '  + created      folder /work'.

    style: of the mark and the word.
    """
    head = f"  {mark or ' '} {word}"
    narrow_head = f"{head} " if word else "    "  # the text follows the word directly
    head = head.ljust(text_column(terminal)) if terminal.width >= NARROW else narrow_head
    return _wrap_after_head(Span(head, style), clean(text), text_column(terminal), terminal)


def text_column(terminal: Terminal) -> int:
    """Return the column in which labelled_lines() continues a text, in cells from the left."""
    return 4 + WORD if terminal.width >= NARROW else 6


def lines_below_label(text: str, terminal: Terminal) -> list[Line]:
    """Return a further text in the column of the texts of labelled_lines()."""
    return labelled_lines(mark="", word="", style="", text=text, terminal=terminal)


def table_row(mark: str, style: str, name: str, text: str, column: int, terminal: Terminal) -> list[Line]:
    """Return a mark, a name in a column, and a text; 'NAME: TEXT' if the terminal is narrow or the column wide.

    style: of the mark. column: the cells of the column with the name.
    """
    head = f"  {mark} "
    if terminal.width < NARROW or column > terminal.width // 2:
        return _wrap_after_head(Span(head, style), clean(f"{name}: {text}"), count_cells(head), terminal)
    name = clean(name).ljust(column) + "  "
    (_head_and_name, *first_spans), *others = _wrap_after_head(
        Span(head + name), clean(text), count_cells(head + name), terminal
    )
    return [(Span(head, style), Span(name), *first_spans), *others]  # only the head has the style


def indented_lines(text: str, indent: int, terminal: Terminal, style: str = "") -> list[Line]:
    """Return a text in lines that are all indented by this many cells. style: of the text."""
    return _wrap_after_head(Span(" " * indent), clean(text), indent, terminal, style)


def list_item(mark: str, text: str, indent: int, terminal: Terminal, style: str = "") -> list[Line]:
    """Return a text after a mark, with all its lines aligned. indent: the cells before the mark. style: of both."""
    head = " " * indent + mark + " "
    return _wrap_after_head(Span(head, style), clean(text), count_cells(head), terminal, style)


def step_lines(title: str, steps: list[ManualStep], terminal: Terminal, indent: int = 4) -> list[Line]:
    """Return the title and the manual steps, each with its link on a separate line; no lines without steps."""
    lines = indented_lines(title, indent, terminal, "note") if steps else []
    for step in steps:
        lines += list_item("-", step["text"] + (f" (due {step['due']})" if "due" in step else ""), indent, terminal)
        if step.get("url"):
            lines += indented_lines(step["url"], indent + 2, terminal, "faint")
    return lines


def _wrap_after_head(head: Span, text: str, indent: int, terminal: Terminal, style: str = "") -> list[Line]:
    """Return the head, such as a mark, with the text after it; further lines are indented. style: of the text."""
    outdent = min(4, indent)  # of a word that is too wide for the column of the text
    (_start, first_line), *others = wrap_text(text, count_cells(head.text), indent, terminal.width, outdent)
    # The first word was too wide for the first line, and there is no mark to show in that line.
    is_blank = others and not first_line and not head.text.strip()
    lines: list[Line] = [] if is_blank else [_trim_line((head, Span(first_line, style)))]
    return [*lines, *(_trim_line((Span(" " * start), Span(line, style))) for start, line in others)]


def _trim_line(line: Line) -> Line:
    """Return the line without empty spans, and without spaces at its end."""
    spans = [span for span in line if span.text]
    while spans and not spans[-1].text.strip():
        spans.pop()
    if spans:
        spans[-1] = Span(spans[-1].text.rstrip(), spans[-1].style)
    return tuple(spans)


def aligned_line(left: Line, right: str, terminal: Terminal) -> list[Line]:
    """Return a line with `left`, and the faint text `right` at its right end, which is omitted if both do not fit."""
    left = tuple(Span(clean_line(span.text), span.style) for span in left)
    used = sum(count_cells(span.text) for span in left)
    gap = terminal.width - used - count_cells(right)
    if right and gap >= 2:
        return [(*left, Span(" " * gap), Span(right, "faint"))]
    return wrap_spans(left, terminal)


def wrap_spans(line: Line, terminal: Terminal) -> list[Line]:
    """Return a line of several spans, broken between spans or in them if it is too wide."""
    lines: list[Line] = []
    current: list[Span] = []
    used = 0  # cells of the current line
    for span in line:
        if not span.text.strip():  # a gap between spans
            current.append(span)
            used += len(span.text)
            continue
        for start, piece in wrap_text(clean_line(span.text), first_column=used, indent=4, width=terminal.width):
            if current and start != used:  # the piece begins a new line
                lines.append(_trim_line(tuple(current)))
                current = [Span(" " * start)]
            current.append(Span(piece, span.style))
            used = start + count_cells(piece)
    return [*lines, _trim_line(tuple(current))]


def wrap_command(command: str, indent: int, terminal: Terminal) -> list[Line]:
    """Return a command in lines that can be copied: a broken line ends with a backslash, the next is indented by 2."""
    room = terminal.width - indent - 4  # 2 cells for that indentation, 2 for the backslash
    row = ""
    rows: list[str] = []
    for word in _split_command(clean_line(command), room):
        if row and count_cells(f"{row} {word}") > room:
            rows.append(row)
            row = word
        else:
            row = f"{row} {word}" if row else word
    rows.append(row)
    lines: list[Line] = []
    narrower = terminal._replace(width=terminal.width - 2)  # room for the backslash
    for number, row in enumerate(rows):
        *above, last = indented_lines(row, indent + 2 * (number > 0), narrower, "bold")  # several for a wide word
        lines += [*above, (*last, Span(" \\", "bold")) if number < len(rows) - 1 else last]
    return lines


def limit_option(names: Sequence[str], run_limit: str) -> str:
    """Return the -l option for these accounts of a run, with a space before it; "" if the command needs no option.

    run_limit: the -l of the run, or "". If the list of names is too long to read, the option selects the accounts of
    the run, or their cluster, because a command does not change accounts that are up to date.
    """
    joined = ",".join(names)
    if "@" not in joined:  # localhost
        return ""
    if count_cells(joined) <= LONGEST_LIMIT:
        return f" -l '{joined}'"
    if run_limit:  # never more accounts than in the run, for example to offboard
        return f" -l {shlex.quote(run_limit)}"
    clusters = {name.rpartition("@")[2] for name in names}
    return f" -l {clusters.pop()}" if len(clusters) == 1 else ""


def sentence_with_command(sentence: str, command: str, indent: int, terminal: Terminal) -> list[Line]:
    """Return a sentence with a command to copy: on the same line if both fit, else below the sentence."""
    both = f"{sentence} {clean_line(command)}"
    if indent + count_cells(both) <= terminal.width:
        return indented_lines(both, indent, terminal, "faint")
    return [*indented_lines(sentence, indent, terminal, "faint"), *wrap_command(command, indent + 2, terminal)]


def _split_command(text: str, room: int) -> Iterator[str]:
    """Yield the words of a command with their quotes; an option and its value are one word if `room` cells suffice."""
    words = re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^ ])+", text)  # spaces in quotes do not end a word
    while words:
        word = words.pop(0)
        is_option = re.fullmatch(r"--?[a-z][\w-]*", word)  # -x or --long-name
        if is_option and words and not words[0].startswith("-"):
            pair = f"{word} {words[0]}"
            if count_cells(pair) <= room:
                word = pair
                words.pop(0)
        yield word


def wrap_text(text: str, first_column: int, indent: int, width: int, outdent: int = 4) -> list[tuple[int, str]]:
    """Return the whole text in lines that fit into the width, each with its indentation.

    first_column: where the first line begins. indent: of all other lines. outdent: of a word that is too wide for its
    column, such as a path: the word gets a separate line, so that it can be copied. Only a word wider than the terminal
    is broken.
    """
    lines: list[tuple[int, str]] = []
    start = first_column
    for paragraph in text.split("\n"):
        lines += _wrap_paragraph(paragraph, start, indent, width, outdent)
        start = indent
    return lines


def _wrap_paragraph(text: str, first_column: int, indent: int, width: int, outdent: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text without line breaks, as wrap_text() returns them; with the same parameters."""
    start, line, is_first = first_column, "", True
    for gap, word in _split_words(text):
        token = gap + word if line or is_first else word  # only the first line keeps spaces at its beginning
        if count_cells(line + token) <= width - start:
            line, is_first = line + token, False
            continue
        yield start, line
        start, line, is_first = indent, word, False
        if count_cells(word) > width - indent:
            piece_indent = indent if indent <= FAR_COLUMN else outdent
            # the text continues after the last piece, in the same line
            *pieces, (start, line) = _place_wide_word(word, outdent, piece_indent, width)
            yield from pieces
    yield start, line


def _split_words(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word with the spaces before it; a short text in quotes or brackets, such as a command, is one word."""
    for gap, word in UNBROKEN.findall(text):
        if count_cells(word) <= LONGEST_UNBROKEN:
            yield gap, word
        else:
            yield from re.findall(r"( *)([^ ]+)", gap + word)


def _place_wide_word(word: str, outdent: int, piece_indent: int, width: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a word that is too wide for its column: one line if the word fits, or pieces.

    outdent, piece_indent: the indentation of the whole word if possible, and of its pieces, in cells. The word is
    always indented: at the left margin, the text of a login node could look like a line of hpc-onboard.
    """
    spare = width - count_cells(word)
    if spare >= min(outdent, LEAST_INDENT):
        yield min(outdent, spare), word
    else:
        for piece in split_word(word, width - piece_indent):
            yield piece_indent, piece
