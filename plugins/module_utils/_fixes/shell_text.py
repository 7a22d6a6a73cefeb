# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The removal of variable assignments from a start-up file or script, keeping every other byte.

A text of uncertain structure (an open quote or block) is not changed. Commands in blocks, or joined to other commands,
are not changed either, since the rest of them could get a different meaning.
"""

import re
from typing import Callable, List, NamedTuple, Tuple

from .shell_commands import BLANK, AmbiguousText, ShellCommand, parse_commands

EXPORT_COMMANDS = ("export", "declare", "typeset", "readonly")
ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=")
NAME = re.compile(r"[A-Za-z_]\w*\Z")


class Assignment(NamedTuple):
    """An assignment of a variable: its source text, and the start and end of the part of the file to cut."""

    name: str
    source: str
    start: int
    end: int
    is_whole_command: bool
    why_not: str  # why the assignment must not be removed; empty if it may be


def value_of(source: str) -> str:
    """Return the literal value in the source text of an assignment, without surrounding quotes."""
    return (source.partition("=")[2] if "=" in source else source.split(None)[-1]).strip("\"'")


def find_assignments(text: str, path: str) -> List[Assignment]:
    """Return all assignments of a text in order; empty if its structure is uncertain. path: for the dialect."""
    try:
        return _parse_assignments(text, _dialect_of(path))
    except AmbiguousText:
        return []


def remove_assignments(text: str, path: str, is_selected: Callable[[str], bool]) -> Tuple[str, str]:
    """Return the text without the selected assignments, and ""; or the unchanged text, and why.

    is_selected: called with the source text of an assignment.
    """
    left = text
    try:
        for _step in range(100):  # parsed again after each removal, as positions change
            assignments = _parse_assignments(left, _dialect_of(path))
            found = next((assignment for assignment in assignments if is_selected(assignment.source)), None)
            if found is None:
                return left, ""
            line = left.count("\n", 0, found.start) + 1
            if found.why_not:
                return text, found.why_not % line
            left = _cut(left, found)
            user = re.search(r"\$\{?[#!]?%s(?!\w)" % re.escape(found.name), left)
            if user:
                return text, "line %d uses $%s" % (left.count("\n", 0, user.start()) + 1, found.name)
    except AmbiguousText as error:
        return text, str(error)
    return text, "more than 100 commands set the variable"


def _dialect_of(path: str) -> str:
    """Return the dialect of a start-up file or script, by its name: sh, csh or fish."""
    name = path.rpartition("/")[2]
    if name.endswith(".fish"):
        return "fish"
    return "csh" if name in (".cshrc", ".tcshrc", ".login") or name.endswith(".csh") else "sh"


def _cut(text: str, found: Assignment) -> str:
    """Return the text without an assignment and its separator; a line that would be empty is removed."""
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
    """Return all assignments of a text in order. Raises AmbiguousText."""
    found: List[Assignment] = []
    for command in parse_commands(text, dialect):
        found += (
            _read_sh_assignments(text, command) if dialect == "sh" else _read_set_assignment(text, command, dialect)
        )
    return found


def _why_not_removable(text: str, command: ShellCommand) -> str:
    """Return why an assignment of a command must not be removed, with %d for its line; empty if it may be."""
    if command.depth:
        return "line %d is in a block (if, for, case, a function)"
    if "\n" in text[command.words[0][0] : command.words[-1][1]]:
        return "line %d continues on the next line"
    return "" if command.is_independent else "the command on line %d is combined with another command (&&, ||, | or &)"


def _read_sh_assignments(text: str, command: ShellCommand) -> List[Assignment]:
    """Return each assignment of 'export A=1 B=2'; none of 'A=1 program', which only affects the program."""
    words = [text[start:end] for start, end in command.words]
    exports = words[0] in EXPORT_COMMANDS
    named = [
        index for index, word in enumerate(words) if ASSIGNED.match(word) or (exports and index and NAME.match(word))
    ]
    others = [index for index in range(len(words)) if index not in named]
    if (
        not named
        or (exports and any(not words[index].startswith("-") for index in others[1:]))
        or (not exports and others)
    ):
        return []
    start, end = command.words[0][0], command.words[-1][1]
    is_whole, found = len(named) == 1, []
    for index in named:
        place = (start, end) if is_whole else command.words[index]
        name = words[index].partition("=")[0].rstrip("+")
        found.append(Assignment(name, words[index], place[0], place[1], is_whole, _why_not_removable(text, command)))
    return found


def _read_set_assignment(text: str, command: ShellCommand, dialect: str) -> List[Assignment]:
    """Return the assignment of 'setenv A 1', 'set A=1' or 'set -gx A 1', a command with one variable."""
    words = [text[start:end] for start, end in command.words]
    start, end = command.words[0][0], command.words[-1][1]
    if words[0] == ("set" if dialect == "fish" else "setenv"):
        named = [word for word in words[1:] if not word.startswith("-")][:1]
    else:
        named = [words[1].partition("=")[0]] if words[0] == "set" and len(words) == 2 else []
    if not named or not NAME.match(named[0]):
        return []
    return [Assignment(named[0], text[start:end], start, end, True, _why_not_removable(text, command))]
