# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The choice of the fix for a problem of an audit; none if the fix could remove more than the problem."""

import functools
import os
from typing import Any, Callable, Container, Dict, List, Optional, Sequence, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import key_files
from .._key_search.keys_in_texts import find_keys
from .access_fix import AccessFix
from .fix_resource import offer_if_possible, read_text
from .key_fix import KeyFix
from .leftover_fix import LeftoverFix
from .shell_text import Assignment, find_assignments, remove_assignments, value_of
from .statement_fix import StatementFix

Offer = Optional[Dict[str, Any]]
"""{kind, options} of a fix, as in a plan; None without a fix."""


def none_if_unreadable(function: Callable[..., Offer]) -> Callable[..., Offer]:
    """Return a function that returns None if the file system raises an error."""

    @functools.wraps(function)
    def offer_or_none(*arguments: Any, **named: Any) -> Offer:
        try:
            return function(*arguments, **named)
        except (AccountError, OSError):
            return None

    return offer_or_none


@none_if_unreadable
def offer_key_fix(host: Host, path: str, marks: List[str]) -> Offer:
    """Return the fix for the keys with these fingerprints in a history, a start-up file or a script.

    Outside of a history, each key must be the whole value of a variable, and must not occur elsewhere in the file.
    """
    if key_files.is_history(host.shown(path)):
        return _offer_key_fix(host, path, marks)
    file = read_text(host, path)
    if file is None:
        return None

    def is_key(source: str) -> bool:
        """Return True if an assignment's value is one of the keys. source: its source text."""
        return host.fingerprint(value_of(source)) in marks

    def describe(word: str) -> str:
        """Return a description of a word that is one of the keys, so that it is found in any format."""
        return "a key" if host.fingerprint(word) in marks else ""

    rest, why_not = remove_assignments(file.text, file.path, is_key)
    if why_not or any(host.fingerprint(key.value) in marks for key in find_keys(rest, describe)):
        return None
    return _offer_statement_fix(
        host, path, [line for line in find_assignments(file.text, file.path) if is_key(line.source)]
    )


@none_if_unreadable
def offer_copy_fix(host: Host, path: str, marks: List[str]) -> Offer:
    """Return the fix for a copy: removal, if its original contains every line; else overwriting the keys."""
    folder, name = os.path.split(path)
    entry = host.entry(path)
    for original in host.names(folder) if entry and entry.kind == "file" else []:
        if key_files.is_copy(name, original):
            fix = _offer_leftover_fix(host, path, what="copy", mark=_fingerprint(host, path), of=original)
            if fix:
                return fix
    return _offer_key_fix(host, path, marks)


@none_if_unreadable
def offer_draft_fix(host: Host, path: str) -> Offer:
    """Return the fix for a draft that a killed run of hpc-onboard left."""
    return _offer_leftover_fix(host, path, what="draft", mark=_fingerprint(host, path))


@none_if_unreadable
def offer_variable_fix(host: Host, path: str, name: str, known: Optional[Container[str]] = None) -> Offer:
    """Return the fix for a variable of a start-up file. known: fingerprints of removable values; None: any value."""
    file = read_text(host, path)
    assignments = find_assignments(file.text, file.path) if file else []
    found = [assignment for assignment in assignments if assignment.name == name]
    if known is not None and not all(host.fingerprint(value_of(assignment.source)) in known for assignment in found):
        return None
    return _offer_statement_fix(host, path, found)


@none_if_unreadable
def offer_access_fix(host: Host, path: str, way: str) -> Offer:
    """Return the fix that removes other users' access to a file or folder. way: see AccessFix."""
    return offer_if_possible(host, AccessFix({"path": path, "way": way}))


@none_if_unreadable
def offer_link_fix(host: Host, path: str) -> Offer:
    """Return the fix that removes a broken or circular link."""
    entry = host.entry(path)
    return _offer_leftover_fix(host, path, what="link", mark=host.fingerprint(entry.target if entry else ""))


@none_if_unreadable
def offer_folder_fix(host: Host, path: str, what: str, names: Sequence[str] = (), variable: str = "") -> Offer:
    """Return the fix that empties a token store or cache. names: the entries that its program recreates; empty: all."""
    return _offer_leftover_fix(host, path, what=what, names=list(names), variable=variable)


def find_variables(host: Host, path: str, marks: Container[str]) -> List[Tuple[str, str]]:
    """Return the variables of a file whose value has one of these fingerprints, as (name, fingerprint)."""
    file = read_text(host, path)
    assignments = find_assignments(file.text, file.path) if file else []
    pairs = [(assignment.name, host.fingerprint(value_of(assignment.source))) for assignment in assignments]
    return [(name, mark) for name, mark in pairs if mark in marks]


def _offer_key_fix(host: Host, path: str, marks: List[str]) -> Offer:
    """Return the fix that overwrites the keys with these fingerprints."""
    return offer_if_possible(host, KeyFix({"path": path, "marks": marks})) if marks else None


def _offer_statement_fix(host: Host, path: str, assignments: List[Assignment]) -> Offer:
    """Return the fix that removes these assignments; None without any."""
    marks = sorted({host.fingerprint(assignment.source) for assignment in assignments})
    return offer_if_possible(host, StatementFix({"path": path, "marks": marks})) if marks else None


def _offer_leftover_fix(host: Host, path: str, **options: Any) -> Offer:
    """Return the fix that removes a leftover. options: further ones of LeftoverFix."""
    return offer_if_possible(host, LeftoverFix(LeftoverFix.with_defaults(dict(options, path=path))))


def _fingerprint(host: Host, path: str) -> str:
    """Return the fingerprint of a file's content, as LeftoverFix computes it."""
    return host.fingerprint(host.read(path).decode("latin-1"))
