# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simple commands of a start-up file or a script, with the depth of the blocks around them.

It knows the dialects sh (bash, ksh, zsh), csh and fish as far as needed to tell whether a command is independent.
"""

import re
from typing import List, NamedTuple, Tuple

OPEN = {
    "sh": ("if", "for", "while", "until", "case", "select", "{"),
    "csh": ("foreach", "while", "switch"),
    "fish": ("if", "for", "while", "switch", "function", "begin"),
}
CLOSE = {"sh": ("fi", "done", "esac", "}"), "csh": ("endif", "end", "endsw"), "fish": ("end",)}
BLANK = " \t\r\v\f"


class AmbiguousText(Exception):
    """A text whose structure is not certain."""


class ShellCommand(NamedTuple):
    """A simple command: start and end of its words in the text, and the number of blocks around it."""

    words: List[Tuple[int, int]]
    depth: int
    is_independent: bool  # on one line, and not joined to another command by && || | & (


def parse_commands(text: str, dialect: str) -> List[ShellCommand]:
    """Return the simple commands of a text in their order. Raises AmbiguousText."""
    reader = _Reader(text, dialect)
    reader.read()
    if reader.depth or reader.parentheses:
        raise AmbiguousText("a block has no end")
    return reader.found


class _Reader:
    """A single pass through a text."""

    def __init__(self, text: str, dialect: str) -> None:
        self._text, self._dialect = text, dialect
        self.found: List[ShellCommand] = []
        self.depth = self.parentheses = 0
        self._words: List[Tuple[int, int]] = []
        self._is_joined = False  # to the command before
        self._is_bound = False  # to something in it or after it
        self._documents: List[str] = []  # end marks of the here-documents that begin on this line

    def read(self) -> None:
        """Find all commands of the text."""
        at, text = 0, self._text
        while at < len(text):
            character = text[at]
            if character in BLANK:
                at += 1
            elif text.startswith("\\\n", at):
                self._is_bound, at = True, at + 2
            elif character == "#":
                end = text.find("\n", at)
                at = end if end >= 0 else len(text)
            elif character == "\n":
                self._end_command(False)
                at = self._skip_documents(at + 1)
            elif character == ";":
                self._end_command(False)
                at += 1
            elif character in "&|":
                self._is_bound = True
                self._end_command(True)
                at += 2 if text[at : at + 2] in ("&&", "||", "|&") else 1
            elif character in "()":
                at = self._read_parenthesis(at)
            elif character in "<>":
                at = self._read_redirection(at)
            else:
                end = find_word_end(text, at, self._dialect)
                self._words.append((at, end))
                at = end
        self._end_command(False)

    def _end_command(self, joins: bool) -> None:
        """Add the command that ends here. joins: whether the next one depends on it."""
        words = [self._text[start:end] for start, end in self._words]
        if words:
            if words[0] in ("and", "or") and self._dialect == "fish" and self.found:
                self._is_joined = True
                self.found[-1] = self.found[-1]._replace(is_independent=False)
            if words[0] in CLOSE[self._dialect]:
                self.depth -= 1
            if self.depth < 0:
                raise AmbiguousText("a block has no beginning")
            is_independent = not (self._is_joined or self._is_bound)
            self.found.append(ShellCommand(self._words, self.depth + self.parentheses, is_independent))
            if words[0] in OPEN[self._dialect] or (self._dialect == "csh" and words[0] + words[-1] == "ifthen"):
                self.depth += 1
            self._is_joined = False
        self._words, self._is_bound = [], False
        self._is_joined = self._is_joined or joins

    def _read_parenthesis(self, at: int) -> int:
        """Read one that is not part of a word: of a subshell, a function, an array, or a pattern of case."""
        if self._dialect == "csh":
            return at + 1
        self._is_bound = True
        self._end_command(True)
        if self._text[at] == "(":
            self.parentheses += 1
        elif self.parentheses:
            self.parentheses -= 1
        elif not self.depth:
            raise AmbiguousText("a parenthesis has no beginning")
        return at + 1

    def _read_redirection(self, at: int) -> int:
        """Read '<' or '>'; a here-document is skipped after the end of its line."""
        self._is_bound = True
        document = re.compile(r"<<-?[ \t]*([^\s;&|<>()]+)").match(self._text, at)
        if document and not self._text.startswith("<<<", at):
            self._documents.append(document.group(1).replace("\\", "").strip("'\""))
            return document.end()
        return at + 1

    def _skip_documents(self, at: int) -> int:
        """Return the position after the here-documents that begin at this one."""
        for word in self._documents:
            end = re.compile(r"^\t*%s$\n?" % re.escape(word), re.MULTILINE).search(self._text, at)
            if not end:
                raise AmbiguousText("a here-document has no end")
            at = end.end()
        self._documents = []
        return at


def find_word_end(text: str, at: int, dialect: str) -> int:
    """Return the end of the word that begins at this position. Raises AmbiguousText."""
    while at < len(text) and text[at] not in BLANK + "\n;&|<>()":
        if text[at] == "\\":
            at += 2
        elif text[at] == "'":
            escapes = dialect == "fish" or text[at - 1 : at] == "$"
            at = _skip_quoted(text, at, "'", dialect, escapes)
        elif text[at] in '"`':
            at = _skip_quoted(text, at, text[at], dialect, True)
        elif text.startswith("$(", at):
            at = _skip_substitution(text, at + 1, dialect)
        elif text.startswith("${", at):
            at = _skip_quoted(text, at + 1, "}", dialect, True)
        else:
            at += 1
        if dialect == "fish" and text[at : at + 1] == "(":
            at = _skip_substitution(text, at, dialect)
    return min(at, len(text))


def _skip_quoted(text: str, at: int, mark: str, dialect: str, escapes: bool) -> int:
    """Return the position after the mark that closes the quote at this one."""
    at += 1
    while at < len(text):
        if text[at] == mark:
            return at + 1
        if text[at] == "\n" and dialect == "csh":
            break
        if text.startswith("$(", at) and mark == '"' and dialect != "csh":
            at = _skip_substitution(text, at + 1, dialect)
        else:
            at += 2 if escapes and text[at] == "\\" else 1
    raise AmbiguousText("a quote is not closed")


def _skip_substitution(text: str, at: int, dialect: str) -> int:
    """Return the position after the parenthesis that closes the one at this position."""
    depth = 0
    while at < len(text):
        if text[at] in "()":
            depth += 1 if text[at] == "(" else -1
            at += 1
            if not depth:
                return at
        elif text[at] in "'\"`":
            at = _skip_quoted(text, at, text[at], dialect, text[at] != "'" or dialect == "fish")
        else:
            at += 2 if text[at] == "\\" else 1
    raise AmbiguousText("a parenthesis is not closed")
