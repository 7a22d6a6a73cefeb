# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What we last wrote on the account, noted there: which things, made by us or found, and how they were, as hashes.

So an audit can say who moved, and what we made can be taken out again. It is kept like any other resource: by the
same loop, under the same lock, and written only when it differs. A thing is noted before it is made ("done" is
false), for a run that is killed in between must not leave anything that nobody owns up to. The folders that were
made for a thing to lie in are noted with it ("for"); they go after it, when they are empty.
"""

import hashlib
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.host import Host
from .._core.resource import CHANGES, Outcome, Resource, State

Document = Dict[str, Any]
SCHEMA = "hpc.onboard/receipt/1.0"
PLACE = ".config/hpc.onboard/receipt.json"
ABOVE = "~/" + os.path.dirname(os.path.dirname(PLACE))  # the folder above our own: it goes with the notes themselves
HIDDEN = ("password",)  # options that are never noted


class Receipt(Resource):
    """The notes of an account, one for each resource. Without anything to note it only tells what is noted."""

    KIND = "receipt"

    def __init__(self, notes: Mapping[str, Optional[Document]]) -> None:
        """notes: by key what is to be noted, or None for what is to be noted no more."""
        self._notes = notes
        super().__init__({})

    def name(self) -> str:
        return "receipt ~/%s" % PLACE

    def bound(self, host: Host) -> "Receipt":
        return self

    def touches(self, host: Host) -> List[str]:
        return [self._path(host)]

    def _path(self, host: Host) -> str:
        return os.path.join(host.home, PLACE)

    def desired(self, host: Host) -> State:
        """What is noted; not even the notes' own folder, once that is all."""
        noted = joined(self.inspect(host), self._notes)
        return {} if set(noted) <= {folder_key(ABOVE)} else noted

    def inspect(self, host: Host) -> State:
        path = self._path(host)
        found = host.entry(path)
        if found is None or found.kind != "file" or not found.mine:
            return {}
        try:
            said = json.loads(host.read(path).decode("utf-8"))
            return state({str(key): dict(note) for key, note in said["resources"].items()})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}  # damaged: what is wanted is noted anew

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        found = host.entry(self._path(host))
        if found and (found.kind != "file" or not found.mine or found.links != 1):
            return "%s is no plain file of yours: move it away" % host.shown(self._path(host))
        return host.in_the_way(os.path.dirname(self._path(host)))

    def apply(self, host: Host) -> None:
        path, noted = self._path(host), read(self.desired(host))
        old = host.read(path) if host.entry(path) else None
        if noted:
            host.make_folders(os.path.dirname(path), 0o755)
            above = [ABOVE] if host.expand(ABOVE) in host.made else []
            noted.update(_folder_notes(self.KIND, self.KIND, above))
            text = json.dumps({"schema": SCHEMA, "resources": noted}, indent=1, sort_keys=True) + "\n"
            host.write(path, old, text.encode("utf-8"), 0o600)
        elif old is not None:
            folders = [os.path.dirname(path)]
            folders += [host.expand(ABOVE)] if folder_key(ABOVE) in self.inspect(host) else []
            host.remove(path)
            for folder in folders:
                if not host.names(folder):
                    host.remove(folder)


def state(notes: Mapping[str, Document]) -> State:
    """The notes as the state of a resource."""
    return {key: json.dumps(notes[key], sort_keys=True) for key in sorted(notes)}


def joined(found: State, news: Mapping[str, Optional[Document]]) -> State:
    """The state with what is new in it; None is noted no more. What we made stays ours."""
    noted = read(found)
    for name, new in news.items():
        old = noted.pop(name, None)
        if new is not None:
            before = old or {}
            kept = {"made": bool(new["made"] or before.get("made")), "for": new["for"] or before.get("for", "")}
            noted[name] = dict(new, **kept)
    return state(noted)


def read(found: State) -> Dict[str, Document]:
    """The notes of a state."""
    return {key: json.loads(text) for key, text in found.items()}


def key(declared: Mapping[str, Any], identity: str) -> str:
    """What a resource is noted under."""
    return "%s %s" % (declared["kind"], identity)


def folder_key(folder: str) -> str:
    """What a folder that nobody declared is noted under."""
    return key({"kind": "directory"}, "folder %s" % folder)


def _folder_notes(made_for: str, capability: str, folders: List[str]) -> Dict[str, Document]:
    """What is noted of folders that were made for a thing, given by its key."""
    common = {"kind": "directory", "capability": capability, "fingerprints": "", "made": True, "done": True}
    common["for"] = made_for
    return {
        folder_key(folder): dict(
            common, identity="folder %s" % folder, options={"path": folder}, hashes=hashes({"is": "folder"})
        )
        for folder in folders
    }


def hashes(found: Mapping[str, str]) -> Dict[str, str]:
    """A state as hashes, field by field."""
    return {field: hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:16] for field, value in found.items()}


def note(declared: Mapping[str, Any], document: Mapping[str, Any], fingerprints: str, done: bool) -> Document:
    """What is noted of a resource that is, or is about to be, as wanted.

    fingerprints: which key the fingerprints in its state are made with, for they mean nothing beside those of another.
    """
    options = {name: value for name, value in declared["options"].items() if name not in HIDDEN}
    return {
        "kind": declared["kind"],
        "capability": declared["capability"],
        "identity": document["identity"],
        "options": options,
        "hashes": hashes(document["after"]),
        "fingerprints": fingerprints,
        "made": document["status"] in CHANGES,
        "done": done,
        "for": "",
    }


def notes(
    results: List[Tuple[Mapping[str, Any], Document]], fingerprints: str, done: bool
) -> Dict[str, Optional[Document]]:
    """What is to be noted of a run: all that is as wanted, or is made so; what was taken out no more."""
    found: Dict[str, Optional[Document]] = {}
    for entry, document in results:
        found.update(_folder_notes(key(entry, document["identity"]), entry["capability"], document["folders"]))
    for entry, document in results:
        if document["status"] not in ("in_place",) + CHANGES:
            continue
        gone = not document["after"]
        if entry["options"].get("state") == "absent" and (document["progress"] or not gone):
            continue  # on its way out, which may end half-way, or a folder with something in it: noted as it was
        if not gone or done:
            found[key(entry, document["identity"])] = None if gone else note(entry, document, fingerprints, done)
    return found


def own(fingerprint_key: str) -> str:
    """What tells one machine's fingerprints from another's."""
    return hashlib.sha256(bytes.fromhex(fingerprint_key)).hexdigest()[:16]


def is_made(noted: Mapping[str, Document], declared: Mapping[str, Any], identity: str) -> bool:
    """Whether a thing is there because we made it."""
    return bool(noted.get(key(declared, identity), {}).get("made"))


def told(document: Document) -> Document:
    """What an answer says of the receipt: the notes, and why they could not be kept."""
    if document["status"] in ("in_place",) + CHANGES:
        return {"notes": document["after"], "problem": None}
    text = "what was written could not be noted (%s): an audit will not know who changes it"
    return {"notes": {}, "problem": text % document["reason"]}


def left_alone(identity: str) -> Document:
    """The outcome of a thing that was there before us, when all of ours is taken out."""
    outcome = Outcome(identity, {}, {})
    outcome.remarks = ["%s: not made by us, or not noted as such: it stays" % identity]
    return outcome.document()
