# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors that shells print when they start, lines that replace a shell, and lines of ~/.ssh/rc that print text."""

import re
from typing import List, Optional

from .._formats.lines import split_lines
from .._formats.settings import blank_here_documents

_SANDBOX_ERRORS = re.compile(
    r"(?i)read-only|permission denied|not permitted|job control|terminal process group|/dev/shm"
)
"""Errors that may be caused by the sandbox or by the missing terminal."""
_CERTAIN_ERRORS = re.compile(
    r"(?i)command not found|syntax error|[:\[] ?no.such file|readonly variable|unknown command|missing end|: not found"
    r"|parse error|(?:no.such|bad|invalid|unknown) option|unmatched|unexpected (?:end|eof|token)|sourcing file"
    r"|definition file not found|no match(?:es)?\b"
    r"|^(?!(?:TERM|DISPLAY|SSH_\w+|TMUX|STY|COLUMNS|LINES|PROMPT)\b)\w+: undefined variable"  # tcsh
)
"""Errors that also occur in a shell at a terminal."""
_FISH_PLACE = re.compile(r"~?/\S+ \(line \d+\):")  # fish prints the place of an error in a line of its own
_PROGRAMS = (  # programs that replace a shell for good
    r"(?:(?:ba|z|fi|tc|k|mk|c|da|pw|el|xon)?sh|nu|xonsh|elvish|tmux|screen|zellij|byobu|newgrp|sg|\$\{?SHELL\b)"
)
_REPLACES_TERMINAL = re.compile(
    r"[^#\n]*\bexec[ \t]+(?:-[cl]+[ \t]+|-a[ \t]+\S+[ \t]+|env[ \t]+(?:\w+=\S*[ \t]+)*)*"
    r"[\"']?(?:\$\((?:which|command -v)[ \t]+|`which[ \t]+)?(?:[^\s\"']*/)?%s(?![\w.-])" % _PROGRAMS
)
_TESTS_TERMINAL = re.compile(r"\bi?s?a?tty\b|-t [012]\b|SSH_TTY|XDG_VTNR")
_DEFINES = re.compile(r"\balias\b|\bfunction\b|\(\)")  # in a definition, a command runs only if the user calls it
_LINES_ABOVE = 3  # lines above a command that may contain its condition
_FILTER = r"\|(?![ \t]*(?:head|tail|cat|sort|grep|sed|awk|cut|column|fold|lolcat|tee)\b|\|)"  # not the named programs
_PRINTS = re.compile(  # a command of ~/.ssh/rc that prints text, and neither to a file nor to another program
    r"[ \t]*(?:(?:[^#\n$`|]|\$(?!\()|\|\|)*(?:[;&{(]|\|\||\bthen|\bdo|\belse)[ \t]*)?(?:/\S*/)?(?:set[ \t]+-\w*[xv]"
    r"|(?:echo|printf|print|cat|date|uptime|fortune|quota|figlet|neofetch|w|who|whoami|id|hostname|last|lastlog|df|du"
    r"|free|ls|uname|squeue|sinfo|sacct|sshare|module|ml|env|printenv|tput|finger|cowsay|screenfetch|fastfetch|motd)\b"
    r"(?![ \t]*=)(?![^\n]*(?:(?<!2)>|%s)))" % _FILTER
)
_ENDS_BLOCK = re.compile(r"([ \t]*)(?:fi|done|esac|\}|\))[ \t]*(?:\|(?!\|)|&?>)")  # ... and its output goes elsewhere
_BEGINS_BLOCK = r"%s(?:if|for|while|until|case|\{|\()(?!\w)"


def select_errors(errors: str, is_login: bool) -> List[str]:
    """Return the lines of a shell's errors that are not caused by the sandbox.

    is_login: return only errors that also occur in a shell at a terminal, which the audit does not have.
    """
    lines = [line for line in errors.split("\n") if line.strip() and not _SANDBOX_ERRORS.search(line)]
    if not is_login:
        return lines
    selected = []
    for number, line in enumerate(lines):
        # In fish, the error is in the line before or after the line with its place.
        nearby = "\n".join(lines[max(0, number - 1) : number + 2]) if _FISH_PLACE.match(line) else line
        selected += [line] if _CERTAIN_ERRORS.search(nearby) else []
    return selected


def describe_error(message: str) -> str:
    """Return a description of a shell's error without the text of the message, which may contain a key."""
    lower = message.lower()
    if re.search(r"no.such file|sourcing file", lower):
        return "this line uses a file that does not exist"
    if "not found" in lower or "unknown command" in lower:
        return "this line runs a command that does not exist"
    if "ioctl" in lower or "terminal" in lower or "tty" in lower:
        return "this line needs a terminal"
    return "the shell cannot run a line of the file"


def tests_terminal(line: str) -> bool:
    """Return True if a line tests whether the shell is attached to a terminal."""
    return _TESTS_TERMINAL.search(line) is not None


def find_replaced_terminal(text: str) -> Optional[int]:
    """Return the number of the first line that replaces interactive shells without a test for a terminal."""
    lines = split_lines(blank_here_documents(text))
    for number, line in enumerate(lines, 1):
        condition = "".join(lines[max(0, number - 1 - _LINES_ABOVE) : number])
        if _REPLACES_TERMINAL.match(line) and not (_TESTS_TERMINAL.search(condition) or _DEFINES.search(condition)):
            return number
    return None


def find_printing_line(text: str) -> Optional[int]:
    """Return the number of the first line of ~/.ssh/rc that prints text; None if no line does."""
    lines = split_lines(blank_here_documents(text))
    for number, line in enumerate(lines):
        end = _ENDS_BLOCK.match(line)
        if end:  # the output of the block goes to a file or another program, so the block prints nothing
            begins = re.compile(_BEGINS_BLOCK % end.group(1))  # with the same indentation
            start = next((above for above in range(number, -1, -1) if begins.match(lines[above])), number)
            lines[start : number + 1] = ["\n"] * (number + 1 - start)
    return next((number for number, line in enumerate(lines, 1) if _PRINTS.match(line)), None)
