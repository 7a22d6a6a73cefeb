# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for lines in enroot's credentials files that enroot ignores or misreads.

Each line is an entry in the format of netrc, "machine NAME login USER password KEY", for a registry of images. Ansible
roles of hpc-onboard maintain, and check, the lines of some machines.
Quotes, tabs and trailing comments are harmless, as tests with the programs that enroot runs have shown (grep, awk,
curl --netrc-file). curl before 7.84, which many clusters have, reads a carriage return as part of the password
(lib/netrc.c). Source of enroot's rules: see _formats/enroot.py.
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
MOST = 50  # problems that are reported for one account


class LineProblem(NamedTuple):
    """A problem of one line in a credentials file."""

    line: int  # from 1
    rule: str  # the rule that the line breaks
    text: str
    machine: str  # the machine of the line's entry; empty without a machine
    severity: str = ""  # empty for the default severity of the rule


class EnrootLines(AuditCheck):
    """Lines that enroot ignores or misreads, and second logins. A role checks the lines that it maintains itself."""

    KIND = "enroot_lines"
    TITLE = "lines of enroot's credentials files"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "files": {"type": "list", "elements": "str", "default": []},
        "kept": {"type": "dict", "default": {}},  # path -> machines whose lines in this file a role maintains
    }

    def run(self, host: Host) -> None:
        """Report the first MOST problems of the credentials files."""
        search = Search(host, [host.home])
        machines_of_roles = {}  # path -> machines
        for path, machines in self.options["kept"].items():
            machines_of_roles.update(dict.fromkeys(self.expand([path], host), machines))
        problems = [
            (host.shown(path), problem)
            for path in self.expand(self.options["files"], host)
            for problem in find_problems(search.read_text(path), machines_of_roles.get(path, ()))
        ]
        for file, problem in problems[:MOST]:
            self.report(problem.rule, "%s:%d" % (file, problem.line), problem.text, problem.severity)
        self.skip_unread(search)


def find_problems(text: str, machines_of_roles: Sequence[str]) -> List[LineProblem]:
    """Return the problems of a credentials file by line.

    machines_of_roles: the machines whose lines in this file roles check. Of these lines, this check reports only
    passwords that enroot passes to a shell, and second logins.
    """
    problems = list(_malformed_lines(text)) + list(_repeated_entries(text))
    if text.startswith(BYTE_ORDER_MARK):
        why = "enroot ignores this line because of a byte-order mark: delete the mark"
        problems.append(LineProblem(1, "KEY-004", why, machine=""))
    # No role checks for a password that enroot passes to a shell (SEC-007).
    problems = [found for found in problems if found.rule == "SEC-007" or found.machine not in machines_of_roles]
    lines = enumerate(split_lines(text), 1)
    lines_with_return = [number for number, line in lines if ENTRY.match(line) and line.endswith("\r\n")]
    if lines_with_return:  # one problem is enough: an editor usually writes the same ending in every line
        why = "curl before 7.84 reads this line's carriage return as part of the password: delete the carriage return"
        problems.append(LineProblem(lines_with_return[0], "KEY-004", why, machine=""))
    return sorted(problems + list(_other_logins(text, machines_of_roles)))


def _malformed_lines(text: str) -> Iterator[LineProblem]:
    """Yield the lines that enroot does not read as entries, and the lines whose password enroot passes to a shell."""
    default_line = 0  # the number of the first line with 'default'; 0 before such a line
    for number, line in enumerate(split_lines(text), 1):
        parts = split_words(line)
        entry = ENTRY.match(line)
        if parts[:1] == ["default"] and not default_line:
            default_line = number
        if entry and entry.group(3).startswith("$"):
            why = "enroot passes the password for %s to a shell, because the password begins with '$'"
            yield LineProblem(number, "SEC-007", why % _shown_machine(entry.group(1)), entry.group(1))
        if parts[:1] == ["machine"]:
            machine = parts[1] if len(parts) > 1 else ""
            why = _why_unread(line, parts, entry is not None, default_line)
            if why:
                yield LineProblem(number, "KEY-004", why, machine)


def _why_unread(line: str, parts: List[str], is_entry: bool, default_line: int) -> str:
    """Return why enroot does not use the key of an entry's first line, and the fix; empty if enroot uses the key.

    parts: the words of the line, of which the first is 'machine'. is_entry: the line has the form that enroot reads.
    default_line: the number of an earlier line with 'default'; 0 without such a line.
    """
    machine = _shown_machine(parts[1] if len(parts) > 1 else "")
    if "machine" in parts[2:]:
        return "the line for %s contains several entries, but enroot reads one entry per line: split the line" % machine
    if "password" not in parts:
        return "the entry for %s continues on the next line, which enroot does not read: join the lines" % machine
    if line[:1] in (" ", "\t"):
        return "the line for %s is indented, so enroot ignores the line: remove the indentation" % machine
    if not is_entry:
        return "enroot ignores the line for %s: write machine, login and password in this order" % machine
    if default_line:
        text = "the line for %s comes after 'default' on line %d, so enroot sends the default login: move the line up"
        return text % (machine, default_line)
    return ""


def _repeated_entries(text: str) -> Iterator[LineProblem]:
    """Yield the lines that repeat the machine and login of an earlier line, because enroot uses the earlier line."""
    first_lines: Dict[Tuple[str, str], int] = {}
    for number, line in enumerate(split_lines(text), 1):
        entry = ENTRY.match(line)
        if entry:
            machine, login = entry.groups()[:2]
            first = first_lines.setdefault((machine, login), number)
            if first != number:
                why = "enroot uses line %d for %s, not this line: delete one of the two lines"
                yield LineProblem(number, "KEY-003", why % (first, _shown_machine(machine)), machine)


def _other_logins(text: str, machines_of_roles: Sequence[str]) -> Iterator[LineProblem]:
    """Yield the lines with a second login for a machine of a role. Rotations do not replace the key of this login."""
    first_logins: Dict[str, str] = {}  # machine -> the login of its first line
    for number, line in enumerate(split_lines(text), 1):
        entry = ENTRY.match(line)
        if entry is None or entry.group(1) not in machines_of_roles:
            continue
        machine, login = entry.groups()[:2]
        if first_logins.setdefault(machine, login) != login:
            why = "hpc-onboard does not replace the key of this second login for %s: delete the unused login"
            yield LineProblem(number, "KEY-003", why % _shown_machine(machine), machine, severity="medium")


def _shown_machine(machine: str) -> str:
    """Return the name of a machine for a message; 'an unnamed machine' for an empty name."""
    return printable(machine, 80) or "an unnamed machine"
