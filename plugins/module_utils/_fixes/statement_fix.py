# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A variable that a start-up file or a script should not set: its assignment goes, the rest of its line stays."""

from typing import Any, Dict, List, Optional

from .._core.host import Host
from .._core.resource import State
from .fix_resource import FILE, MARKS, Fix, Text, read_text, why_not_written, write_text
from .shell_commands import Unclear
from .shell_text import Assignment, assignments, dialect_of, without


class StatementFix(Fix):
    """The assignments of one file that have these fingerprints."""

    KIND = "statement_fix"
    OPTIONS: Dict[str, Dict[str, Any]] = {"path": FILE, "marks": MARKS}

    def name(self) -> str:
        return "what is set in %s" % self.options["path"]

    def inspect(self, host: Host) -> State:
        file = read_text(host, self.options["path"])
        return {one.name: "is set there" for one in self._found(file, host)} if file else {}

    def _found(self, file: Text, host: Host) -> List[Assignment]:
        try:
            every = assignments(file.text, dialect_of(file.path))
        except Unclear:
            return []
        return [one for one in every if host.fingerprint(one.source) in self.options["marks"]]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        file = read_text(host, self.options["path"])
        if not before or file is None:
            return None
        problem = self.changed(file, host)[1]
        if problem:
            return "%s: %s: take it out by hand" % (host.shown(self.options["path"]), problem)
        return why_not_written(host, self.options["path"])

    def changed(self, file: Text, host: Host) -> "tuple[str, str]":
        """The text without them, and why one must stay."""
        marks = self.options["marks"]
        return without(file.text, dialect_of(file.path), lambda source: host.fingerprint(source) in marks)

    def apply(self, host: Host) -> None:
        file = read_text(host, self.options["path"])
        if file:
            write_text(host, file, self.changed(file, host)[0])
