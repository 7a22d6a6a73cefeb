# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which fix there is for a thing that a watch has found: none where one could take more away than was found."""

import os
from typing import Any, Container, Dict, List, Optional, Sequence, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import key_files
from .._formats.key_forms import find_keys
from .access_fix import AccessFix
from .fix_resource import offered, read_text
from .key_fix import KeyFix
from .leftover_fix import LeftoverFix
from .shell_commands import Unclear
from .shell_text import Assignment, assignments, dialect_of, value_of, without
from .statement_fix import StatementFix

Offer = Optional[Dict[str, Any]]
"""{kind, options} of a fix, as a plan takes it."""


def of_key(host: Host, path: str, marks: List[str]) -> Offer:
    """For keys with these fingerprints that stand in a file."""
    if key_files.is_history(host.shown(path)):
        return _of_words(host, path, marks)
    return _of_assignments(host, path, marks)


def of_copy(host: Host, path: str, marks: List[str]) -> Offer:
    """For a copy of a file of keys: the whole copy if its original has every line, else the keys with these marks."""
    return _of_copy(host, path) or _of_words(host, path, marks)


def _of_words(host: Host, path: str, marks: List[str]) -> Offer:
    return offered(host, KeyFix.KIND, KeyFix({"path": path, "marks": marks})) if marks else None


def _of_copy(host: Host, path: str) -> Offer:
    folder, name = os.path.split(path)
    found = host.entry(path)
    if found is None or found.kind != "file":
        return None
    mark = host.fingerprint(host.read(path).decode("latin-1"))
    for original in host.names(folder):
        if key_files.is_copy(name, original):
            options = {"path": path, "what": "copy", "mark": mark, "of": original}
            offer = offered(host, LeftoverFix.KIND, LeftoverFix(LeftoverFix.whole(options)))
            if offer:
                return offer
    return None


def of_draft(host: Host, path: str) -> Offer:
    """For a draft that a killed run of ours has left."""
    mark = host.fingerprint(host.read(path).decode("latin-1"))
    options = {"path": path, "what": "draft", "mark": mark}
    return offered(host, LeftoverFix.KIND, LeftoverFix(LeftoverFix.whole(options)))


def _of_assignments(host: Host, path: str, marks: List[str]) -> Offer:
    """Where each of the keys is the whole value of a variable, and stands nowhere else in the file."""

    def is_meant(source: str) -> bool:
        return host.fingerprint(value_of(source)) in marks

    def known(word: str) -> str:
        return "a key" if host.fingerprint(word) in marks else ""

    file = read_text(host, path)
    if file is None:
        return None
    left, problem = without(file.text, dialect_of(file.path), is_meant)
    if problem or any(host.fingerprint(one.value) in marks for one in find_keys(left, known)):
        return None
    return _statement(host, path, [one for one in _assignments(file.text, file.path) if is_meant(one.source)])


def variables(host: Host, path: str, marks: Container[str]) -> List[Tuple[str, str]]:
    """Return the variables of a file that are set to a key with one of these fingerprints, each with that one."""
    file = read_text(host, path)
    found = _assignments(file.text, file.path) if file else []
    named = [(one.name, host.fingerprint(value_of(one.source))) for one in found]
    return [(name, mark) for name, mark in named if mark in marks]


def of_variable(host: Host, path: str, name: str, known: Optional[Container[str]] = None) -> Offer:
    """For a variable that a start-up file sets. known: the fingerprints of values that may go; None: any value."""
    file = read_text(host, path)
    found = [one for one in (_assignments(file.text, file.path) if file else []) if one.name == name]
    if known is not None and not all(host.fingerprint(value_of(one.source)) in known for one in found):
        return None
    return _statement(host, path, found)


def _assignments(text: str, path: str) -> List[Assignment]:
    try:
        return assignments(text, dialect_of(path))
    except Unclear:
        return []


def _statement(host: Host, path: str, found: List[Assignment]) -> Offer:
    marks = sorted({host.fingerprint(one.source) for one in found})
    return offered(host, StatementFix.KIND, StatementFix({"path": path, "marks": marks})) if marks else None


def of_access(host: Host, path: str, way: str) -> Offer:
    """For a file or a folder that others can get at. way: see access_fix.py."""
    return offered(host, AccessFix.KIND, AccessFix({"path": path, "way": way}))


def of_link(host: Host, path: str) -> Offer:
    """For a link to nothing, or to itself."""
    found = host.entry(path)
    options = {"path": path, "what": "link", "mark": host.fingerprint(found.target if found else "")}
    return offered(host, LeftoverFix.KIND, LeftoverFix(LeftoverFix.whole(options)))


def of_folder(host: Host, path: str, what: str, names: Sequence[str] = (), variable: str = "") -> Offer:
    """For a store of tokens, or a cache. names: what of it its program makes anew; none: all."""
    options = {"path": path, "what": what, "names": list(names), "variable": variable}
    return offered(host, LeftoverFix.KIND, LeftoverFix(LeftoverFix.whole(options)))


def cautious(offer: Any, *arguments: Any) -> Offer:
    """What one of the above answers; nothing where the file system keeps it from looking."""
    try:
        answer: Offer = offer(*arguments)
        return answer
    except (AccountError, OSError):
        return None
