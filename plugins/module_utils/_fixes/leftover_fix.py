# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left over and can go without a loss: each kind of thing says when that is so, and is looked at anew.

A copy goes when all its lines are in the file that it is a copy of; a link when nothing is behind it; a cache when
its program makes it anew and no start-up file speaks of it.
"""

import os
from typing import Any, Dict, List, Optional, Tuple

from .._core.host import Host
from .._core.resource import State
from .._formats.lines import split_lines
from .._scan.search import Search
from .fix_resource import FILE, Fix, read_text

KEYS = ("token", "stored_tokens")  # huggingface_hub keeps them beside its caches
TOKENS = ".tokens."  # how enroot's stores of tokens are called


class LeftoverFix(Fix):
    """A copy, a draft of ours, a link to nothing, a store of tokens or a cache."""

    KIND = "leftover_fix"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "path": FILE,
        "what": {"type": "str", "required": True, "choices": ["copy", "draft", "link", "tokens", "cache"]},
        "mark": {"type": "str", "default": ""},  # fingerprint of a file's content, or of a link's target
        "of": {"type": "str", "default": ""},  # of a copy: the name of the original beside it
        "names": {"type": "list", "elements": "str", "default": []},  # of a cache: what of it may go; none: all
        "variable": {"type": "str", "default": ""},  # by which the cache's program is told of another place
    }

    def name(self) -> str:
        return "%s (%s)" % (self.options["path"], self.options["what"])

    def inspect(self, host: Host) -> State:
        path, what = str(self.options["path"]), self.options["what"]
        found = host.entry(path)
        if found is None:
            return {}
        if what == "link":
            same = found.kind == "link" and host.fingerprint(found.target) == self.options["mark"]
            return {"leads to": found.target} if same and _is_dead(host, path) else {}
        if what in ("copy", "draft"):
            same = found.kind == "file" and host.fingerprint(_content(host, path)) == self.options["mark"]
            return {"holds": self.options["mark"]} if same else {}
        if what == "tokens" and not os.path.basename(path).startswith(TOKENS):
            return {}
        return {"holds": ", ".join(self._goes(host))} if self._goes(host) else {}

    def _goes(self, host: Host) -> List[str]:
        """The names in a folder that may go."""
        found = host.entry(self.options["path"])
        if found is None or found.kind != "folder" or not found.mine:
            return []
        only = self.options["names"]
        return [one for one in host.names(self.options["path"]) if one not in KEYS and (not only or one in only)]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        path, what = str(self.options["path"]), self.options["what"]
        if before and what == "copy" and not _is_contained(host, self._original(), path):
            text = "%s holds lines that are not in %s: look at it by hand"
            return text % (host.shown(path), self.options["of"])
        return self._spoken_of(host) if before and what == "cache" else None

    def _original(self) -> Tuple[str, str]:
        return os.path.dirname(self.options["path"]), str(self.options["of"])

    def _spoken_of(self, host: Host) -> Optional[str]:
        """Why a cache is perhaps in use: a start-up file speaks of it, in whatever kind of shell that counts."""
        path, search = str(self.options["path"]), Search(host, [host.home])
        below = os.path.relpath(path, host.resolve(host.home) or host.home)
        words = [one for one in (below, self.options["variable"]) if one]
        for file in search.start_ups():
            for line in split_lines(search.text(file)):
                if not line.lstrip().startswith("#") and any(word in line for word in words):
                    return "%s speaks of it: let that lead elsewhere first" % host.shown(file)
        return None

    def paths_to_remove(self, host: Host) -> List[str]:
        path = str(self.options["path"])
        whole = self.options["what"] in ("copy", "draft", "link")
        return [path] if whole else [os.path.join(path, name) for name in self._goes(host)]

    def apply(self, host: Host) -> None:
        for path in self.paths_to_remove(host):
            found = host.entry(path)
            (host.remove_folder if found and found.kind == "folder" else host.remove)(path)
        if self.options["what"] == "tokens":
            host.remove(str(self.options["path"]))


def _is_dead(host: Host, path: str) -> bool:
    real = host.resolve(path)
    return real is None or host.entry(real) is None


def _content(host: Host, path: str) -> str:
    return host.read(path).decode("latin-1")


def _is_contained(host: Host, original: Tuple[str, str], path: str) -> bool:
    """Whether every line of a copy is in the file beside it as well."""
    file = read_text(host, os.path.join(*original)) if original[1] else None
    return file is not None and {*split_lines(_content(host, path))} <= {*split_lines(file.text)}
