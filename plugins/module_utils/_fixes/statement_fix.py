# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix that removes assignments of variables from a start-up file or script, and keeps the rest of each line.

The option marks has fingerprints: hashes that identify the texts of the assignments, which may contain keys.
"""

from typing import Any, Dict, Optional, Tuple

from .._core.host import Host
from .._core.resource import State
from .fix_resource import FILE, MARKS, FixResource, TextFile, read_text, why_not_writable, write_text
from .shell_text import find_assignments, remove_assignments


class StatementFix(FixResource):
    """The assignments in one file whose texts have these fingerprints."""

    KIND = "statement_fix"
    TITLE = "variables set in %(path)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {"path": FILE, "marks": MARKS}

    def inspect(self, host: Host) -> State:
        """Return the variables that the assignments set; empty if none of these assignments is left."""
        file = read_text(host, self.options["path"])
        assignments = find_assignments(file.text, file.path) if file else []
        marks = self.options["marks"]
        return {found.name: "is set here" for found in assignments if host.fingerprint(found.source) in marks}

    def _remove_assignments(self, file: TextFile, host: Host) -> Tuple[str, str]:
        """Return (text without the assignments, ""), or (unchanged text, reason) if one must not be removed."""
        marks = self.options["marks"]
        return remove_assignments(file.text, file.path, lambda source: host.fingerprint(source) in marks)

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the assignments must not be removed, and what to do; None if they may be removed."""
        file = read_text(host, self.options["path"])
        if not before or file is None:
            return None
        _text, reason = self._remove_assignments(file, host)
        if reason:
            text = "%s cannot be edited safely, because %s: remove the variable by hand"
            return text % (host.shown(self.options["path"]), reason)
        return why_not_writable(host, self.options["path"])

    def apply(self, host: Host) -> None:
        """Remove the assignments from the file, if it still exists."""
        file = read_text(host, self.options["path"])
        if file:
            write_text(host, file, self._remove_assignments(file, host)[0])
