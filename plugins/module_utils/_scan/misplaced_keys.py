# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys in the wrong places of an account: start-up files, histories, scripts, copies and stores of tokens."""

import os
import re
from typing import Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional

from .._core.files import DRAFT
from .._core.host import Host
from .._formats import git_index, key_files
from .._key_search.keys_in_texts import find_keys
from .._key_search.placeholders import is_placeholder
from .amounts import format_count
from .search import LARGEST, Search

SCRIPT_BYTES = 1024 * 1024  # what is larger and named as a script was made by a program
INDEX_BYTES = 32 * 1024 * 1024
SHOWN = 200  # findings of one search; a user with more begins with these
BARE = (".dotfiles", ".dotfiles.git", ".cfg", ".local/share/yadm/repo.git")  # git folders that keep a home's files
TOKENS = ".tokens."  # enroot's store of tokens in its cache, and the user's number
PASSWORD = re.compile(r"\bpassword[ \t]+([^\s$]\S+)|\"auth\"\s*:\s*\"(\w[^\"]*)")


class MisplacedKey(NamedTuple):
    """A key, or another secret, in the wrong place."""

    rule: str
    path: str
    line: int  # 0: the whole file or folder
    text: str  # one sentence, which shows fingerprints only
    fingerprints: FrozenSet[str]
    is_removable: bool  # a draft of hpc-onboard, or a store that its program makes again


class MisplacedKeys:
    """The misplaced keys of an account, as one search finds them.

    own: the files in which roles keep keys. caches: folders in which enroot may keep its store of tokens. known:
    fingerprint -> description of the key.
    """

    def __init__(self, search: Search, own: List[str], caches: List[str], known: Mapping[str, str]) -> None:
        self._search = search
        self._host: Host = search.host
        self._own = own
        self._caches = caches
        self._known = known
        self._in_git: Dict[str, FrozenSet[str]] = {}
        self._searched = set(own)

    def in_home(self) -> Iterator[MisplacedKey]:
        """Yield those in the places that every home has."""
        home = self._host.home + "/"
        startup_files = self._search.startup_files()
        sourced: List[str] = []
        for path in startup_files:
            sourced += key_files.find_sourced_files(self._search.read_text(path), self._host.home)
        for path in startup_files + sourced + [home + name for name in key_files.HISTORIES]:
            yield from self._in_file(path)
        for path in self._own:
            if self._is_in_git(path):
                yield from self._keys_of(path)
        yield from self._in_copies([home + name for name in key_files.CREDENTIALS] + self._own, startup_files)

    def in_credentials(self) -> Iterator[MisplacedKey]:
        """Yield the keys in the files in which programs keep keys, without those of roles."""
        for name in key_files.CREDENTIALS:
            yield from self._in_file(self._host.home + "/" + name)

    def in_texts(self, folder: str) -> Iterator[MisplacedKey]:
        """Yield those in all scripts and texts below a folder."""
        for path in self._files_below(folder):
            if key_files.is_script(os.path.basename(path)) or key_files.is_text(os.path.basename(path)):
                yield from self._in_file(path, SCRIPT_BYTES)

    def in_tree(self, folder: str) -> Iterator[MisplacedKey]:
        """Yield those in the scripts below a folder, and in the texts there that git tracks."""
        for path in self._files_below(folder):
            name = os.path.basename(path)
            if key_files.is_script(name) or (key_files.is_text(name) and self._is_in_git(path)):
                yield from self._in_file(path, SCRIPT_BYTES)

    def in_caches(self) -> Iterator[MisplacedKey]:
        """Yield enroot's tokens, which its pulls leave: ${ENROOT_CACHE_PATH}/.tokens.UID (enroot, src/docker.sh)."""
        for cache in sorted(set(self._caches)):
            for name in self._search.names(cache):
                path = cache + "/" + name
                entry = self._host.entry(path)
                if name.startswith(TOKENS) and entry and entry.kind == "folder" and entry.mine:
                    files = len(self._search.names(path))
                    if files:
                        text = format_count(files, "file") + " with tokens that enroot got for its pulls"
                        yield MisplacedKey("SEC-009", path, 0, text, frozenset(), True)

    def _files_below(self, folder: str) -> Iterator[str]:
        for listing in self._search.walk_tree(folder, key_files.is_uninteresting):
            for name in listing.files:
                if self._search.is_over():
                    break
                yield listing.path(name)

    # -- files ---------------------------------------------------------------------------------

    def _in_file(self, path: str, largest: int = LARGEST, rule: str = "SEC-004") -> Iterator[MisplacedKey]:
        """Yield the keys of a file that was not searched before."""
        real = self._host.resolve(path) or path
        if real not in self._searched:
            self._searched.update((path, real))
            yield from self._keys_of(path, largest, rule)

    def _keys_of(self, path: str, largest: int = LARGEST, rule: str = "SEC-004") -> Iterator[MisplacedKey]:
        """Yield each key of a file once, at its first line."""
        text = self._search.read_text(path, largest)
        lines: Dict[str, List[int]] = {}
        descriptions: Dict[str, str] = {}
        for key in find_keys(text, self._describe_key):
            mark = self._host.fingerprint(key.value)
            lines.setdefault(mark, []).append(key.line)
            descriptions.setdefault(mark, key.what)
        in_git = bool(lines) and self._is_in_git(self._search.resolve_file(path) or path)
        for mark, places in lines.items():
            more = ", and on %d more lines" % (len(set(places)) - 1) if len(set(places)) > 1 else ""
            text = "%s is in this file, %s%s%s" % (
                descriptions[mark],
                mark,
                more,
                "; git tracks the file" if in_git else "",
            )
            yield MisplacedKey("SEC-005" if in_git else rule, path, places[0], text, frozenset((mark,)), False)

    def _describe_key(self, word: str) -> str:
        return self._known.get(self._host.fingerprint(word), "") if self._known else ""

    # -- copies and drafts ---------------------------------------------------------------------

    def _in_copies(self, of_keys: List[str], others: List[str]) -> Iterator[MisplacedKey]:
        """Yield those in copies of files with keys and of other files, found by the names in their folders."""
        drafts = {os.path.join(os.path.dirname(path), DRAFT % os.path.basename(path)) for path in self._own}
        originals = set(of_keys + others)
        for folder in sorted({os.path.dirname(path) for path in originals}):
            for name in self._search.names(folder):
                path = folder + "/" + name
                if path in drafts:
                    yield from self._in_draft(path)
                elif path not in originals and path not in self._searched:
                    yield from self._in_copy(path, _is_copy(path, of_keys), _is_copy(path, others))

    def _in_draft(self, path: str) -> Iterator[MisplacedKey]:
        if self._search.read_text(path):
            marks = [mark for key in self._keys_of(path) for mark in key.fingerprints]
            text = "a draft of a file with a key, left by a killed run of hpc-onboard"
            yield MisplacedKey("SEC-006", path, 0, text, frozenset(marks), True)

    def _in_copy(self, path: str, is_of_keys: bool, is_of_another: bool) -> Iterator[MisplacedKey]:
        if not is_of_keys and not is_of_another:
            return
        found = list(self._in_file(path, rule="SEC-006"))
        if is_of_keys and not found and _holds_password(self._search.read_text(path)):
            text = "a copy of a file with a key, with a password or a login in it"
            found = [MisplacedKey("SEC-006", path, 0, text, frozenset(), False)]
        yield from found

    # -- git -----------------------------------------------------------------------------------

    def _is_in_git(self, path: str) -> bool:
        """Return True if git tracks the file, in a working tree or in a bare folder that keeps the home's files."""
        folder = os.path.dirname(path)
        while self._search.covers(folder):
            git = self._git_folder(folder)
            if git:
                return path[len(folder) :].lstrip("/") in self._tracked_paths(git)
            folder = os.path.dirname(folder)
        home = self._host.home + "/"
        return path.startswith(home) and any(path[len(home) :] in self._tracked_paths(home + one) for one in BARE)

    def _git_folder(self, folder: str) -> Optional[str]:
        """Return the git folder of the working tree whose top this is, or None."""
        place = folder.rstrip("/") + "/.git"
        entry = self._host.entry(place)
        if entry is None:
            return None
        if entry.kind == "file":  # of a further working tree or a submodule
            named = re.match(r"gitdir: ([^\n]+)", self._search.read_text(place))
            return os.path.normpath(os.path.join(folder, named.group(1))) if named else None
        return place

    def _tracked_paths(self, git: str) -> FrozenSet[str]:
        if git not in self._in_git:
            self._in_git[git] = self._read_index(git)
        return self._in_git[git]

    def _read_index(self, git: str) -> FrozenSet[str]:
        file = self._search.resolve_file(git + "/index")
        if file is None:
            return frozenset()
        is_sha256 = re.search(r"objectformat\s*=\s*sha256", self._search.read_text(git + "/config"), re.IGNORECASE)
        try:
            return git_index.read_paths(self._search.read_bytes(file, INDEX_BYTES), 32 if is_sha256 else 20)
        except ValueError:
            self._search.skip("git's index cannot be read", git)
            return frozenset()


def _holds_password(text: str) -> bool:
    return any(not is_placeholder(match.group(1) or match.group(2)) for match in PASSWORD.finditer(text))


def _is_copy(path: str, originals: List[str]) -> bool:
    """Return True if the file has the name of a copy of one of them and is in the same folder."""
    folder, name = os.path.split(path)
    return any(key_files.is_copy(name, os.path.basename(one)) for one in originals if os.path.dirname(one) == folder)
