# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key for one registry, in the file that enroot reads."""

from typing import Optional

from .._core.resource import State
from .._formats import enroot
from .._options.key_options import EnrootCredentialOptions
from .kept_key import KeptKey, KeyEntry


class EnrootCredential(EnrootCredentialOptions, KeptKey):
    """One line for a machine and login. Other lines stay as they are."""

    def form(self) -> State:
        return {"lines": "1", "form": "as enroot reads it", "order": "foremost"}

    def find(self, text: str) -> Optional[KeyEntry]:
        found = enroot.find(text, self.options["machine"], self.options["login"])
        if found is None:
            return None
        form = {
            "lines": str(len(found.passwords)),
            "form": "as enroot reads it" if found.well_formed else "not as enroot reads it",
            "order": "foremost" if found.foremost else "behind another entry",
        }
        return KeyEntry(found.passwords, form)

    def put(self, text: str) -> str:
        return enroot.put(text, self.options["machine"], self.options["login"], self.options["password"])

    def without(self, text: str) -> str:
        return enroot.without(text, self.options["machine"], self.options["login"])

    def restored(self, text: str, former: str) -> str:
        """Return the text with the former lines in the place of ours, to the byte."""
        return enroot.restore_former(text, self.options["machine"], self.options["login"], former)

    def unreadable(self, text: str, shown: str) -> Optional[str]:
        unreadable = enroot.problem(text, self.options["machine"])
        if unreadable:
            return "%s: %s" % (shown, unreadable)
        found = enroot.find(text, self.options["machine"], self.options["login"])
        if found and any(password.startswith("$") for password in found.passwords):
            return "%s takes the password for %s from a command or variable of your own: delete that line" % (
                shown,
                self.options["machine"],
            )
        return None
