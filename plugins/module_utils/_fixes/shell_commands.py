# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A parser for the simple commands of a start-up file or script, with the depth of the blocks around them.

The parser knows the dialects sh (bash, ksh, zsh), csh and fish as far as needed to decide if a command is independent.
"""

import re
from typing import List, NamedTuple, Tuple

OPEN = {  # dialect -> words that begin a block
    "sh": ("if", "for", "while", "until", "case", "select", "{"),
    "csh": ("foreach", "while", "switch"),
    "fish": ("if", "for", "while", "switch", "function", "begin"),
}
CLOSE = {"sh": ("fi", "done", "esac", "}"), "csh": ("endif", "end", "endsw"), "fish": ("end",)}
BLANK = " \t\r\v\f"


class AmbiguousText(Exception):
    """Raised for a text of uncertain structure."""


class ShellCommand(NamedTuple):
    """A simple command: (start, end) of each word in the text, and the number of blocks around the command."""

    words: List[Tuple[int, int]]
    depth: int
    is_independent: bool  # on one line, and not joined to another command by && || | & (


def parse_commands(text: str, dialect: str) -> List[ShellCommand]:
    """Return the simple commands of a text in order. Raises AmbiguousText."""
    reader = _Reader(text, dialect)
    reader.read()
    if reader.depth or reader.parentheses:
        raise AmbiguousText("a block is not closed")
    return reader.found


class _Reader:
    """A single pass through a text."""

    def __init__(self, text: str, dialect: str) -> None:
        self._text, self._dialect = text, dialect
        self.found: List[ShellCommand] = []
        self.depth = self.parentheses = 0
        self._words: List[Tuple[int, int]] = []
        self._is_joined = False  # the current command depends on the one before it
        self._is_bound = False  # the current command depends on something in it or after it
        self._documents: List[str] = []  # end markers of the here-documents that begin on the current line

    def read(self) -> None:
        """Read the text and collect its commands in found."""
        position, text = 0, self._text
        while position < len(text):
            character = text[position]
            if character in BLANK:
                position += 1
            elif text.startswith("\\\n", position):
                self._is_bound, position = True, position + 2
            elif character == "#":
                end = text.find("\n", position)
                position = end if end >= 0 else len(text)
            elif character == "\n":
                self._end_command(False)
                position = self._skip_documents(position + 1)
            elif character == ";":
                self._end_command(False)
                position += 1
            elif character in "&|":
                self._is_bound = True
                self._end_command(True)
                position += 2 if text[position : position + 2] in ("&&", "||", "|&") else 1
            elif character in "()":
                position = self._read_parenthesis(position)
            elif character in "<>":
                position = self._read_redirection(position)
            else:
                end = find_word_end(text, position, self._dialect)
                self._words.append((position, end))
                position = end
        self._end_command(False)

    def _end_command(self, joins: bool) -> None:
        """Add the current command to found. joins: the next command depends on this one."""
        words = [self._text[start:end] for start, end in self._words]
        if words:
            if words[0] in ("and", "or") and self._dialect == "fish" and self.found:
                self._is_joined = True
                self.found[-1] = self.found[-1]._replace(is_independent=False)
            if words[0] in CLOSE[self._dialect]:
                self.depth -= 1
            if self.depth < 0:
                raise AmbiguousText("a block is closed that was not opened")
            is_independent = not (self._is_joined or self._is_bound)
            self.found.append(ShellCommand(self._words, self.depth + self.parentheses, is_independent))
            if words[0] in OPEN[self._dialect] or (self._dialect == "csh" and words[0] + words[-1] == "ifthen"):
                self.depth += 1
            self._is_joined = False
        self._words, self._is_bound = [], False
        self._is_joined = self._is_joined or joins

    def _read_parenthesis(self, position: int) -> int:
        """Read a parenthesis of a subshell, function, array or case pattern, and return the position after it."""
        if self._dialect == "csh":  # there, a parenthesis is part of a condition or a list
            return position + 1
        self._is_bound = True
        self._end_command(True)
        if self._text[position] == "(":
            self.parentheses += 1
        elif self.parentheses:
            self.parentheses -= 1
        elif not self.depth:
            raise AmbiguousText("a parenthesis is closed that was not opened")
        return position + 1

    def _read_redirection(self, position: int) -> int:
        """Read '<' or '>' and return the position after it. A here-document is skipped at the end of the line."""
        self._is_bound = True
        document = re.compile(r"<<-?[ \t]*([^\s;&|<>()]+)").match(self._text, position)
        if document and not self._text.startswith("<<<", position):
            self._documents.append(document.group(1).replace("\\", "").strip("'\""))
            return document.end()
        return position + 1

    def _skip_documents(self, position: int) -> int:
        """Return the position after the here-documents that begin at a position."""
        for word in self._documents:
            end = re.compile(r"^\t*%s$\n?" % re.escape(word), re.MULTILINE).search(self._text, position)
            if not end:
                raise AmbiguousText("a here-document is not closed")
            position = end.end()
        self._documents = []
        return position


def find_word_end(text: str, position: int, dialect: str) -> int:
    """Return the end of the word that begins at a position. Raises AmbiguousText."""
    while position < len(text) and text[position] not in BLANK + "\n;&|<>()":
        if text[position] == "\\":
            position += 2
        elif text[position] == "'":
            escapes = dialect == "fish" or text[position - 1 : position] == "$"
            position = _skip_quoted(text, position, "'", dialect, escapes)
        elif text[position] in '"`':
            position = _skip_quoted(text, position, text[position], dialect, True)
        elif text.startswith("$(", position):
            position = _skip_substitution(text, position + 1, dialect)
        elif text.startswith("${", position):
            position = _skip_quoted(text, position + 1, "}", dialect, True)
        else:
            position += 1
        if dialect == "fish" and text[position : position + 1] == "(":
            position = _skip_substitution(text, position, dialect)
    return min(position, len(text))


def _skip_quoted(text: str, position: int, mark: str, dialect: str, escapes: bool) -> int:
    """Return the position after the mark that closes the quote at a position. escapes: a backslash escapes the mark."""
    position += 1
    while position < len(text):
        if text[position] == mark:
            return position + 1
        if text[position] == "\n" and dialect == "csh":  # a quote of csh ends on its line
            break
        if text.startswith("$(", position) and mark == '"' and dialect != "csh":
            position = _skip_substitution(text, position + 1, dialect)
        else:
            position += 2 if escapes and text[position] == "\\" else 1
    raise AmbiguousText("a quote is not closed")


def _skip_substitution(text: str, position: int, dialect: str) -> int:
    """Return the position after the parenthesis that closes the parenthesis at a position."""
    depth = 0
    while position < len(text):
        if text[position] in "()":
            depth += 1 if text[position] == "(" else -1
            position += 1
            if not depth:
                return position
        elif text[position] in "'\"`":
            position = _skip_quoted(text, position, text[position], dialect, text[position] != "'" or dialect == "fish")
        else:
            position += 2 if text[position] == "\\" else 1
    raise AmbiguousText("a parenthesis is not closed")
