# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys in the wrong places of an account: any text of the home, scripts on storage, copies and stores of tokens."""

import os
import re
from typing import Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Set

from .._core.files import DRAFT
from .._core.host import Host
from .._core.values import FORMER
from .._formats import git_index, key_files
from .._key_search.keys_in_texts import KeyFinder, KeyInText
from .._key_search.placeholders import is_placeholder
from .._key_search.private_keys import PRIVATE_KEY
from .amounts import format_count
from .search import Search

INDEX_BYTES = 32 * 1024 * 1024
EXAMPLES = 20  # keys of tests and examples, which must not use up the others' room
SHOWN = 200  # findings of one search; a user with more begins with these
BARE = (".dotfiles", ".dotfiles.git", ".cfg", ".local/share/yadm/repo.git")  # git folders that keep a home's files
TOKENS = ".tokens."  # enroot's store of tokens in its cache, and the user's number
_SHELL = re.compile(rb"#![^\n]{0,60}\b(?:ba|z|k|da|c|tc|fi)?sh\b")
PASSWORD = re.compile(r"\bpassword[ \t]+([^\s$]\S+)|\"auth\"\s*:\s*\"(\w[^\"]*)")


class MisplacedKey(NamedTuple):
    """A key, or another secret, in the wrong place."""

    rule: str
    path: str
    line: int  # 0: the whole file or folder
    text: str  # one sentence, which shows fingerprints only
    fingerprints: FrozenSet[str]
    is_removable: bool  # a draft of hpc-onboard, or a store that its program makes again
    is_of_shell: bool = True  # a start-up file, a history or a script, whose variables can be removed
    is_allowed: bool = False  # the user has marked the line


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
        self._finder = KeyFinder(self._describe_key)
        self._in_git: Dict[str, FrozenSet[str]] = {}
        self._searched = self._with_targets(own)

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

    def in_tree(self, folder: str) -> Iterator[MisplacedKey]:
        """Yield those in all texts of the home, or in the scripts and texts of another tree, by their names.

        A file in which a program keeps keys is where they belong, and so is ~/.ssh for private keys. What hpc-onboard
        moved away is the user's former file, which offboarding puts back.
        """
        home, real = self._host.home, self._host.resolve(folder) or folder
        belonging = self._with_targets([home + "/" + name for name in key_files.CREDENTIALS])
        former = os.path.join(home, FORMER, "")
        examples = 0

        def is_meant(name: str) -> bool:
            return folder == home or key_files.is_script(name) or key_files.is_text(name)

        for path, content in self._search.texts(folder, is_meant):
            if path.startswith(former) or {path, real + path[len(folder) :]} & (belonging | self._searched):
                continue
            is_shell = key_files.is_script(os.path.basename(path)) or bool(_SHELL.match(content))
            rule = "SEC-011" if key_files.is_example(path[len(folder) :]) else "SEC-004"
            for key in self._keys_in(path, content, rule):
                examples += key.rule == "SEC-011"
                if key.rule != "SEC-011" or examples <= EXAMPLES:
                    yield key._replace(is_of_shell=is_shell)
        if examples > EXAMPLES:
            self._search.skip("more than %d keys in tests and examples" % EXAMPLES, folder)

    def _with_targets(self, paths: List[str]) -> Set[str]:
        """Return the paths, and the files that they are links to."""
        return set(paths) | {self._search.resolve_file(path) or path for path in paths}

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

    # -- files ---------------------------------------------------------------------------------

    def _in_file(self, path: str, rule: str = "SEC-004") -> Iterator[MisplacedKey]:
        """Yield the keys of a file that was not searched before."""
        real = self._host.resolve(path) or path
        if real not in self._searched:
            self._searched.update((path, real))
            yield from self._keys_of(path, rule)

    def _keys_of(self, path: str, rule: str = "SEC-004") -> Iterator[MisplacedKey]:
        return self._keys_in(path, self._search.read_text(path).encode("latin-1"), rule)

    def _keys_in(self, path: str, content: bytes, rule: str) -> Iterator[MisplacedKey]:
        """Yield each key of a file once, at its first line that the user has not allowed."""
        by_mark: Dict[str, List[KeyInText]] = {}
        in_ssh = os.path.dirname(path) == self._host.home + "/.ssh"
        for key in self._finder.find(content, path):
            if not (in_ssh and key.what == PRIVATE_KEY):
                by_mark.setdefault(self._host.fingerprint(key.value), []).append(key)
        in_git = bool(by_mark) and self._is_in_git(self._search.resolve_file(path) or path)
        for mark, keys in by_mark.items():
            lines = sorted({key.line for key in keys if not key.is_allowed})
            text = "%s is in this file, %s" % (keys[0].what, mark)
            text += ", and on %d more lines" % (len(lines) - 1) if len(lines) > 1 else ""
            text += "; git tracks the file" if in_git else ""
            known = mark in self._known
            broken = "SEC-004" if known and rule == "SEC-011" else rule
            broken = "SEC-005" if in_git and broken != "SEC-011" else broken
            line = lines[0] if lines else keys[0].line
            found = MisplacedKey(broken, path, line, text, frozenset((mark,)), False)
            yield found._replace(is_allowed=not lines)

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
        self._searched.add(path)
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
