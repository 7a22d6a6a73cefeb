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
    """Raised for a text of uncertain structure. The message is a clause that says why."""


class ShellCommand(NamedTuple):
    """A simple command of a text."""

    words: List[Tuple[int, int]]  # (start, end) of each word in the text
    depth: int  # the number of blocks and parentheses around the command
    is_independent: bool  # the command is on one line, and not joined to another command by && || | & (


def parse_commands(text: str, dialect: str) -> List[ShellCommand]:
    """Return the simple commands of a text in order. dialect: sh, csh or fish.

    Raise AmbiguousText if a block, a quote or a here-document is not closed.
    """
    parser = _Parser(text, dialect)
    parser.parse()
    if parser.depth or parser.parentheses:
        raise AmbiguousText("a block or a parenthesis is not closed")
    return parser.commands


class _Parser:
    """A single pass through a text, which collects its commands. For the dialect, see parse_commands."""

    def __init__(self, text: str, dialect: str) -> None:
        self._text, self._dialect = text, dialect
        self.commands: List[ShellCommand] = []
        self.depth = 0  # the number of open blocks
        self.parentheses = 0  # the number of open parentheses
        self._arrays: List[Tuple[int, bool]] = []  # open arrays: parentheses around it, _follows_operator before it
        self._words: List[Tuple[int, int]] = []  # (start, end) of the words of the current command
        self._follows_operator = False  # the current command depends on the command before it
        self._is_compound = False  # the current command contains, or is followed by, more than plain words
        self._documents: List[str] = []  # patterns of the end lines of the here-documents that begin on this line

    def parse(self) -> None:
        """Parse the text and collect its commands."""
        position, text = 0, self._text
        while position < len(text):
            character = text[position]
            if character in BLANK:
                position += 1
            elif text.startswith("\\\n", position):
                self._is_compound, position = True, position + 2  # the command continues on the next line
            elif character == "#":
                end = text.find("\n", position)
                position = end if end >= 0 else len(text)
            elif character == "\n":
                self._end_command()
                line = text[text.rfind("\n", 0, position) + 1 : position]
                if line.rstrip(BLANK).endswith(")"):
                    self._follows_operator = False  # such as the line "source <(PROGRAM)", which ends here
                position = self._skip_documents(position + 1)
            elif character == ";":
                self._end_command()
                position += 1
            elif character in "&|":
                self._is_compound = True
                self._end_command(joins_next=True)
                position += 2 if text[position : position + 2] in ("&&", "||", "|&") else 1
            elif character in "()":
                position = self._read_parenthesis(position)
            elif character in "<>":
                position = self._read_redirection(position)
            else:
                end = find_word_end(text, position, self._dialect)
                self._words.append((position, end))
                position = end
        self._end_command()

    def _end_command(self, joins_next: bool = False) -> None:
        """Add the current command, if it has words. joins_next: the next command depends on the current command."""
        words = [self._text[start:end] for start, end in self._words]
        if words:
            if words[0] in ("and", "or") and self._dialect == "fish" and self.commands:
                # In fish, these words join a command to the command on the line before.
                self._follows_operator = True
                self.commands[-1] = self.commands[-1]._replace(is_independent=False)
            if words[0] in CLOSE[self._dialect]:
                self.depth -= 1
            if self.depth < 0:  # more blocks were closed than opened
                raise AmbiguousText("the end of a block has no matching start")
            is_independent = not (self._follows_operator or self._is_compound)
            self.commands.append(ShellCommand(self._words, self.depth + self.parentheses, is_independent))
            # The command that begins a block is outside of the block. In csh, only "if (...) then" begins a block.
            is_csh_block = self._dialect == "csh" and words[0] == "if" and words[-1] == "then"
            is_function = self._dialect == "sh" and words[0] == "function" and words[2:3] == ["{"]
            if words[0] in OPEN[self._dialect] or is_csh_block or is_function:
                self.depth += 1
            self._follows_operator = False
        self._words, self._is_compound = [], False
        self._follows_operator = self._follows_operator or joins_next

    def _is_array(self, position: int) -> bool:
        """Return True if a parenthesis at a position begins the value of an assignment, as in a=(x y)."""
        is_in_word = bool(self._words) and self._words[-1][1] == position
        return is_in_word and self._text.startswith("=(", position - 1)

    def _read_parenthesis(self, position: int) -> int:
        """Read a parenthesis of a subshell, function, array or case pattern; return the position after the parenthesis.

        The command before the parenthesis ends. Except after an array, the next command depends on that command.
        """
        if self._dialect == "csh":  # in csh, a parenthesis is part of a condition or a list
            return position + 1
        if self._is_array(position):
            self._arrays.append((self.parentheses, self._follows_operator))
        self._is_compound = True
        self._end_command(joins_next=True)
        if self._text[position] == "(":
            self.parentheses += 1
        elif self.parentheses:
            self.parentheses -= 1
            if self._arrays and self._arrays[-1][0] == self.parentheses:
                _depth, self._follows_operator = self._arrays.pop()  # an array joins no commands
        elif not self.depth:  # in a block, ")" may end a case pattern
            raise AmbiguousText("a closing parenthesis has no matching opening parenthesis")
        return position + 1

    def _read_redirection(self, position: int) -> int:
        """Read '<' or '>', or '<<' with the end marker of a here-document; return the position after it.

        The content of the here-document begins on the next line, so _skip_documents skips it.
        """
        self._is_compound = True
        if self._text.startswith("<<<", position):  # a word follows, not a here-document
            return position + 3
        document = re.compile(r"<<(-?)[ \t]*([^\s;&|<>()]+)").match(self._text, position)
        if document:
            tabs = r"\t*" if document.group(1) else ""  # only after <<-, the end marker may be indented
            self._documents.append(tabs + re.escape(document.group(2).replace("\\", "").strip("'\"")))
            return document.end()
        return position + 1

    def _skip_documents(self, position: int) -> int:
        """Return the position after the here-documents whose content begins at a position."""
        for marker in self._documents:
            end = re.compile(r"^%s$\n?" % marker, re.MULTILINE).search(self._text, position)
            if not end:
                raise AmbiguousText("a here-document is not closed")
            position = end.end()
        self._documents = []
        return position


def find_word_end(text: str, position: int, dialect: str) -> int:
    """Return the end of the word that begins at a position. Raise AmbiguousText if a quote is not closed.

    dialect: sh, csh or fish.
    """
    while position < len(text) and text[position] not in BLANK + "\n;&|<>()":
        if text[position] == "\\":
            position += 2
        elif text[position] == "'":
            has_escapes = dialect == "fish" or text[position - 1 : position] == "$"  # $'...'
            position = _skip_quoted(text, position, "'", dialect, has_escapes)
        elif text[position] in '"`':
            position = _skip_quoted(text, position, text[position], dialect, has_escapes=True)
        elif text.startswith("$(", position):
            position = _skip_substitution(text, position + 1, dialect)
        elif text.startswith("${", position):
            position = _skip_quoted(text, position + 1, "}", dialect, has_escapes=True)
        else:
            position += 1
        if dialect == "fish" and text[position : position + 1] == "(":  # fish writes $(command) as (command)
            position = _skip_substitution(text, position, dialect)
    return min(position, len(text))


def _skip_quoted(text: str, position: int, mark: str, dialect: str, has_escapes: bool) -> int:
    """Return the position after the mark that closes the quote, or the "${", at a position.

    has_escapes: a backslash escapes the mark. Raise AmbiguousText if the quote is not closed.
    """
    position += 1
    while position < len(text):
        if text[position] == mark:
            return position + 1
        if text[position] == "\n" and dialect == "csh":  # a quote of csh ends on its line
            break
        if text.startswith("$(", position) and mark == '"' and dialect != "csh":
            position = _skip_substitution(text, position + 1, dialect)
        else:
            position += 2 if has_escapes and text[position] == "\\" else 1
    raise AmbiguousText("a quote is not closed")


def _skip_substitution(text: str, position: int, dialect: str) -> int:
    """Return the position after the parenthesis that closes the parenthesis at a position.

    Raise AmbiguousText if the parenthesis is not closed.
    """
    depth = 0
    while position < len(text):
        if text[position] in "()":
            depth += 1 if text[position] == "(" else -1
            position += 1
            if not depth:
                return position
        elif text[position] in "'\"`":
            has_escapes = text[position] != "'" or dialect == "fish"
            position = _skip_quoted(text, position, text[position], dialect, has_escapes)
        else:
            position += 2 if text[position] == "\\" else 1
    raise AmbiguousText("a parenthesis is not closed")
