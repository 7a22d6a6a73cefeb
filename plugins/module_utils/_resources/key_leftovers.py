# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of a replaced key: drafts of hpc-onboard and enroot's tokens are removed, all others are reported."""

from typing import Any, Dict, List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._scan.misplaced_keys import SHOWN, MisplacedKey, MisplacedKeys
from .._scan.search import Search, expand_paths


class KeyLeftovers(Resource):
    """Remove what a replaced key left behind, and report where else it is.

    Searches the texts of the home for a replaced key, which it knows only by its fingerprint, histories and copies of
    key files included.

    Removes drafts that a killed run of hpc-onboard left next to the files in O(own), and the tokens that enroot keeps
    of its pulls. All else stays; the outcome names it with its line.

    Options:
        known: What to call the key of each fingerprint, such as C("key 0123456789ab") and C(the old key).
        own: The files that hold the key rightly.
        caches: Folders in which enroot may keep its tokens, such as that of E(ENROOT_CACHE_PATH).

    Example: Find where the old key still is
        known: {"key 0123456789ab": the key that was replaced}
        own: [~/enroot/.credentials]
        caches: [~/.cache/enroot]
    """

    KIND = "key_leftovers"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "known": {"type": "dict", "required": True},
        "own": {"type": "list", "elements": "str", "default": []},
        "caches": {"type": "list", "elements": "str", "default": []},
    }

    def name(self) -> str:
        return "leftovers of a replaced key"

    def check(self) -> None:
        if not self.options["known"]:
            raise AccountError("known: missing; expected the fingerprint of the replaced key")

    def touches(self, host: Host) -> List[str]:
        return [host.home]

    _found: Optional[List[MisplacedKey]] = None
    _search: Optional[Search] = None

    def _misplaced_keys(self, host: Host) -> List[MisplacedKey]:
        """Return the leftovers of the replaced key, and drafts and tokens of any key; the home is searched once."""
        if self._found is None:
            own, caches = (expand_paths(host, self.options[name])[0] for name in ("own", "caches"))
            self._search = Search(host, [host.home] + caches)
            keys = MisplacedKeys(self._search, own, caches, self.options["known"])
            known = set(self.options["known"])
            places = (keys.in_home(), keys.in_credentials(), keys.in_tree(host.home), keys.in_caches())
            every = [one for found in places for one in found]
            self._found = [one for one in every if one.is_removable or one.fingerprints & known][:SHOWN]
        return self._found

    def desired(self, host: Host) -> State:
        """Return nothing: no leftover is desired."""
        return {}

    def inspect(self, host: Host) -> State:
        """Return the leftovers that may be removed, path to description."""
        return {host.shown(one.path): one.text for one in self._misplaced_keys(host) if one.is_removable}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        return None

    def remarks(self, host: Host) -> List[str]:
        """Return the leftovers that only the user may remove, and what the search skipped."""
        found = [
            "left over in %s:%d: %s" % (host.shown(stray.path), stray.line, stray.text)
            for stray in self._foreign_strays(host)
        ]
        return found + (self._search.skipped() if self._search else [])

    def evidence(self, before: State, host: Host) -> Evidence:
        return {"leftovers": len(self._foreign_strays(host))}

    def _foreign_strays(self, host: Host) -> List[MisplacedKey]:
        """Return the leftovers that only the user may remove."""
        return [one for one in self._misplaced_keys(host) if not one.is_removable]

    def apply(self, host: Host) -> None:
        """Remove the drafts and token stores that were found."""
        for one in self._misplaced_keys(host):
            if one.is_removable and host.resolved_kind(one.path) == "folder":
                host.remove_folder(one.path)
            elif one.is_removable:
                host.remove(one.path)
        self._found = None
