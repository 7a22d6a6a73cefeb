# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patterns of commands in start-up files, in the syntax of every shell, and settings that affect every program.

Such settings are variables that many programs read, and limits of resources.
"""

import re

HAZARDS = {  # variables -> what they change in all programs that read them
    "CDPATH": "'cd' in scripts may enter a different folder and print its path",
    "GREP_OPTIONS": "'grep' in scripts runs with additional options",
    "POSIXLY_CORRECT": "programs interpret their options differently",
    "PYTHONHOME": "every other Python installation searches for its standard library in the wrong folder",
    "LD_PRELOAD": "every program loads an additional library",
    "IFS": "shell scripts split text into words differently",
    "LD_AUDIT": "every program loads an additional library",
    "GIT_DIR": "'git' in scripts uses a different repository",
    "GIT_WORK_TREE": "'git' in scripts uses a different working tree",
    "TAR_OPTIONS": "'tar' in scripts runs with additional options",
    "SHELLOPTS": "every bash script runs with different shell options",
    "BASHOPTS": "every bash script runs with different shell options",
    "GLOBIGNORE": "patterns such as * match fewer files in bash scripts",
    "PERL5OPT": "every Perl program runs with additional options",
    "RUBYOPT": "every Ruby program runs with additional options",
    "TMOUT": "after this number of seconds without input, bash logs you out and 'read' in scripts fails",
    "CUDA_VISIBLE_DEVICES": "programs use only these GPUs, not those that Slurm assigns to the job",
    "HIP_VISIBLE_DEVICES": "programs use only these GPUs, not those that Slurm assigns to the job",
    "ROCR_VISIBLE_DEVICES": "programs use only these GPUs, not those that Slurm assigns to the job",
    "PIP_TARGET": "'pip install' writes to this folder, even in a virtual environment",
    "PIP_PREFIX": "'pip install' writes to this folder, even in a virtual environment",
    "PIP_USER": "'pip install' writes to the home directory, and fails in a virtual environment",
    "PYTHONOPTIMIZE": "Python programs skip their assert statements",
}
SEARCH_PATHS = ("PYTHONPATH", "LD_LIBRARY_PATH", "PERL5LIB")  # programs load code from the folders of these variables
SEARCHES_HERE = re.compile(r"^:.|(?:^|:)\.(?:/[^:]*)?(?:\Z|:)")
"""A list of folders with the current folder in it: "." or "./lib" anywhere, or an empty entry in front of all others.

An empty entry at the end is not reported: it comes from NAME=FOLDER:$NAME, which many start-up files contain.
"""
_ALWAYS = (  # not in a definition, and not only in interactive shells
    r"(?![^\n]*(?:\(\)|\balias\b|\bfunction\b|\$-|\$\{-|\bPS1\b|-t [012]\b|interactive|\btty\b|\$\?prompt))"
)
DROPPED_OUTPUT = (  # lines that redirect all output of a shell to a file, nowhere, or another program
    _ALWAYS + r"[ \t]*(?:[^#\n]*(?:[;&|{(]|\bthen|\bdo|\belse)[ \t]*)?"
    r"exec[ \t]+(?:[12&]?>>?[ \t]*\|?[ \t]*(?:(?![&\s>])|>\()|[12]?>&-)"
)
TIMES_OUT = _ALWAYS + r"[ \t]*(?:(?:readonly|typeset|declare)(?: -\w+)* )?TMOUT=[1-9]"  # also if not exported
EMPTIED = r"[ \t]*%s(?:exec[ \t]+)?env[ \t]+(?:-i|-|--ignore-environment)[ \t][^\n]*\b(?:ba|z|k|tc|fi)?sh\b"
"""Start-up lines that start another shell without any variable. %s: the pattern of what may precede the command."""
_NUMBER = r"[ \t=]*[\"']?(?:\d|\$|`)"  # a value, but not "unlimited"
_FEW = r"[ \t=]*\d{1,3}\b"
_LIMITS_OF_BASH = "|".join((
    r"-[HS]{0,2}[ftvdm][HS]?" + _NUMBER,
    r"-[HS]*[nu]" + _FEW,
    r"--(?:open-files|file-descriptor-count|process-count)" + _FEW,
    r"--(?:file-size|cpu-time|virtual-memory-size|data-size|resident-set-size)" + _NUMBER,
))  # fmt: skip
_LIMITS_OF_CSH = "|".join((
    r"(?:filesize|cpu(?:time)?|vmem\w*|datasize|memoryuse|addressspace)\s" + _NUMBER,
    r"(?:descriptors|openfiles|maxproc)" + _FEW,
))  # fmt: skip
LIMITS = _ALWAYS + (
    r"\s*%%s(?:ulimit\s+(?:\d+[ \t]*$|(?:[^\n;&|]*?\s)?(?:%s))|limit\s+(?:-[hs]\s+)*(?:%s))"
    % (_LIMITS_OF_BASH, _LIMITS_OF_CSH)
)
"""Start-up lines that limit every program started from the shell. %s: the pattern of what may precede the command.

A limit of open files or processes matches only if it is low; many users raise these limits.
"""

# -- commands ---------------------------------------------------------------------------------

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
MISSING_FILE = re.compile(r"sourcing file '(/[^']+)'|(/[^\s':]+): (?:cannot open|(?i:no.such file))")  # in errors
NAMED_BY_SHELL = re.compile(  # of bash, zsh, ksh and fish
    r"(?:-?\w*sh: )?(?:(/\S+): (?:syntax error at )?line (\d+):|(/[^\s:]+)(?::\w+)?:(\d+): |(/[^\s:\[]+)\[(\d+)\]:"
    r"|(~?/\S+) \(line (\d+)\):)"
)


def pattern_of_replacement(name: str) -> str:
    """Return a pattern for a line that sets a variable, such as PATH, to literal folders only.

    Such a line removes the former folders of the variable. The line may be in the syntax of sh, csh or fish.
    """
    folder, line_end = r"[\"']?%s[\"']?" % _LITERAL, r"[ \t]*(?:[;#]|&&|$)"
    condition = r"(?:\[[^\n#]*\][ \t]*&&[ \t]*)?"  # such as "[ -d FOLDER ] &&"
    of_sh = r"%s(?:export |(?:typeset|declare) (?:-\w+ )*)?%s=%s%s" % (condition, name, folder, line_end)
    of_csh_or_fish = r"(?:setenv|set%s*) %s(?: +%s)+%s" % (_OPTIONS, name, folder, line_end)
    as_list = r"(?:set )?%s ?= ?\((?: *%s)+ *\)" % (name.lower(), folder)  # such as "path=(FOLDER FOLDER)" of zsh
    return "|".join((of_sh, of_csh_or_fish, as_list))
