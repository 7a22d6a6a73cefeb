# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove assignments of variables from a start-up file or a script, and keep every other byte.

The text is split into commands, with the depth of the blocks around them. A text of uncertain structure (a quote
that is not closed, a block without an end) stays as it is. Commands in blocks, or joined to others, stay as well: what
was left of them could mean something else.
"""

import re
from typing import Callable, List, NamedTuple, Tuple

from .shell_commands import BLANK, AmbiguousText, ShellCommand, parse_commands

EXPORTS = ("export", "declare", "typeset", "readonly")
ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=")
NAME = re.compile(r"[A-Za-z_]\w*\Z")


class Assignment(NamedTuple):
    """A variable that is set: its source text and the part of the file to cut."""

    name: str
    source: str
    start: int
    end: int
    is_whole_command: bool
    why_not: str  # why it must stay; empty if it may be removed


def value_of(source: str) -> str:
    """Return the value of an assignment as it is written, without quotes around it."""
    return (source.partition("=")[2] if "=" in source else source.split(None)[-1]).strip("\"'")


def find_assignments(text: str, path: str) -> List[Assignment]:
    """Return all assignments of a file in their order; none if the structure of the text is not certain."""
    try:
        return _parse_assignments(text, _dialect_of(path))
    except AmbiguousText:
        return []


def remove_assignments(text: str, path: str, is_meant: Callable[[str], bool]) -> Tuple[str, str]:
    """Return the text without the assignments that are meant; or the text as it was, and why one must stay.

    is_meant: is given the source text of an assignment.
    """
    left = text
    try:
        for _step in range(100):
            found = next((one for one in _parse_assignments(left, _dialect_of(path)) if is_meant(one.source)), None)
            if found is None:
                return left, ""
            line = left.count("\n", 0, found.start) + 1
            if found.why_not:
                return text, "line %d %s" % (line, found.why_not)
            left = _cut(left, found)
            user = re.search(r"\$\{?[#!]?%s(?!\w)" % re.escape(found.name), left)
            if user:
                return text, "line %d uses $%s" % (left.count("\n", 0, user.start()) + 1, found.name)
    except AmbiguousText as error:
        return text, str(error)
    return text, "there are too many such lines"


def _dialect_of(path: str) -> str:
    name = path.rpartition("/")[2]
    if name.endswith(".fish"):
        return "fish"
    return "csh" if name in (".cshrc", ".tcshrc", ".login") or name.endswith(".csh") else "sh"


def _cut(text: str, found: Assignment) -> str:
    """Return the text without the assignment, its separator and, if nothing else is left, its line."""
    start, end = found.start, found.end
    line = text.rfind("\n", 0, start) + 1
    behind = re.compile(r"[ \t]*;[ \t]*" if found.is_whole_command else r"[ \t]+").match(text, end)
    before = re.search(r"[ \t]*;?[ \t]*\Z", text[line:start])
    if behind and text[behind.end() : behind.end() + 1] not in ("\n", ""):
        end = behind.end()
    elif before and line + before.start() > line:
        start = line + before.start()
        end = behind.end() if behind and found.is_whole_command else end
    rest = text[line:start] + text[end:].partition("\n")[0]
    if not rest.strip(BLANK + ";"):
        end = text.find("\n", end) + 1 or len(text)
        start = line
    return text[:start] + text[end:]


def _parse_assignments(text: str, dialect: str) -> List[Assignment]:
    found: List[Assignment] = []
    for command in parse_commands(text, dialect):
        found += _assigned_in_sh(text, command) if dialect == "sh" else _assigned_by_set(text, command, dialect)
    return found


def _why_not(text: str, command: ShellCommand) -> str:
    if command.depth:
        return "is in a block (if, for, case, a function)"
    if "\n" in text[command.words[0][0] : command.words[-1][1]]:
        return "continues over several lines"
    return "" if command.is_independent else "is joined to another command"


def _assigned_in_sh(text: str, command: ShellCommand) -> List[Assignment]:
    """Return each variable of 'export A=1 B=2'; none of 'A=1 program', which is for the program."""
    words = [text[start:end] for start, end in command.words]
    exports = words[0] in EXPORTS
    named = [at for at, word in enumerate(words) if ASSIGNED.match(word) or (exports and at and NAME.match(word))]
    others = [at for at, word in enumerate(words) if at not in named]
    if not named or (exports and any(not words[at].startswith("-") for at in others[1:])) or (not exports and others):
        return []
    start, end = command.words[0][0], command.words[-1][1]
    is_whole, found = len(named) == 1, []
    for at in named:
        place = (start, end) if is_whole else command.words[at]
        name = words[at].partition("=")[0].rstrip("+")
        found.append(Assignment(name, words[at], place[0], place[1], is_whole, _why_not(text, command)))
    return found


def _assigned_by_set(text: str, command: ShellCommand, dialect: str) -> List[Assignment]:
    """Return the variable of 'setenv A 1', 'set A=1' or 'set -gx A 1' as one whole command."""
    words = [text[start:end] for start, end in command.words]
    start, end = command.words[0][0], command.words[-1][1]
    if words[0] == ("set" if dialect == "fish" else "setenv"):
        named = [word for word in words[1:] if not word.startswith("-")][:1]
    else:
        named = [words[1].partition("=")[0]] if words[0] == "set" and len(words) == 2 else []
    if not named or not NAME.match(named[0]):
        return []
    return [Assignment(named[0], text[start:end], start, end, True, _why_not(text, command))]
