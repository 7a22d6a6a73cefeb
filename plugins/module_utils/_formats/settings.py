# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the variables that single lines of a start-up file set, in the syntax of any shell.

Texts are decoded as latin-1. Fixes parse lines more strictly: _fixes/shell_text.py.
"""

import re
from typing import Iterator, Mapping, Match, NamedTuple, Tuple

from .lines import split_lines
from .startup import MARK, refers_to

EXPORT = re.compile(
    r"(?:^|[;&|{)]|\b(?:then|do|else|and|or)\b)[ \t]*"
    r"(?:export|setenv|SETUVAR[ \t]+--export|set(?=[ \t]+(?:-[\w-]+[ \t]+)*?(?:-\w*x|--export\b))(?:[ \t]+-[\w-]+)+"
    r"|(?:typeset|declare)(?:[ \t]+-\w+)*?[ \t]+-\w*x\w*(?:[ \t]+-\w+)*)[ \t]+"
    r"(\w+)(?:[ \t]*=|:|[ \t]|$)(.*)"
)
BARE = re.compile(r"^[ \t]*(\w+)=(.*)")  # an assignment without export
VALUE = re.compile(r"""[ \t]*(?:'([^']*)'|"([^"]*)"|([^\s;&|#'"]*))[ \t]*(?:[;&|#].*)?$""")
NEXT = re.compile(r"""((?:'[^']*'|"[^"]*"|[^\s;&|#'"])*)[ \t]+(\w+)=(.*)""")  # a value, and the next name of an export
# a separator of commands, as group 1; or a quoted text, an escape or a comment, whose characters separate nothing
SEPARATOR = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<=\s)#.*|([;&|]+)""")
HERE_DOCUMENT = re.compile(r"(?<!<)<<-?[ \t]*\\?[\"']?(\w+)")
REFERENCE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")  # to a variable
PLAIN = re.compile(r"[\w@%+:,./-]+\Z")  # a value that shells do not change


class Setting(NamedTuple):
    """A line that sets a variable."""

    line: int  # number, from 1
    whole_line: str
    name: str  # of the variable
    text: str  # the value and the rest of the line, as written
    exported: bool  # False: the line has an effect only on a variable that is in the environment already
    begins_line: bool  # False: the setting may be in a block or after a condition

    def value(self, home: str) -> str:
        """Return the value, with the home directory for ~ and $HOME; "" if the value is not literal."""
        return self.expand_value({"HOME": home})

    def expand_value(self, variables: Mapping[str, str]) -> str:
        """Return the value, with ~ and these variables expanded; "" if the value contains anything else to expand."""
        found = VALUE.match(self.text)
        literal, quoted, bare = found.groups() if found else ("", "", "")
        value = literal or quoted or bare or ""
        if bare and value.startswith("~/") and "HOME" in variables:  # shells expand ~ only outside of quotes
            value = variables["HOME"] + value[1:]
        if not literal:  # shells expand nothing in single quotes
            value = REFERENCE.sub(lambda use: variables.get(use.group(1) or use.group(2), use.group()), value)
        return value if PLAIN.match(value) else ""

    def is_certain(self, home: str) -> bool:
        """Return True if the line alone determines the variable: the value is literal, and the setting begins the line.

        home: the home directory, to which ~ and $HOME in the value refer.
        """
        return self.begins_line and bool(self.value(home))


def find_settings(text: str) -> Iterator[Setting]:
    """Yield the settings of each line: first those with export, then an assignment without export.

    Comments and lines of here-documents are skipped.
    """
    for number, line in enumerate(split_lines(blank_here_documents(text)), 1):
        if line.lstrip().startswith("#"):
            continue
        bare = BARE.search(line)
        for found in [*_find_exports(line), *([bare] if bare else [])]:
            begins_line = found.start() == 0 and not line[0].isspace()
            first_name, rest = found.groups()  # one export may set several variables
            for name, value_text in _split_pairs(first_name, rest):
                yield Setting(number, line, name, value_text, found is not bare, begins_line)


def _find_exports(line: str) -> Iterator[Match[str]]:
    """Yield a match of EXPORT for the first command of a line that exports variables, and for those next to it."""
    found = EXPORT.search(line)
    if found is None:
        return
    yield found
    for separator in SEPARATOR.finditer(line, found.start(2)):
        following = EXPORT.match(line, separator.end() - 1) if separator.group(1) else None
        if following:
            yield following


def blank_here_documents(text: str) -> str:
    """Return a shell's text with an empty line in place of each line of a here-document, which the shell does not run.

    A word after << whose closing line is missing does not begin a here-document: it may be a shift, as in 1<<n.
    """
    if "<<" not in text:
        return text
    lines, closing = split_lines(text), ""  # closing: the closing line of the here-document, else ""
    for number, line in enumerate(lines):
        if closing:
            closing = "" if line.strip() == closing else closing
            lines[number] = "\n"
        elif not line.lstrip().startswith("#"):
            found = HERE_DOCUMENT.search(line)
            if found and any(later.strip() == found.group(1) for later in lines[number + 1 :]):
                closing = found.group(1)
    return "".join(lines)


def _split_pairs(name: str, text: str) -> Iterator[Tuple[str, str]]:
    """Yield the (name, value) pairs of a line such as 'export A=1 B=2'. The last value includes the rest of the line.

    name: of the first variable. text: what follows the = of the first variable.
    """
    following = NEXT.match(text)
    while following:
        yield name, following.group(1)
        name, text = following.group(2), following.group(3)
        following = NEXT.match(text)
    yield name, text


def find_overrides(text: str, ours: Mapping[str, str], home: str) -> Iterator[Setting]:
    """Yield the settings after the hpc-onboard line that override values which hpc-onboard sets.

    text: of a start-up file; without the hpc-onboard line, all settings are compared. ours: variable -> value that
    hpc-onboard sets. home: the home directory. A value that differs, or is not literal, overrides that value. A line
    that uses the variable itself does not: the line extends the value, or sets the variable only if it is missing.
    """
    marks = (MARK, ".bashrc")  # a line that sources .bashrc runs the hpc-onboard line in that file
    numbered = enumerate(split_lines(text), 1)
    our_line = next((number for number, line in numbered if any(refers_to(line, mark) for mark in marks)), 0)
    for setting in find_settings(text):
        if setting.line > our_line and setting.name in ours and setting.text.strip():
            uses_itself = re.search(r"\$[{?]*%s\b" % re.escape(setting.name), setting.whole_line)
            if not uses_itself and setting.value(home) != ours[setting.name]:
                yield setting


_JOB_VARIABLE = re.compile(r"\$\{?(?:SLURM|PBS|LSB|SLURMD)_\w+|\?SLURM_\w+|\bset -q SLURM_\w+|\bIN_JOB\b")
# the first and the last line of a block; 'if (...) COMMAND' of csh, and 'case' of csh and fish, begin none
_OPENS = re.compile(
    r"^[ \t]*(?:if\b(?![ \t]*\((?!.*\bthen\b))|case\b.*\bin\b|(?:switch|for|foreach|while|until|begin)\b)"
)
_CLOSES = re.compile(
    r"^[ \t]*(?:fi|esac|done|endif|endsw|end)\b|;[ \t]*(?:fi|esac|done|end)\b|\b(?:fi|esac)[ \t]*;?[ \t]*(?:#.*)?$"
)
_UNSETS = r"\b(?:unset|unsetenv|set(?: --?[\w-]+)* (?:-\w*e\w*|--erase)|export -n)\b[^\n;#]*\b%s\b"


def find_job_overrides(text: str, ours: Mapping[str, str], home: str) -> Iterator[Tuple[int, str]]:
    """Yield (line number, variable) for each line that overrides or unsets one of these variables in jobs only.

    Such a line contains a condition that tests a variable of the scheduler, or is in the block of such a condition.
    ours: variable -> value that hpc-onboard sets. home: the home directory.
    """
    depth = 0  # of blocks in the block of such a condition, including this block
    for number, line in enumerate(split_lines(text), 1):
        code = "" if line.lstrip().startswith("#") else line
        tests_job = _JOB_VARIABLE.search(code) is not None
        depth += 1 if (depth or tests_job) and _OPENS.match(code) else 0
        for name in ours:
            if name not in code or not (depth or tests_job):
                continue
            settings = [setting for setting in find_settings(code.strip()) if setting.name == name]
            # a value with the variable's own name extends the value
            overrides = any(name not in setting.text and setting.value(home) != ours[name] for setting in settings)
            if overrides or re.search(_UNSETS % name, code):
                yield number, name
        depth -= 1 if depth and _CLOSES.search(code) else 0
