# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A text file of the user that is copied from the user's machine to the account.

The receipt is the account's record of what hpc-onboard created; a note in it describes one resource, such as a file.

A run compares the states from inspect() and desired(); an empty state means that the resource is absent. If the states
differ and obstacle() returns None, the run calls apply(). remarks() returns notes for the user, and evidence() returns
observations for programs. before is the state from inspect(). A Host reads and changes the account's files.
"""

import os
from typing import Dict, List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State, hash_fields
from .._formats.startup import find_our_line
from .._options.file_options import OwnFileOptions, fill_found
from .._receipt import former_copies
from .._receipt.set_aside import advise_rename, describe_restore

OTHER_USERS = "file of another user"
FOREIGN = "file not created by hpc-onboard"
EDITED = "file that was changed by hand since hpc-onboard wrote it"
"""Values of the field 'is' of a state."""


class OwnFile(OwnFileOptions, Resource):
    """A file with a given text. The receipt records that hpc-onboard wrote it, because few formats allow a stamp.

    A file that existed before, or that was edited on the account, is not changed.
    """

    KEEPS_USER_EDITS = True
    IS_MOVABLE = True

    def with_expanded_paths(self, host: Host) -> "Resource":
        """Return this file with an absolute path, and with a value of the account for each @NAME@ in its text."""
        content = self.options.get("content")
        for name, result in self._look_up_values(host).items():
            content = fill_found(str(content), name, result["value"])
        filled = type(self)(dict(self.options, content=content))
        # not this method again, which would fill the text a second time
        return super(OwnFile, filled).with_expanded_paths(host)

    def _look_up_values(self, host: Host) -> Dict[str, Dict[str, str]]:
        """Return a dict for each NAME of a placeholder @NAME@ in the text.

        "value" is the value that another resource found on the account, or "". "why" is the reason for an empty value.
        """
        if self.options["state"] == "absent":
            return {}
        names = self.options.get("found") or []
        return {name: host.account.facts.get(name) or {"value": "", "why": ""} for name in names}

    def touches(self, host: Host) -> List[str]:
        """Return the only path that this resource depends on."""
        return [self.options["path"]]

    def desired(self, host: Host) -> State:
        """Return the text and the mode."""
        return {"content": self.desired_text(), "mode": self.mode()} if self.options["state"] == "present" else {}

    def desired_text(self) -> str:
        """Return the whole text."""
        return str(self.options["content"])

    def mode(self) -> str:
        """Return the desired mode of the file in four octal digits."""
        return str(self.options["mode"])

    def inspect(self, host: Host) -> State:
        """Return the text and the mode; only 'is' for another kind of entry, or a file that is FOREIGN or EDITED.

        Before a removal, a file of another user is OTHER_USERS. Return {} without an entry.
        """
        file = host.entry(self.options["path"])
        if file is None:
            return {}
        if file.kind != "file":
            return {"is": file.kind}
        if self.options["state"] == "absent" and not file.mine:
            return {"is": OTHER_USERS}  # never removed, whatever the receipt says
        text = host.read(self.options["path"]).decode("utf-8", "surrogateescape")
        foreign = self.describe_foreign(text, host)
        if foreign:
            return {"is": foreign}  # the user's text is not sent to the controller
        # an equivalent file of the user needs no change, so it is reported with the desired mode
        mode = self.mode() if self._is_equivalent(text, file.mode, host) else "%04o" % file.mode
        printable_text = text.encode("utf-8", "replace").decode("utf-8")  # "?" for each byte that is not UTF-8
        return {"content": printable_text, "mode": mode}

    def _is_equivalent(self, text: str, mode: int, host: Host) -> bool:
        """Return True if the user wrote the desired text, and the file's mode is acceptable.

        A mode is acceptable if the owner has the desired permissions, and if other users have none in addition.
        """
        if not self._is_up_to_date(text) or self.is_unchanged_since_created({"content": text}, host):
            return False
        desired_mode = int(self.mode(), 8)
        additional_permissions = mode & ~desired_mode & 0o7777
        return mode & 0o700 == desired_mode & 0o700 and not additional_permissions

    def describe_foreign(self, text: str, host: Host) -> Optional[str]:
        """Return FOREIGN or EDITED for a text that hpc-onboard neither wrote nor would write, else None."""
        if self.is_unchanged_since_created({"content": text}, host) or self._is_up_to_date(text):
            return None
        note = host.receipt_notes.get(self.note_key, {})
        # A run records that it creates the file, and what it found, before it moves the user's file away. If the run
        # is killed in between, the user's file is still at the path.
        was_foreign = note.get("found") == hash_fields({"is": FOREIGN})
        return EDITED if note.get("made") and not was_foreign else FOREIGN

    def _is_up_to_date(self, text: str) -> bool:
        """Return True if this is the desired text of a file that is to exist."""
        return self.options["state"] == "present" and text == self.desired_text()

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the file must not be written or removed, or None. before: the state from inspect()."""
        path, display_path = self.options["path"], host.shown(self.options["path"])
        results = list(self._look_up_values(host).values())
        # one value is enough: a text may name a Slurm account for jobs with GPUs, and another one for all other jobs
        if results and all(result["why"] for result in results):
            return results[0]["why"]
        if not before or self.keeps_copy:  # keeps_copy: an existing file is moved away
            return host.why_blocked(os.path.dirname(path))
        if before.get("is") in (FOREIGN, EDITED) and find_our_line(host.read(path).decode("utf-8", "replace")):
            return "%s contains the line of hpc-onboard: copy your file to another path, and read it in %s" % (
                display_path,
                display_path,
            )
        if "is" in before:
            return "%s is a %s: %s" % (display_path, before["is"], advise_rename(display_path))
        return self.why_not_ours(display_path, host.read(path).decode("utf-8", "surrogateescape"), before, host)

    def why_not_ours(self, display_path: str, text: str, before: State, host: Host) -> Optional[str]:
        """Return why a file with this text must not be changed, or None.

        display_path: its path in messages. before: the state from inspect(), without "is".
        """
        if before == self.desired(host) or self.is_unchanged_since_created({"content": text}, host):
            return None
        if self._is_up_to_date(text):  # the user's own file, with a mode that is not acceptable
            return (
                "%s already has the desired content, but its mode is %s. Run chmod %s %s, then run hpc-onboard again"
                % (display_path, before["mode"], self.mode(), display_path)
            )
        # since inspect() read the file
        return "%s was changed by another program: run hpc-onboard again" % display_path

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return {adopted: "equivalent"} if the user's own file is accepted without changes, although its mode differs.

        Return {theirs: True} if another entry at the path must not be changed, else {}.
        """
        if before and before == self.desired(host):
            file = host.entry(self.options["path"])
            # inspect() reports the desired mode for an equivalent file of the user
            return {"adopted": "equivalent"} if file and "%04o" % file.mode != before["mode"] else {}
        return {"theirs": True} if before and self.obstacle(before, host) else {}

    def remarks(self, host: Host) -> List[str]:
        """Return how to restore what the user renamed to make room for the file, if the file is to be removed."""
        return describe_restore(self.options["path"], host) if self.options["state"] == "absent" else []

    def apply(self, host: Host) -> None:
        """Write or remove the file; with keeps_copy, first move the user's own file to the private copies.

        Another program may have written the file since the inspection, so the obstacle is checked again.
        """
        path = self.options["path"]
        if self.options["state"] == "absent":
            host.remove(path)
            return
        if self.keeps_copy:
            former_copies.move_to_copies(host, self)
        host.make_folders(os.path.dirname(path), 0o755)
        old = host.read(path) if host.entry(path) else None
        problem = self.obstacle(self.inspect(host), host)
        if problem:
            raise AccountError(problem)
        host.write(path, old, self.desired_text().encode("utf-8"), int(self.mode(), 8))
