# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The draft of an accounts file: the accounts that it already contains, the known clusters, and the checked text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .._accounts.accounts_file import AccountsFile
from .._accounts.host_variables import build_hosts
from .._accounts.new_profile import USUAL_FOLDER
from .._accounts.profiles import Catalogue
from .._input.diagnostics import MistakeList, nearest, read_text
from .accounts_text import add_entries, render_file
from .ssh_world import SshHistory
from .wishes import DesiredAccount, describe_fault


class AccountsDraft:
    """An accounts file to be written. text: its present content; None if it does not exist. Raises Mistakes."""

    def __init__(self, file: Path, exists: bool) -> None:
        self.file = file
        self.text = read_text(file) if exists else None
        self.names: set[str] = set()
        self.catalogue = Catalogue()
        if self.text is not None:
            existing = self._parse(self.text)
            self.names = set(existing.document["accounts"])
            self.catalogue = existing.catalogue(MistakeList(existing.lines))
        self.history = SshHistory()
        self.own_profiles = file.parent / USUAL_FOLDER
        self.profiles: list[str] = []  # folders to add to the file

    def add_profiles(self) -> None:
        """Add the folder with the user's own profiles, next to the file."""
        self.profiles = [USUAL_FOLDER]
        self.catalogue = Catalogue((self.own_profiles, *self.catalogue.folders))

    def create_account(self, name: str) -> DesiredAccount:
        """Return the account with a name, USER@CLUSTER or CLUSTER, with its ssh settings. Raises ValueError."""
        user, at, cluster = name.rpartition("@")
        # A name with a slash could be the path of a file outside the folders with profiles.
        profile = self.catalogue.profile(cluster) if "/" not in cluster else None
        if profile is None:
            raise ValueError(f'unknown cluster "{cluster}"; {nearest(cluster, self.catalogue.ids())}')
        fault = describe_fault("user", user) if at else ""
        if fault:
            raise ValueError(fault)
        found = self.history.find_traces(profile)
        account = DesiredAccount(profile, found, user or found.user)
        if found.ssh and user in ("", found.user):  # the ssh settings are for this user
            account.set_value("ssh", found.ssh)
        return account

    def find_accounts(self) -> list[DesiredAccount]:
        """Return the accounts that the user's ssh files show and that are not in the file yet."""
        accounts = map(self.create_account, self.history.list_clusters(self.catalogue))
        return [account for account in accounts if account.name not in self.names]

    def render(self, accounts: Sequence[DesiredAccount]) -> str:
        """Return the text of the file with these accounts. Raises ValueError for a duplicate, NotAdded, Mistakes."""
        names: set[str] = set()
        for account in accounts:
            if account.name in self.names:
                raise ValueError(f"{account.name} is already in the accounts file")
            if account.name in names:
                raise ValueError(f"{account.name} is given twice. Name each account only once")
            names.add(account.name)
        if self.text is None:
            text = render_file(accounts, self.profiles)
        else:
            text = add_entries(self.file, self.text, accounts, self.profiles)
        self._parse(text)
        return text

    def _parse(self, text: str) -> AccountsFile:
        """Return the file with this text, checked as every run will check it. Raises Mistakes."""
        file = AccountsFile.parse(self.file, text)
        build_hosts(file)
        return file
