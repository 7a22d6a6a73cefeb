# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the accounts file for status and done, and select accounts in it by names or patterns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from .._accounts.quick_look import AccountSummary, list_accounts
from .._command import accounts
from .._command.accounts import CommandError
from .._input.diagnostics import Mistakes, display_path, nearest


def find_accounts_file(inventory: Sequence[str]) -> Path | None:
    """Return the accounts file that a run uses; None if no file is found. inventory: the values of -i.

    Raise CommandError if a run would use several files, a folder or a list of hosts.
    """
    source = accounts.find_source(inventory, os.environ)  # of the inventory: one or several paths
    if source is None:
        return None
    file = source.single_file()
    if file is None:  # not a single file
        raise CommandError(f"{', '.join(source.paths)} is not a single accounts file. Name a file with -i FILE.")
    return file


def read_accounts(file: Path) -> list[AccountSummary]:
    """Return the accounts of a file. Raise CommandError for mistakes in the file."""
    try:
        return list_accounts(file)
    except Mistakes as mistakes:
        raise CommandError(str(mistakes)) from None


def select_accounts(
    all_accounts: Sequence[AccountSummary], arguments: Sequence[str], file: Path
) -> list[AccountSummary]:
    """Return the accounts that the arguments of a command select; all accounts without arguments.

    arguments: names of accounts, clusters or sites, or patterns, also several separated by commas. file: for the error.
    Raise CommandError for a name or pattern that matches no account.
    """
    patterns = [pattern for argument in arguments for pattern in argument.split(",") if pattern]
    for pattern in patterns:
        if not any(_matches(account, pattern) for account in all_accounts):
            advice = nearest(pattern, {name for account in all_accounts for name in (account.name, *account.groups)})
            raise CommandError(f'"{pattern}" is not an account or a cluster in {display_path(file)}; {advice}')
    return [
        account for account in all_accounts if not patterns or any(_matches(account, pattern) for pattern in patterns)
    ]


def _matches(account: AccountSummary, pattern: str) -> bool:
    """Return True if a name or pattern matches the account, its cluster, or one of its groups, such as its site."""
    names = (account.name, account.cluster, *account.groups)
    return pattern == "all" or any(fnmatchcase(name, pattern) for name in names)
