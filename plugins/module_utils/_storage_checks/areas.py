# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broken links in the home, links to purged storage, and files that a purge has deleted or will delete soon."""

import os
import re
import stat
import time
from typing import Any, Dict, Iterator, List, Optional

from .._audit_checks.audit_check import OWN_MODE, OWN_TARGET, AuditCheck, is_in, is_node_local, real_home
from .._core.errors import AccountError
from .._core.host import Host
from .._fixes import offers
from .._scan.amounts import format_count
from .._scan.filled_folders import folders_to_enter, is_filled
from .._scan.walk import Limits, Walk, WalkedEntry, format_walked

LINKED = Limits(entries=6000, seconds=3.0, depth=4)  # of the search for links in the home
HIDDEN = (".config", ".local")  # folders of the home whose links are checked as well
UNUSED = ("Trash",)
ENTRIES = 20000  # of one area
SECONDS = 8.0  # for one area
SOON = 7  # days before a purge
DAY = 86400
KEPT = re.compile(
    r"^\.?(?:(?:mini|ana)?conda\d?|(?:mini|mamba)forge\d?|(?:micro)?mamba|(?:virtual|v)?envs?"
    r"|data(?:sets?)?|models?|software|apps|local|results?|projects?|work|store|home|thesis|dissertation|phd|papers?"
    r"|code|src|repos?|git|doc(?:ument)?s|backups?|archives?|notes|figures|notebooks|checkpoints?)\Z"
)
"""Names of links, and words in them, behind which users expect what lasts."""
PASSING = re.compile(r"scratch|te?mp|cache|fast|purge|trash|old|test")
"""Words in names of what need not last."""
LOCK = re.compile(r"^[^/]*(?::\+\d+|@[^/]+\.\d+(?::\d+)?)\Z")
"""Targets of locks of programs: '127.0.0.1:+4242' of Mozilla's, 'ada@host.4242:17' of Emacs."""


class Areas(AuditCheck):
    """The links of the home, and the areas of the account whose files are purged."""

    KIND = "areas"
    TITLE = "links in the home, and storage that is purged"
    PATH_OPTIONS = ("purged", "own", "made", "written")
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "purged": {"type": "list", "elements": "dict", "default": []},  # {name, path, days, clock}
        "own": {
            "type": "list",
            "elements": "dict",
            "default": [],
        },  # {path}: links of roles, with rules of their own
        "made": {"type": "list", "elements": "dict", "default": []},  # {path}: folders that the roles make
        "written": {
            "type": "list",
            "elements": "dict",
            "default": [],
        },  # {path}: where the account must be able to write
        "kept": {"type": "list", "elements": "str", "default": []},  # further names behind which things should last
    }

    def run(self, host: Host) -> None:
        for path in self._links(host):
            try:
                self._check_link(path, host)
            except AccountError as error:
                self.skip(str(error))
        for area in self.entries("purged"):
            self._check_area(area, host)
        self._check_written(host)

    def _check_written(self, host: Host) -> None:
        """Report the uppermost folders in which the account can create nothing."""
        closed: List[str] = []
        for entry in sorted(self.entries("written"), key=lambda one: str(one["path"])):
            path = entry["path"]
            try:
                real = host.resolve(path)
                if not real or host.resolved_kind(real) != "folder" or os.access(host.real(real), os.W_OK | os.X_OK):
                    continue
            except AccountError as error:
                self.skip(str(error))
                continue
            if not any(is_in(path, above) for above in closed):
                closed.append(path)
                self._report_closed(path, real, host)

    def _report_closed(self, path: str, real: str, host: Host) -> None:
        """Report a folder and why the account cannot write to it."""
        if os.statvfs(host.real(real)).f_flag & os.ST_RDONLY:
            self.report("DIR-003", host.shown(path), "its file system is read-only here")
            return
        entry, above = host.entry(real), host.entry(os.path.dirname(real))
        # A site freezes a whole area; what is in a folder of the account's is the account's own doing.
        is_own = path == host.home or bool(above and above.mine)
        by_user = bool(entry and entry.mine and is_own)
        text = "the account can create nothing there (mode %s%s)"
        text %= "%04o" % entry.mode if entry else "unknown", "" if entry and entry.mine else ", of another user"
        self.report("DIR-003", host.shown(path), text, case=OWN_MODE if by_user else "")

    # -- links ---------------------------------------------------------------------------------

    def _links(self, host: Host) -> Iterator[str]:
        """Yield the links of the home and of its upper folders, without those of roles and the locks of editors.

        In a folder, relative links belong to what it holds, unless they point to themselves.
        """
        own = [link["path"] for link in self.entries("own")]
        walk = Walk(host, LINKED)
        for listing in walk.folders(host.home):
            is_home = listing.folder == host.home
            if "pyvenv.cfg" in listing.files:
                listing.folders = [name for name in listing.folders if name == "bin"]
            elif is_filled(listing):
                listing.folders = []
                continue
            hidden = HIDDEN if is_home else ()
            names = [name for name in folders_to_enter(listing) if not name.startswith(".") or name in hidden]
            listing.folders = [name for name in names if name not in UNUSED]
            for path in [listing.path(entry.name) for entry in listing.entries if entry.is_symlink()]:
                is_lock = os.path.basename(path).startswith(".#")
                if path not in own and not is_lock and (is_home or self._is_outward(path, host)):
                    yield path
        if walk.cut and walk.cut_at == host.home:
            self.skip("~ holds too many names; only the first %d were checked" % LINKED.entries)

    def _is_outward(self, path: str, host: Host) -> bool:
        """Return True for a link with an absolute target, or one that points to itself."""
        try:
            target = getattr(host.entry(path), "target", "")
            return bool(target) and (target[0] == "/" or host.resolve(path) is None)
        except AccountError as error:
            self.skip(str(error))
            return False

    def _check_link(self, path: str, host: Host) -> None:
        shown, real = host.shown(path), host.resolve(path)
        if real is None:
            fix = offers.offer_link_fix(host, path)
            self.report("LNK-005", shown, "the link points back to itself", auto_fix=fix)
            return
        area = self._purged_area_of(real, host)
        if host.entry(real) is None:
            target = getattr(host.entry(path), "target", "")
            if LOCK.search(target) or is_node_local(target, host) or is_node_local(real, host):
                return  # a program's lock needs no file, and another node may have the target
            why = "; it was on %s, which is purged" % area["name"] if area else ""
            fix = offers.offer_link_fix(host, path)
            case = OWN_TARGET if is_in(real, real_home(host)) and not area else ""
            self.report("LNK-003", shown, "the target %s does not exist%s" % (real, why), "", fix, case)
        elif area and self._should_last(os.path.basename(path)):
            text = "the target %s is on %s, where files are deleted after %d days"
            self.report("LNK-005", shown, text % (real, area["name"], area["days"]))

    def _purged_area_of(self, path: str, host: Host) -> Optional[Dict[str, Any]]:
        for area in self.entries("purged"):
            if is_in(path, area["path"]) or is_in(path, host.resolve(area["path"]) or area["path"]):
                return area
        return None

    def _should_last(self, name: str) -> bool:
        if name in self.options["kept"] or KEPT.match(name):
            return True
        lower = name.lower()
        return not PASSING.search(lower) and any(KEPT.match(word) for word in re.split(r"[^a-z0-9]+", lower))

    # -- purged areas --------------------------------------------------------------------------

    def _check_area(self, area: Dict[str, Any], host: Host) -> None:
        try:
            real = host.resolve(area["path"])
            if not real or host.resolved_kind(real) != "folder":
                return  # the check of its link reports it
        except AccountError as error:
            self.skip(str(error))
            return
        walk, due = Walk(host, Limits(ENTRIES, SECONDS)), FilesDue(area)
        trees: Dict[str, TreeCounts] = {}
        name = ""
        for entry in walk.below(real):
            name = entry.path[len(real) :].lstrip("/").split("/")[0]
            trees.setdefault(name, TreeCounts()).add(entry, _is_dead_link(entry, real, host))
            due.add(entry)
        shown = host.shown(area["path"])
        if walk.cut:
            self.skip("%s holds too much to check all of it: the rest is unknown" % shown)
            trees.pop(name, None)  # the walk ended inside it
        if walk.skipped.paths:
            self.skip("%s could not be checked completely: %s (%s)" % ((shown,) + walk.skipped.paths[0]))
        made = [host.resolve(folder["path"]) or folder["path"] for folder in self.entries("made")]
        for name, tree in sorted(trees.items()):
            path = os.path.join(real, name)
            is_partly_read = any(is_in(skipped, host.shown(path)) for skipped, _why in walk.skipped.paths)
            if tree.looks_purged() and not is_partly_read and not any(is_in(folder, path) for folder in made):
                text = "contains only %s and no file: %s is purged after %d days"
                self.report("USE-003", host.shown(path), text % (tree.describe(), area["name"], area["days"]))
        if due.files:
            first = "" if walk.cut == "time" else ", the first %s" % due.describe_first()
            text = "%s will be purged within %d days%s"
            self.report("USE-003", shown, text % (format_walked(due.files, "file", walk), SOON, first))


def _is_dead_link(entry: WalkedEntry, area: str, host: Host) -> bool:
    """Return True if the entry is a link to something inside the area that no longer exists."""
    if not stat.S_ISLNK(entry.status.st_mode):
        return False
    try:
        real = host.resolve(entry.path)
        return real is not None and is_in(real, area) and host.entry(real) is None
    except AccountError:
        return False


class TreeCounts:
    """The numbers of folders, dead links and other entries in one folder of an area, itself included."""

    def __init__(self) -> None:
        self._folders = self._dead = self._others = 0

    def add(self, entry: WalkedEntry, is_dead_link: bool) -> None:
        """Count one more entry."""
        if stat.S_ISDIR(entry.status.st_mode):
            self._folders += 1
        elif is_dead_link:
            self._dead += 1
        else:
            self._others += 1

    def looks_purged(self) -> bool:
        """Return True if only folders and dead links are left. One empty folder alone means nothing."""
        return not self._others and bool(self._folders) and self._folders + self._dead > 1

    def describe(self) -> str:
        """Return '3 folders and 1 dead link'."""
        counts = [(self._folders, "folder"), (self._dead, "dead link")]
        return " and ".join(format_count(number, noun) for number, noun in counts if number)


class FilesDue:
    """The files of an area that its purge will delete soon."""

    def __init__(self, area: Dict[str, Any]) -> None:
        self._days, self._clock = int(area["days"]), str(area["clock"])
        self._now = time.time()
        self._first = 0.0
        self.files = 0

    def add(self, entry: WalkedEntry) -> None:
        """Count a file whose time is nearly up."""
        if not stat.S_ISREG(entry.status.st_mode):
            return
        ends = last_use(entry.status, self._clock) + self._days * DAY
        if ends - self._now <= SOON * DAY:
            self._first = min(ends, self._first or ends)
            self.files += 1

    def describe_first(self) -> str:
        """Return when the first of them may be deleted: a day in UTC, or the next purge."""
        if self._first <= self._now:
            return "with the next purge"
        return "on " + time.strftime("%Y-%m-%d", time.gmtime(self._first))


def last_use(status: os.stat_result, clock: str) -> float:
    """Return when a file was last used, in seconds since the epoch, as the site's purge counts.

    clock is the profile's: atime; ctime_and_atime, where the later one counts; or age, since the content was written.
    """
    if clock == "atime":
        return status.st_atime
    return max(status.st_ctime, status.st_atime) if clock == "ctime_and_atime" else status.st_mtime
