# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find keys in the wrong places of an account: in texts of the home, scripts on storage, copies, and token stores.

Each finding names the broken rule: SEC-004 for a key in a text, SEC-005 if Git tracks the file, SEC-006 for a copy or a
draft, SEC-009 for a token store, SEC-011 for an example or a test. A draft is a temporary file of hpc-onboard. Files of
roles are the key files that hpc-onboard's Ansible roles write. A user marks a line with hpc.onboard:allow to accept its
keys.
"""

import os
import re
from typing import Callable, Collection, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Set

from .._core.errors import AccountError
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
MOST_EXAMPLES = 20  # keys that are reported in tests and examples; more would displace other findings
NOT_REPLACED = "; a rotation does not replace it in this file"
SHOWN = 200  # findings that one search reports
BARE = (".dotfiles", ".dotfiles.git", ".cfg", ".local/share/yadm/repo.git")  # bare git folders for files of the home
TOKENS = ".tokens."  # the beginning of the name of enroot's token store; the user's ID follows
_SHELL_SCRIPT = re.compile(rb"#![^\n]{0,60}\b(?:ba|z|k|da|c|tc|fi)?sh\b")
PASSWORD = re.compile(  # in netrc; in a setting; in a URL of git; in ~/.pgpass. Not a reference such as ${TOKEN}
    r"\bpassword[ \t]+([^\s$=:]\S+)|\b(?:_?auth(?:_?token)?|pass(?:word|wd)?|secret|token|secret_(?:access_)?key)\"?"
    r"[ \t]*[:=][ \t]*[\"']?([^\s$\"'{}\[\]]{4,})|://[^\s/:@]+:([^\s@/$]{4,})@|^[\w.*-]+:[\d*]+:[^\s:]+:[^\s:]+:(\S+)$",
    re.IGNORECASE | re.MULTILINE,
)
COMMENT = re.compile(r"^[ \t]*[#;].*", re.MULTILINE)


class MisplacedKey(NamedTuple):
    """A key, or another secret, in the wrong place."""

    rule: str
    path: str
    line: int  # 0: the whole file or folder
    text: str  # the finding, with the key's fingerprint instead of the key
    fingerprints: FrozenSet[str]  # of the keys; empty if they are unknown
    is_removable: bool  # the path is a draft of hpc-onboard, or a token store that its program creates again
    is_of_shell: bool = True  # the key is in a start-up file, history or script, where a fix can remove a variable
    is_allowed: bool = False  # the user has marked all lines with the key


class MisplacedKeys:
    """The search for misplaced keys. Each file is searched once, even if several methods find the file.

    own: the files in which roles keep keys. caches: folders in which enroot may keep its token store. known: the
    descriptions of known keys by fingerprint. replaced: the fingerprints of those that no program should use any
    longer; None for all.
    """

    def __init__(
        self,
        search: Search,
        own: List[str],
        caches: List[str],
        known: Mapping[str, str],
        replaced: Optional[Collection[str]] = None,
    ) -> None:
        self._search = search
        self._host: Host = search.host
        self._own = own
        self._caches = caches
        self._known = known
        self._replaced = set(known if replaced is None else replaced)
        self._finder = KeyFinder(self._describe_key)
        self._tracked: Dict[str, FrozenSet[str]] = {}  # git folder -> tracked paths
        self._searched = self._with_targets(own)  # not to be searched: keys belong in the files of roles

    def search_home(self) -> Iterator[MisplacedKey]:
        """Yield the keys in start-up files, histories and copies, and those in files of roles that git tracks."""
        home = self._host.home + "/"
        startup_files = self._search.startup_files()
        sourced: List[str] = []
        for path in startup_files:
            sourced += key_files.find_sourced_files(self._search.read_text(path), self._host.home)
        for path in startup_files + sourced + [home + name for name in key_files.HISTORIES]:
            yield from self._search_file(path)
        for path in self._own:
            if self._is_in_git(path):  # the keys belong in these files, but Git must not track the files
                yield from self._read_keys(path)
        yield from self._search_copies([home + name for name in key_files.CREDENTIALS] + self._own, startup_files)

    def search_credentials(self) -> Iterator[MisplacedKey]:
        """Yield the replaced keys in the files in which programs and roles keep keys. All other keys belong there.

        If a file of a role contains no other key, the role or a rotation has yet to replace the key, and reports that.
        """
        paths = self._own + [self._host.home + "/" + name for name in key_files.CREDENTIALS]
        # Of several names of one file, only the first is searched.
        for path in {self._search.resolve_file(path) or path: path for path in reversed(paths)}.values():
            keys = list(self._read_keys(path, "KEY-002"))
            has_other_key = any(not key.fingerprints & self._replaced for key in keys)
            if path in self._own and (self._is_in_git(path) or not has_other_key):
                continue  # search_home() or the role reports the keys
            yield from (key for key in keys if key.fingerprints & self._replaced)

    def search_tree(self, folder: str) -> Iterator[MisplacedKey]:
        """Yield the misplaced keys in all texts of the home directory, or in the scripts and texts of another folder.

        Outside of the home, only the name decides if a file is a script or text. Keys in the files in which programs
        keep keys are not misplaced, and neither are private keys in ~/.ssh.
        """
        home, real = self._host.home, self._search.resolve(folder)
        credentials = self._with_targets([home + "/" + name for name in key_files.CREDENTIALS])
        former_files = os.path.join(home, FORMER, "")  # offboarding restores these files
        examples = 0  # keys that were found in tests and examples

        def is_searched(name: str) -> bool:
            """Return True for every file of the home, and elsewhere for files named as scripts or texts."""
            return folder == home or key_files.is_script(name) or key_files.is_text(name)

        for path, content in self._search.read_texts(folder, is_searched):
            names_of_file = {path, real + path[len(folder) :]}  # its usual path, and without links
            if path.startswith(former_files) or names_of_file & (credentials | self._searched):
                continue
            is_of_shell = key_files.is_script(os.path.basename(path)) or bool(_SHELL_SCRIPT.match(content))
            rule = "SEC-011" if key_files.is_example(path[len(folder) :]) else "SEC-004"
            for key in self._find_keys(path, content, rule):
                examples += 1 if key.rule == "SEC-011" else 0
                if key.rule != "SEC-011" or examples <= MOST_EXAMPLES:
                    yield key._replace(is_of_shell=is_of_shell)
        if examples > MOST_EXAMPLES:
            self._search.skip("more than %d keys in tests and examples" % MOST_EXAMPLES, folder)

    def _with_targets(self, paths: List[str]) -> Set[str]:
        """Return the paths, and the targets of the paths that are links."""
        return set(paths) | {self._search.resolve_file(path) or path for path in paths}

    def search_caches(self) -> Iterator[MisplacedKey]:
        """Yield the token stores that enroot leaves in its cache: .tokens.UID (enroot, src/docker.sh)."""
        for cache in sorted(set(self._caches)):
            for path in [cache + "/" + name for name in self._search.list_names(cache) if name.startswith(TOKENS)]:
                files = len(self._search.list_names(path)) if self._search.is_own_folder(path) else 0
                if files:
                    text = "this folder contains %s with tokens from enroot's image pulls" % format_count(files, "file")
                    yield MisplacedKey("SEC-009", path, 0, text, fingerprints=frozenset(), is_removable=True)

    # -- files ---------------------------------------------------------------------------------

    def _search_file(self, path: str, rule: str = "SEC-004") -> Iterator[MisplacedKey]:
        """Yield the keys in a file, unless the file was searched before. rule: the rule that the keys break."""
        real = self._search.resolve(path)
        if real not in self._searched:
            self._searched.update((path, real))
            yield from self._read_keys(path, rule)

    def _read_keys(self, path: str, rule: str = "SEC-004") -> Iterator[MisplacedKey]:
        """Yield the keys in a file, even if the file was searched before, such as the file of a role."""
        return self._find_keys(path, self._search.read_text(path).encode("latin-1"), rule)

    def _find_keys(self, path: str, content: bytes, rule: str) -> Iterator[MisplacedKey]:
        """Yield each key in a file once, at the key's first line that the user has not marked.

        rule: the rule that the keys break, see _choose_rule for exceptions.
        """
        by_fingerprint: Dict[str, List[KeyInText]] = {}
        is_in_ssh = os.path.dirname(path) == self._host.home + "/.ssh"
        for key in self._finder.find(content, path):
            if not (is_in_ssh and key.what == PRIVATE_KEY):  # private keys of ssh belong there
                by_fingerprint.setdefault(self._host.fingerprint(key.value), []).append(key)
        is_in_git = bool(by_fingerprint) and self._is_in_git(self._search.resolve_file(path) or path)
        for fingerprint, keys in by_fingerprint.items():
            lines = sorted({key.line for key in keys if not key.is_allowed})
            text = "%s is in this file (%s)" % (keys[0].what, fingerprint)
            if len(lines) > 1:
                other_lines = format_count(len(lines) - 1, "more line")
                text = "%s is on this line and on %s (%s)" % (keys[0].what, other_lines, fingerprint)
            text = "%s; Git tracks the file" % text if is_in_git else text
            line, marks = lines[0] if lines else keys[0].line, frozenset((fingerprint,))
            broken = self._choose_rule(rule, fingerprint, is_in_git)
            yield MisplacedKey(broken, path, line, text, marks, is_removable=False, is_allowed=not lines)

    def _choose_rule(self, rule: str, fingerprint: str, is_in_git: bool) -> str:
        """Return the rule that a key breaks. rule: the usual rule in this file. is_in_git: Git tracks the file."""
        if rule == "SEC-011" and fingerprint not in self._known:
            return rule  # in an example, the key is probably not real
        if is_in_git:
            return "SEC-005"
        return "SEC-004" if rule == "SEC-011" else rule  # even an example must not contain a known key

    def _describe_key(self, word: str) -> str:
        """Return the description of a known key; empty for any other word."""
        return self._known.get(self._host.fingerprint(word), "") if self._known else ""

    # -- copies and drafts ---------------------------------------------------------------------

    def _search_copies(self, key_paths: List[str], other_paths: List[str]) -> Iterator[MisplacedKey]:
        """Yield the keys in copies and variants of key files and of other files, and in drafts.

        All of these are in the folders of their originals.
        """
        drafts = {os.path.join(os.path.dirname(path), DRAFT % os.path.basename(path)) for path in self._own}
        originals = set(key_paths + other_paths)
        for folder in sorted({os.path.dirname(path) for path in originals}):
            for name in self._search.list_names(folder):
                path = folder + "/" + name
                if path in drafts:
                    yield from self._search_draft(path)
                elif path not in originals and path not in self._searched:
                    yield from self._search_copy(path, key_paths, other_paths)

    def _search_draft(self, path: str) -> Iterator[MisplacedKey]:
        """Yield a draft of hpc-onboard as one finding, unless the draft is empty."""
        self._searched.add(path)
        if self._search.read_text(path):
            fingerprints = [fingerprint for key in self._read_keys(path) for fingerprint in key.fingerprints]
            text = "a killed run of hpc-onboard left this draft of a file with a key"
            yield MisplacedKey("SEC-006", path, 0, text, frozenset(fingerprints), is_removable=True)

    def _search_copy(self, path: str, key_paths: List[str], other_paths: List[str]) -> Iterator[MisplacedKey]:
        """Yield the keys in a copy or a variant, such as .bashrc-hpc, which a program may read.

        A password without a known format is reported in those of key files only.
        """
        is_copy = _has_original(path, key_paths + other_paths, key_files.is_copy)
        if not is_copy and not _has_original(path, key_paths + other_paths, key_files.is_variant):
            return
        rule, name = ("SEC-006", "copy of a key file") if is_copy else ("SEC-004", "file, named like a key file,")
        keys = list(self._search_file(path, rule))
        is_of_key_file = any(_has_original(path, key_paths, test) for test in (key_files.is_copy, key_files.is_variant))
        if is_of_key_file and not keys and _has_password(self._search.read_text(path)):
            text = "this %s contains a password or a login" % name
            keys = [MisplacedKey(rule, path, 0, text, fingerprints=frozenset(), is_removable=False)]
        for key in keys:  # no fix edits a variant
            yield key if is_copy else key._replace(text=key.text + NOT_REPLACED, is_of_shell=False)

    # -- git -----------------------------------------------------------------------------------

    def _is_in_git(self, path: str) -> bool:
        """Return True if Git tracks the file, in a working tree or in one of the bare folders for files of the home."""
        folder = os.path.dirname(path)  # from here up to the top of the area
        while self._search.covers(folder):
            git_folder = self._git_folder(folder)
            if git_folder:
                return path[len(folder) :].lstrip("/") in self._tracked_paths(git_folder)
            folder = os.path.dirname(folder)
        home = self._host.home + "/"
        if not path.startswith(home):
            return False
        return any(path[len(home) :] in self._tracked_paths(home + git_folder) for git_folder in BARE)

    def _git_folder(self, folder: str) -> Optional[str]:
        """Return the git folder of a working tree; None if the folder is not the top of a working tree."""
        path = folder.rstrip("/") + "/.git"
        try:
            entry = self._host.entry(path)
        except AccountError:
            return None  # a closed folder, whose files this search cannot read either
        if entry is None:
            return None
        if entry.kind == "file":  # in a submodule or a linked working tree, a file names the git folder
            target = re.match(r"gitdir: ([^\n]+)", self._search.read_text(path))
            return os.path.normpath(os.path.join(folder, target.group(1))) if target else None
        return path

    def _tracked_paths(self, git_folder: str) -> FrozenSet[str]:
        """Return the paths that Git tracks, below the top of the working tree. Each index is read once."""
        if git_folder not in self._tracked:
            self._tracked[git_folder] = self._read_index(git_folder)
        return self._tracked[git_folder]

    def _read_index(self, git_folder: str) -> FrozenSet[str]:
        """Return the paths in a git folder's index; none if the index is missing or cannot be read."""
        file = self._search.resolve_file(git_folder + "/index")
        if file is None:  # Git tracks nothing yet
            return frozenset()
        settings = self._search.read_text(git_folder + "/config")
        is_sha256 = re.search(r"objectformat\s*=\s*sha256", settings, re.IGNORECASE)
        hash_bytes = 32 if is_sha256 else 20
        try:
            return git_index.read_paths(self._search.read_bytes(file, INDEX_BYTES), hash_bytes)
        except ValueError:
            self._search.skip("the git index cannot be read", git_folder)
            return frozenset()


def _has_password(text: str) -> bool:
    """Return True if a copy of a key file contains a password that is not a placeholder, outside of comments."""
    values = (next(filter(None, match.groups())) for match in PASSWORD.finditer(COMMENT.sub("", text)))
    return any(not is_placeholder(value) for value in values)


def _has_original(path: str, originals: List[str], is_named_after: Callable[[str, str], bool]) -> bool:
    """Return True if the file's name passes a test with the name of one of the originals in the same folder."""
    folder, name = os.path.split(path)
    names = [os.path.basename(original) for original in originals if os.path.dirname(original) == folder]
    return any(is_named_after(name, original_name) for original_name in names)
