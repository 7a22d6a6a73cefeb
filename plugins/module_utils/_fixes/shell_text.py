# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take assignments of variables out of a start-up file or a script, and leave every other byte.

A text is taken apart as far as that needs: into commands, with the blocks that they stand in. What is not understood
for certain (a quote that nothing closes, a block without an end) is Unclear, and nothing of it is touched; so are
commands in blocks and such as hang together with others, for what is left there would mean something else.
"""

import re
from typing import Callable, List, NamedTuple, Tuple

from .shell_commands import BLANK, Command, Unclear, commands

EXPORTS = ("export", "declare", "typeset", "readonly")
ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=")
NAME = re.compile(r"[A-Za-z_]\w*\Z")


class Assignment(NamedTuple):
    """One variable that is set: its text as it stands there, and whether it can be taken out without harm."""

    name: str
    source: str
    start: int  # of what is to be cut
    end: int
    whole: bool  # whether that is all of its command
    why_not: str  # why it must stay; empty where it need not


def value_of(source: str) -> str:
    """Return the value of an assignment as it is written, without quotes around it."""
    return (source.partition("=")[2] if "=" in source else source.split(None)[-1]).strip("\"'")


def dialect_of(path: str) -> str:
    """The dialect in which a file of this name is written."""
    name = path.rpartition("/")[2]
    if name.endswith(".fish"):
        return "fish"
    return "csh" if name in (".cshrc", ".tcshrc", ".login") or name.endswith(".csh") else "sh"


def without(text: str, dialect: str, is_meant: Callable[[str], bool]) -> Tuple[str, str]:
    """The text without the assignments that are meant, and why one must stay (then the text is as it was).

    is_meant: is given an assignment as it stands there. Raises nothing: what is not understood is a reason to stay.
    """
    left = text
    try:
        for _step in range(100):
            found = next((one for one in assignments(left, dialect) if is_meant(one.source)), None)
            if found is None:
                return left, ""
            line = left.count("\n", 0, found.start) + 1
            if found.why_not:
                return text, "line %d %s" % (line, found.why_not)
            left = _cut(left, found)
            user = _user(left, found.name)
            if user:
                return text, "line %d uses $%s" % (user, found.name)
    except Unclear as error:
        return text, str(error)
    return text, "there are too many such lines"


def _user(text: str, name: str) -> int:
    """The line, from 1 on, that uses the variable; 0 where none does."""
    found = re.search(r"\$\{?[#!]?%s(?!\w)" % re.escape(name), text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _cut(text: str, found: Assignment) -> str:
    """The text without the assignment, and without what is then left over of its line."""
    start, end = found.start, found.end
    line = text.rfind("\n", 0, start) + 1
    behind = re.compile(r"[ \t]*;[ \t]*" if found.whole else r"[ \t]+").match(text, end)
    before = re.search(r"[ \t]*;?[ \t]*\Z", text[line:start])
    if behind and text[behind.end() : behind.end() + 1] not in ("\n", ""):
        end = behind.end()
    elif before and line + before.start() > line:
        start = line + before.start()
        end = behind.end() if behind and found.whole else end
    rest = text[line:start] + text[end:].partition("\n")[0]
    if not rest.strip(BLANK + ";"):
        end = text.find("\n", end) + 1 or len(text)
        start = line
    return text[:start] + text[end:]


# -- assignments -----------------------------------------------------------------------------------


def assignments(text: str, dialect: str) -> List[Assignment]:
    """All variables that are set, in their order. Raises Unclear."""
    found: List[Assignment] = []
    every = commands(text, dialect)
    for command in every:
        if dialect == "sh":
            found += _of_sh(text, command)
        else:
            found += _of_set(text, command, dialect)
    return found


def _why_not(text: str, command: Command) -> str:
    if command.depth:
        return "stands in a block (if, for, case, a function)"
    if "\n" in text[command.words[0][0] : command.words[-1][1]]:
        return "goes on over several lines"
    return "" if command.alone else "hangs together with another command"


def _of_sh(text: str, command: Command) -> List[Assignment]:
    """Of 'export A=1 B=2' each; of 'A=1 program' none, for the program is run with it."""
    words = [text[start:end] for start, end in command.words]
    exports = words[0] in EXPORTS
    named = [at for at, word in enumerate(words) if ASSIGNED.match(word) or (exports and at and NAME.match(word))]
    others = [at for at, word in enumerate(words) if at not in named]
    if not named or (exports and any(not words[at].startswith("-") for at in others[1:])) or (not exports and others):
        return []
    start, end = command.words[0][0], command.words[-1][1]
    whole, found = len(named) == 1, []
    for at in named:
        place = (start, end) if whole else command.words[at]
        name = words[at].partition("=")[0].rstrip("+")
        found.append(Assignment(name, words[at], place[0], place[1], whole, _why_not(text, command)))
    return found


def _of_set(text: str, command: Command, dialect: str) -> List[Assignment]:
    """Of 'setenv A 1', 'set A=1' and 'set -gx A 1': the whole command is the assignment."""
    words = [text[start:end] for start, end in command.words]
    start, end = command.words[0][0], command.words[-1][1]
    if words[0] == ("set" if dialect == "fish" else "setenv"):
        named = [word for word in words[1:] if not word.startswith("-")][:1]
    else:
        named = [words[1].partition("=")[0]] if words[0] == "set" and len(words) == 2 else []
    if not named or not NAME.match(named[0]):
        return []
    return [Assignment(named[0], text[start:end], start, end, True, _why_not(text, command))]
