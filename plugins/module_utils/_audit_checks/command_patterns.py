# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patterns of commands in start-up files, in the syntax of bash, zsh, ksh, csh and fish."""

import re

ENDS_FILE = r"(?:[^#\n]*[;&|)\s])?(?:return|exit)\b"
COMMAND = (  # text that may precede a command in its line
    r"(?:[^#\n]*(?:[;&|{(]|\b(?:then|do|else|and|or|builtin|command)\b|\bif\b[^#\n]*\))[ \t]*)?"
)
_OPTIONS = r"(?: --?[\w-]+)"  # of fish
UNSETS = (
    r"(?:unset|unsetenv|set%s* (?:-\w*[eu]\w*|--(?:erase|unexport))%s*|export -n|(?:declare|typeset) \+\w*x\w*)\b"
    % (_OPTIONS, _OPTIONS)
    + r"[^\n;]*\b%s\b"
)
SETS = r"\s*%s(?:(?:export|setenv|(?:declare|typeset|set)(?: --?[\w-]+)+) )?%s(?:[= ]|[ \t]*(?:[;&|]|$))"
PRINTS = COMMAND + r"(?:echo|printf|print|cat|date|uptime|fortune|quota|figlet|neofetch)\b(?![^\n]*[>|])"
SETS_PATH = (
    r"(?:export |typeset |declare )?(?:-\w+ )*(?:PATH\+?=|path\+?=\(?|set%s* (?:PATH|fish_user_paths) |setenv PATH "
    r"|set path ?= ?\(?)" % _OPTIONS
)
_LITERAL = r"(?:[^\s$`;&|\"'()]|\$\{?HOME\}?(?=/))+"  # a folder, or several with colons, without other variables
MISSING_FILE = re.compile(r"sourcing file '(/[^']+)'|(/[^\s':]+): (?:cannot open|(?i:no such file))")  # in errors
NAMED_BY_SHELL = re.compile(  # of bash, zsh, ksh and fish
    r"(?:-?\w*sh: )?(?:(/\S+): (?:syntax error at )?line (\d+):|(/[^\s:]+)(?::\w+)?:(\d+): |(/[^\s:\[]+)\[(\d+)\]:"
    r"|(~?/\S+) \(line (\d+)\):)"
)


def replaces_folders(name: str) -> str:
    """Return a pattern for a line that sets a variable, such as PATH, to literal folders only.

    Such a line removes the former folders of the variable. The line may be in the syntax of sh, csh or fish.
    """
    folder, line_end = r"[\"']?%s[\"']?" % _LITERAL, r"[ \t]*(?:[;#]|&&|$)"
    condition = r"(?:\[[^\n#]*\][ \t]*&&[ \t]*)?"
    of_sh = r"%s(?:export |(?:typeset|declare) (?:-\w+ )*)?%s=%s%s" % (condition, name, folder, line_end)
    of_csh_or_fish = r"(?:setenv|set%s*) %s(?: +%s)+%s" % (_OPTIONS, name, folder, line_end)
    as_list = r"(?:set )?%s ?= ?\((?: *%s)+ *\)" % (name.lower(), folder)
    return "|".join((of_sh, of_csh_or_fish, as_list))
