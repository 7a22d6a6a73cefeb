# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the accounts of status and done: an accounts file, and names or patterns in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from .._accounts.quick_look import AccountSummary, list_accounts
from .._command import accounts as which
from .._command.accounts import CommandError
from .._input.diagnostics import Mistakes, display_path, nearest


def accounts_file(typed: Sequence[str]) -> Path | None:
    """The accounts file that a run would take, typed: after -i; None where there is none. Raises CommandError."""
    source = which.find(typed, os.environ)
    if source is None:
        return None
    file = source.file()
    if file is None:
        raise CommandError(f"{', '.join(source.paths)} is not one accounts file: name one by -i FILE.")
    return file


def known(file: Path) -> list[AccountSummary]:
    """The accounts of a file. Raises CommandError."""
    try:
        return list_accounts(file)
    except Mistakes as mistakes:
        raise CommandError(str(mistakes)) from None


def chosen(every: Sequence[AccountSummary], words: Sequence[str], file: Path) -> list[AccountSummary]:
    """Those of the accounts that the words mean: names, clusters, sites, patterns; all where there is no word.

    Raises CommandError for a word that means none.
    """
    terms = [term for word in words for term in word.split(",") if term]
    for term in terms:
        if not any(_means(term, one) for one in every):
            near = nearest(term, {name for one in every for name in (one.name, *one.groups)})
            raise CommandError(f'"{term}" is not an account or a cluster in {display_path(file)}; {near}')
    return [one for one in every if not terms or any(_means(term, one) for term in terms)]


def _means(term: str, one: AccountSummary) -> bool:
    return term == "all" or any(fnmatchcase(name, term) for name in (one.name, one.cluster, *one.groups))
