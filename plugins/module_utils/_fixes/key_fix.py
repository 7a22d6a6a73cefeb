# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix that overwrites keys in a history or a copy, and keeps the rest of the file.

The option marks has fingerprints: hashes that identify the keys, so that a plan contains no key.
"""

from typing import Any, Container, Dict, List, Optional

from .._core.host import Host
from .._core.resource import State
from .._formats.key_files import is_history
from .._key_search.keys_in_texts import find_keys
from .._scan.mentions import why_in_use
from .fix_resource import AREAS, FILE, MARKS, FixResource, TextFile, read_text, why_not_writable, write_text

REPLACEMENT = "removed-by-hpc.onboard"


def find_marked_keys(text: str, marks: Container[str], host: Host) -> List[str]:
    """Return the keys in a text that have one of these fingerprints."""

    def describe(word: str) -> str:
        """Return a description of a word that is one of the keys, so that find_keys reports the word."""
        return "a key" if host.fingerprint(word) in marks else ""

    return [key.value for key in find_keys(text, describe) if host.fingerprint(key.value) in marks]


class KeyFix(FixResource):
    """The keys in one file with these fingerprints."""

    KIND = "key_fix"
    TITLE = "keys in %(path)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {"path": FILE, "marks": MARKS, "areas": AREAS}

    def _find_values(self, file: TextFile, host: Host) -> List[str]:
        """Return the keys in the file that have one of the fingerprints."""
        return find_marked_keys(file.text, self.options["marks"], host)

    def inspect(self, host: Host) -> State:
        """Return the fingerprints of the keys that are in the file."""
        file = read_text(host, self.options["path"])
        return {host.fingerprint(value): "is in the file" for value in self._find_values(file, host)} if file else {}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the keys must not be overwritten, and what to do; None if they may be overwritten."""
        file = read_text(host, self.options["path"])
        # The search decodes keys, but apply replaces them literally.
        if before and file and any(value not in file.text for value in self._find_values(file, host)):
            return "%s contains the key in encoded form: remove the entry by hand" % host.shown(self.options["path"])
        is_copy = bool(before) and not is_history(host.shown(self.options["path"]))
        why = why_in_use(self.options["path"], self.options["areas"], host) if is_copy else None
        return why or why_not_writable(host, self.options["path"])

    def apply(self, host: Host) -> None:
        """Overwrite each key wherever it occurs in the file. Do nothing if the file no longer exists."""
        file = read_text(host, self.options["path"])
        if file:
            text = file.text
            for value in self._find_values(file, host):
                text = text.replace(value, REPLACEMENT)
            write_text(host, file, text)
