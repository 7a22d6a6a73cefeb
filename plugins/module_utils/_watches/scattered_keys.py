# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys where none belong: in start-up files, histories, scripts, files that git keeps, and copies of files of keys."""

from itertools import chain, islice
from typing import Any, Dict, List, Optional, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._core.values import check_path
from .._scan.search import Search, expanded
from .._scan.strays import SHOWN, Stray, Strays
from .._scan.walk import USUAL, Limits
from .watch import Seen, Watch


class ScatteredKeys(Watch):
    """A tree is looked through for scripts and caches; the home for all else, too."""

    KIND = "scattered_keys"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "folder": {"type": "path", "default": "~"},
        "own": {"type": "list", "elements": "str", "default": []},
        "caches": {"type": "list", "elements": "str", "default": []},
        "known": {"type": "dict", "default": {}},
        "entries": {"type": "int", "default": USUAL.entries},
        "most_seconds": {"type": "int", "default": int(USUAL.seconds)},
    }

    def name(self) -> str:
        return "keys scattered in %s" % self.options["folder"]

    def check(self) -> None:
        check_path("folder", self.options["folder"])

    def touches(self, host: Host) -> List[str]:
        return [host.expand(self.options["folder"])]

    _search: Optional[Search] = None

    def seen(self, host: Host) -> List[Seen]:
        """The keys that stand where none belong, and stores of tokens."""
        limits = Limits(self.options["entries"], self.options["most_seconds"])
        folder = self.options["folder"]
        self._search = Search(host, [host.home, folder], limits)
        own, caches = (expanded(host, self.options[name])[0] for name in ("own", "caches"))
        strays = Strays(self._search, own, _in(host, folder, caches), self.options["known"])
        found = list(islice(strays.of_home(), SHOWN)) if folder == host.home else []
        found += islice(chain(strays.of_tree(folder), strays.of_caches()), SHOWN)
        return merged(host, found[:SHOWN])

    def unseen(self, host: Host) -> List[str]:
        """What the look left out."""
        return self._search.left_out() if self._search else []


def _in(host: Host, folder: str, caches: List[str]) -> List[str]:
    """The caches that really lie in the folder: those elsewhere are another look's."""
    top = (host.resolve(folder) or folder).rstrip("/") + "/"
    found = []
    for cache in caches:
        try:
            real = host.resolve(cache)
        except AccountError:
            real = cache  # the look itself says what it is not permitted
        found += [cache] if real and (real + "/").startswith(top) else []
    return found


def merged(host: Host, strays: List[Stray]) -> List[Seen]:
    """What is seen, once for each rule and place."""
    found: Dict[Tuple[str, str], List[Stray]] = {}
    for one in strays:
        place = host.shown(one.path) + (":%d" % one.line if one.line else "")
        found.setdefault((one.rule, place), []).append(one)
    return [
        Seen(rule, place, "; ".join(one.text for one in several), "", _mend(host, several))
        for (rule, place), several in found.items()
    ]


def _mend(host: Host, strays: List[Stray]) -> Optional[Dict[str, Any]]:
    """What mends the strays of one rule at one place, if anything does without a loss."""
    from .._mends import offers  # few accounts have such keys

    one, marks = strays[0], sorted({mark for stray in strays for mark in stray.fingerprints})
    if one.rule == "SEC-005":
        return None  # git's history has it, too
    if one.rule == "SEC-009":
        return offers.cautious(offers.of_folder, host, one.path, "tokens")
    if one.ours:
        return offers.cautious(offers.of_draft, host, one.path)
    return offers.cautious(offers.of_key, host, one.path, marks, one.rule == "SEC-006")
