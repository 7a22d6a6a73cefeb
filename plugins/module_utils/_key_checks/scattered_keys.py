# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for misplaced keys: in start-up files, histories, scripts, files that Git tracks, and copies.

A known key is or was in the keyring of the user's machine, as the value of a named secret, such as 'wandb'. Roles are
the Ansible roles of hpc-onboard, which write key files. Marks are fingerprints of keys.
"""

import os
from itertools import chain, islice
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Tuple

from .._audit_checks.audit_check import APPLICATION, NO_REPLACEMENT, UNKNOWN_KEY, AuditCheck, resolve_readable
from .._core.host import Host
from .._core.values import check_path
from .._fixes import offers
from .._formats import key_files
from .._key_search.keys_in_texts import find_keys
from .._scan.mentions import why_in_use
from .._scan.misplaced_keys import SHOWN, MisplacedKey, MisplacedKeys
from .._scan.search import Search, expand_paths
from .._scan.walk import USUAL, Limits
from .shadowed_keys import VALUES

IN_USE = "in_use"  # the case of a copy that another file mentions
ENTRIES = 30000  # names in one tree


class ScatteredKeys(AuditCheck):
    """Keys in the texts and caches of a folder tree. In the home directory, also keys in histories and copies."""

    KIND = "scattered_keys"
    TITLE = "keys scattered in %(folder)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "folder": {"type": "path", "default": "~"},
        "own": {"type": "list", "elements": "str", "default": []},  # key files of roles
        "kept": {"type": "dict", "default": {}},  # resource type -> paths of its key files
        # storage areas, whose scripts may use a copy or a variable
        "areas": {"type": "list", "elements": "str", "default": []},
        "caches": {"type": "list", "elements": "str", "default": []},  # folders with enroot's stores of tokens
        "known": {"type": "dict", "default": {}},  # fingerprint -> description of the key
        "secrets": {"type": "dict", "default": {}},  # fingerprint of a known key -> name of its secret
        "replaced": {"type": "list", "elements": "str", "default": []},  # fingerprints of known keys that were replaced
        "entries": {"type": "int", "default": ENTRIES},
        "most_seconds": {"type": "int", "default": int(USUAL.seconds)},
    }

    def check(self) -> None:
        """Raise AccountError if the option folder is not a safe path."""
        check_path("folder", self.options["folder"])

    def touches(self, host: Host) -> List[str]:
        """Return the folder to search, so that the check is skipped if the file system of the folder hangs."""
        return [host.expand(self.options["folder"])]

    def run(self, host: Host) -> None:
        """Search the folder, and report the keys that were found, by rule and place."""
        folder = self.options["folder"]
        search = Search(host, [host.home, folder], Limits(self.options["entries"], self.options["most_seconds"]))
        own, _skipped = expand_paths(host, self.options["own"])
        caches, _skipped = expand_paths(host, self.options["caches"])
        known, replaced = self.options["known"], self.options["replaced"]
        misplaced = MisplacedKeys(search, own, _select_caches(host, folder, caches), known, replaced)
        searches = [misplaced.search_home(), misplaced.search_credentials()] if folder == host.home else []
        searches.append(chain(misplaced.search_tree(folder), misplaced.search_caches()))
        keys: List[MisplacedKey] = []
        for search_keys in searches:
            # Each search ends after SHOWN keys, since no more are reported. The user has accepted the allowed ones.
            keys += islice((key for key in search_keys if not key.is_allowed), SHOWN)
        key_files_of_roles = self._find_key_files(host, search)
        by_place: Dict[Tuple[str, str], List[MisplacedKey]] = {}  # (rule, place) -> keys
        for key in keys[:SHOWN]:
            place = host.shown(key.path) + (":%d" % key.line if key.line else "")
            by_place.setdefault((key.rule, place), []).append(key)
        for (_rule, place), keys_at_place in by_place.items():
            self._report_keys(host, place, keys_at_place, key_files_of_roles)
        self.skip_unread(search)

    def _find_key_files(self, host: Host, search: Search) -> Dict[Tuple[str, str], List[str]]:
        """Return the roles' files with known keys, as {(resource type, name of the secret): displayed paths}."""
        files: Dict[Tuple[str, str], List[str]] = {}
        known, secrets = self.options["known"], self.options["secrets"]

        def describe(word: str) -> str:
            """Return the description of a known key; empty for any other word."""
            return str(known.get(host.fingerprint(word), ""))

        for kind, paths in self.options["kept"].items():
            absolute, _skipped = expand_paths(host, paths)
            for path in absolute:
                for key in find_keys(search.read_text(path), describe):
                    name = secrets.get(host.fingerprint(key.value), "")
                    files.setdefault((kind, name), []).append(host.shown(path))
        return files

    def _report_keys(
        self, host: Host, place: str, keys: List[MisplacedKey], key_files_of_roles: Mapping[Tuple[str, str], List[str]]
    ) -> None:
        """Report the keys at one place, with a fix if hpc-onboard may remove all of them.

        A variable is removed only if the program that reads the variable finds the same key in a file.
        key_files_of_roles: see _find_key_files.
        """
        first, text = keys[0], "; ".join(key.text for key in keys)
        marks = frozenset(mark for key in keys for mark in key.fingerprints)
        is_history = key_files.is_history(host.shown(first.path))
        may_be_variable = first.rule == "SEC-004" and first.is_of_shell and not is_history
        replacements = self._find_replacements(host, first.path, marks, key_files_of_roles) if may_be_variable else []
        case = self._choose_case(first.path, marks, replacements)
        areas, _skipped = expand_paths(host, self.options["areas"])
        fix = _offer_fix(host, first, sorted(marks), case, areas)
        if first.rule == "SEC-006" and not (fix or first.is_removable):
            why = why_in_use(first.path, areas, host)
            text, case = ("%s; %s" % (text, why), case or IN_USE) if why else (text, case)
        if fix and may_be_variable:
            pairs = chain.from_iterable(replacements)  # (displayed path, name of the secret)
            text += "; " + ", ".join(sorted({"%s contains the key of '%s'" % pair for pair in pairs}))
        self.report(first.rule, place, text, auto_fix=fix, case=case)

    def _choose_case(self, path: str, marks: FrozenSet[str], replacements: List[List[Tuple[str, str]]]) -> str:
        """Return the case of advice for keys that only the user can remove; empty if hpc-onboard may remove them.

        path: the file with the keys. marks: their fingerprints. replacements: see _find_replacements.
        """
        if key_files.is_application_file(os.path.basename(path)):
            return APPLICATION
        if not all(mark in self.options["secrets"] for mark in marks):
            return UNKNOWN_KEY
        return "" if all(replacements) else NO_REPLACEMENT  # an empty list: a program has no other file with its key

    def _find_replacements(
        self, host: Host, path: str, marks: FrozenSet[str], key_files_of_roles: Mapping[Tuple[str, str], List[str]]
    ) -> List[List[Tuple[str, str]]]:
        """Return for each variable that is set to one of these keys the files that its program can read instead.

        path: the file that sets the variables. marks: the fingerprints of the keys. Each returned file is a pair
        (displayed path, name of the secret). Keys are compared by the names of their secrets, so the file with the
        current key replaces a rotated key as well.
        """
        replacements = []
        for name, mark in offers.find_variables(host, path, marks):
            secret = self.options["secrets"].get(mark, "")
            kinds = [kind for kind, names in VALUES.items() if name in names]
            files = [file for kind in kinds for file in key_files_of_roles.get((kind, secret), ())]
            replacements.append([(file, secret) for file in files])
        return replacements


def _select_caches(host: Host, folder: str, caches: List[str]) -> List[str]:
    """Return the caches whose real path is in the folder. The checks of other folders search the other caches."""
    top = (host.resolve(folder) or folder).rstrip("/") + "/"
    # of a cache without permission, the search will report this
    return [cache for cache in caches if ((resolve_readable(cache, host) or "") + "/").startswith(top)]


def _offer_fix(
    host: Host, key: MisplacedKey, marks: List[str], case: str, areas: List[str]
) -> Optional[Dict[str, Any]]:
    """Return the fix for the keys at one place; None if only the user can remove the keys.

    key: the first of the keys. marks: the fingerprints of all keys. case: see _choose_case. areas: whose scripts may
    use a copy or a variable.
    """
    if key.rule in ("SEC-005", "SEC-011", "KEY-002") or not key.is_of_shell:
        return None  # the key is also in Git's history, in an example, or in a file that another program needs
    if key.rule == "SEC-009":  # a token store
        return offers.offer_folder_fix(host, key.path, what="tokens")
    if key.is_removable:  # a draft
        return offers.offer_draft_fix(host, key.path)
    if key.rule == "SEC-006":  # a copy
        # without marks, only a whole copy can be removed
        return offers.offer_copy_fix(host, key.path, marks=[] if case else marks, areas=areas)
    return None if case else offers.offer_key_fix(host, key.path, marks, areas)
