# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines in enroot's credentials files that enroot does not read as they are meant.

Quotes, tabs and trailing comments do no harm there; this was tried with what enroot runs (grep, awk, curl
--netrc-file). A carriage return is a part of the password for curl before 7.84 (strtok_r with blanks, tabs and line
feeds in lib/netrc.c), which many clusters have. Source of enroot's rules: see _formats/enroot.py.
"""

import re
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from .._core.errors import printable
from .._core.host import Host
from .._formats.enroot import BYTE_ORDER_MARK
from .._formats.lines import split_lines, split_words
from .._scan.search import Search
from .audit_check import AuditCheck

ENTRY = re.compile(r"^machine[ \t]+(\S+)[ \t]+login[ \t]+(\S+)[ \t]+password[ \t]+(\S+)")
MOST = 50  # problems of one account


class LineProblem(NamedTuple):
    """A line, counted from 1, the rule that it breaks, a description and the machine of its entry.

    severity: empty for that of the rule.
    """

    line: int
    rule: str
    text: str
    machine: str
    severity: str = ""


class EnrootLines(AuditCheck):
    """All lines of the files except those that a role keeps, which the role's own rules cover; and second logins."""

    KIND = "enroot_lines"
    TITLE = "lines that enroot reads"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "files": {"type": "list", "elements": "str", "default": []},
        "kept": {"type": "dict", "default": {}},  # path -> machines whose lines a role keeps there
    }

    def run(self, host: Host) -> None:
        search = Search(host, [host.home])
        kept = {host.expand(path): machines for path, machines in self.options["kept"].items()}
        problems = [
            (host.shown(path), problem)
            for path in map(host.expand, self.options["files"])
            for problem in find_problems(search.read_text(path), kept.get(path, ()))
        ]
        for file, problem in problems[:MOST]:
            self.report(problem.rule, "%s:%d" % (file, problem.line), problem.text, problem.severity)
        self.skip_unread(search)


def find_problems(text: str, kept: Sequence[str]) -> List[LineProblem]:
    """Return the problems of a credentials file by line. kept: machines whose lines can break SEC-007 alone."""
    found = list(_malformed_lines(text)) + list(_repeated_entries(text))
    if text.startswith(BYTE_ORDER_MARK):
        found.append(LineProblem(1, "KEY-004", "a byte-order mark hides this line from enroot: delete the mark", ""))
    found = [one for one in found if one.rule == "SEC-007" or one.machine not in kept]
    ends = [number for number, line in enumerate(split_lines(text), 1) if ENTRY.match(line) and line.endswith("\r\n")]
    if ends:
        what = "a carriage return ends the line, and curl before 7.84 takes it for a part of the password: delete it"
        found.append(LineProblem(ends[0], "KEY-004", what, ""))
    return sorted(found + list(_other_logins(text, kept)))


def _malformed_lines(text: str) -> Iterator[LineProblem]:
    default_line = 0
    for number, line in enumerate(split_lines(text), 1):
        parts = split_words(line)
        entry = ENTRY.match(line)
        if parts[:1] == ["default"] and not default_line:
            default_line = number
        if entry and entry.group(3).startswith("$"):
            what = "enroot passes the password in the line for %s to a shell"
            yield LineProblem(number, "SEC-007", what % _display(entry.group(1)), entry.group(1))
        if parts[:1] == ["machine"]:
            machine = parts[1] if len(parts) > 1 else ""
            why = _why_unread(line, parts, entry is not None, default_line)
            if why:
                yield LineProblem(number, "KEY-004", "the line for %s %s" % (_display(machine), why), machine)


def _why_unread(line: str, parts: List[str], is_entry: bool, default_line: int) -> str:
    """Return why enroot ignores the key of a line that begins an entry, with the fix; empty if it reads it."""
    if "machine" in parts[2:]:
        return "holds several entries, and enroot reads one per line: split it"
    if "password" not in parts:
        return "continues over several lines, which enroot does not read: join them"
    if line[:1] in (" ", "\t"):
        return "starts with a space, so enroot ignores it: remove the indentation"
    if not is_entry:
        return "is ignored: enroot expects machine, login and password in this order"
    if default_line:
        return "comes after 'default' on line %d, whose login is sent in its place: move it above" % default_line
    return ""


def _repeated_entries(text: str) -> Iterator[LineProblem]:
    """Yield the lines for a machine and login that have a line already: enroot uses the first one."""
    first_lines: Dict[Tuple[str, str], int] = {}
    for number, line in enumerate(split_lines(text), 1):
        entry = ENTRY.match(line)
        if entry:
            first = first_lines.setdefault((entry.group(1), entry.group(2)), number)
            if first != number:
                what = "enroot uses line %d for %s: delete one of the two" % (first, _display(entry.group(1)))
                yield LineProblem(number, "KEY-003", what, entry.group(1))


def _other_logins(text: str, kept: Sequence[str]) -> Iterator[LineProblem]:
    """Yield the lines with another login for a machine whose line a role keeps: no rotation replaces that key."""
    logins: Dict[str, str] = {}
    for number, line in enumerate(split_lines(text), 1):
        entry = ENTRY.match(line)
        if entry and entry.group(1) in kept and logins.setdefault(entry.group(1), entry.group(2)) != entry.group(2):
            what = "a second login for %s, whose key hpc-onboard does not replace: delete the line if you do not use it"
            yield LineProblem(number, "KEY-003", what % _display(entry.group(1)), entry.group(1), "medium")


def _display(machine: str) -> str:
    return printable(machine, 80) or "no machine"
