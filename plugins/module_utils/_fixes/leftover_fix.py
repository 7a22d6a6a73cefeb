# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix that removes leftovers. Each type has its own condition, which was checked at the audit and is checked again.

A copy is removed if its original contains all its lines, and no script or settings file mentions the copy; a link, if
its target does not exist; a cache, if its program recreates it and no start-up file mentions it.
"""

import os
from typing import Any, Dict, List, Optional

from .._core.host import Host
from .._core.resource import State
from .._formats.key_files import is_copy
from .._formats.lines import split_lines
from .._scan.mentions import why_in_use
from .._scan.search import Search
from .fix_resource import AREAS, FILE, FixResource, read_text

KEYS = ("token", "stored_tokens")  # key files of huggingface_hub, which are next to its caches
TOKENS = ".tokens."  # the beginning of the names of enroot's token stores


class LeftoverFix(FixResource):
    """A leftover, whose type is in the option what.

    "copy": a copy of another file. "draft": a temporary file of a killed run of hpc-onboard. "link": a broken link.
    "tokens": a token store of enroot. "cache": a cache that a program recreates.
    """

    KIND = "leftover_fix"
    TITLE = "%(path)s (%(what)s)"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "path": FILE,
        "what": {"type": "str", "required": True, "choices": ["copy", "draft", "link", "tokens", "cache"]},
        # copy and draft: the fingerprint of the content; link: the fingerprint of the target; empty for the others
        "mark": {"type": "str", "default": ""},
        # copy: the name of the original in the same folder
        "of": {"type": "str", "default": ""},
        "areas": AREAS,
        # cache: the entries that may be removed; empty: all
        "names": {"type": "list", "elements": "str", "default": []},
        # cache: the environment variable that sets its folder
        "variable": {"type": "str", "default": ""},
    }

    def inspect(self, host: Host) -> State:
        """Return what would be removed; empty if the leftover no longer exists, or has changed since the audit."""
        path, what = str(self.options["path"]), self.options["what"]
        entry = host.entry(path)
        if entry is None:
            return {}
        if what == "link":
            is_unchanged = entry.kind == "link" and mark_target(host, entry.target) == self.options["mark"]
            real = host.resolve(path)
            is_broken = real is None or host.entry(real) is None
            return {"target": entry.target} if is_unchanged and is_broken else {}
        if what in ("copy", "draft"):
            is_unchanged = entry.kind == "file" and host.fingerprint(read_content(host, path)) == self.options["mark"]
            return {"removed content": self.options["mark"]} if is_unchanged else {}
        removable = self._removable_names(host)  # of a token store or a cache
        return {"removed content": ", ".join(removable)} if removable else {}

    def _removable_names(self, host: Host) -> List[str]:
        """Return the names of the entries that may be removed from a token store or cache."""
        path, selected = str(self.options["path"]), self.options["names"]
        entry = host.entry(path)
        if entry is None or entry.kind != "folder" or not entry.mine:
            return []
        if self.options["what"] == "tokens" and not os.path.basename(path).startswith(TOKENS):
            return []  # a plan that names any other folder must not empty it
        return [name for name in host.names(path) if name not in KEYS and (not selected or name in selected)]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why a copy or a cache must not be removed; None if it may be, and for all other types."""
        path, what = str(self.options["path"]), self.options["what"]
        if before and what == "copy":
            if not self._is_in_original(host):
                text = "%s contains lines that are not in %s: compare the files by hand"
                return text % (host.shown(path), self.options["of"])
            return why_in_use(path, self.options["areas"], host)
        if before and what == "cache":
            return self._why_in_use(host)
        return None

    def _is_in_original(self, host: Host) -> bool:
        """Return True if every line of the copy is in the original as well."""
        (folder, name), original = os.path.split(str(self.options["path"])), self.options["of"]
        file = read_text(host, os.path.join(folder, original)) if is_copy(name, original) else None
        return file is not None and {*split_lines(read_content(host, self.options["path"]))} <= {
            *split_lines(file.text)
        }

    def _why_in_use(self, host: Host) -> Optional[str]:
        """Return why a cache may be in use: a start-up file mentions its path or variable. Return None if none does."""
        path, search = str(self.options["path"]), Search(host, [host.home])
        path_below_home = os.path.relpath(path, host.resolve(host.home) or host.home)
        mentions = [text for text in (path_below_home, self.options["variable"]) if text]  # texts to search for
        for file in search.startup_files():
            for line in split_lines(search.read_text(file)):
                if not line.lstrip().startswith("#") and any(text in line for text in mentions):
                    return "%s refers to this cache: set a different folder in that file first" % host.shown(file)
        return None

    def paths_to_remove(self, host: Host) -> List[str]:
        """Return the paths to remove: the leftover itself, or the entries of a token store or cache."""
        path = str(self.options["path"])
        if self.options["what"] in ("copy", "draft", "link"):
            return [path]
        return [os.path.join(path, name) for name in self._removable_names(host)]

    def apply(self, host: Host) -> None:
        """Remove the leftover. Of a cache, only the entries are removed."""
        for path in self.paths_to_remove(host):
            entry = host.entry(path)
            if entry and entry.kind == "folder":
                host.remove_folder(path)
            else:
                host.remove(path)
        if self.options["what"] == "tokens":  # enroot recreates the folder
            host.remove(str(self.options["path"]))


def mark_target(host: Host, target: str) -> str:
    """Return the fingerprint of a link's target, which may contain bytes that are not UTF-8."""
    return host.fingerprint(os.fsencode(target).decode("latin-1"))


def read_content(host: Host, path: str) -> str:
    """Return the content of a file as latin-1, so that it can be compared with the text of read_text."""
    return host.read(path).decode("latin-1")
