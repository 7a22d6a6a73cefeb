# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key in a history or in a copy: the key alone is made unreadable, and everything around it stays."""

from typing import Any, Dict, List, Optional

from .._core.host import Host
from .._core.resource import State
from .._formats.key_forms import find_keys
from .fix_resource import FILE, MARKS, Fix, Text, read_text, why_not_written, write_text

BLANK = "taken-out-by-hpc.onboard"


class KeyFix(Fix):
    """The keys of one file that have these fingerprints."""

    KIND = "key_fix"
    OPTIONS: Dict[str, Dict[str, Any]] = {"path": FILE, "marks": MARKS}

    def name(self) -> str:
        return "keys that stand in %s" % self.options["path"]

    def inspect(self, host: Host) -> State:
        file = read_text(host, self.options["path"])
        return {host.fingerprint(one): "stands there" for one in self._values(file, host)} if file else {}

    def _values(self, file: Text, host: Host) -> List[str]:
        marks = self.options["marks"]

        def known(word: str) -> str:
            return "a key" if host.fingerprint(word) in marks else ""

        return [one.value for one in find_keys(file.text, known) if host.fingerprint(one.value) in marks]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        file = read_text(host, self.options["path"])
        if before and file and any(value not in file.text for value in self._values(file, host)):
            return "%s: the key stands there encoded: take the entry out by hand" % host.shown(self.options["path"])
        return why_not_written(host, self.options["path"])

    def apply(self, host: Host) -> None:
        file = read_text(host, self.options["path"])
        if file:
            text = file.text
            for value in self._values(file, host):
                text = text.replace(value, BLANK)
            write_text(host, file, text)
