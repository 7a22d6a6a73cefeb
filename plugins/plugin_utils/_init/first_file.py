# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The draft of an accounts file: the accounts that it already contains, the known clusters, and the checked text.

The catalogue contains the profiles of the known clusters, the files with facts about them. The traces of an account are
what the user's ssh files contain about the account, such as its user name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .._accounts.accounts_file import AccountsFile
from .._accounts.host_variables import build_hosts
from .._accounts.new_profile import USUAL_FOLDER
from .._accounts.profiles import SHIPPED, Catalogue
from .._input.diagnostics import MistakeList, nearest, read_text
from .accounts_text import add_entries, render_file
from .desired_account import DesiredAccount, describe_fault
from .ssh_world import SshHistory


class AccountsDraft:
    """An accounts file to be written."""

    def __init__(self, file: Path, exists: bool) -> None:
        """Read the file, if it exists, and the user's ssh files. Raises Mistakes for an invalid file."""
        self.file = file
        self.text = read_text(file) if exists else None  # the present content
        self.names: set[str] = set()  # of the accounts in the file
        self.catalogue = Catalogue()
        if self.text is not None:
            existing = self._parse(self.text)
            self.names = set(existing.document["accounts"])
            self.catalogue = existing.catalogue(MistakeList(existing.lines))  # a list for mistakes in its profiles
        self.history = SshHistory()
        # a new profile is written to the first folder that the file lists; without one, the file gets the usual folder
        first_folder = self.catalogue.folders[0]
        self.own_profiles = file.parent / USUAL_FOLDER if first_folder == SHIPPED else first_folder
        self.profiles: list[str] = []  # folders to add to the file

    def add_profiles(self) -> None:
        """Make the file list the folder with the user's own profiles, and add these profiles to the catalogue."""
        self.profiles = [USUAL_FOLDER]
        self.catalogue = Catalogue((self.own_profiles, *self.catalogue.folders))

    def create_account(self, name: str) -> DesiredAccount:
        """Return the account for a name, USER@CLUSTER or CLUSTER, completed from the user's ssh files.

        Raise ValueError for an unknown cluster or an invalid user.
        """
        user, at_sign, cluster = name.rpartition("@")
        # A name with a slash could be the path of a file outside the folders with profiles.
        profile = self.catalogue.profile(cluster) if "/" not in cluster else None
        if profile is None:
            raise ValueError(f'unknown cluster "{cluster}"; {nearest(cluster, self.catalogue.ids())}')
        fault = describe_fault("user", user) if at_sign else ""
        if fault:
            raise ValueError(fault)
        traces = self.history.find_traces(profile)
        account = DesiredAccount(profile, traces, user or traces.user)
        if traces.ssh and user in ("", traces.user):  # the ssh settings are for this user
            account.set_value("ssh", traces.ssh)
        return account

    def find_accounts(self) -> list[DesiredAccount]:
        """Return the accounts on clusters that the user's ssh files mention, without those in the accounts file."""
        accounts = map(self.create_account, self.history.list_clusters(self.catalogue))
        return [account for account in accounts if account.name not in self.names]

    def render(self, accounts: Sequence[DesiredAccount]) -> str:
        """Return the text of the file with these accounts added.

        Raise ValueError for an account that is already in the file or given twice, NotAdded, or Mistakes.
        """
        new_names: set[str] = set()
        for account in accounts:
            if account.name in self.names:
                raise ValueError(f"{account.name} is already in the accounts file")
            if account.name in new_names:
                raise ValueError(f"{account.name} is given twice. Name each account only once")
            new_names.add(account.name)
        if self.text is None:
            text = render_file(accounts, self.profiles)
        else:
            text = add_entries(self.file, self.text, accounts, self.profiles)
        self._parse(text)  # raises Mistakes for a text that a run would not accept
        return text

    def _parse(self, text: str) -> AccountsFile:
        """Return the accounts file with this text, checked as every run checks the file. Raises Mistakes."""
        file = AccountsFile.parse(self.file, text)
        build_hosts(file)
        return file
