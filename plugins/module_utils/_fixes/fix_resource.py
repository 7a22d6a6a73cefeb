# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of fixes: resources that solve one problem of an audit and change nothing else.

The desired state of a fix is that the problem does not exist. A fix identifies its problem by fingerprint (a hash),
never by line number, and skips what has changed since the audit. A "mark" is such a fingerprint.
"""

from typing import Any, Dict, List, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource, State

FILE: Dict[str, Any] = {"type": "path", "required": True}
"""The specification of a fix's option path."""

MARKS: Dict[str, Any] = {"type": "list", "elements": "str", "required": True}
"""The specification of a fix's option marks: fingerprints of the keys or assignments to remove."""

AREAS: Dict[str, Any] = {"type": "list", "elements": "str", "default": []}
"""The specification of a fix's option areas: absolute paths of storage areas whose scripts may use the file."""


class FixResource(Resource):
    """A fix of one problem. Each subclass is a resource type."""

    WAITS = False  # fixes do not depend on each other

    def touches(self, host: Host) -> List[str]:
        """Return the path that the fix changes, and the storage areas that it searches."""
        return [str(self.options["path"])] + list(self.options.get("areas", []))

    def desired(self, host: Host) -> State:
        return {}  # the problem does not exist


class TextFile(NamedTuple):
    """A text file of the account: its path without links, its text as latin-1, and its mode."""

    path: str
    text: str
    mode: int


def read_text(host: Host, path: str) -> Optional[TextFile]:
    """Return the text file at a path, which may be a link; None if the file is missing or owned by another user."""
    real = host.resolve(path)
    entry = host.entry(real) if real else None
    if real is None or entry is None or entry.kind != "file" or not entry.mine:
        return None
    return TextFile(real, host.read(real).decode("latin-1"), entry.mode)


def write_text(host: Host, file: TextFile, text: str) -> None:
    """Replace the text of a file. Symbolic links to the file, its mode and its attributes stay as they are."""
    old, new = file.text.encode("latin-1"), text.encode("latin-1")
    host.write(file.path, old=old, content=new, mode=file.mode)


def why_not_writable(host: Host, path: str) -> Optional[str]:
    """Return why the file at a path must not be rewritten; None if the file may be, or does not exist."""
    real = host.resolve(path)
    entry = host.entry(real) if real else None
    if entry is not None and entry.links != 1:  # a write creates a new file, so other names keep the old content
        return "replacing %s would break its hard links: edit the file by hand" % host.shown(path)
    return None


def offer_if_possible(host: Host, fix: FixResource) -> Optional[Dict[str, Any]]:
    """Return a fix as {"kind": its type, "options": its options} for a finding.

    Return None if the fix would do nothing, is blocked, or cannot be examined.
    """
    try:
        bound = fix.with_expanded_paths(host)
        before = bound.inspect(host)
        if not before or bound.obstacle(before, host):
            return None
    except AccountError:
        return None
    path = host.shown(str(bound.options["path"]))
    if not path.isprintable():  # the user could not see which file the fix changes
        return None
    return {"kind": fix.KIND, "options": dict(fix.options, path=path)}
