# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys in the wrong places: start-up files, histories, scripts, files that git tracks, copies of files with keys."""

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
    """The texts and caches of a tree; if the tree is the home, its start-up files, histories and copies, too."""

    KIND = "scattered_keys"
    TITLE = "keys scattered in %(folder)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "folder": {"type": "path", "default": "~"},
        "own": {"type": "list", "elements": "str", "default": []},
        "kept": {"type": "dict", "default": {}},  # resource type of a file in which a role keeps a key -> its paths
        "caches": {"type": "list", "elements": "str", "default": []},
        "known": {"type": "dict", "default": {}},  # fingerprint -> which key it is, in words
        "secrets": {"type": "dict", "default": {}},  # fingerprint of a known key -> the name of its secret
        "entries": {"type": "int", "default": ENTRIES},
        "most_seconds": {"type": "int", "default": int(USUAL.seconds)},
    }

    def check(self) -> None:
        check_path("folder", self.options["folder"])

    def touches(self, host: Host) -> List[str]:
        return [host.expand(self.options["folder"])]

    def run(self, host: Host) -> None:
        folder = self.options["folder"]
        search = Search(host, [host.home, folder], Limits(self.options["entries"], self.options["most_seconds"]))
        own, caches = (expand_paths(host, self.options[name])[0] for name in ("own", "caches"))
        keys = MisplacedKeys(search, own, _caches_in(host, folder, caches), self.options["known"])
        found = list(islice(keys.in_home(), SHOWN)) if folder == host.home else []
        found += islice(chain(keys.in_tree(folder), keys.in_caches()), SHOWN)
        found = [key for key in found if not key.is_allowed]
        kept = self._kept_keys(host, search)
        by_place: Dict[Tuple[str, str], List[MisplacedKey]] = {}
        for key in found[:SHOWN]:
            place = host.shown(key.path) + (":%d" % key.line if key.line else "")
            by_place.setdefault((key.rule, place), []).append(key)
        for (_rule, place), at_place in by_place.items():
            self._report_keys(host, place, at_place, kept)
        self.skip_unread(search)

    def _kept_keys(self, host: Host, search: Search) -> Dict[Tuple[str, str], List[str]]:
        """Return the files that hold a key now, as shown, by the resource type and the name of the secret."""
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
        """Report the keys at one place. A fix removes known keys; a variable only where a file replaces it."""
        first, text = keys[0], "; ".join(key.text for key in keys)
        marks = frozenset(mark for key in keys for mark in key.fingerprints)
        is_variable = first.rule == "SEC-004" and first.is_of_shell and not key_files.is_history(host.shown(first.path))
        replacements = self._replacements(host, first.path, marks, kept) if is_variable else []
        case = self._why_left(first.path, marks, replacements)
        fix = _offer_fix(host, first, sorted(marks), case)
        if fix and is_variable:
            files = chain.from_iterable(replacements)
            text += "; " + ", ".join(sorted({"%s keeps the key of '%s'" % file for file in files}))
        self.report(first.rule, place, text, "", fix, case)

    def _why_left(self, path: str, marks: FrozenSet[str], replacements: List[List[Tuple[str, str]]]) -> str:
        """Return why hpc-onboard leaves these keys to the user, as a case; empty if it may remove them."""
        if key_files.is_application_file(os.path.basename(path)):
            return APPLICATION
        if not all(mark in self.options["secrets"] for mark in marks):
            return UNKNOWN_KEY
        return "" if all(replacements) else NO_REPLACEMENT

    def _replacements(
        self, host: Host, path: str, marks: FrozenSet[str], kept: Mapping[Tuple[str, str], List[str]]
    ) -> List[List[Tuple[str, str]]]:
        """Return, for each variable of a file set to such a key, where its program finds the key: file, secret.

        A key that was replaced counts as the one in its place: both have one name.
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


def _caches_in(host: Host, folder: str, caches: List[str]) -> List[str]:
    """Return the caches that are really in the folder; other checks cover the others."""
    top = (host.resolve(folder) or folder).rstrip("/") + "/"
    found = []
    for cache in caches:
        try:
            real = host.resolve(cache)
        except AccountError:
            real = cache  # the search itself records that permission is denied
        found += [cache] if real and (real + "/").startswith(top) else []
    return found


def _offer_fix(host: Host, key: MisplacedKey, marks: List[str], case: str) -> Optional[Dict[str, Any]]:
    if key.rule in ("SEC-005", "SEC-011") or not key.is_of_shell:
        return None  # git's history has it, too; what a program reads is not edited
    if key.rule == "SEC-009":
        return offers.offer_folder_fix(host, key.path, "tokens")
    if key.is_removable:
        return offers.offer_draft_fix(host, key.path)
    if key.rule == "SEC-006":
        return offers.offer_copy_fix(host, key.path, [] if case else marks)
    return None if case else offers.offer_key_fix(host, key.path, marks)
