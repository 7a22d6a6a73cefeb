# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of a replaced key: drafts of hpc-onboard and enroot's tokens are removed, all others are reported.

A run compares the states from inspect() and desired(); an empty state means that the resource is absent. If the states
differ and obstacle() returns None, the run calls apply(). remarks() returns notes for the user, and evidence() returns
observations for programs. before is the state from inspect(). A Host reads and changes the account's files.
"""

from typing import Any, Dict, List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._scan.misplaced_keys import SHOWN, MisplacedKey, MisplacedKeys
from .._scan.search import Search, expand_paths


class KeyLeftovers(Resource):
    """Remove what a replaced key left behind, and report the remaining copies.

    Searches text files in the home, including shell histories and copies of key files, for a replaced key. The module
    receives only the fingerprint of that key.

    Removes drafts that a killed run of hpc-onboard left next to the files in O(own), and the tokens that enroot keeps
    after pulls. All other copies stay; the outcome lists each with its file and line.

    Options:
        known: A dictionary that maps the fingerprint of each replaced key to a description of the key, such as
            C("key 0123456789ab") to C(the old key).
        own: The files in which roles keep keys.
        caches: Folders in which enroot may keep its tokens, such as the one in E(ENROOT_CACHE_PATH).

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
            raise AccountError("known: this option is empty; expected the fingerprint of a replaced key")

    def touches(self, host: Host) -> List[str]:
        """Return the only path that this resource depends on."""
        return [host.home]

    _leftovers: Optional[List[MisplacedKey]] = None  # the result of _find_leftovers(), None before the first search
    _search: Optional[Search] = None

    def _find_leftovers(self, host: Host) -> List[MisplacedKey]:
        """Return the copies of the replaced key, and the drafts and tokens of any key; the home is searched once."""
        if self._leftovers is None:
            # [0]: the absolute paths, without the problems
            key_files, caches = (expand_paths(host, self.options[name])[0] for name in ("own", "caches"))
            self._search = Search(host, [host.home] + caches)
            finder = MisplacedKeys(self._search, key_files, caches, self.options["known"])
            replaced = set(self.options["known"])
            searches = (
                finder.search_home(),  # start-up files, histories and copies of key files
                finder.search_credentials(),  # files in which programs keep keys
                finder.search_tree(host.home),  # all other texts
                finder.search_caches(),  # enroot's tokens
            )
            # a draft or a token of any key is removable; other copies matter only if they contain a replaced key
            keys_found = [key for search in searches for key in search]
            leftovers = [key for key in keys_found if key.is_removable or key.fingerprints & replaced]
            self._leftovers = leftovers[:SHOWN]  # a limit, because the outcome lists each leftover
        return self._leftovers

    def desired(self, host: Host) -> State:
        """Return an empty state: no leftover is to stay."""
        return {}

    def inspect(self, host: Host) -> State:
        """Return the leftovers that apply() may remove: path -> description."""
        return {host.shown(key.path): key.text for key in self._find_leftovers(host) if key.is_removable}

    def remarks(self, host: Host) -> List[str]:
        """Return the leftovers that only the user may remove, and what the search skipped, with the reasons."""
        notes = ["%s:%d: %s" % (host.shown(key.path), key.line, key.text) for key in self._find_users_leftovers(host)]
        return notes + (self._search.skipped() if self._search else [])

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return {leftovers: the number of leftovers that only the user may remove}."""
        return {"leftovers": len(self._find_users_leftovers(host))}

    def _find_users_leftovers(self, host: Host) -> List[MisplacedKey]:
        """Return the leftovers that only the user may remove."""
        return [key for key in self._find_leftovers(host) if not key.is_removable]

    def apply(self, host: Host) -> None:
        """Remove the drafts and token stores that were found."""
        for key in self._find_leftovers(host):
            if key.is_removable and host.resolved_kind(key.path) == "folder":  # a token store; a draft is a file
                host.remove_folder(key.path)
            elif key.is_removable:
                host.remove(key.path)
        self._leftovers = None  # the next inspection searches again
