# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A link, usually from the home to a storage area.

The receipt is the account's record of what hpc-onboard created; a note in it describes one resource, such as a link.

A run compares the states from inspect() and desired(); an empty state means that the resource is absent. If the states
differ and obstacle() returns None, the run calls apply(). remarks() returns notes for the user, and evidence() returns
observations for programs. before is the state from inspect(). A Host reads and changes the account's files.
"""

import os
from typing import List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._options.folder_options import StorageLinkOptions
from .._receipt import former_copies
from .._receipt.set_aside import advise_rename, describe_restore

OTHER_USERS = "link of another user"  # never removed, whatever the receipt says


class StorageLink(StorageLinkOptions, Resource):
    """A symbolic link to a folder. A link that hpc-onboard created is corrected; anything else in its place stays."""

    KEEPS_USER_EDITS = True
    IS_MOVABLE = True

    def touches(self, host: Host) -> List[str]:
        """Return the link and its target. A removal does not depend on the target, whose file system may hang."""
        target = [] if self.options["state"] == "absent" else [self.options["target"]]
        return [self.options["path"]] + target

    def desired(self, host: Host) -> State:
        """Return the target, and "folder", the kind of entry that the link must point to."""
        if self.options["state"] == "absent":
            return {}
        return {"target": self.options["target"], "points to": "folder"}

    def inspect(self, host: Host) -> State:
        """Return the target of the link, and the kind of entry that the link points to.

        If the entry at the path is not a link, or is to be removed but belongs to another user, return only "is". For
        an equivalent link, return the desired target, so that the link is not changed.
        """
        entry = host.entry(self.options["path"])
        if entry is None:
            return {}
        if entry.kind != "link":
            return {"is": entry.kind}
        if self.options["state"] == "absent":
            return {"target": entry.target} if entry.mine else {"is": OTHER_USERS}
        target = self.options["target"] if self._is_equivalent(entry.target, host) else entry.target
        return {"target": target, "points to": host.resolved_kind(self.options["path"])}

    def _is_equivalent(self, target: str, host: Host) -> bool:
        """Return True if the existing link has another target, which is accepted in place of the desired target.

        target: of the existing link. Another path to the desired folder is accepted. A link that the user created may
        also point to a folder inside the desired folder or above the desired folder, but not to the home or above it.
        """
        desired, actual = host.resolve(self.options["target"]), host.resolve(self.options["path"])
        if target == self.options["target"] or desired is None or actual is None:  # None: a loop of links
            return False
        if host.resolved_kind(desired) != "folder":
            return False  # obstacle() reports the target
        if actual == desired:
            return True
        if host.receipt_notes.get(self.note_key, {}).get("made"):
            return False  # hpc-onboard's own link was changed
        home = host.resolve(host.home) or host.home
        is_related = _is_inside(actual, desired) or (_is_inside(desired, actual) and not _is_inside(home, actual))
        return is_related and host.resolved_kind(actual) == "folder"

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the link must not be created, changed or removed, or None. before: the state from inspect()."""
        path, target = self.options["path"], self.options["target"]
        display_path = host.shown(path)
        if before.get("is") == OTHER_USERS:  # inspect() returns this only for a removal
            return "%s is a %s, which hpc-onboard does not remove" % (display_path, OTHER_USERS)
        if self.keeps_copy:
            before = {}  # apply moves away what is in the place
        if "is" in before:
            return "%s is a real %s, not a link: %s" % (display_path, before["is"], advise_rename(display_path))
        if self.options["state"] == "absent":
            if before.get("target", target) != target:
                text = "%s points to %s, not to the configured target: remove the link yourself"
                return text % (display_path, before["target"])
            return None
        if before and before["target"] != target and not self._is_ours(before, host):  # a link of the user
            return "%s is a link to %s that hpc-onboard did not create: %s" % (
                display_path,
                before["target"],
                advise_rename(display_path),
            )
        kind = host.resolved_kind(target)
        if kind == "nothing":
            return (
                "%s does not exist: check the path, or ask the site whether it removed or purged the storage" % target
            )
        if kind != "folder":
            return "%s is a %s, but the target of a link must be a folder: set another target" % (target, kind)
        return host.why_blocked(os.path.dirname(path))

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return {adopted: "equivalent"} if an equivalent link is accepted, else {}.

        If the user has another entry at the path, return {theirs: True}.
        """
        entry = host.entry(self.options["path"])
        # inspect() reports the desired target for an equivalent link
        if entry and entry.kind == "link" and entry.target != before.get("target", entry.target):
            return {"adopted": "equivalent"}
        has_other_target = before.get("target", self.options["target"]) != self.options["target"]
        is_conflict = self.options["state"] == "present" and has_other_target and not self._is_ours(before, host)
        return {"theirs": True} if "is" in before or is_conflict else {}

    def remarks(self, host: Host) -> List[str]:
        """Return how to restore what the user renamed to make room for the link, if the link is to be removed."""
        return describe_restore(self.options["path"], host) if self.options["state"] == "absent" else []

    def _is_ours(self, before: State, host: Host) -> bool:
        """Return True if the receipt says that hpc-onboard created the link with this target."""
        return self.is_unchanged_since_created({"target": before["target"]}, host)

    def apply(self, host: Host) -> None:
        """Create, correct or remove the link; with keeps_copy, first move away what the user has at the path."""
        path = self.options["path"]
        if self.options["state"] == "absent":
            host.remove(path)
            return
        if self.keeps_copy:
            former_copies.move_to_copies(host, self)
        entry = host.entry(path)
        if entry and (entry.kind != "link" or not self._is_ours({"target": entry.target}, host)):
            raise AccountError("%s was created by another program: run hpc-onboard again" % host.shown(path))
        host.make_folders(os.path.dirname(path), 0o755)
        host.make_link(path, self.options["target"])


def _is_inside(path: str, folder: str) -> bool:
    """Return True if a path is the folder or below it. Neither path may contain a link."""
    return (path + "/").startswith(folder.rstrip("/") + "/")
