# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the output of the sites' quota commands: limits, usage, and the space that is left.

quota, quota -s: https://sourceforge.net/projects/linuxquota/
lfs quota: https://doc.lustre.org/lustre_manual.xhtml
quota at CSCS: https://docs.cscs.ch/storage/filesystems/
diskusage_report: https://docs.alliancecan.ca/wiki/Storage_and_file_management/en
dssusrinfo all: named at https://doku.lrz.de/3-storage-10746646.html; its output is known from users' texts only

In all functions, text is the output of a command, line a row of a table in it, and word a cell of a row.
"""

import re
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

# a row of quota or lfs quota for one mount point: used, soft, hard and grace for space, then for files
ROW = r"^\s*%s\s+(\d+)\*?\s+(\d+)\s+(\d+)\s+\S+\s+(\d+)\*?\s+(\d+)\s+(\d+)\s+\S+"
# number, prefix, "i" for a factor of 1024, and B
NUMBER = re.compile(r"^(\d+(?:\.\d+)?)\s*([kKMGTPE]?)(i?)([bB]?)\Z")
POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


class QuotaLeft(NamedTuple):
    """Bytes and files that may still be written; None without a limit."""

    bytes: Optional[int]
    files: Optional[int]


class Usage(NamedTuple):
    """The usage of one limit."""

    place: str  # file system or folder, as named in the output
    what: str  # "bytes" or "files"
    used: float
    limit: float
    over: bool = False  # True if the soft limit is exceeded
    grace: str = ""  # the time that is then left to remove files, as printed


class Reading(NamedTuple):
    """The parsed output of a quota command."""

    usages: List[Usage]
    unread: List[str]  # rows of a table in a known format that could not be parsed
    known: bool  # True if the output has a table in a known format


RowParser = Callable[[str], Optional[List[Usage]]]
"""Returns the usages of a row, [] for a heading or a note, and None for a row that cannot be parsed."""

Table = Tuple[str, RowParser]


def read_usage(text: str) -> Reading:
    """Return the usage of each limit in the output of any quota command.

    Of several limits for a place, separately for bytes and for files, only the limit that is most used is returned.
    """
    fullest: Dict[Tuple[str, str], Usage] = {}
    unread: List[str] = []
    has_no_quota = re.search(r"^Disk quotas for .*: none\s*$", text, re.MULTILINE) is not None
    is_known = has_no_quota or "DSS Container" in text  # the report of LRZ, even if it has no limits
    for heading, parse_row in TABLES:
        rows = _find_rows(text, heading)
        is_known = is_known or rows is not None
        for row in rows or []:
            usages = parse_row(row)
            if usages is None:
                unread.append(row.strip())
            _keep_fullest(fullest, usages or [])
    dss = _parse_dss(text)
    return Reading(sorted(fullest.values()) + dss, unread, is_known or bool(dss))


def _keep_fullest(fullest: Dict[Tuple[str, str], Usage], usages: List[Usage]) -> None:
    """Add usages to a dictionary by (place, what). Of two with the same key, keep the one closer to its limit."""
    for usage in usages:
        other = fullest.get((usage.place, usage.what))
        if other is None or usage.used * other.limit > other.used * usage.limit:
            fullest[usage.place, usage.what] = usage


def _find_rows(text: str, heading: str) -> Optional[List[str]]:
    """Return the rows below a table's heading, which is a pattern; None if no line matches the heading."""
    rows: Optional[List[str]] = None
    long_name = ""
    for line in text.splitlines():
        if re.search(heading, line):
            rows = rows or []
        elif rows is not None and line.strip() and not re.match(r"^[\s+|=-]*\Z", line):  # not a drawn line
            if len(line.split()) == 1 and "|" not in line:  # quota and df print a long name on its own line
                long_name = line.strip()
                continue
            rows.append((long_name + " " + line.strip()).strip())
        long_name = ""
    return rows


def parse_amount(word: str, binary: bool = True) -> Optional[float]:
    """Return the number in an amount such as 47 GB, 12.5G or 500k; None if invalid.

    Ki means 1024, and KB means 1000. binary: True if K alone means 1024. The same applies to M, G and so on.
    """
    found = NUMBER.match(word.strip())
    if not found:
        return None
    unit = 1024.0 if found.group(3) or (binary and not found.group(4)) else 1000.0
    return float(found.group(1)) * float(unit ** POWERS[found.group(2).upper()])


def _to_usages(place: str, what: str, used: Optional[float], limit: Optional[float], grace: str = "") -> List[Usage]:
    """Return a list with the usage; an empty list if a number is unknown, or if the limit is zero (no limit).

    The parameters are fields of Usage. The grace time is dropped unless the limit is exceeded.
    """
    if used is None or not limit:
        return []
    return [Usage(place, what, used, limit, used > limit, grace if used > limit else "")]


# -- quota and lfs quota ---------------------------------------------------------------------------


def _parse_linux(line: str) -> Optional[List[Usage]]:
    """Parse a row of quota: name, then used soft hard [grace] for space (KiB without a unit) and for files.

    The limit of a usage is the soft one; the hard one if the soft limit is zero.
    """
    words = line.split()
    if sum(_to_bytes(word) is not None for word in words[1:4]) < 2:  # a note, not a row
        return []
    if len(words) == 8:  # one of the two grace times is printed: words[4], unless that is the number of files
        is_grace = re.match(r"^\d+(\.\d+)?[kKMG]?\*?\Z", words[4]) is None
        words = words + ["-"] if is_grace else words[:4] + ["-"] + words[4:]
    elif len(words) == 7:  # no grace time is printed
        words = words[:4] + ["-"] + words[4:] + ["-"]
    if len(words) != 9:
        return None
    used, soft, hard = (_to_bytes(word) for word in words[1:4])
    files, soft_files, hard_files = (parse_amount(word.strip("*[]"), binary=False) for word in words[5:8])
    if None in (used, soft, hard, files, soft_files, hard_files):
        return None
    place, grace, files_grace = words[0], _parse_grace(words[4]), _parse_grace(words[8])
    space = _to_usages(place, "bytes", used, soft or hard, grace)
    return space + _to_usages(place, "files", files, soft_files or hard_files, files_grace)


def _to_bytes(word: str) -> Optional[float]:
    """Return the number of bytes of an amount, or None. A number without a unit is in KiB."""
    bare = word.strip("*[]")
    number = parse_amount(bare)
    return number * 1024 if number is not None and bare[-1:].isdigit() else number


def _parse_grace(word: str) -> str:
    """Return the grace time in a cell, or "". quota prints 'none' if the time is over."""
    if word in ("-", "0", "Unknown"):
        return ""
    return "over" if word == "none" else word


# -- commands of sites, and df ---------------------------------------------------------------------


def _parse_cscs(line: str) -> Optional[List[Usage]]:
    """Parse a row of CSCS: directory, file system, six cells about space, six cells about files."""
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if cells[0] == "" or "Directory" in cells[0]:  # another line of the heading
        return []
    if len(cells) != 14:
        return None
    space = _parse_cscs_cells(cells[0], "bytes", cells[2:8], binary=True)
    return space + _parse_cscs_cells(cells[0], "files", cells[8:14], binary=False)


def _parse_cscs_cells(place: str, what: str, cells: List[str], binary: bool) -> List[Usage]:
    """Return the usage in six cells: used by the user, share, grace, used by the project, share, limit.

    what: "bytes" or "files". binary: see parse_amount.
    """
    user_used, _share, grace, project_used, _project_share, limit = cells
    # the limit applies to the project's usage if that is printed, else to the user's
    used = user_used if project_used == "-" else project_used
    return _to_usages(place, what, parse_amount(used, binary), parse_amount(limit, binary), _parse_grace(grace))


def _parse_alliance(line: str) -> Optional[List[Usage]]:
    """Parse a row of the Alliance: name (owner), used/limit, files/limit."""
    amount = r"([\d.]+\s*[kKMGTPE]?i?B?)"  # a number with or without a unit
    row = re.match(r"^(\S.*?\))\s+%s\s*/\s*(\S+(?: [kKMGTPE]?i?B)?)\s+%s\s*/\s*(\S+)\Z" % (amount, amount), line)
    if row is None:  # a line with a name and a number may be a row
        return None if re.match(r"^\S.*\)\s+\S*\d", line) else []
    place = row.group(1)
    used, limit, files, files_limit = (parse_amount(word, binary=False) for word in row.groups()[1:])
    return _to_usages(place, "bytes", used, limit) + _to_usages(place, "files", files, files_limit)


def _parse_df(line: str, block: int = 1) -> Optional[List[Usage]]:
    """Parse a row of df: file system, size, used, available, share, mount point. block: the bytes of a size of 1.

    The limit is used plus available, because space that is reserved for root is in the size but not available.
    """
    words = line.split(None, 5)
    numbers = [parse_amount(word) for word in words[1:4]]
    if len(words) != 6 or None in numbers:
        return None
    used, free = (numbers[1] or 0.0) * block, (numbers[2] or 0.0) * block
    return [Usage(words[5], "bytes", used, used + free)] if used + free else []


TABLES: Tuple[Table, ...] = (
    (r"^\s*Filesystem\s+\w+\s+quota\s+limit\s+grace\s+files\s+quota\s+limit\s+grace", _parse_linux),
    (r"^\|\s*Directory\s*\|.*Quota limit.*Files limit", _parse_cscs),
    (r"^\s*Description\s+Space\s+# of files", _parse_alliance),
    (r"^\s*Filesystem\s+Size\s+Used\s+Avail", _parse_df),
    (r"^\s*Filesystem\s+(?:1K|1024)-blocks\s+Used\s+Avail", lambda row: _parse_df(row, 1024)),
    (r"^\s*Filesystem\s+1M-blocks\s+Used\s+Avail", lambda row: _parse_df(row, 1024**2)),
)
"""The heading of each table, as a pattern, and the parser of its rows."""


def _parse_dss(text: str) -> List[Usage]:
    """Parse the boxes of LRZ: 'NAME at PATH', 'NAME USED of LIMIT GB used' (or Files); the home has no name."""
    paths = dict(re.findall(r"^\*\s+(\S+)\s+at\s+(/\S+)\s+\*", text, re.MULTILINE))
    home = re.search(r"home directory is at (/\S+)", text)
    found: Dict[Tuple[str, str], Usage] = {}
    rows = re.findall(r"^\*[ ]+(?:(\S+)[ ]+)?(\d+) of (\d+)[ ]+(GB|Files)[ ]+used", text, re.MULTILINE)
    for name, used, limit, unit in rows:
        place = paths.get(name, name)
        if not name:
            place = home.group(1) if home else "home"
        what, factor = ("bytes", 1e9) if unit == "GB" else ("files", 1.0)
        _keep_fullest(found, _to_usages(place, what, int(used) * factor, int(limit) * factor))
    return sorted(found.values())


def read_left(text: str, mount: str) -> QuotaLeft:
    """Return how much may still be written to a mount point. text: the output of quota or lfs quota, in KiB.

    Of several rows for the mount point, the strictest limits apply.
    """
    left = QuotaLeft(bytes=None, files=None)  # no limit
    for row in re.finditer(ROW % re.escape(mount), text, re.MULTILINE):
        used, soft, hard, files, soft_files, hard_files = (int(number) for number in row.groups())
        space = _compute_amount_left(used * 1024, soft * 1024, hard * 1024)
        left = merge_quotas(left, QuotaLeft(space, _compute_amount_left(files, soft_files, hard_files)))
    return left


def merge_quotas(first: QuotaLeft, second: QuotaLeft) -> QuotaLeft:
    """Return the smaller number of bytes and the smaller number of files of two quotas."""
    return QuotaLeft(_select_smaller(first.bytes, second.bytes), _select_smaller(first.files, second.files))


def _select_smaller(first: Optional[int], second: Optional[int]) -> Optional[int]:
    """Return the smaller number; None means no limit."""
    return min((number for number in (first, second) if number is not None), default=None)


def _compute_amount_left(used: int, soft: int, hard: int) -> Optional[int]:
    """Return the amount left below the hard limit, or without one below the soft limit; None without any limit.

    A limit of zero means no limit.
    """
    limit = hard or soft
    return max(0, limit - used) if limit else None
