# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys where none belong on an account: in start-up files, histories, scripts, copies and stores of tokens."""

import os
import re
from typing import Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional

from .._core.files import DRAFT
from .._core.host import Host
from .._formats import git_index, key_files
from .._formats.key_forms import find_keys, is_placeholder
from .amounts import count
from .search import LARGEST, Search

SCRIPT_BYTES = 1024 * 1024  # what is larger and named as a script was made by a program
INDEX_BYTES = 32 * 1024 * 1024
SHOWN = 200  # findings of one look; whoever has more begins with these
BARE = (".dotfiles", ".dotfiles.git", ".cfg", ".local/share/yadm/repo.git")  # git folders that keep a home's files
TOKENS = ".tokens."  # enroot's store of tokens in its cache, and the user's number
PASSWORD = re.compile(r"\bpassword[ \t]+([^\s$]\S+)|\"auth\"\s*:\s*\"(\w[^\"]*)")

START_UP = "a start-up file"
HISTORY = "a history"
SCRIPT = "a script"
COPY = "a copy"
OWN = "own"
CREDENTIALS = "a file of keys"


class Stray(NamedTuple):
    """A key, or what else opens a door, where none belongs."""

    rule: str
    path: str
    line: int  # 0: the whole of it
    text: str  # one sentence, which shows fingerprints only
    fingerprints: FrozenSet[str]
    ours: bool  # a draft of ours, or a store that its program makes anew: it may be removed


class Strays:
    """The strays of an account, as one search finds them.

    own: the files in which our keys rightly are. caches: folders in which enroot may keep its store of tokens.
    known: fingerprint -> which key that is, in words.
    """

    def __init__(self, search: Search, own: List[str], caches: List[str], known: Mapping[str, str]) -> None:
        self._search = search
        self._host: Host = search.host
        self._own = own
        self._caches = caches
        self._known = known
        self._kept: Dict[str, FrozenSet[str]] = {}
        self._seen = set(own)

    def of_home(self) -> Iterator[Stray]:
        """What lies in the places that every home has."""
        home = self._host.home + "/"
        start_ups = self._search.start_ups()
        for path in start_ups:
            yield from self._of_file(path, START_UP)
        for path in start_ups:
            for one in key_files.find_sourced_files(self._search.text(path), self._host.home):
                yield from self._of_file(one, START_UP)
        for name in key_files.HISTORIES:
            yield from self._of_file(home + name, HISTORY)
        for path in self._own:
            if self._is_kept(path):
                yield from self._keys(path, OWN)
        yield from self._copies([home + name for name in key_files.CREDENTIALS] + self._own, start_ups)

    def of_credentials(self) -> Iterator[Stray]:
        """What stands in the files in which programs keep keys, rightly or not, but for our own."""
        for name in key_files.CREDENTIALS:
            yield from self._of_file(self._host.home + "/" + name, CREDENTIALS)

    def of_texts(self, folder: str) -> Iterator[Stray]:
        """What lies in the scripts and texts below a folder, whoever keeps them."""
        for path in self._below(folder):
            if key_files.is_script(os.path.basename(path)) or key_files.is_text(os.path.basename(path)):
                yield from self._of_file(path, SCRIPT)

    def of_tree(self, folder: str) -> Iterator[Stray]:
        """What lies in the scripts below a folder, and in the texts there that git keeps."""
        for path in self._below(folder):
            name = os.path.basename(path)
            if key_files.is_script(name) or (key_files.is_text(name) and self._is_kept(path)):
                yield from self._of_file(path, SCRIPT)

    def _below(self, folder: str) -> Iterator[str]:
        """The files below a folder, as far as the look goes."""
        for listed in self._search.tree(folder, key_files.is_uninteresting):
            for name in listed.files:
                if self._search.is_over():
                    break
                yield listed.folder.rstrip("/") + "/" + name

    # -- files ---------------------------------------------------------------------------------

    def _of_file(self, path: str, what: str) -> Iterator[Stray]:
        """The strays of a file that was not looked at yet."""
        real = self._host.resolve(path) or path
        if real not in self._seen:
            self._seen.update((path, real))
            yield from self._keys(path, what)

    def _keys(self, path: str, what: str) -> Iterator[Stray]:
        """The keys of a file, each where it stands first."""
        text = self._search.text(path, SCRIPT_BYTES if what == SCRIPT else LARGEST)
        found: Dict[str, List[int]] = {}
        words: Dict[str, str] = {}
        for one in find_keys(text, self._name):
            mark = self._host.fingerprint(one.value)
            found.setdefault(mark, []).append(one.line)
            words.setdefault(mark, one.what)
        kept = bool(found) and self._is_kept(self._search.file(path) or path)
        rule = "SEC-005" if kept else "SEC-006" if what == COPY else "SEC-004"
        for mark, places in found.items():
            more = ", and on %d more lines" % (len(set(places)) - 1) if len(set(places)) > 1 else ""
            text = "%s stands there, %s%s%s" % (words[mark], mark, more, "; git keeps the file" if kept else "")
            yield Stray(rule, path, places[0], text, frozenset((mark,)), False)

    def _name(self, word: str) -> str:
        """Which known key the word is, or nothing."""
        return self._known.get(self._host.fingerprint(word), "") if self._known else ""

    # -- copies and drafts ---------------------------------------------------------------------

    def _copies(self, of_keys: List[str], others: List[str]) -> Iterator[Stray]:
        """Copies of files of keys and of others, by the names beside these."""
        drafts = {_draft_of(path) for path in self._own}
        originals = set(of_keys + others)
        for folder in sorted({os.path.dirname(path) for path in originals}):
            for name in self._search.names(folder):
                path = folder + "/" + name
                if path in drafts:
                    yield from self._draft(path)
                elif path not in originals and path not in self._seen:
                    yield from self._copy(path, _is_copy(path, of_keys), _is_copy(path, others))

    def _draft(self, path: str) -> Iterator[Stray]:
        if self._search.text(path):
            marks = [mark for one in self._keys(path, COPY) for mark in one.fingerprints]
            text = "a draft of a file of keys, which a killed run of hpc.onboard left"
            yield Stray("SEC-006", path, 0, text, frozenset(marks), True)

    def _copy(self, path: str, of_keys: bool, of_another: bool) -> Iterator[Stray]:
        if not of_keys and not of_another:
            return
        found = list(self._of_file(path, COPY))
        if of_keys and not found and _holds_password(self._search.text(path)):
            text = "a copy of a file of keys, which holds a password or a login"
            found = [Stray("SEC-006", path, 0, text, frozenset(), False)]
        yield from found

    # -- stores of tokens ----------------------------------------------------------------------

    def of_caches(self) -> Iterator[Stray]:
        """enroot's tokens, which its pulls leave: ${ENROOT_CACHE_PATH}/.tokens.UID (enroot, src/docker.sh)."""
        for cache in sorted(set(self._caches)):
            for name in self._search.names(cache):
                path = cache + "/" + name
                found = self._host.entry(path)
                if name.startswith(TOKENS) and found and found.kind == "folder" and found.mine:
                    files = len(self._search.names(path))
                    if files:
                        text = count(files, "file") + " with tokens that enroot was given for its pulls"
                        yield Stray("SEC-009", path, 0, text, frozenset(), True)

    # -- git -----------------------------------------------------------------------------------

    def _is_kept(self, path: str) -> bool:
        """Whether git keeps the file."""
        folder = os.path.dirname(path)
        while self._search.holds(folder):
            git = self._git_of(folder)
            if git:
                return path[len(folder) :].lstrip("/") in self._index(git)
            folder = os.path.dirname(folder)
        inside = path.startswith(self._host.home + "/")
        name = path[len(self._host.home) + 1 :]
        return inside and any(name in self._index(self._host.home + "/" + one) for one in BARE)

    def _git_of(self, folder: str) -> Optional[str]:
        """The git folder of a working tree whose top this is, or None."""
        place = folder.rstrip("/") + "/.git"
        found = self._host.entry(place)
        if found is None:
            return None
        if found.kind == "file":  # of a further working tree or a submodule
            named = re.match(r"gitdir: ([^\n]+)", self._search.text(place))
            return os.path.normpath(os.path.join(folder, named.group(1))) if named else None
        return place

    def _index(self, git: str) -> FrozenSet[str]:
        """The paths that a git folder keeps, read once."""
        if git not in self._kept:
            self._kept[git] = self._read_index(git)
        return self._kept[git]

    def _read_index(self, git: str) -> FrozenSet[str]:
        file = self._search.file(git + "/index")
        if file is None:
            return frozenset()
        longer = re.search(r"objectformat\s*=\s*sha256", self._search.text(git + "/config"), re.IGNORECASE)
        try:
            return git_index.read_paths(self._search.bytes(file, INDEX_BYTES), 32 if longer else 20)
        except ValueError:
            self._search.leave_out("what git keeps there cannot be read", git)
            return frozenset()


def _holds_password(text: str) -> bool:
    return any(not is_placeholder(one.group(1) or one.group(2)) for one in PASSWORD.finditer(text))


def _draft_of(path: str) -> str:
    return os.path.join(os.path.dirname(path), DRAFT % os.path.basename(path))


def _is_copy(path: str, originals: List[str]) -> bool:
    """Whether the file is named as a copy of one of them, and lies beside it."""
    folder, name = os.path.split(path)
    return any(key_files.is_copy(name, os.path.basename(one)) for one in originals if os.path.dirname(one) == folder)
