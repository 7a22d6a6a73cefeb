# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key for one machine in ~/.netrc, as wandb and curl read it."""

from typing import Optional

from .._core.resource import State
from .._formats import netrc
from .._options.key_options import NetrcEntryOptions
from .kept_key import KeptKey, KeyEntry


class NetrcEntry(NetrcEntryOptions, KeptKey):
    """One entry for a machine. Other entries stay as they are."""

    def form(self) -> State:
        return {"login": self.options["login"], "entries": "1", "order": "before any default"}

    def find(self, text: str) -> Optional[KeyEntry]:
        found = netrc.find_entries(text, self.options["machine"])
        if not found:
            return None
        read = netrc.is_read(text, self.options["machine"])
        order = "before any default" if read else "behind a default, never read"
        form = {"login": found[0].login, "entries": str(len(found)), "order": order}
        return KeyEntry([one.password for one in found], form)

    def put(self, text: str) -> str:
        return netrc.put(text, self.options["machine"], self.options["login"], self.options["password"])

    def without(self, text: str) -> str:
        return netrc.without(text, self.options["machine"])

    def unreadable(self, text: str, shown: str) -> Optional[str]:
        problem = netrc.problem(text)
        return "%s: %s" % (shown, problem) if problem else None
