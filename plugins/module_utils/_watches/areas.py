# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links in the home that lead nowhere or to storage that is purged, and what a purge has taken or is about to take."""

import os
import re
import stat
import time
from typing import Any, Dict, List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._scan.amounts import count
from .._scan.walk import Limits, Passed, Walk, counted
from .base import Look, is_in

LINKS = 1000  # names in the home that are looked at
ENTRIES = 20000  # of one area
SECONDS = 8.0  # for one area
SOON = 7  # days before a purge
DAY = 86400
KEPT = re.compile(
    r"^\.?(?:(?:mini|ana)?conda\d?|(?:mini|mamba)forge\d?|(?:micro)?mamba|(?:virtual|v)?envs?"
    r"|data(?:sets?)?|models?|software|apps|local|results?|projects?|work|store|home)\Z"
)
"""Names of links behind which people expect what lasts."""
LOCK = re.compile(r"^[^/]*(?::\+\d+|@[^/]+\.\d+(?::\d+)?)\Z")
"""What the lock of a program leads to: '127.0.0.1:+4242' of Mozilla's, 'ada@host.4242:17' of Emacs."""

NODE_LOCAL = ("/run", "/tmp", "/local", "/var/tmp", "/var/run", "/dev/shm", "$TMPDIR")
"""Folders that each node has for itself, or for one job: what is missing here may exist on another node."""


class Areas(Look):
    """The links of the home, and the areas of the account whose files are purged."""

    KIND = "areas"
    PLACES = ("purged", "own", "made")
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "purged": {"type": "list", "elements": "dict", "default": []},  # {name, path, days, clock}
        "own": {"type": "list", "elements": "dict", "default": []},  # {path}: links that are looked at as ours
        "made": {"type": "list", "elements": "dict", "default": []},  # {path}: folders that the roles make
        "kept": {"type": "list", "elements": "str", "default": []},  # further names behind which things should last
    }

    def name(self) -> str:
        return "links in the home, and storage that is purged"

    def look(self, host: Host) -> None:
        """The links, then each purged area."""
        for path in self._links(host):
            try:
                self._link(path, host)
            except AccountError as error:
                self.miss(str(error))
        for area in self.places("purged"):
            self._area(area, host)

    # -- links ---------------------------------------------------------------------------------

    def _links(self, host: Host) -> List[str]:
        """The links directly in the home that are not looked at as ours; the locks of editors are dead by design."""
        names = host.names(host.home)
        if len(names) > LINKS:
            self.miss("~ holds %d names; the first %d were looked at" % (len(names), LINKS))
        own = [one["path"] for one in self.places("own")]
        paths = [os.path.join(host.home, name) for name in names[:LINKS] if not name.startswith(".#")]
        return [path for path in paths if path not in own and getattr(host.entry(path), "kind", "") == "link"]

    def _link(self, path: str, host: Host) -> None:
        shown, real = host.shown(path), host.resolve(path)
        if real is None:
            self.find("LNK-005", shown, "the link leads back to itself", auto_fix=_fix(path, host))
            return
        area = self._purged_at(real, host)
        target = getattr(host.entry(path), "target", "")
        if host.entry(real) is None and (LOCK.search(target) or _is_node_local(target, real, host)):
            return  # a program's lock is no file; and of another node nothing is known here
        if host.entry(real) is None:
            why = "; %s, where it led, is purged" % area["name"] if area else ""
            self.find("LNK-003", shown, "nothing is at %s%s" % (real, why), auto_fix=_fix(path, host))
        elif area and self._should_last(os.path.basename(path)):
            text = "what should last lies at %s, on %s, where files go after %d days"
            self.find("LNK-005", shown, text % (real, area["name"], area["days"]))

    def _purged_at(self, path: str, host: Host) -> Optional[Dict[str, Any]]:
        for area in self.places("purged"):
            if is_in(path, area["path"]) or is_in(path, host.resolve(area["path"]) or area["path"]):
                return area
        return None

    def _should_last(self, name: str) -> bool:
        return name in self.options["kept"] or KEPT.match(name) is not None

    # -- purged areas --------------------------------------------------------------------------

    def _area(self, area: Dict[str, Any], host: Host) -> None:
        try:
            real = host.resolve(area["path"])
            if not real or host.resolved_kind(real) != "folder":
                return  # its link says so
        except AccountError as error:
            self.miss(str(error))
            return
        walk, due = Walk(host, Limits(ENTRIES, SECONDS)), Due(area)
        trees: Dict[str, Tree] = {}
        name = ""
        for passed in walk.below(real):
            name = passed.path[len(real) :].lstrip("/").split("/")[0]
            trees.setdefault(name, Tree()).add(passed, self._is_dead(passed, real, host))
            due.add(passed)
        shown = host.shown(area["path"])
        if walk.cut:
            self.miss("%s holds more than could be looked at: the rest of it is not known" % shown)
            trees.pop(name, None)  # the walk ended inside it
        if walk.left_out.paths:
            self.miss("%s: not all of it can be looked at: %s (%s)" % ((shown,) + walk.left_out.paths[0]))
        for name, tree in sorted(trees.items()):
            self._emptied(area, os.path.join(real, name), tree, walk, host)
        if due.files:
            first = "" if walk.cut == "time" else ", the first %s" % due.first()
            text = "%s will be purged within %d days%s"
            self.find("USE-003", shown, text % (counted(due.files, "file", walk), SOON, first))

    def _is_dead(self, passed: Passed, area: str, host: Host) -> bool:
        """Whether this is a link inside the area to something of the area that is gone."""
        if not stat.S_ISLNK(passed.status.st_mode):
            return False
        try:
            real = host.resolve(passed.path)
            return real is not None and is_in(real, area) and host.entry(real) is None
        except AccountError:
            return False

    def _emptied(self, area: Dict[str, Any], path: str, tree: "Tree", walk: Walk, host: Host) -> None:
        """Folders without a single file, and links to files that were there: what a purge leaves."""
        made = [host.resolve(one["path"]) or one["path"] for one in self.places("made")]
        closed = any(is_in(one, host.shown(path)) for one, _why in walk.left_out.paths)
        if tree.looks_purged() and not closed and not any(is_in(one, path) for one in made):
            text = "%s left, and no file: %s is purged after %d days"
            self.find("USE-003", host.shown(path), text % (tree.left(), area["name"], area["days"]))


def _is_node_local(target: str, real: str, host: Host) -> bool:
    """Return True if a link points into a folder of this node, as it is written or with all links followed."""
    for folder in NODE_LOCAL:
        try:
            place = host.expand(folder)
        except AccountError:
            continue  # the site sets no such variable
        if is_in(os.path.normpath(target), place) or is_in(real, place):
            return True
    return False


def _fix(path: str, host: Host) -> Optional[Dict[str, Any]]:
    from .._fixes import offers  # few accounts have such links

    return offers.cautious(offers.of_link, host, path)


class Tree:
    """What one folder of an area holds, itself included."""

    def __init__(self) -> None:
        self._folders = self._dead = self._others = 0

    def add(self, passed: Passed, dead: bool) -> None:
        """Count one more entry; dead says of a link that what it led to is gone."""
        if stat.S_ISDIR(passed.status.st_mode):
            self._folders += 1
        elif dead:
            self._dead += 1
        else:
            self._others += 1

    def looks_purged(self) -> bool:
        """Whether only folders and dead links are there. One empty folder alone says nothing."""
        return not self._others and bool(self._folders) and self._folders + self._dead > 1

    def left(self) -> str:
        """What is there, in words."""
        words = [(self._folders, "folder"), (self._dead, "dead link")]
        return " and ".join(count(number, noun) for number, noun in words if number) + " are"


class Due:
    """The files of an area that its purge will take soon."""

    def __init__(self, area: Dict[str, Any]) -> None:
        self._days, self._clock = int(area["days"]), str(area["clock"])
        self._now = time.time()
        self._first = 0.0
        self.files = 0

    def add(self, passed: Passed) -> None:
        """Count a file whose time is nearly up."""
        if not stat.S_ISREG(passed.status.st_mode):
            return
        ends = used(passed.status, self._clock) + self._days * DAY
        if ends - self._now <= SOON * DAY:
            self._first = min(ends, self._first or ends)
            self.files += 1

    def first(self) -> str:
        """When the first of them may go: the day in UTC, or now."""
        if self._first <= self._now:
            return "with the next purge"
        return "on " + time.strftime("%Y-%m-%d", time.gmtime(self._first))


def used(status: os.stat_result, clock: str) -> float:
    """When a file was last used, as the site's purge counts: seconds since the epoch.

    clock is the profile's: by access; by change and access both, where the later one counts; or by age, that is
    since its content was written.
    """
    if clock == "atime":
        return status.st_atime
    return max(status.st_ctime, status.st_atime) if clock == "ctime_and_atime" else status.st_mtime
