# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines in enroot's credentials files that enroot does not read as they are meant.

Quotes, tabs, comments behind and CR at the end do no harm there: that was tried with what enroot runs (grep, awk,
curl --netrc-file). Source of its rules: see _formats/enroot.py.
"""

import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .._core.errors import printable
from .._core.host import Host
from .._formats.enroot import BYTE_ORDER_MARK
from .._formats.lines import split_lines, split_words
from .._scan.search import Search
from .watch import Seen, Watch

FORM = re.compile(r"^machine[ \t]+(\S+)[ \t]+login[ \t]+(\S+)[ \t]+password[ \t]+(\S+)")
MOST = 50


class Trouble(NamedTuple):
    """A line, from 1 on, with the rule that it breaks and what is wrong, for which machine."""

    line: int
    rule: str
    text: str
    machine: str


class EnrootLines(Watch):
    """All lines of the files but those that a role keeps, which are its own to judge."""

    KIND = "enroot_lines"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "files": {"type": "list", "elements": "str", "default": []},
        "kept": {"type": "dict", "default": {}},  # path -> machines whose lines a role keeps there
    }

    def name(self) -> str:
        return "lines that enroot reads"

    def touches(self, host: Host) -> List[str]:
        return [host.home]

    _search: Optional[Search] = None

    def seen(self, host: Host) -> List[Seen]:
        """The lines that break a rule, file by file."""
        self._search = Search(host, [host.home])
        kept = {host.expand(path): machines for path, machines in self.options["kept"].items()}
        return [one for path in map(host.expand, self.options["files"]) for one in self._of(host, path, kept)][:MOST]

    def _of(self, host: Host, path: str, kept: Dict[str, List[str]]) -> List[Seen]:
        text = self._search.text(path) if self._search else ""
        place = host.shown(path) + ":%d"
        return [Seen(one.rule, place % one.line, one.text) for one in troubles(text, kept.get(path, ()))]

    def unseen(self, host: Host) -> List[str]:
        """What the look left out."""
        return self._search.left_out() if self._search else []


def troubles(text: str, kept: Sequence[str]) -> List[Trouble]:
    """What is wrong with the lines of a credentials file. kept: machines of which only the password is judged."""
    found = list(_first(text)) + list(_forms(text)) + list(_doubles(text))
    return sorted(one for one in found if one.rule == "SEC-007" or one.machine not in kept)


def _first(text: str) -> Iterator[Trouble]:
    if text.startswith(BYTE_ORDER_MARK):
        yield Trouble(1, "KEY-004", "a byte-order mark hides this line from enroot: delete that mark", "")


def _forms(text: str) -> Iterator[Trouble]:
    """Lines that are not written the way enroot looks for them, and what it would run."""
    default = 0
    for number, line in enumerate(split_lines(text), 1):
        parts = split_words(line)
        formed = FORM.match(line)
        if parts[:1] == ["default"] and not default:
            default = number
        if formed and formed.group(3).startswith("$"):
            what = "what stands for a password is run by a shell when enroot reads the line for %s"
            yield Trouble(number, "SEC-007", what % _shown(formed.group(1)), formed.group(1))
        if parts[:1] == ["machine"]:
            machine = parts[1] if len(parts) > 1 else ""
            wrong = _wrong(line, parts, formed is not None, default)
            if wrong:
                yield Trouble(number, "KEY-004", "the line for %s %s" % (_shown(machine), wrong), machine)


def _wrong(line: str, parts: List[str], formed: bool, default: int) -> str:
    """Why enroot does not find the key of a line that begins an entry, and what to do; or nothing."""
    if "machine" in parts[2:]:
        return "holds several entries, and enroot reads one per line: split it"
    if "password" not in parts:
        return "goes on over several lines, which enroot does not read: join them"
    if line[:1] in (" ", "\t"):
        return "begins with a blank, so enroot does not see it: begin it at the margin"
    if not formed:
        return "is not read: enroot wants machine, login and password in this order"
    if default:
        return "stands behind 'default' on line %d, whose login is sent in its place: move it above" % default
    return ""


def _doubles(text: str) -> Iterator[Trouble]:
    """Lines for a machine and login that have one already: the first one counts."""
    seen: Dict[Tuple[str, str], int] = {}
    for number, line in enumerate(split_lines(text), 1):
        formed = FORM.match(line)
        if formed:
            first = seen.setdefault((formed.group(1), formed.group(2)), number)
            if first != number:
                text = "line %d is the one for %s that counts: delete one of them" % (first, _shown(formed.group(1)))
                yield Trouble(number, "KEY-003", text, formed.group(1))


def _shown(machine: str) -> str:
    return printable(machine, 80) or "no machine"
