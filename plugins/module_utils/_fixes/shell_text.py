# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The removal of variable assignments from a start-up file or script, keeping every other byte.

A text of uncertain structure (an open quote or block) is not changed. Commands in blocks, or joined to other commands,
are not changed either, since the rest of them could get a different meaning.
"""

import re
from typing import Callable, List, Match, NamedTuple, Tuple

from .._scan.job_files import COMMENT
from .shell_commands import BLANK, AmbiguousText, ShellCommand, parse_commands

EXPORT_COMMANDS = ("export", "declare", "typeset", "readonly")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
NAME = re.compile(r"[A-Za-z_]\w*\Z")
# A variable whose name is in another variable, or eval of anything but a program's output or one variable.
_INDIRECT = re.compile(
    r"\$\{!|\$\{\(P|\$\$[A-Za-z_]|(?<![\w.-])eval[ \t](?![ \t]*\"?(?:`|\$?\(|\$\w+\"?[ \t]*(?:[;\n]|\Z)))"
    r"|(?<![\w.-])eval[ \t][^\n]*\\\$"
)
MOST_REMOVALS = 100  # from one text


class Assignment(NamedTuple):
    """An assignment of a variable in a start-up file or script."""

    name: str
    source: str  # the text of the assignment
    start: int  # of the part of the text to remove
    end: int
    is_whole_command: bool  # the part to remove is the whole command, not only one word
    why_not: str  # why the assignment must not be removed, with %d for its line; empty if it may be removed


def value_of(source: str) -> str:
    """Return the literal value in the text of an assignment, without surrounding quotes. source: see Assignment."""
    value = source.partition("=")[2] if "=" in source else source.split(None)[-1]  # "A=1" or "setenv A 1"
    return value.strip("\"'")


def find_assignments(text: str, path: str) -> List[Assignment]:
    """Return all assignments of a text in order; empty if the structure of the text is uncertain.

    path: the path of the file, whose name tells the dialect.
    """
    try:
        return _parse_assignments(text, _dialect_of(path))
    except AmbiguousText:
        return []


def remove_assignments(text: str, path: str, is_selected: Callable[[str], bool]) -> Tuple[str, str]:
    """Return (text without the selected assignments, ""), or (unchanged text, reason) if one must not be removed.

    path: the path of the file, whose name tells the dialect. is_selected: called with the text of an assignment.
    Also, nothing is removed if the rest of the text uses the variable, or mentions its name outside of comments. The
    reason is a clause without a capital.
    """
    remaining, dialect = text, _dialect_of(path)
    try:
        use = _describe_use(text, _parse_assignments(text, dialect), is_selected)
        if use:
            return text, use
        for _step in range(MOST_REMOVALS):
            # Each removal shifts the positions, so the text is parsed again.
            assignments = _parse_assignments(remaining, dialect)
            selected = next((assignment for assignment in assignments if is_selected(assignment.source)), None)
            if selected is None:
                return remaining, ""
            remaining = _remove_assignment(remaining, selected)
    except AmbiguousText as error:
        return text, str(error)
    return text, "more than %d commands set the variable" % MOST_REMOVALS


def _describe_use(text: str, assignments: List[Assignment], is_selected: Callable[[str], bool]) -> str:
    """Return why the selected assignments must not be removed, as a clause; empty if they may be removed."""
    selected = [assignment for assignment in assignments if is_selected(assignment.source)]
    for assignment in selected:
        if assignment.why_not:
            return assignment.why_not % _line_number(text, assignment.start)
    rest = _blank(text, [(assignment.start, assignment.end) for assignment in selected])
    for name in [assignment.name for assignment in selected]:
        line = _find_use(rest, name, assignments)
        if line:
            return "line %d uses $%s" % (line, name)
    indirect = _INDIRECT.search(COMMENT.sub(_blank_match, rest)) if selected else None
    if not indirect:
        return ""
    return "line %d may use any variable (eval, or a name in a variable)" % _line_number(rest, indirect.start())


def find_use(text: str, path: str, name: str) -> int:
    """Return the first line that uses a variable, or mentions its name outside of comments; 0 without such a line.

    A command that only sets the variable does not use it. path: the path of the file, whose name tells the dialect.
    """
    return _find_use(text, name, find_assignments(text, path)) if name in text else 0


def _find_use(text: str, name: str, assignments: List[Assignment]) -> int:
    """Return the line, as find_use() does. assignments: of the text."""
    use = re.search(r"\$\{?[#!]?%s(?!\w)" % name, text)
    if not use:  # the name may be a word, as in "docker run -e NAME", "printenv NAME" or os.environ["NAME"]
        word = re.compile(r"(?<!\w)%s(?!\w|\+?=(?!=))" % name)
        others = [word.search(text, other.start, other.end) for other in assignments if other.name == name]
        set_here = [match.span() for match in others if match]  # as in "export NAME" or "setenv NAME value"
        use = word.search(COMMENT.sub(_blank_match, _blank(text, set_here)))
    return _line_number(text, use.start()) if use else 0


def _blank(text: str, ranges: List[Tuple[int, int]]) -> str:
    """Return the text with spaces instead of the characters of these ranges (start, end), except line breaks."""
    for start, end in ranges:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def _blank_match(match: Match[str]) -> str:
    """Return spaces instead of a match, except line breaks."""
    return _blank(match.group(), [(0, len(match.group()))])


def _line_number(text: str, position: int) -> int:
    """Return the number of the line, from 1, that contains a position of the text."""
    return text.count("\n", 0, position) + 1


def _dialect_of(path: str) -> str:
    """Return the dialect of a start-up file or script, by its name: sh, csh or fish."""
    name = path.rpartition("/")[2]
    if name.endswith(".fish"):
        return "fish"
    return "csh" if name in (".cshrc", ".tcshrc", ".login") or name.endswith(".csh") else "sh"


def _remove_assignment(text: str, assignment: Assignment) -> str:
    """Return the text without an assignment and one separator: ";" of a whole command, else white space.

    A line that would be empty is removed.
    """
    start, end = assignment.start, assignment.end
    line_start = text.rfind("\n", 0, start) + 1
    next_separator = re.compile(r"[ \t]*;[ \t]*" if assignment.is_whole_command else r"[ \t]+").match(text, end)
    separator_before = re.search(r"[ \t]*;?[ \t]*\Z", text[line_start:start])
    if next_separator and text[next_separator.end() : next_separator.end() + 1] not in ("\n", ""):
        end = next_separator.end()  # a command or word follows: keep the separator before
    elif separator_before and line_start + separator_before.start() > line_start:
        start = line_start + separator_before.start()  # the assignment is the last part of its line
        end = next_separator.end() if next_separator and assignment.is_whole_command else end
    rest_of_line = text[line_start:start] + text[end:].partition("\n")[0]
    if not rest_of_line.strip(BLANK + ";"):  # nothing is left: remove the line with its line break
        end = text.find("\n", end) + 1 or len(text)
        start = line_start
    return text[:start] + text[end:]


def _parse_assignments(text: str, dialect: str) -> List[Assignment]:
    """Return all assignments of a text in order. Raise AmbiguousText if the structure of the text is uncertain."""
    assignments: List[Assignment] = []
    for command in parse_commands(text, dialect):
        if dialect == "sh":
            assignments += _read_sh_assignments(text, command)
        else:
            assignments += _read_set_assignment(text, command, dialect)
    return assignments


def _why_not_removable(text: str, command: ShellCommand) -> str:
    """Return why an assignment of a command must not be removed, with %d for its line; empty if it may be removed."""
    if command.depth:
        return "line %d is in a block (if, for, case or a function)"
    if "\n" in text[command.words[0][0] : command.words[-1][1]]:
        return "line %d continues on the next line"
    return "" if command.is_independent else "the command on line %d is combined with another command (&&, ||, | or &)"


def _read_sh_assignments(text: str, command: ShellCommand) -> List[Assignment]:
    """Return each assignment of 'export A=1 B=2'; none of 'A=1 program', which only affects the program."""
    words = [text[start:end] for start, end in command.words]
    is_export = words[0] in EXPORT_COMMANDS
    if is_export and any(re.match(r"-\w*[pfF]", word) for word in words):
        return []  # the command prints variables, or is about functions
    # "export A" without a value belongs to A as well.
    assigned_indexes = [
        index
        for index, word in enumerate(words)
        if ASSIGNMENT.match(word) or (is_export and index and NAME.match(word))
    ]
    others = [word for index, word in enumerate(words) if index not in assigned_indexes]
    arguments = others[1:] if is_export else others  # without the name of the export command
    has_only_options = is_export and all(word.startswith("-") for word in arguments)
    if not assigned_indexes or (arguments and not has_only_options):
        return []  # not an assignment, or one that only affects a program
    is_whole_command = len(assigned_indexes) == 1
    assignments = []
    for index in assigned_indexes:
        start, end = command.words[index]
        if is_whole_command:
            start, end = command.words[0][0], command.words[-1][1]
        name = words[index].partition("=")[0].rstrip("+")
        why_not = _why_not_removable(text, command)
        assignments.append(Assignment(name, words[index], start, end, is_whole_command, why_not))
    return assignments


def _read_set_assignment(text: str, command: ShellCommand, dialect: str) -> List[Assignment]:
    """Return the assignment of 'setenv A 1' or 'set A=1' (csh), or 'set -gx A 1' (fish); empty for other commands."""
    words = [text[start:end] for start, end in command.words]
    start, end = command.words[0][0], command.words[-1][1]
    name = ""  # the command sets no variable
    if any(re.match(r"-(?:\w*[qenS]|-(?:query|erase|names|show))", word) for word in words):
        return []  # fish asks for a variable, or removes it
    if words[0] == ("set" if dialect == "fish" else "setenv"):
        name = next((word for word in words[1:] if not word.startswith("-")), "")
    elif words[0] == "set" and len(words) == 2:  # of csh
        name = words[1].partition("=")[0]
    if not NAME.match(name):
        return []
    why_not = _why_not_removable(text, command)
    return [Assignment(name, text[start:end], start, end, is_whole_command=True, why_not=why_not)]
