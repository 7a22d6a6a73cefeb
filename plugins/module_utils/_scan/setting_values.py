# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find values in the settings files of tools: in ini, TOML, YAML, JSON and 'NAME VALUE' formats.

Many settings have the same effect as an environment variable of the tool, such as cache-dir as PIP_CACHE_DIR.
"""

import os
import re
from typing import Iterator, List, Mapping, NamedTuple, Tuple

from .._formats.lines import split_lines
from .tool_places import SettingsFile

KEY_VALUE = re.compile(  # KEY = VALUE, KEY: VALUE, KEY VALUE or, in .pam_environment, KEY DEFAULT=VALUE
    # groups: the key, and the value
    r"^[ \t]*(?:export[ \t]+)?[\"']?([A-Za-z_][\w.-]*)[\"']?[ \t]*(?:[=:]|[ \t]DEFAULT=|[ \t])[ \t]*(.*?)[ \t\r]*$"
)
LIST_ITEM = re.compile(r"[ \t]*(?:-[ \t]+(?=\S)|(?=[\"']))(.*?),?[ \t\r]*$")  # of YAML or TOML
ASSIGNMENT = re.compile(r"\b([A-Z][A-Z0-9_]{4,40})\b[\"'\])]*(?:[ \t]*[=:,][ \t]*|[ \t]+(?=[\"'/~$]))([^\n]{3,400})")
QUOTED = re.compile(r"\s*([\"'])(.*?)\1")
RELATIVE = re.compile(r"[\"']?[\w.-][\w./-]*[\"']?\Z")
STARTED_PROGRAM = re.compile(  # in settings of systemd, Jupyter, VS Code, vim, Emacs, tmux and screen
    r"^[ \t]*Exec\w*=[-@:+!\"']*((?:%h)?/[^\s%$\"']+)|\"argv\"\s*:\s*\[\s*\"(/[^\"]+)\""
    r"|\b(?:defaultInterpreterPath|python\.pythonPath|condaPath|executablePath|cmakePath|git\.path|shell\.linux"
    r"|rterm\.linux)\"\s*:\s*\"(/[^\"$]+)\"|\"path\"\s*:\s*\"(/[^\"$]*/(?:bin/[^\"$]+|(?:ba|z|tc|k|fi)sh))\""
    r"|\bpython3?_host_prog\s*=\s*[\"'](/[^\"'\n]+)|^[ \t]*(?:set[ \t]+|vim\.\w+\.)shell[ \t]*=[ \t]*[\"']?(/[^\s\"']+)"
    r"|^[^;\n]*\b(?:python-shell-interpreter|(?:explicit-)?shell-file-name)\s+\"(/[^\"\n]+)\""
    r"|^[ \t]*(?:set(?:-option)?(?:[ \t]+-\w+)*[ \t]+default-(?:shell|command)|(?:def)?shell)[ \t]+[\"']?-?"
    r"(/[^\s\"']+)",
    re.MULTILINE,
)
# a value that begins with the home directory; %s: more patterns of its path
_HOME = r"[\"'(\[ \t]*(?:[\w.]*expanduser\([\"'])?(?:~|%%h|\$\{?HOME\}?|\$\{env:HOME\}%s)(?=[/\"'\s]|\Z)"


class ToolSetting(NamedTuple):
    """A setting in a settings file."""

    line: int  # from 1
    key: str  # as in the file
    name: str  # of the environment variable with the same effect
    value: str  # as in the file


def find_values(file: SettingsFile, text: str) -> Iterator[ToolSetting]:
    """Yield the settings in a file's text that correspond to an environment variable.

    file: the entry of the file in tool_places. If its variables are empty, the file sets environment variables.
    """
    section, list_name = "", ""  # list_name: the setting whose value is the list on the next lines
    for number, line in enumerate(split_lines(text), 1):
        if line.startswith("["):
            section = line.strip()
        item = LIST_ITEM.match(line)
        if item and list_name:
            yield ToolSetting(number, list_name, file.variables[list_name.replace("_", "-")], item.group(1))
        match = KEY_VALUE.match(line.rstrip("\n"))
        is_comment = line.lstrip().startswith(("#", ";"))
        if match is None or is_comment:
            continue
        key, value = match.groups()
        name = key
        if file.variables:  # the tables write each setting with hyphens
            name = file.variables.get(key.replace("_", "-"), "")
        begins_list = bool(file.variables) and value in ("", "[")
        list_name = key if name and begins_list else ""
        if name and file.section in ("", section):
            yield ToolSetting(number, key, name, value)


def find_assignments(text: str) -> Iterator[Tuple[int, str, str]]:
    """Yield (line number, name, rest of the line) of each variable that a program's settings or code set."""
    for number, line in enumerate(split_lines(text), 1):
        if line.lstrip().startswith(("#", "//")):
            continue
        for name, value in ASSIGNMENT.findall(line):
            yield number, name, value


def find_started_programs(text: str) -> Iterator[Tuple[int, str]]:
    """Yield (line number, path) of each program that the settings of a service, a Jupyter kernel or an editor start."""
    for match in STARTED_PROGRAM.finditer(text):
        path = next(filter(None, match.groups()), "")  # the group of the program's alternative
        yield text.count("\n", 0, match.end()) + 1, path


def find_home_values(text: str, own_values: Mapping[str, str], homes: List[str]) -> Iterator[Tuple[int, str]]:
    """Yield (line number, name) of each variable of hpc-onboard that a text sets to a folder in the home directory.

    own_values: hpc-onboard's value of each variable. A variable whose own value is in the home directory is skipped.
    homes: the paths of the home directory.
    """
    if not any(name in text for name in own_values):  # most files skip the slow patterns
        return
    in_home = re.compile(_HOME % "".join("|" + re.escape(home) for home in homes))
    for number, name, value in find_assignments(text):
        own_value = own_values.get(name)
        # A value that contains hpc-onboard's value overrides nothing.
        if own_value is None or in_home.match(own_value) or own_value in value:
            continue
        if in_home.match(value):
            yield number, name


def is_relative(value: str) -> bool:
    """Return True if a value is a relative path, whose meaning depends on the current folder of the program."""
    return RELATIVE.match(value) is not None


def expand_path(value: str, home: str) -> str:
    """Return the absolute path that a setting contains; empty if the value is not a path, or has unknown variables."""
    quoted = QUOTED.match(value)
    value = quoted.group(2) if quoted else re.sub(r"\s#.*", "", value).strip().strip("\"'")  # without a comment
    value = re.sub(r"\$\{\w+:?-([^{}]*)\}", r"\1", value)  # ${NAME:-default} -> default
    for prefix in ("~/", "$HOME/", "${HOME}/", "@{HOME}/"):
        if value.startswith(prefix):
            value = home + "/" + value[len(prefix) :]
    return os.path.normpath(value) if value.startswith("/") and "$" not in value else ""
