# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix that removes assignments of variables from a start-up file or script, and keeps the rest of each line.

The option marks has fingerprints: hashes that identify the texts of the assignments, which may contain keys.
"""

from typing import Any, Dict, Iterable, Optional, Tuple

from .._core.host import Host
from .._core.resource import State
from .._formats.environment import DIALECTS
from .._scan.mentions import read_texts
from .._shells.start_up import env_file
from .fix_resource import AREAS, FILE, MARKS, FixResource, TextFile, read_text, why_not_writable, write_text
from .shell_text import find_assignments, find_use, remove_assignments


class StatementFix(FixResource):
    """The assignments in one file whose texts have these fingerprints."""

    KIND = "statement_fix"
    TITLE = "variables set in %(path)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {"path": FILE, "marks": MARKS, "areas": AREAS}

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
        reason = reason or self._describe_other_use(before, file, host)
        if reason:
            text = "%s cannot be edited safely, because %s: remove the variable by hand"
            return text % (host.shown(self.options["path"]), reason)
        return why_not_writable(host, self.options["path"])

    def _describe_other_use(self, names: Iterable[str], file: TextFile, host: Host) -> str:
        """Return where another file uses one of these variables, as a clause; empty if no other file does.

        A variable that hpc-onboard sets as well keeps a value. file: it sets the variables.
        """
        own_files = [read_text(host, env_file(host, dialect)) for dialect in DIALECTS]
        kept = {found.name for own in own_files if own for found in find_assignments(own.text, own.path)}
        lost = sorted(set(names) - kept)
        if not lost:
            return ""
        others = read_texts(host, tuple(self.options["areas"]))
        for path, text in others.texts.items():
            for name in lost:
                line = find_use(text, path, name)
                if line and host.resolve(path) != file.path:
                    return "line %d of %s uses $%s" % (line, host.shown(path), name)
        return "" if others.is_complete else "there are too many files to find out if one uses $%s" % lost[0]

    def apply(self, host: Host) -> None:
        """Remove the assignments from the file, if it still exists."""
        file = read_text(host, self.options["path"])
        if file:
            write_text(host, file, self._remove_assignments(file, host)[0])
