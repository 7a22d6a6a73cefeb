# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The accounts file in the making: what is there already, which clusters there are, and the checked text."""

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
    """A file that is to be written; text: what it holds now, None where it is not there. Raises Mistakes."""

    def __init__(self, file: Path, there: bool, world: SshHistory | None = None) -> None:
        self.file = file
        self.text = read_text(file) if there else None
        self.names: set[str] = set()
        self.catalogue = Catalogue()
        if self.text is not None:
            own = self._checked(self.text)
            self.names = set(own.document["accounts"])
            self.catalogue = own.catalogue(MistakeList(own.lines))
        self.world = world or SshHistory()
        self.own_profiles = file.parent / USUAL_FOLDER
        self.profiles: list[str] = []  # folders to add to the file

    def add_profiles(self) -> None:
        """Use the profiles in the folder next to the file, too."""
        self.profiles = [USUAL_FOLDER]
        self.catalogue = Catalogue((self.own_profiles, *self.catalogue.folders))

    def wish(self, name: str) -> DesiredAccount:
        """An account by its name, USER@CLUSTER, or by its cluster's alone. Raises ValueError, with what is wrong."""
        user, at, cluster = name.rpartition("@")
        profile = self.catalogue.profile(cluster) if "/" not in cluster else None
        if profile is None:
            raise ValueError(f'unknown cluster "{cluster}"; {nearest(cluster, self.catalogue.ids())}')
        why = describe_fault("user", user) if at else ""
        if why:
            raise ValueError(why)
        found = self.world.cluster(profile)
        wish = DesiredAccount(profile, found, user or found.user)
        if found.ssh and user in ("", found.user):
            wish.say("ssh", found.ssh)
        return wish

    def known(self) -> list[DesiredAccount]:
        """The accounts that the person's ssh tells of and the file does not hold."""
        wishes = [self.wish(name) for name in self.world.clusters(self.catalogue)]
        return [one for one in wishes if one.name not in self.names]

    def composed(self, wishes: Sequence[DesiredAccount]) -> str:
        """Return the whole text of a valid accounts file. Raise ValueError for a duplicate, NotAdded or Mistakes."""
        names: set[str] = set()
        for account in wishes:
            if account.name in self.names:
                raise ValueError(f"{account.name} is already in the accounts file")
            if account.name in names:
                raise ValueError(f"{account.name} is given twice: name each account once")
            names.add(account.name)
        if self.text is None:
            text = render_file(wishes, self.profiles)
        else:
            text = add_entries(self.file, self.text, wishes, self.profiles)
        self._checked(text)
        return text

    def _checked(self, text: str) -> AccountsFile:
        """The file with this text, which every run would take."""
        file = AccountsFile.parse(self.file, text)
        build_hosts(file)
        return file
