# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for misplaced keys: in start-up files, histories, scripts, files that git tracks, and copies."""

import os
from itertools import chain, islice
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Tuple

from .._audit_checks.audit_check import APPLICATION, NO_REPLACEMENT, UNKNOWN_KEY, AuditCheck
from .._core.errors import AccountError
from .._core.host import Host
from .._core.values import check_path
from .._fixes import offers
from .._formats import key_files
from .._key_search.keys_in_texts import find_keys
from .._scan.misplaced_keys import SHOWN, MisplacedKey, MisplacedKeys
from .._scan.search import Search, expand_paths
from .._scan.walk import USUAL, Limits
from .shadowed_keys import VALUES

ENTRIES = 30000  # names in one tree


class ScatteredKeys(AuditCheck):
    """Keys in the texts and caches of a folder tree; in the home directory also in histories and copies."""

    KIND = "scattered_keys"
    TITLE = "keys scattered in %(folder)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "folder": {"type": "path", "default": "~"},
        "own": {"type": "list", "elements": "str", "default": []},  # key files of roles
        "kept": {"type": "dict", "default": {}},  # resource type -> paths of its key files
        "caches": {"type": "list", "elements": "str", "default": []},  # folders with enroot's stores of tokens
        "known": {"type": "dict", "default": {}},  # fingerprint -> description of the key
        "secrets": {"type": "dict", "default": {}},  # fingerprint of a known key -> name of its secret
        "entries": {"type": "int", "default": ENTRIES},
        "most_seconds": {"type": "int", "default": int(USUAL.seconds)},
    }

    def check(self) -> None:
        check_path("folder", self.options["folder"])

    def touches(self, host: Host) -> List[str]:
        return [host.expand(self.options["folder"])]

    def run(self, host: Host) -> None:
        """Search the folder, and report the keys that were found, by rule and place."""
        folder = self.options["folder"]
        search = Search(host, [host.home, folder], Limits(self.options["entries"], self.options["most_seconds"]))
        own, caches = (expand_paths(host, self.options[name])[0] for name in ("own", "caches"))
        keys = MisplacedKeys(search, own, _select_caches(host, folder, caches), self.options["known"])
        found = list(islice(keys.search_home(), SHOWN)) if folder == host.home else []
        found += islice(chain(keys.search_tree(folder), keys.search_caches()), SHOWN)
        found = [key for key in found if not key.is_allowed]
        kept = self._find_key_files(host, search)
        by_place: Dict[Tuple[str, str], List[MisplacedKey]] = {}
        for key in found[:SHOWN]:
            place = host.shown(key.path) + (":%d" % key.line if key.line else "")
            by_place.setdefault((key.rule, place), []).append(key)
        for (_rule, place), keys_there in by_place.items():
            self._report_keys(host, place, keys_there, kept)
        self.skip_unread(search)

    def _find_key_files(self, host: Host, search: Search) -> Dict[Tuple[str, str], List[str]]:
        """Return the roles' files that contain a known key: (resource type, name of the secret) -> shown paths."""
        files: Dict[Tuple[str, str], List[str]] = {}
        known, secrets = self.options["known"], self.options["secrets"]
        for kind, paths in self.options["kept"].items():
            for path in expand_paths(host, paths)[0]:
                for key in find_keys(search.read_text(path), lambda word: known.get(host.fingerprint(word), "")):
                    name = secrets.get(host.fingerprint(key.value), "")
                    files.setdefault((kind, name), []).append(host.shown(path))
        return files

    def _report_keys(
        self, host: Host, place: str, keys: List[MisplacedKey], kept: Mapping[Tuple[str, str], List[str]]
    ) -> None:
        """Report the keys at one place, with a fix if all are known.

        A variable is removed only if the program that reads it finds the same key in a file.
        """
        first, text = keys[0], "; ".join(key.text for key in keys)
        marks = frozenset(mark for key in keys for mark in key.fingerprints)
        is_variable = first.rule == "SEC-004" and first.is_of_shell and not key_files.is_history(host.shown(first.path))
        replacements = self._replacements(host, first.path, marks, kept) if is_variable else []
        case = self._choose_case(first.path, marks, replacements)
        fix = _offer_fix(host, first, sorted(marks), case)
        if fix and is_variable:
            files = chain.from_iterable(replacements)
            text += "; " + ", ".join(sorted({"%s contains the key of '%s'" % file for file in files}))
        self.report(first.rule, place, text, "", fix, case)

    def _choose_case(self, path: str, marks: FrozenSet[str], replacements: List[List[Tuple[str, str]]]) -> str:
        """Return the case of advice for keys that only the user can remove; empty if hpc-onboard may remove them."""
        if key_files.is_application_file(os.path.basename(path)):
            return APPLICATION
        if not all(mark in self.options["secrets"] for mark in marks):
            return UNKNOWN_KEY
        return "" if all(replacements) else NO_REPLACEMENT

    def _replacements(
        self, host: Host, path: str, marks: FrozenSet[str], kept: Mapping[Tuple[str, str], List[str]]
    ) -> List[List[Tuple[str, str]]]:
        """Return for each variable set to one of these keys the (file, secret) pairs that contain its key as well.

        Keys are compared by the name of their secret, so a rotated key is replaced by the current one.
        """
        secrets = self.options["secrets"]
        return [
            [
                (file, secrets.get(mark, ""))
                for kind, names in VALUES.items()
                if name in names
                for file in kept.get((kind, secrets.get(mark, "")), ())
            ]
            for name, mark in offers.find_variables(host, path, marks)
        ]


def _select_caches(host: Host, folder: str, caches: List[str]) -> List[str]:
    """Return the caches whose real path is in the folder. The checks of other folders cover the others."""
    top = (host.resolve(folder) or folder).rstrip("/") + "/"
    found = []
    for cache in caches:
        try:
            real = host.resolve(cache)
        except AccountError:
            real = cache  # the search will report the denied permission
        found += [cache] if real and (real + "/").startswith(top) else []
    return found


def _offer_fix(host: Host, key: MisplacedKey, marks: List[str], case: str) -> Optional[Dict[str, Any]]:
    """Return the fix for the keys at one place; None if only the user can remove them.

    key: the first of the keys. marks: the fingerprints of all. case: the case of advice for the user, or empty.
    """
    if key.rule in ("SEC-005", "SEC-011") or not key.is_of_shell:
        return None  # git's history also contains the key, and files that a program reads are not edited
    if key.rule == "SEC-009":
        return offers.offer_folder_fix(host, key.path, "tokens")
    if key.is_removable:
        return offers.offer_draft_fix(host, key.path)
    if key.rule == "SEC-006":
        return offers.offer_copy_fix(host, key.path, [] if case else marks)
    return None if case else offers.offer_key_fix(host, key.path, marks)
