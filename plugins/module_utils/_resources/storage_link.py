# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A link from the home to a storage area."""

import os
from typing import List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._core.values import note_key
from .._options.folder_options import StorageLinkOptions
from .._receipt import former_copies
from .._receipt.set_aside import advice, restore_notes

ANOTHERS = "link of another user"  # never removed, whatever the receipt says


class StorageLink(StorageLinkOptions, Resource):
    """A symbolic link to a folder. A link of ours is corrected; anything else in its place stays."""

    KEEPS_USER_EDITS = True
    IS_MOVABLE = True

    def touches(self, host: Host) -> List[str]:
        target = [] if self.options["state"] == "absent" else [self.options["target"]]  # it may hang
        return [self.options["path"]] + target

    def desired(self, host: Host) -> State:
        """Return the target, and that it is a folder."""
        if self.options["state"] == "absent":
            return {}
        return {"target": self.options["target"], "points to": "folder"}

    def inspect(self, host: Host) -> State:
        """Return the target and the kind of what it points to; 'is' if it is not a link, or not the user's."""
        found = host.entry(self.options["path"])
        if found is None:
            return {}
        if found.kind != "link":
            return {"is": found.kind}
        if self.options["state"] == "absent":
            return {"target": found.target} if found.mine else {"is": ANOTHERS}
        target = self.options["target"] if self._is_equivalent(found.target, host) else found.target
        return {"target": target, "points to": host.resolved_kind(self.options["path"])}

    def _is_equivalent(self, target: str, host: Host) -> bool:
        """Return True if a link to another target is as good; only one that is written as ours is removed.

        It leads to the same folder, or it is the user's and leads into it or above it, but not above the home.
        """
        area, place = host.resolve(self.options["target"]), host.resolve(self.options["path"])
        if target == self.options["target"] or area is None or place is None or host.resolved_kind(area) != "folder":
            return False
        if place == area:
            return True
        if host.receipt_notes.get(note_key(self.KIND, self.identity), {}).get("made"):
            return False  # hpc-onboard's own link was turned
        home = host.resolve(host.home) or host.home
        is_near = _is_inside(place, area) or (_is_inside(area, place) and not _is_inside(home, place))
        return is_near and host.resolved_kind(place) == "folder" and not self._is_ours({"target": target}, host)

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the link must not be created, changed or removed, or None."""
        path, target = self.options["path"], self.options["target"]
        shown = host.shown(path)
        if before.get("is") == ANOTHERS:
            return "%s is a %s and is not removed" % (shown, ANOTHERS)
        if self.keeps_copy:
            before = {}  # what is there is moved away
        if "is" in before:
            return "%s is a real %s, not a link: %s" % (shown, before["is"], advice(shown))
        if self.options["state"] == "absent":
            if before.get("target", target) != target:
                return "%s points to %s, not to the configured target: remove the link yourself" % (
                    shown,
                    before["target"],
                )
            return None
        if before and before["target"] != target and not self._is_ours(before, host):
            return "%s is a link to %s that hpc-onboard did not create: %s" % (shown, before["target"], advice(shown))
        behind = host.resolved_kind(target)
        if behind == "nothing":
            return "%s does not exist: was the storage removed or purged, or is the path mistyped?" % target
        if behind != "folder":
            return "%s is a %s, but the target must be a folder" % (target, behind)
        return host.why_blocked(os.path.dirname(path))

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return if another link of the user serves (adopted) or is in the place (theirs)."""
        found = host.entry(self.options["path"])
        if found and found.kind == "link" and found.target != before.get("target", found.target):
            return {"adopted": "equivalent"}
        elsewhere = before.get("target", self.options["target"]) != self.options["target"]
        wanted = self.options["state"] == "present"
        return {"theirs": True} if "is" in before or (wanted and elsewhere and not self._is_ours(before, host)) else {}

    def remarks(self, host: Host) -> List[str]:
        """Return how to restore what the link took the place of, once it is removed."""
        return restore_notes(self.options["path"], host) if self.options["state"] == "absent" else []

    def _is_ours(self, before: State, host: Host) -> bool:
        """Return True if the receipt says that hpc-onboard created the link with this target."""
        return self.is_unchanged_since_created({"target": before["target"]}, host)

    def apply(self, host: Host) -> None:
        """Create, correct or remove the link; with keeps_copy, first move the user's own thing away."""
        path = self.options["path"]
        if self.options["state"] == "absent":
            host.remove(path)
            return
        if self.keeps_copy:
            former_copies.move_to_copies(host, note_key(self.KIND, self.identity), path)
        found = host.entry(path)
        if found and (found.kind != "link" or not self._is_ours({"target": found.target}, host)):
            raise AccountError("%s was created by another program: run again" % host.shown(path))
        host.make_folders(os.path.dirname(path), 0o755)
        host.make_link(path, self.options["target"])


def _is_inside(path: str, folder: str) -> bool:
    """Return True if a path is a folder or in it. Both have no links."""
    return (path + "/").startswith(folder.rstrip("/") + "/")
