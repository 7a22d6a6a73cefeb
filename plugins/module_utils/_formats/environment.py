# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment variables and PATH entries in the dialects of sh, csh and fish.

Values contain no quote, backslash, exclamation mark or control character (values.py refuses them), so single quotes
have the same meaning in all three. parse() is the inverse of render(), to verify its result.
"""

import re
from typing import List, Mapping, NamedTuple, Sequence

DIALECTS = ("sh", "csh", "fish")
BY_SHELL = {  # shell -> its dialect
    "sh": "sh",
    "dash": "sh",
    "bash": "sh",
    "ksh": "sh",
    "mksh": "sh",
    "zsh": "sh",
    "csh": "csh",
    "tcsh": "csh",
    "fish": "fish",
}

# lines by dialect: a variable and its value; then, for PATH, a folder {0}
ASSIGN = {"sh": "export %s='%s'\n", "csh": "setenv %s '%s'\n", "fish": "set -gx %s '%s'\n"}
PREPEND = {
    "sh": "case \":$PATH:\" in *:'{0}':*) ;; *) export PATH='{0}'\"${{PATH:+:$PATH}}\" ;; esac\n",
    "csh": "if ( \":${{PATH}}:\" !~ *:'{0}':* ) setenv PATH '{0}':\"${{PATH}}\"\n",
    "fish": "contains -- '{0}' $PATH; or set -gx PATH '{0}' $PATH\n",
}
APPEND = {
    "sh": "case \":$PATH:\" in *:'{0}':*) ;; *) export PATH=\"${{PATH:+$PATH:}}\"'{0}' ;; esac\n",
    "csh": "if ( \":${{PATH}}:\" !~ *:'{0}':* ) setenv PATH \"${{PATH}}\":'{0}'\n",
    "fish": "contains -- '{0}' $PATH; or set -gx PATH $PATH '{0}'\n",
}
ON_DEMAND = {  # a command {0} that sources its file {1} when it is first used
    "sh": '{0}() {{ if [ -r "{1}" ]; then . "{1}"; {0} "$@"; else echo "{0}: {1} not found" >&2; return 127; fi; }}\n',
    "csh": "alias {0} 'unalias {0}; if ( -r {1} ) source {1}; eval {0} \\!*'\n",
    "fish": "function {0}; functions -e {0}; test -r {1}; and source {1}; {0} $argv; end\n",
}
MACHINE = "{machine}"  # placeholder for the machine's architecture in the path of a file of ON_DEMAND
MACHINES = {"sh": "$(uname -m)", "csh": "`uname -m`", "fish": "(uname -m)"}
SOURCE = {  # a line that sources the file {0} below the home, with the mark {1}
    "sh": 'if [ -r "$HOME/{0}" ]; then . "$HOME/{0}"; fi {1}',
    "csh": 'if ( -r "$HOME/{0}" ) source "$HOME/{0}" {1}',
    "fish": 'test -r "$HOME/{0}"; and source "$HOME/{0}" {1}',
}


class ShellSettings(NamedTuple):
    """The settings that a section of a start-up file makes, independent of the dialect."""

    variables: Mapping[str, str] = {}
    path: Sequence[str] = ()  # folders at the beginning of PATH, in order
    path_end: Sequence[str] = ()  # folders at the end of PATH, in order
    commands: Mapping[str, str] = {}  # name -> path, without a space, of the file that defines the command


def render(dialect: str, settings: ShellSettings) -> str:
    """Return the lines that apply the settings in a shell of this dialect."""
    lines = [ASSIGN[dialect] % item for item in sorted(settings.variables.items())]
    lines += [PREPEND[dialect].format(folder) for folder in reversed(settings.path)]
    lines += [APPEND[dialect].format(folder) for folder in settings.path_end]
    for name, file in sorted(settings.commands.items()):
        lines.append(ON_DEMAND[dialect].format(name, file.replace(MACHINE, MACHINES[dialect])))
    return "".join(lines)


def source_line(dialect: str, file: str, mark: str) -> str:
    """Return a line for a start-up file that sources another file, if that file exists.

    file: the path of the other file below the home. mark: a comment at the end of the line.
    """
    return SOURCE[dialect].format(file, mark)


def parse(dialect: str, text: str) -> ShellSettings:
    """Return the settings in a text that render() returned for this dialect."""
    assign = {  # patterns of the lines that ASSIGN formats
        "sh": r"^export (\w+)='([^']*)'$",
        "csh": r"^setenv (\w+) '([^']*)'$",
        "fish": r"^set -gx (\w+) '([^']*)'$",
    }
    variables = dict(re.findall(assign[dialect], text, re.MULTILINE))
    starts = {"sh": "case", "csh": "if", "fish": "contains"}  # the first word of a line that changes PATH
    path: List[str] = []
    path_end: List[str] = []
    for line, folder in re.findall(r"^(%s .*?'([^']*)'.*\n)" % starts[dialect], text, re.MULTILINE):
        is_prepended = line == PREPEND[dialect].format(folder)
        (path if is_prepended else path_end).append(folder)
    define = {  # patterns of the lines that ON_DEMAND formats: the name and the file of a command
        "sh": r'^(\w+)\(\) \{.*? \. "([^"]*)"',
        "csh": r"^alias (\w+) .*? source (.+?); eval",
        "fish": r"^function (\w+);.*? source (.+?); ",
    }
    commands = {
        name: file.replace(MACHINES[dialect], MACHINE) for name, file in re.findall(define[dialect], text, re.MULTILINE)
    }
    path.reverse()  # render() prepends the last folder first
    return ShellSettings(variables, path, path_end, commands)
