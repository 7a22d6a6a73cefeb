# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix that removes leftovers. Each type has its own condition, which is checked again before the removal.

A copy is removed if its original contains all its lines; a link, if its target does not exist; a cache, if its program
recreates it and no start-up file mentions it.
"""

import os
from typing import Any, Dict, List, Optional

from .._core.host import Host
from .._core.resource import State
from .._formats.lines import split_lines
from .._scan.search import Search
from .fix_resource import FILE, FixResource, read_text

KEYS = ("token", "stored_tokens")  # huggingface_hub keeps them next to its caches
TOKENS = ".tokens."  # the names of enroot's token stores begin so


class LeftoverFix(FixResource):
    """A copy, a draft of hpc-onboard, a broken link, a token store or a cache."""

    KIND = "leftover_fix"
    TITLE = "%(path)s (%(what)s)"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "path": FILE,
        "what": {"type": "str", "required": True, "choices": ["copy", "draft", "link", "tokens", "cache"]},
        "mark": {"type": "str", "default": ""},  # fingerprint of a file's content, or of a link's target
        "of": {"type": "str", "default": ""},  # of a copy: name of the original in the same folder
        "names": {
            "type": "list",
            "elements": "str",
            "default": [],
        },  # of a cache: entries that may be removed; empty: all
        "variable": {"type": "str", "default": ""},  # of a cache: the variable that moves it
    }

    def inspect(self, host: Host) -> State:
        """Return what would be removed; empty if it no longer exists, or has changed since the audit."""
        path, what = str(self.options["path"]), self.options["what"]
        entry = host.entry(path)
        if entry is None:
            return {}
        if what == "link":
            is_same = entry.kind == "link" and host.fingerprint(entry.target) == self.options["mark"]
            real = host.resolve(path)
            is_broken = real is None or host.entry(real) is None
            return {"target": entry.target} if is_same and is_broken else {}
        if what in ("copy", "draft"):
            is_same = entry.kind == "file" and host.fingerprint(_content(host, path)) == self.options["mark"]
            return {"holds": self.options["mark"]} if is_same else {}
        removable = self._removable_names(host)
        return {"holds": ", ".join(removable)} if removable else {}

    def _removable_names(self, host: Host) -> List[str]:
        """Return the names of the entries of a token store or cache that may be removed."""
        path, selected = str(self.options["path"]), self.options["names"]
        entry = host.entry(path)
        if entry is None or entry.kind != "folder" or not entry.mine:
            return []
        if self.options["what"] == "tokens" and not os.path.basename(path).startswith(TOKENS):
            return []
        return [name for name in host.names(path) if name not in KEYS and (not selected or name in selected)]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why a copy or a cache must not be removed; None for the other types, which inspect has checked."""
        path, what = str(self.options["path"]), self.options["what"]
        if before and what == "copy" and not self._is_in_original(host):
            text = "%s contains lines that are not in %s: compare the files by hand"
            return text % (host.shown(path), self.options["of"])
        return self._why_in_use(host) if before and what == "cache" else None

    def _is_in_original(self, host: Host) -> bool:
        """Return True if every line of the copy is in the original as well."""
        path, original = str(self.options["path"]), self.options["of"]
        file = read_text(host, os.path.join(os.path.dirname(path), original)) if original else None
        return file is not None and {*split_lines(_content(host, path))} <= {*split_lines(file.text)}

    def _why_in_use(self, host: Host) -> Optional[str]:
        """Return why a cache may be in use: a start-up file of any shell mentions it; None if none does."""
        path, search = str(self.options["path"]), Search(host, [host.home])
        below = os.path.relpath(path, host.resolve(host.home) or host.home)
        words = [word for word in (below, self.options["variable"]) if word]
        for file in search.startup_files():
            for line in split_lines(search.read_text(file)):
                if not line.lstrip().startswith("#") and any(word in line for word in words):
                    return "%s refers to this cache: first set a different folder in that file" % host.shown(file)
        return None

    def paths_to_remove(self, host: Host) -> List[str]:
        """Return the paths to remove: the leftover itself, or the entries of a token store or cache."""
        path = str(self.options["path"])
        if self.options["what"] in ("copy", "draft", "link"):
            return [path]
        return [os.path.join(path, name) for name in self._removable_names(host)]

    def apply(self, host: Host) -> None:
        """Remove the leftover. A token store is removed as well, since enroot creates it again; a cache stays."""
        for path in self.paths_to_remove(host):
            entry = host.entry(path)
            (host.remove_folder if entry and entry.kind == "folder" else host.remove)(path)
        if self.options["what"] == "tokens":
            host.remove(str(self.options["path"]))


def _content(host: Host, path: str) -> str:
    """Return the content of a file as latin-1, so that it can be compared with the text of read_text."""
    return host.read(path).decode("latin-1")
