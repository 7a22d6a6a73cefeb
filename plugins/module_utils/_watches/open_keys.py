# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of keys that no role keeps, and whether others could read or swap them."""

import os
import re
from typing import Any, Dict, Iterator, List, Optional

from .._core import files
from .._core.host import Host
from .._formats.key_files import CREDENTIALS
from .._formats.key_forms import is_placeholder
from .._scan.search import Search, expanded
from .watch import Seen, Watch

DEFAULT_ACL = "system.posix_acl_default"
MAY_HOLD_NONE = (".json", ".yaml", ".yml", ".pypirc")  # settings, in which there may be a key
SECRET = re.compile(r"\"?\w*(?:auth|token|key|password|secret)\"?\s*[:=]\s*\"?([^\s\"{}\[\],]{6,})", re.IGNORECASE)
PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")


class OpenKeys(Watch):
    """Each file of keys in the home but our own: its mode, its access list, and the folders above it."""

    KIND = "open_keys"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "own": {"type": "list", "elements": "str", "default": []},
        "areas": {"type": "list", "elements": "str", "default": []},
    }

    def name(self) -> str:
        return "other files of keys"

    def touches(self, host: Host) -> List[str]:
        return [host.home]

    _search: Optional[Search] = None
    _problems: List[str] = []

    def seen(self, host: Host) -> List[Seen]:
        """The files that others could read or swap, and the folders that let them."""
        areas, self._problems = expanded(host, self.options["areas"])
        self._search = Search(host, [host.home] + areas)
        found: Dict[str, Seen] = {}
        for path in self._files(host, self._search):
            for one in _open(host, path, self._search.file(path) or path):
                found.setdefault("%s %s" % (one.rule, one.place), one)
        return list(found.values())

    def unseen(self, host: Host) -> List[str]:
        """What the look left out."""
        return self._problems + (self._search.left_out() if self._search else [])

    def _files(self, host: Host, search: Search) -> Iterator[str]:
        """The files that hold a key."""
        own = set(expanded(host, self.options["own"])[0])
        for name in CREDENTIALS:
            path = host.home + "/" + name
            text = "" if path in own else search.text(path)
            if text.strip() and (_holds_secret(text) or not name.endswith(MAY_HOLD_NONE)):
                yield path
        for name in search.names(host.home + "/.ssh"):
            path = host.home + "/.ssh/" + name
            if not name.endswith(".pub") and PRIVATE_KEY.match(search.text(path)[:80]):
                yield path


def _holds_secret(text: str) -> bool:
    return any(not is_placeholder(one.group(1)) for one in SECRET.finditer(text))


def _open(host: Host, path: str, real: str) -> Iterator[Seen]:
    """How others get at the file at path, which lies at real."""
    found = host.entry(real)
    if found is None:
        return
    folder = os.path.dirname(real)
    ways = _ways(host, folder)
    listed = host.has_acl(real)
    if found.mode & 0o004 and ways & 0o001:
        yield _seen(host, "SEC-001", path, "everybody on this cluster can read it (mode %04o)" % found.mode, "mode")
    elif found.mode & 0o040 and ways & 0o010 and not listed:
        yield _seen(host, "SEC-001", path, "its group can read it (mode %04o)" % found.mode, "mode")
    if listed and found.mode & 0o060 and ways & 0o010:
        yield _seen(host, "SEC-003", path, "an access list lets others at it", "list")
    if DEFAULT_ACL in files.list_attributes(host.real(folder)):
        yield Seen("SEC-003", host.shown(folder), "its default access list opens every file that is made there")
    yield from _swappable(host, folder)


def _components(folder: str) -> List[str]:
    """The folder and those above it, the uppermost first."""
    parts = folder.strip("/").split("/")
    return ["/" + "/".join(parts[: number + 1]) for number in range(len(parts))]


def _ways(host: Host, folder: str) -> int:
    """Who can pass through all folders down to this one: bits as in a mode, 0o010 a group, 0o001 everybody.

    The group's bits of a folder with an access list are the most that any of its entries allows.
    """
    ways = 0o011
    for place in _components(folder):
        found = host.entry(place)
        mode = found.mode if found else 0
        ways &= mode | (0o010 if mode & 0o001 else 0)
    return ways


def _swappable(host: Host, folder: str) -> Iterator[Seen]:
    """The first folder on the way in which others could put another file in place."""
    for place in _components(folder):
        found = host.entry(place)
        why = files.why_unsafe(found, host.shown(place)) if found else None
        if why:
            yield _seen(host, "SEC-002", place, why, "folder")
            return


def _seen(host: Host, rule: str, path: str, text: str, way: str) -> Seen:
    """What is found, with what shuts it."""
    from .._fixes import offers  # few accounts have such files

    return Seen(rule, host.shown(path), text, "", offers.cautious(offers.of_access, host, path, way))
