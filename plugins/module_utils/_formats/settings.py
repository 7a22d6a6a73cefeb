# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that the lines of a start-up file set, as far as each line says it alone, in every shell's words.

Texts are read as latin-1. What is taken out of a file is understood better than that: _fixes/shell_text.py.
"""

import re
from typing import Iterator, Mapping, NamedTuple

from .lines import split_lines
from .startup import MARK, reads

EXPORT = re.compile(
    r"(?:^|[;&|{]|\bthen\b)[ \t]*(?:export|setenv|set[ \t]+-\w*x\w*|(?:typeset|declare)[ \t]+-x)[ \t]+"
    r"(\w+)(?:[ \t]*=|[ \t]|$)(.*)"
)
BARE = re.compile(r"^[ \t]*(\w+)=(.*)")
VALUE = re.compile(r"""[ \t]*(?:'([^']*)'|"([^"]*)"|([^\s;&|#'"]*))[ \t]*(?:[;&|#].*)?$""")
PLAIN = re.compile(r"[\w@%+:,./-]+\Z")


class Setting(NamedTuple):
    """Where a variable is set, from line 1 on: the whole line, and the text behind the name."""

    line: int
    whole: str
    name: str
    text: str
    exported: bool  # else it is only set, and counts where the environment has it
    first: bool  # whether it begins its line; else it may stand in a block, or behind a question

    def value(self, home: str) -> str:
        """The value where it is written out, with the home for ~ and $HOME; else nothing."""
        found = VALUE.match(self.text)
        literal, quoted, bare = found.groups() if found else ("", "", "")
        value = literal or quoted or bare or ""
        for word in ("${HOME}", "$HOME") + (("~",) if bare else ()):
            if not literal and value.startswith(word + "/"):
                value = home + value[len(word) :]
        return value if PLAIN.match(value) else ""

    def is_certain(self, home: str) -> bool:
        """Whether the line alone shows that the variable has another value then."""
        return self.first and bool(self.value(home))


def find_settings(text: str) -> Iterator[Setting]:
    """What each line sets, first what it exports."""
    for number, line in enumerate(split_lines(text), 1):
        for pattern in (EXPORT, BARE):
            found = None if line.lstrip().startswith("#") else pattern.search(line)
            if found:
                first = found.start() == 0 and not line[0].isspace()
                yield Setting(number, line, found.group(1), found.group(2), pattern is EXPORT, first)


def find_overrides(text: str, ours: Mapping[str, str], home: str) -> Iterator[Setting]:
    """The settings below our line that give a variable of ours another value, or one that is not written out.

    Where another file is read that has our line, it stands for that. A line that looks at the variable itself is none:
    it sets what is not set yet, or takes up what is.
    """
    ways = (MARK, ".bashrc")
    at = next((number for number, line in enumerate(split_lines(text), 1) if any(reads(line, way) for way in ways)), 0)
    for one in find_settings(text):
        is_ours = one.line > at and one.name in ours and one.text.strip()
        looks = is_ours and re.search(r"\$[{?]*%s\b" % re.escape(one.name), one.whole)
        if is_ours and not looks and one.value(home) != ours[one.name]:
            yield one
