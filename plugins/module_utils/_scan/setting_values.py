# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that settings files of tools set, in their formats: ini, TOML, YAML, JSON, and NAME VALUE."""

import os
import re
from typing import Iterator, List, Mapping, NamedTuple, Tuple

from .._formats.lines import split_lines
from .tool_places import SettingsFile

KEY_VALUE = re.compile(
    r"^[ \t]*(?:export[ \t]+)?[\"']?([A-Za-z_][\w.-]*)[\"']?[ \t]*(?:[=:]|[ \t]DEFAULT=|[ \t])[ \t]*(.*?)[ \t\r]*$"
)
SETS = re.compile(r"\b([A-Z][A-Z0-9_]{4,40})\b[\"'\])]*(?:[ \t]*[=:,][ \t]*|[ \t]+(?=[\"'/~$]))([^\n]{3,400})")
RELATIVE = re.compile(r"[\"']?[\w.-][\w./-]*[\"']?\Z")
STARTS = re.compile(  # lines that name a program, of systemd, Jupyter and VS Code
    r"^[ \t]*Exec\w*=[-@:+!]*(/[^\s%$]+)|\"argv\"\s*:\s*\[\s*\"(/[^\"]+)\""
    r"|\b(?:defaultInterpreterPath|python\.pythonPath)\"\s*:\s*\"(/[^\"$]+)\"",
    re.MULTILINE,
)
_HOME = r"[\"'(\[ \t]*(?:[\w.]*expanduser\([\"'])?(?:~|%%h|\$\{?HOME\}?|\$\{env:HOME\}%s)(?=[/\"'\s]|\Z)"


class SetValue(NamedTuple):
    """A setting of a tool: its line, its key, the variable that it stands for, and the value."""

    line: int
    key: str
    name: str
    value: str


def find_values(file: SettingsFile, text: str) -> Iterator[SetValue]:
    """Yield the settings in a file of which the table speaks."""
    section = ""
    for number, line in enumerate(split_lines(text), 1):
        section = line.strip() if line.startswith("[") else section
        found = None if line.lstrip().startswith(("#", ";")) else KEY_VALUE.match(line.rstrip("\n"))
        key, value = found.groups() if found else ("", "")
        name = file.variables.get(key.replace("_", "-"), "") if file.variables else key
        if name and file.section in ("", section):
            yield SetValue(number, key, name, value)


def find_set(text: str) -> Iterator[Tuple[int, str, str]]:
    """Yield line, name and the text after it of each variable that a program's settings or code set."""
    for number, line in enumerate(split_lines(text), 1):
        for name, value in SETS.findall("" if line.lstrip().startswith(("#", "//")) else line):
            yield number, name, value


def find_started(text: str) -> Iterator[Tuple[int, str]]:
    """Yield line and path of each program that a service, a kernel or an editor's settings start."""
    for found in STARTS.finditer(text):
        yield text.count("\n", 0, found.end()) + 1, next(filter(None, found.groups()))


def find_in_home(text: str, ours: Mapping[str, str], homes: List[str]) -> Iterator[Tuple[int, str]]:
    """Yield the lines that set one of these variables to a folder in the home, unless its own value is there."""
    if not any(name in text for name in ours):
        return
    in_home = re.compile(_HOME % "".join("|" + re.escape(home) for home in homes))
    for number, name, value in find_set(text):
        if name in ours and in_home.match(value) and not in_home.match(ours[name]) and ours[name] not in value:
            yield number, name


def is_relative(value: str) -> bool:
    """Return True for a path that depends on where its program runs."""
    return RELATIVE.match(value) is not None


def expand(value: str, home: str) -> str:
    """Return the absolute path that a setting names, without the home's own words; empty if it is none."""
    value = re.sub(r"\$\{\w+:?-([^{}]*)\}", r"\1", value.strip().strip("\"'"))  # the usual one of ${NAME:-usual}
    for word in ("~/", "$HOME/", "${HOME}/", "@{HOME}/"):
        if value.startswith(word):
            value = home + "/" + value[len(word) :]
    return os.path.normpath(value) if value.startswith("/") and "$" not in value else ""
