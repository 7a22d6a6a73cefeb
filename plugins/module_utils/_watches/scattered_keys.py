# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys where none belong: in start-up files, histories, scripts, files that git keeps, and copies of files of keys."""

import os
from itertools import chain, islice
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._core.values import check_path
from .._formats import key_files
from .._formats.key_forms import find_keys
from .._scan.search import Search, expanded
from .._scan.strays import SHOWN, Stray, Strays
from .._scan.walk import USUAL, Limits
from .shadowed_keys import VALUES
from .watch import APPLICATION, NO_REPLACEMENT, UNKNOWN_KEY, Seen, Watch


class ScatteredKeys(Watch):
    """A tree is looked through for scripts and caches; the home for all else, too."""

    KIND = "scattered_keys"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "folder": {"type": "path", "default": "~"},
        "own": {"type": "list", "elements": "str", "default": []},
        "kept": {"type": "dict", "default": {}},  # kind of a file in which a role keeps a key -> its paths
        "caches": {"type": "list", "elements": "str", "default": []},
        "known": {"type": "dict", "default": {}},  # fingerprint -> which key it is, in words
        "secrets": {"type": "dict", "default": {}},  # fingerprint of a known key -> the name of its secret
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
        return [self._reported(host, *one) for one in merged(host, found[:SHOWN])]

    def _reported(self, host: Host, place: str, strays: List[Stray]) -> Seen:
        """Return what is found at one place. A fix takes out a known key; a variable only where a file replaces it."""
        one, text = strays[0], "; ".join(stray.text for stray in strays)
        marks = frozenset(mark for stray in strays for mark in stray.fingerprints)
        is_variable = one.rule == "SEC-004" and not key_files.is_history(host.shown(one.path))
        case = self._case(host, one.path, marks, is_variable)
        fix = _fix(host, one, sorted(marks), case)
        if fix and is_variable:
            files = chain.from_iterable(self._replacing(host, one.path, marks))
            text += "; " + ", ".join(sorted({"%s keeps the key of '%s'" % file for file in files}))
        return Seen(one.rule, place, text, "", fix, case)

    def _case(self, host: Host, path: str, marks: FrozenSet[str], is_variable: bool) -> str:
        """Return why these keys are left to the user; empty if hpc-onboard may take them out."""
        secrets: Mapping[str, str] = self.options["secrets"]
        if key_files.is_of_application(os.path.basename(path)):
            return APPLICATION
        if not all(mark in secrets for mark in marks):
            return UNKNOWN_KEY
        if is_variable and not all(self._replacing(host, path, marks)):
            return NO_REPLACEMENT
        return ""

    def _replacing(self, host: Host, path: str, marks: FrozenSet[str]) -> List[List[Tuple[str, str]]]:
        """Return, for each variable of a file that is set to such a key, where its program finds the key: file, name.

        A key that was replaced counts as the one in its place: both have one name.
        """
        from .._fixes import offers  # few accounts have such keys

        kept = self._kept(host)
        found = [(name, self.options["secrets"][mark]) for name, mark in offers.variables(host, path, marks)]
        return [
            [(file, secret) for kind, names in VALUES.items() if name in names for file in kept.get((kind, secret), ())]
            for name, secret in found
        ]

    _files: Optional[Dict[Tuple[str, str], List[str]]] = None

    def _kept(self, host: Host) -> Dict[Tuple[str, str], List[str]]:
        """Return the files that hold a key now, as shown, by the kind of the file and the name of the secret."""
        if self._files is None:
            self._files = {}
            known, secrets = self.options["known"], self.options["secrets"]
            for kind, paths in self.options["kept"].items():
                for path in expanded(host, paths)[0]:
                    text = self._search.text(path) if self._search else ""
                    for one in find_keys(text, lambda word: known.get(host.fingerprint(word), "")):
                        name = secrets.get(host.fingerprint(one.value), "")
                        self._files.setdefault((kind, name), []).append(host.shown(path))
        return self._files

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


def merged(host: Host, strays: List[Stray]) -> List[Tuple[str, List[Stray]]]:
    """Return the strays of each rule and place, with that place."""
    found: Dict[Tuple[str, str], List[Stray]] = {}
    for one in strays:
        place = host.shown(one.path) + (":%d" % one.line if one.line else "")
        found.setdefault((one.rule, place), []).append(one)
    return [(place, several) for (_rule, place), several in found.items()]


def _fix(host: Host, one: Stray, marks: List[str], case: str) -> Optional[Dict[str, Any]]:
    """Return what fixes the strays of one rule at one place, if anything does without a loss."""
    from .._fixes import offers  # few accounts have such keys

    if one.rule == "SEC-005":
        return None  # git's history has it, too
    if one.rule == "SEC-009":
        return offers.cautious(offers.of_folder, host, one.path, "tokens")
    if one.ours:
        return offers.cautious(offers.of_draft, host, one.path)
    if one.rule == "SEC-006":
        return offers.cautious(offers.of_copy, host, one.path, [] if case else marks)
    return None if case else offers.cautious(offers.of_key, host, one.path, marks)
