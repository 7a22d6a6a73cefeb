# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key for one machine in ~/.netrc, which wandb and curl read.

The base class reads and writes the file. This class defines the format of the key's entry in the text of the file.
"""

from typing import Optional

from .._core.resource import State
from .._formats import netrc
from .._options.key_options import NetrcEntryOptions
from .kept_key import KeptKey, KeyEntry


class NetrcEntry(NetrcEntryOptions, KeptKey):
    """One entry for a machine. Other entries stay as they are."""

    def form(self) -> State:
        """Return the desired format: one entry with the login, before any default entry."""
        return {"login": self.options["login"], "entries": "1", "order": "before any default"}

    def find_entry(self, text: str) -> Optional[KeyEntry]:
        """Return the keys of all entries for the machine, with the first login, and the entries' number and order.

        Return None without such an entry.
        """
        entries = netrc.find_entries(text, self.options["machine"])
        if not entries:
            return None
        is_effective = netrc.has_effective_entry(text, self.options["machine"])
        order = "before any default" if is_effective else "after a default entry, so programs ignore it"
        form = {"login": entries[0].login, "entries": str(len(entries)), "order": order}
        return KeyEntry([entry.password for entry in entries], form)

    def put_entry(self, text: str) -> str:
        """Return the text with exactly one entry for the machine."""
        return netrc.put(text, self.options["machine"], self.options["login"], self.options["password"])

    def remove_entry(self, text: str) -> str:
        """Return the text without the entries for the machine."""
        return netrc.without(text, self.options["machine"])
