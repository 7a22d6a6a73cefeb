# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The choice of the fix that an audit offers for a problem. No fix is offered that could remove more than the problem.

Each offer function returns the fix as {"kind": its type, "options": its options}, for a plan, the document that
says what a run does on an account, or None without a fix.
Values and texts are identified by their fingerprints ("marks"), so that no key is in a plan.
"""

import functools
import os
from typing import Any, Callable, Container, Dict, List, Optional, Sequence, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import key_files
from .access_fix import AccessFix
from .fix_resource import offer_if_possible, read_text
from .key_fix import KeyFix, find_marked_keys
from .leftover_fix import LeftoverFix, mark_target, read_content
from .shell_text import Assignment, find_assignments, remove_assignments, value_of
from .statement_fix import StatementFix

Offer = Optional[Dict[str, Any]]


def none_if_unreadable(function: Callable[..., Offer]) -> Callable[..., Offer]:
    """Return the offer function, changed to return None if the file system raises an error."""

    @functools.wraps(function)
    def offer_or_none(*arguments: Any, **named: Any) -> Offer:
        try:
            return function(*arguments, **named)
        except (AccountError, OSError):
            return None

    return offer_or_none


@none_if_unreadable
def offer_key_fix(host: Host, path: str, marks: List[str], areas: List[str]) -> Offer:
    """Return the fix for the keys with these fingerprints in a history, a start-up file or a script.

    Outside of a history, each key must be the whole value of a variable, and must not occur elsewhere in the file.
    areas: the storage areas whose scripts may use the variable.
    """
    if key_files.is_history(host.shown(path)):
        return _offer_key_fix(host, path, marks, areas=[])
    file = read_text(host, path)
    if file is None:
        return None

    def sets_key(source: str) -> bool:
        """Return True if the value of an assignment is one of the keys. source: the assignment's text."""
        return host.fingerprint(value_of(source)) in marks

    rest, why_not = remove_assignments(file.text, file.path, sets_key)
    if why_not or find_marked_keys(rest, marks, host):
        return None  # the file must not be changed, or would still contain a key
    assignments = find_assignments(file.text, file.path)
    return _offer_statement_fix(host, path, [found for found in assignments if sets_key(found.source)], areas)


@none_if_unreadable
def offer_copy_fix(host: Host, path: str, marks: List[str], areas: List[str]) -> Offer:
    """Return the fix for a copy of a file that contains the keys with these fingerprints.

    The fix removes the copy if its original contains every line. If not, the fix overwrites the keys in the copy.
    areas: the storage areas whose scripts may use the copy.
    """
    folder, name = os.path.split(path)
    entry = host.entry(path)
    originals = host.names(folder) if entry and entry.kind == "file" else []  # a link or folder is not a copy
    for original in originals:
        if key_files.is_copy(name, original):
            fix = _offer_leftover_fix(
                host, path, what="copy", mark=host.fingerprint(read_content(host, path)), of=original, areas=areas
            )
            if fix:
                return fix
    return _offer_key_fix(host, path, marks, areas)


@none_if_unreadable
def offer_draft_fix(host: Host, path: str) -> Offer:
    """Return the fix that removes a temporary file of a killed run of hpc-onboard."""
    return _offer_leftover_fix(host, path, what="draft", mark=host.fingerprint(read_content(host, path)))


@none_if_unreadable
def offer_variable_fix(
    host: Host, path: str, name: str, removable: Optional[Container[str]] = None, areas: Sequence[str] = ()
) -> Offer:
    """Return the fix that removes all assignments of a variable from a start-up file.

    removable: the fingerprints of the values that may be removed; None for any value. areas: the storage areas whose
    scripts may use the variable.
    """
    file = read_text(host, path)
    assignments = find_assignments(file.text, file.path) if file else []
    of_variable = [assignment for assignment in assignments if assignment.name == name]
    if removable is not None:
        marks = [host.fingerprint(value_of(assignment.source)) for assignment in of_variable]
        if not all(mark in removable for mark in marks):
            return None  # the user would lose another value
    return _offer_statement_fix(host, path, of_variable, areas)


@none_if_unreadable
def offer_access_fix(host: Host, path: str, way: str) -> Offer:
    """Return the fix that removes other users' access to a file or folder. way: the access, as in AccessFix."""
    return offer_if_possible(host, AccessFix({"path": path, "way": way}))


@none_if_unreadable
def offer_link_fix(host: Host, path: str) -> Offer:
    """Return the fix that removes a broken or circular link. path: of the link."""
    entry = host.entry(path)
    return _offer_leftover_fix(host, path, what="link", mark=mark_target(host, entry.target if entry else ""))


@none_if_unreadable
def offer_folder_fix(host: Host, path: str, what: str, names: Sequence[str] = (), variable: str = "") -> Offer:
    """Return the fix that empties a token store or a cache.

    what: "tokens" or "cache". names: the entries of a cache that its program recreates; empty: all. variable: the
    environment variable that sets the folder of a cache.
    """
    return _offer_leftover_fix(host, path, what=what, names=list(names), variable=variable)


def find_variables(host: Host, path: str, marks: Container[str]) -> List[Tuple[str, str]]:
    """Return the variables of a file whose value has one of these fingerprints, as (name, fingerprint).

    Return [] for a file that cannot be read, for which no fix is offered either.
    """
    try:
        file = read_text(host, path)
    except AccountError:
        return []
    assignments = find_assignments(file.text, file.path) if file else []
    pairs = [(assignment.name, host.fingerprint(value_of(assignment.source))) for assignment in assignments]
    return [(name, mark) for name, mark in pairs if mark in marks]


def _offer_key_fix(host: Host, path: str, marks: List[str], areas: List[str]) -> Offer:
    """Return the fix that overwrites the keys with these fingerprints; None without fingerprints."""
    return offer_if_possible(host, KeyFix({"path": path, "marks": marks, "areas": areas})) if marks else None


def _offer_statement_fix(host: Host, path: str, assignments: List[Assignment], areas: Sequence[str]) -> Offer:
    """Return the fix that removes these assignments; None without assignments. areas: see offer_variable_fix."""
    options = {"path": path, "marks": sorted({host.fingerprint(found.source) for found in assignments})}
    return offer_if_possible(host, StatementFix(dict(options, areas=list(areas)))) if assignments else None


def _offer_leftover_fix(host: Host, path: str, **options: Any) -> Offer:
    """Return the fix that removes a leftover. options: the options of LeftoverFix, without its path."""
    return offer_if_possible(host, LeftoverFix(LeftoverFix.with_defaults(dict(options, path=path))))
