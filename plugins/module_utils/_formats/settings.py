# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that single lines of a start-up file set, in the syntax of every shell.

Texts are decoded as latin-1. Fixes parse lines more strictly: _fixes/shell_text.py.
"""

import re
from typing import Iterator, Mapping, NamedTuple, Tuple

from .lines import split_lines
from .startup import MARK, reads

EXPORT = re.compile(
    r"(?:^|[;&|{)]|\bthen\b)[ \t]*"
    r"(?:export|setenv|set[ \t]+-\w*x\w*|(?:typeset|declare)(?:[ \t]+-\w+)*?[ \t]+-\w*x\w*(?:[ \t]+-\w+)*)[ \t]+"
    r"(\w+)(?:[ \t]*=|[ \t]|$)(.*)"
)
BARE = re.compile(r"^[ \t]*(\w+)=(.*)")
VALUE = re.compile(r"""[ \t]*(?:'([^']*)'|"([^"]*)"|([^\s;&|#'"]*))[ \t]*(?:[;&|#].*)?$""")
NEXT = re.compile(r"""((?:'[^']*'|"[^"]*"|[^\s;&|#'"])*)[ \t]+(\w+)=(.*)""")  # a value, and the next name of an export
PLAIN = re.compile(r"[\w@%+:,./-]+\Z")


class Setting(NamedTuple):
    """A line that sets a variable: its number from 1, the whole line, the name, and the text after it."""

    line: int
    whole: str
    name: str
    text: str
    exported: bool  # else it counts only if the variable is in the environment
    first: bool  # it begins its line; else it may be in a block or after a condition

    def value(self, home: str) -> str:
        """Return a literal value, with the home for ~ and $HOME; else ""."""
        return self.expanded({"HOME": home})

    def expanded(self, variables: Mapping[str, str]) -> str:
        """Return a value that is literal but for one of these variables at its beginning, or ~; else ""."""
        found = VALUE.match(self.text)
        literal, quoted, bare = found.groups() if found else ("", "", "")
        value = literal or quoted or bare or ""
        words = {"~": "HOME"} if bare else {}
        for name in variables:
            words.update({"${%s}" % name: name, "$" + name: name})
        for word in words if not literal else ():
            if value.startswith(word + "/"):
                value = variables[words[word]] + value[len(word) :]
        return value if PLAIN.match(value) else ""

    def is_certain(self, home: str) -> bool:
        """Return True if the line alone shows the variable's value."""
        return self.first and bool(self.value(home))


def find_settings(text: str) -> Iterator[Setting]:
    """Yield what each line sets, first what it exports."""
    for number, line in enumerate(split_lines(text), 1):
        for pattern in (EXPORT, BARE):
            found = None if line.lstrip().startswith("#") else pattern.search(line)
            if found:
                first = found.start() == 0 and not line[0].isspace()
                for name, text in _split_pairs(found.group(1), found.group(2)):
                    yield Setting(number, line, name, text, pattern is EXPORT, first)


def _split_pairs(name: str, text: str) -> Iterator[Tuple[str, str]]:
    """Yield the names and values of 'export A=1 B=2'; the last value keeps what follows it."""
    following = NEXT.match(text)
    while following:
        yield name, following.group(1)
        name, text = following.group(2), following.group(3)
        following = NEXT.match(text)
    yield name, text


def find_overrides(text: str, ours: Mapping[str, str], home: str) -> Iterator[Setting]:
    """Yield the settings after the hpc-onboard line that give a variable another value, or one that is not literal.

    ours: variable -> value. A line that sources a file with the hpc-onboard line counts as that line. A setting that
    uses the variable itself is no override: it extends the value, or sets it if it is missing.
    """
    ways = (MARK, ".bashrc")
    at = next((number for number, line in enumerate(split_lines(text), 1) if any(reads(line, way) for way in ways)), 0)
    for one in find_settings(text):
        is_ours = one.line > at and one.name in ours and one.text.strip()
        looks = is_ours and re.search(r"\$[{?]*%s\b" % re.escape(one.name), one.whole)
        if is_ours and not looks and one.value(home) != ours[one.name]:
            yield one


_OF_JOBS = re.compile(r"\$\{?(?:SLURM|PBS|LSB|SLURMD)_\w+|\?SLURM_\w+|\bset -q SLURM_\w+|\bIN_JOB\b")
_OPENS = re.compile(r"^[ \t]*(?:if|case|switch)\b")
_CLOSES = re.compile(r"^[ \t]*(?:fi|esac|endif|endsw|end)\b|\b(?:fi|esac)[ \t]*;?[ \t]*(?:#.*)?$")
_UNSETS = r"\b(?:unset|unsetenv|set(?: -\w+)* -\w*e\w*|export -n)\b[^\n;#]*\b%s\b"


def find_for_jobs(text: str, ours: Mapping[str, str], home: str) -> Iterator[Tuple[int, str]]:
    """Yield the lines that only a job runs and that set one of these variables to another value, or unset it.

    Such a line is below a condition, or behind one, that asks for a variable of the scheduler.
    """
    is_for_jobs = False
    for number, line in enumerate(split_lines(text), 1):
        code = "" if line.lstrip().startswith("#") else line
        asks = _OF_JOBS.search(code) is not None
        is_for_jobs = is_for_jobs or (asks and _OPENS.match(code) is not None)
        for name in ours if is_for_jobs or asks else ():
            sets = [one for one in find_settings(code.strip()) if one.name == name]
            other = [one for one in sets if name not in one.text and one.value(home) != ours[name]]
            if name in code and (other or re.search(_UNSETS % name, code)):
                yield number, name
        is_for_jobs = is_for_jobs and _CLOSES.search(code) is None
