# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of fixes: what a user would do by hand about a finding, done on the account without losing anything else.

A fix is a resource whose desired state is that the problem is gone. It looks for exactly this problem, by fingerprint
and never by line number, and leaves alone what was changed or removed since the audit.
"""

from typing import Any, Dict, List, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource, State

FILE: Dict[str, Any] = {"type": "path", "required": True}
MARKS: Dict[str, Any] = {"type": "list", "elements": "str", "required": True}


class FixResource(Resource):
    """A problem that is to go. Each subclass is a resource type."""

    WAITS = False  # each fixes its own problem

    def touches(self, host: Host) -> List[str]:
        return [str(self.options["path"])]

    def desired(self, host: Host) -> State:
        return {}


class TextFile(NamedTuple):
    """A text file of the account: its real path, its content as latin-1, and its mode."""

    path: str
    text: str
    mode: int


def read_text(host: Host, path: str) -> Optional[TextFile]:
    """Return the text file at a path, which may be a link; None if it is missing or belongs to another user."""
    real = host.resolve(path)
    entry = host.entry(real) if real else None
    if real is None or entry is None or entry.kind != "file" or not entry.mine:
        return None
    return TextFile(real, host.read(real).decode("latin-1"), entry.mode)


def write_text(host: Host, file: TextFile, text: str) -> None:
    """Replace the text that was read; links to the file, its mode and its attributes stay."""
    host.write(file.path, file.text.encode("latin-1"), text.encode("latin-1"), file.mode)


def why_not_writable(host: Host, path: str) -> Optional[str]:
    """Return why the file behind a path must not be rewritten; None if it may be."""
    real = host.resolve(path)
    entry = host.entry(real) if real else None
    if entry is not None and entry.links != 1:
        return "%s has several hard links, which a new file would separate: change it by hand" % host.shown(path)
    return None


def offer(host: Host, fix: FixResource) -> Optional[Dict[str, Any]]:
    """Return the fix as {kind, options} for a finding; None if it finds nothing to do, or must not do it."""
    try:
        bound = fix.bound(host)
        before = bound.inspect(host)
        if not before or bound.obstacle(before, host):
            return None
    except AccountError:
        return None
    path = host.shown(str(bound.options["path"]))
    return {"kind": fix.KIND, "options": dict(fix.options, path=path)} if path.isprintable() else None
