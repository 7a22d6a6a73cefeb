# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person would do by hand about a finding, done on the account so that nothing else is lost.

A fix is a resource whose wanted state is that the thing found is gone. It looks for exactly that thing, by its
fingerprint and never by a line number; what was changed or taken away meanwhile is left as it is.
"""

from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource, State

FILE: Dict[str, Any] = {"type": "path", "required": True}
MARKS: Dict[str, Any] = {"type": "list", "elements": "str", "required": True}


class Fix(Resource):
    """A thing that is to go. A kind is a subclass."""

    WAITS = False  # each fixes its own thing

    def touches(self, host: Host) -> List[str]:
        return [str(self.options["path"])]

    def desired(self, host: Host) -> State:
        return {}


class Text(NamedTuple):
    """A text file of the account: where it really lies, its content as latin-1, and its mode."""

    path: str
    text: str
    mode: int


def read_text(host: Host, path: str) -> Optional[Text]:
    """The text file at a path, which may be a link to it; None where there is none, or it is not the account's own."""
    real = host.resolve(path)
    found = host.entry(real) if real else None
    if real is None or found is None or found.kind != "file" or not found.mine:
        return None
    return Text(real, host.read(real).decode("latin-1"), found.mode)


def write_text(host: Host, file: Text, text: str) -> None:
    """Put another text in place of the one that was read; links to the file, its mode and its attributes stay."""
    host.write(file.path, file.text.encode("latin-1"), text.encode("latin-1"), file.mode)


def why_not_written(host: Host, path: str) -> Optional[str]:
    """Why the file behind a path is not ours to write anew; None where it may be."""
    real = host.resolve(path)
    found = host.entry(real) if real else None
    if found is not None and found.links != 1:
        return "%s has several names (hard links), which would be torn apart: change it by hand" % host.shown(path)
    return None


def offered(host: Host, kind: str, fix: Fix) -> Optional[Dict[str, Any]]:
    """The fix as it is told with a finding, {kind, options}; None where it finds nothing, or must not."""
    try:
        bound = fix.bound(host)
        before = bound.inspect(host)
        if not before or bound.obstacle(before, host):
            return None
    except AccountError:
        return None
    path = host.shown(str(bound.options["path"]))
    return {"kind": kind, "options": dict(fix.options, path=path)} if path.isprintable() else None


def joined(names: Iterable[str]) -> str:
    """Names as a person reads them, each once."""
    return ", ".join(dict.fromkeys(names))
