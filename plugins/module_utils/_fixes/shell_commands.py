# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simple commands of a start-up file or a script, with the blocks that they stand in.

In the dialects sh (bash, ksh, zsh), csh and fish, as far as it takes to know whether a command stands by itself.
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


class Unclear(Exception):
    """The text cannot be taken apart for certain."""


class Command(NamedTuple):
    """A simple command: where its words lie, how many blocks are around it, whether it stands by itself."""

    words: List[Tuple[int, int]]
    depth: int
    alone: bool  # not joined to another by && || | & (, and on one line


def commands(text: str, dialect: str) -> List[Command]:
    """The simple commands of a text, in their order. Raises Unclear."""
    reader = _Reader(text, dialect)
    reader.read()
    if reader.depth or reader.parentheses:
        raise Unclear("a block in it has no end")
    return reader.found


class _Reader:
    """Goes through a text once."""

    def __init__(self, text: str, dialect: str) -> None:
        self._text, self._dialect = text, dialect
        self.found: List[Command] = []
        self.depth = self.parentheses = 0
        self._words: List[Tuple[int, int]] = []
        self._joined = False  # to what stands before
        self._bound = False  # to what stands in it or behind
        self._documents: List[str] = []

    def read(self) -> None:
        """Find all commands."""
        at, text = 0, self._text
        while at < len(text):
            character = text[at]
            if character in BLANK:
                at += 1
            elif text.startswith("\\\n", at):
                self._bound, at = True, at + 2
            elif character == "#":
                at = _or_end(text.find("\n", at), text)
            elif character == "\n":
                self._end(False)
                at = self._behind_documents(at + 1)
            elif character == ";":
                self._end(False)
                at += 1
            elif character in "&|":
                self._bound = True
                self._end(True)
                at += 2 if text[at : at + 2] in ("&&", "||", "|&") else 1
            elif character in "()":
                at = self._parenthesis(at)
            elif character in "<>":
                at = self._redirection(at)
            else:
                end = word_end(text, at, self._dialect)
                self._words.append((at, end))
                at = end
        self._end(False)

    def _end(self, joins: bool) -> None:
        """A command is over; joins: whether the next one depends on it."""
        words = [self._text[start:end] for start, end in self._words]
        if words:
            if words[0] in ("and", "or") and self._dialect == "fish" and self.found:
                self._joined = True
                self.found[-1] = self.found[-1]._replace(alone=False)
            if words[0] in CLOSE[self._dialect]:
                self.depth -= 1
            if self.depth < 0:
                raise Unclear("a block in it has no beginning")
            alone = not (self._joined or self._bound)
            self.found.append(Command(self._words, self.depth + self.parentheses, alone))
            if words[0] in OPEN[self._dialect] or (self._dialect == "csh" and words[0] + words[-1] == "ifthen"):
                self.depth += 1
            self._joined = False
        self._words, self._bound = [], False
        self._joined = self._joined or joins

    def _parenthesis(self, at: int) -> int:
        """One that is no part of a word: of a subshell, a function, an array, or a pattern of case."""
        if self._dialect == "csh":
            return at + 1
        self._bound = True
        self._end(True)
        if self._text[at] == "(":
            self.parentheses += 1
        elif self.parentheses:
            self.parentheses -= 1
        elif not self.depth:
            raise Unclear("a parenthesis in it has no beginning")
        return at + 1

    def _redirection(self, at: int) -> int:
        """'<', '>' and what belongs to them; what stands in the text itself is skipped behind its line."""
        self._bound = True
        document = re.compile(r"<<-?[ \t]*([^\s;&|<>()]+)").match(self._text, at)
        if document and not self._text.startswith("<<<", at):
            self._documents.append(document.group(1).replace("\\", "").strip("'\""))
            return document.end()
        return at + 1

    def _behind_documents(self, at: int) -> int:
        """Where the text goes on behind the documents that stand in it."""
        for word in self._documents:
            end = re.compile(r"^\t*%s$\n?" % re.escape(word), re.MULTILINE).search(self._text, at)
            if not end:
                raise Unclear("a document in it has no end")
            at = end.end()
        self._documents = []
        return at


def word_end(text: str, at: int, dialect: str) -> int:
    """Where the word that begins here ends. Raises Unclear for a quote that nothing closes."""
    while at < len(text) and text[at] not in BLANK + "\n;&|<>()":
        if text[at] == "\\":
            at += 2
        elif text[at] == "'":
            escapes = dialect == "fish" or text[at - 1 : at] == "$"
            at = _closed(text, at, "'", dialect, escapes)
        elif text[at] in '"`':
            at = _closed(text, at, text[at], dialect, True)
        elif text.startswith("$(", at):
            at = _substituted(text, at + 1, dialect)
        elif text.startswith("${", at):
            at = _closed(text, at + 1, "}", dialect, True)
        else:
            at += 1
        if dialect == "fish" and text[at : at + 1] == "(":
            at = _substituted(text, at, dialect)
    return min(at, len(text))


def _closed(text: str, at: int, mark: str, dialect: str, escapes: bool) -> int:
    """Behind the mark that closes what is opened here."""
    at += 1
    while at < len(text):
        if text[at] == mark:
            return at + 1
        if text[at] == "\n" and dialect == "csh":
            break
        if text.startswith("$(", at) and mark == '"' and dialect != "csh":
            at = _substituted(text, at + 1, dialect)
        else:
            at += 2 if escapes and text[at] == "\\" else 1
    raise Unclear("a quote in it is not closed")


def _substituted(text: str, at: int, dialect: str) -> int:
    """Behind the parenthesis that closes the one here."""
    depth = 0
    while at < len(text):
        if text[at] in "()":
            depth += 1 if text[at] == "(" else -1
            at += 1
            if not depth:
                return at
        elif text[at] in "'\"`":
            at = _closed(text, at, text[at], dialect, text[at] != "'" or dialect == "fish")
        else:
            at += 2 if text[at] == "\\" else 1
    raise Unclear("a parenthesis in it is not closed")


def _or_end(at: int, text: str) -> int:
    return len(text) if at < 0 else at
