# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key for one registry, in the file that enroot reads.

The base class reads and writes the file. This class defines the format of the key's entry in the text of the file.
"""

from typing import Optional

from .._core.resource import State
from .._formats import enroot
from .._options.key_options import EnrootCredentialOptions
from .kept_key import KeptKey, KeyEntry


class EnrootCredential(EnrootCredentialOptions, KeptKey):
    """One line for a machine and login. Other lines stay as they are."""

    def form(self) -> State:
        """Return the desired format: one valid line, before every other line that could match."""
        return {"lines": "1", "form": "valid for enroot", "order": "first"}

    def find_entry(self, text: str) -> Optional[KeyEntry]:
        """Return the keys of all lines for the machine and login, with the number, format and position of the lines.

        Return None without such a line.
        """
        entry = enroot.find(text, self.options["machine"], self.options["login"])
        if entry is None:
            return None
        form = {
            "lines": str(len(entry.passwords)),
            "form": "valid for enroot" if entry.well_formed else "not valid for enroot",
            "order": "first" if entry.foremost else "after another entry",
        }
        return KeyEntry(entry.passwords, form)

    def put_entry(self, text: str) -> str:
        """Return the text with exactly one line for the machine and login."""
        return enroot.put(text, self.options["machine"], self.options["login"], self.options["password"])

    def remove_entry(self, text: str) -> str:
        """Return the text without the lines for the machine and login."""
        return enroot.without(text, self.options["machine"], self.options["login"])

    def restore_entry(self, text: str, former: str) -> str:
        """Return the text with the lines of the former text, byte for byte, in place of hpc-onboard's line."""
        return enroot.restore_former(text, self.options["machine"], self.options["login"], former)

    def find_problem(self, text: str) -> Optional[str]:
        """Return why a file with this text must not be edited (format, a password from a command), or None."""
        problem = enroot.find_problem(text, self.options["machine"])
        entry = enroot.find(text, self.options["machine"], self.options["login"])
        if not problem and entry and any(password.startswith("$") for password in entry.passwords):
            why = "the password for %s comes from a command or a variable: delete that line, then run hpc-onboard again"
            return why % str(self.options["machine"])
        return problem
