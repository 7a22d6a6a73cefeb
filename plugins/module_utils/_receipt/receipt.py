# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What we last wrote on the account, noted there: which things, made by us or found, and how they were, as hashes.

So an audit can say who moved, and what we made can be taken out again. It is kept like any other resource: by the
same loop, under the same lock, and written only when it differs. A thing is noted before it is made (its state is
"intended"), for a run that is killed in between must not leave anything that nobody owns up to. The folders that were
made for a thing to lie in are noted with it ("for"); they go after it, when they are empty.

A receipt that cannot be read, or that a newer version wrote, is left as it is, and nothing is made beside it: what it
says is all that tells our things from the account's own. docs/formats.md describes it.
"""

import json
import os
from typing import Any, List, Mapping, Optional

from .._core.document_version import LATER, compare, refusal
from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import CHANGES, Outcome, Resource, State
from .notes import SCHEMA, Document, folder_key, folder_notes, joined, read, read_marks, state, upgraded

PLACE = ".config/hpc.onboard/receipt.json"
ABOVE = "~/" + os.path.dirname(os.path.dirname(PLACE))  # the folder above our own: it goes with the notes themselves
IDENTITY = "receipt ~/" + PLACE
EMPTY = {"resources": {}, "keys": {}}  # type: Document
NOW_WHAT = "take it back from a backup; or move it away: what was made here so far is then the account's own"


class Receipt(Resource):
    """The notes of an account, one for each resource. Without anything to note it only tells what is noted."""

    KIND = "receipt"

    def __init__(
        self,
        news: Mapping[str, Optional[Document]],
        cluster: str = "",
        marks: Optional[Mapping[str, Document]] = None,
    ) -> None:
        """news: by key what is to be noted (see joined); cluster: for which one; marks: of secrets just installed."""
        self._news, self._cluster, self._marks = news, cluster, marks or {}
        super().__init__({})

    def name(self) -> str:
        return IDENTITY

    def bound(self, host: Host) -> "Receipt":
        return self

    def touches(self, host: Host) -> List[str]:
        return [self._path(host)]

    def _path(self, host: Host) -> str:
        return os.path.join(host.home, PLACE)

    def desired(self, host: Host) -> State:
        """What is noted; once nothing is left to note, not even the notes' own folder, nor any mark."""
        document = joined(self.inspect(host), self._news, self._cluster, self._marks)
        if (
            set(document["resources"]) <= {folder_key(ABOVE)}
            and not self._marks
            and (self._news or not document["keys"])
        ):
            return {}
        return state(document)

    def inspect(self, host: Host) -> State:
        return state(self._document(host))

    def _document(self, host: Host) -> Document:
        """The receipt as it is on the disk, in the words of this version. Raises AccountError where it must be left."""
        path = self._path(host)
        found = host.entry(path)
        if found is None:
            problem = host.in_the_way(os.path.dirname(path))
            if problem:
                raise AccountError(problem)
            return EMPTY
        if found.kind != "file" or not found.mine or found.links != 1:
            raise AccountError("%s is no plain file of yours: move it away, then run again" % host.shown(path))
        content, what = host.read(path), "%s (what was made on this account)" % host.shown(path)
        try:
            document = json.loads(content.decode("utf-8"))
            why = refusal(document["schema"], SCHEMA, "the receipt on this account", NOW_WHAT)
            if not why:
                document = upgraded(document)
                state(document)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise AccountError("%s is damaged: %s" % (what, NOW_WHAT)) from None
        if why:
            raise AccountError(why)
        return dict(document)

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        return None  # inspect raises what there is

    def apply(self, host: Host) -> None:
        path, wanted, before = self._path(host), self.desired(host), self._document(host)
        old = host.read(path) if host.entry(path) else None
        noted = read(wanted)
        unknown = {name: value for name, value in before.items() if name not in ("schema", "resources", "keys")}
        if wanted or unknown:
            host.make_folders(os.path.dirname(path), 0o755)
            above = [ABOVE] if host.expand(ABOVE) in host.made else []
            noted.update(folder_notes(self.KIND, self.KIND, above))
            later = compare(before.get("schema"), SCHEMA) == LATER
            schema = before["schema"] if later else SCHEMA
            document = dict(unknown, schema=schema, resources=noted, keys=read_marks(wanted))
            text = json.dumps(document, indent=1, sort_keys=True) + "\n"
            host.write(path, old, text.encode("utf-8"), 0o600)
        elif old is not None:
            folders = [os.path.dirname(path)]
            folders += [host.expand(ABOVE)] if folder_key(ABOVE) in before["resources"] else []
            host.remove(path)
            for folder in folders:
                if not host.names(folder):
                    host.remove(folder)


def told(document: Mapping[str, Any]) -> Document:
    """What an answer says of the receipt: the notes and marks, and why nothing could be noted."""
    if document["status"] in ("in_place",) + CHANGES:
        marks = read_marks(document["after"])
        notes = {key: text for key, text in document["after"].items() if key in read(document["after"])}
        return {"notes": notes, "keys": marks, "problem": None}
    return {"notes": {}, "keys": {}, "problem": document["reason"]}


def left_alone(identity: str, others: List[str]) -> Document:
    """The outcome of a thing that stays when ours are taken out: not ours, or other clusters' as well."""
    outcome = Outcome(identity, {}, {})
    why = "set up for %s, too" % " and ".join(others) if others else "not made by us, or not noted as such"
    outcome.remarks = ["%s: %s: it stays" % (identity, why)]
    return outcome.document()


def held_back(document: Mapping[str, Any]) -> Document:
    """The outcome of a thing that would be changed, where nothing can be noted."""
    return dict(document, status="blocked", reason="waits for: " + IDENTITY)
