# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a receipt says, and how it changes: pure functions over its document.

A note is about one thing that is managed: what was declared, which clusters ask for it, and how it was left, as hashes.
It knows where the thing comes from. Created: "made". Adopted: neither "made" nor "replaced". Replaced: the user had
another key there, and a private copy is kept. "was" holds the former values of what was changed around it.
Clusters that share a home share a receipt. What stands in a note or a receipt and is not known here (a later minor
version wrote it) stays as it is.
"""

import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.resource import CHANGES, State, hash_fields, note_key
from .._formats.hashes import digest

Document = Dict[str, Any]
SCHEMA = "hpc.onboard/receipt/2.1"
INTENDED, DONE = "intended", "done"  # states of a note: about to be made, or as it was left
HIDDEN = ("password", "content")  # options that are never noted
FORMER = 5  # ways in which a thing was left, that are remembered until it is done anew
NUMBERS = ("lines", "entries", "keys")  # fields that say how many entries of a file stand for one key
KEPT = ("mode", "folder mode", "leads to", "form", "order") + NUMBERS  # how a thing is kept, and not what it says
KEY = "key "  # how the fingerprint of a key begins
ROTATION = "rotation "  # how the fields of marks begin, in the state of a receipt; no kind has this name
RELEASED = {}  # type: Document
"""What is to be noted of a thing that this cluster does not ask for any more, though it is still there."""


# -- the document ------------------------------------------------------------------------------


def upgraded(found: Document) -> Document:
    """A receipt of any version that is read, as one of this version, with all that is not known in it."""
    notes = {key: upgraded_note(note) for key, note in found["resources"].items()}
    return dict(found, resources=notes, keys=found.get("keys", {}))


def upgraded_note(note: Document) -> Document:
    """A note of any version that is read, as one of this version.

    1.0 said 'done' and did not know of clusters. Its hashes of fingerprints go: they were made with one key for all
    accounts, which could be compared by them.
    """
    if "state" in note:
        return dict(note)
    added = {
        "state": DONE if note.get("done") else INTENDED,
        "hashes": {field: one for field, one in note["hashes"].items() if not field.endswith("password")},
        "keyed": {},
        "clusters": [],
        "for": note.get("for", ""),
    }
    return {name: value for name, value in dict(note, **added).items() if name not in ("done", "fingerprints")}


def to_state(document: Document) -> State:
    """A receipt as the state of a resource: each note by its key, and the mark of each secret's last rotation."""
    found = {key: _text(note) for key, note in document["resources"].items()}
    found.update({ROTATION + name: _text(mark) for name, mark in document["keys"].items()})
    return {key: found[key] for key in sorted(found)}


def _text(value: Document) -> str:
    return json.dumps(value, sort_keys=True)


def parse_notes(found: State) -> Dict[str, Document]:
    """The notes of a state."""
    return {key: json.loads(text) for key, text in found.items() if not key.startswith(ROTATION)}


def parse_marks(found: State) -> Dict[str, Document]:
    """The marks of a state, by secret."""
    return {key[len(ROTATION) :]: json.loads(text) for key, text in found.items() if key.startswith(ROTATION)}


# -- what changes ------------------------------------------------------------------------------


def merge_changes(
    found: State, news: Mapping[str, Optional[Document]], cluster: str, rotations: Mapping[str, Document]
) -> Document:
    """The notes and marks of a state with what is new in them.

    news: by key what is noted; None where a thing is gone; RELEASED where this cluster asks for it no more.
    rotations: by secret that is installed, what the installing machine knows: {sequence, known, mark}; its mark (None:
    of no rotation) takes the place of one that it knows, and never of a newer one.
    """
    before = parse_notes(found)
    noted = dict(before)
    for key, new in news.items():
        if new:
            noted[key] = _merged(before.get(key), new)
        elif new is None or not other_clusters(before, key, cluster):
            noted.pop(key, None)
        else:
            noted[key] = dict(before[key], clusters=[one for one in before[key]["clusters"] if one != cluster])
    keys = parse_marks(found)
    for name, one in rotations.items():
        old, new = keys.get(name), one["mark"]
        if old and (is_newer(old, one) or (new and new["rotation"] == old["rotation"])):
            continue
        if new:
            keys[name] = dict(new)
        else:
            keys.pop(name, None)
        if old != new:
            noted.update(_key_unknown(noted, name, news))
    return {"resources": noted, "keys": keys}


def _key_unknown(noted: Mapping[str, Document], secret: str, news: Mapping[str, Any]) -> Dict[str, Document]:
    """The notes of what holds a secret that has just been rotated, without what they say of the key before."""
    return {
        key: dict(note, keyed={})
        for key, note in noted.items()
        if key not in news and note["keyed"] and note.get("secret", secret) == secret
    }


def is_newer(mark: Mapping[str, Any], rotations: Mapping[str, Any]) -> bool:
    """Whether a mark is of a rotation that a machine does not know, and not of one before those that it knows."""
    return mark["rotation"] not in rotations["known"] and bool(mark["sequence"] >= rotations["sequence"])


def _merged(old: Optional[Document], new: Document) -> Document:
    """A note with what is new in it: what we made stays ours, and each cluster's share in it stays."""
    if old is None:
        return new
    is_changing = "found" in new  # another key is there since
    kept = {
        "made": bool(new["made"] or old["made"]),
        "for": new["for"] or old["for"],
        "clusters": sorted(set(old["clusters"]) | set(new["clusters"])),
        "keyed": new["keyed"] if is_changing else dict(old["keyed"], **new["keyed"]),
    }
    merged = dict(old, **dict(new, **kept))
    was = dict(new.get("was", {}), **old.get("was", {}))  # the first one counts: it is what the user had
    if was:
        merged["was"] = was
    if new["state"] == DONE or "found" not in old:
        merged.pop("found", None)  # it is told once, of what stood there before us
    elif old["state"] == INTENDED:
        merged["found"] = old["found"]  # the first attempt failed, and what is there now may be its work
    if new["state"] == DONE:
        merged.pop("former", None)
    elif (old["hashes"], old["keyed"]) != (new["hashes"], new["keyed"]):
        left = [dict(old["hashes"], **one) for one in old["keyed"].values()] or [old["hashes"]]
        former = [one for one in old.get("former", []) if one not in left]
        merged["former"] = (former + left)[-FORMER:]
    return merged


def recover_notes(news: Mapping[str, Optional[Document]], copy: Mapping[str, Document]) -> Dict[str, Document]:
    """Return the notes of a copy that the receipt has lost: of what was created and is as it was left, and the rest.

    The rest is declared no more, or a folder that was created for something; offboarding looks before it removes any.
    """
    found = {key: one for key, one in copy.items() if key not in news}
    for key, new in news.items():
        old = copy.get(key)
        if new and old and old["made"] and old["hashes"] == new["hashes"]:
            found[key] = dict(new, made=True)
    return found


def other_clusters(noted: Mapping[str, Document], key: str, cluster: str) -> List[str]:
    """The further clusters that a thing is for; a folder that was made for a thing is for those of the thing."""
    note = noted.get(key, {})
    if note.get("for"):
        note = noted.get(note["for"], {})
    return [one for one in note.get("clusters", []) if one != cluster]


def belongs_to(noted: Mapping[str, Mapping[str, Any]], key: str, cluster: str) -> bool:
    """Whether a cluster may take a noted thing for its own.

    What was noted before clusters were is everybody's, unless the home is known to be shared by now.
    """
    note = noted[key]
    if note.get("for"):
        note = noted.get(note["for"]) or {"clusters": [cluster]}
    if note["clusters"]:
        return cluster in note["clusters"]
    return not any(one != cluster for each in noted.values() for one in each["clusters"])


# -- notes -------------------------------------------------------------------------------------


def key(declared: Mapping[str, Any], identity: str) -> str:
    """What a resource is noted under."""
    return note_key(declared["kind"], identity)


def folder_key(folder: str) -> str:
    """What a folder that nobody declared is noted under."""
    return key({"kind": "directory"}, "folder %s" % folder)


def folder_notes(made_for: str, capability: str, folders: List[str], done: bool) -> Dict[str, Document]:
    """What is noted of folders that were made, or are about to be, for a thing, given by its key."""
    common: Document = {"kind": "directory", "capability": capability, "keyed": {}, "clusters": []}
    common.update({"made": True, "state": DONE if done else INTENDED, "for": made_for})
    return {
        folder_key(folder): dict(
            common, identity="folder %s" % folder, options={"path": folder}, hashes=hash_fields({"is": "folder"})
        )
        for folder in folders
    }


def is_keyed(value: str) -> bool:
    """Whether a field's value is made of fingerprints, which say nothing beside those of another key."""
    return value.startswith(KEY)


def make_note(declared: Mapping[str, Any], document: Mapping[str, Any], own: str, cluster: str, done: bool) -> Document:
    """What is noted of a resource that is, or is about to be, as wanted.

    own: which key the fingerprints in its state are made with; what is hashed of them is kept apart for each such key.
    """
    after, changed = document["after"], document["status"] in CHANGES
    options = {name: value for name, value in declared["options"].items() if name not in HIDDEN}
    keyed = {field: value for field, value in after.items() if is_keyed(value)}
    found = {} if done or not changed else {"found": hash_fields(content_fields(document["before"]))}
    whole = {
        "kind": declared["kind"],
        "capability": declared["capability"],
        "identity": document["identity"],
        "options": options,
        "hashes": hash_fields({field: value for field, value in after.items() if field not in keyed}),
        "keyed": {own: hash_fields(keyed)} if keyed else {},
        "clusters": [cluster] if cluster else [],
        "made": _is_created(document),
        "state": DONE if done else INTENDED,
        "for": "",
    }
    secret = str(declared.get("key") or "").partition("@")[0]
    rest: Document = {"secret": secret} if secret else {}
    if changed and document.get("was"):
        rest["was"] = document["was"]
    if document.get("evidence", {}).get("replaces"):
        rest["replaced"] = True
    return dict(whole, **found, **rest)


def _is_created(document: Mapping[str, Any]) -> bool:
    """Return True if nothing of the user's was there: a key that was there, whichever, is the user's entry."""
    held_key = any(is_keyed(value) for value in document["before"].values())
    return document["status"] in CHANGES and not held_key


def content_fields(found: Mapping[str, str]) -> Dict[str, str]:
    """The fields of a state that a person fills in, and not those that say how it is kept."""
    return {field: value for field, value in found.items() if field not in KEPT}


def is_changed_by_user(note: Mapping[str, Any], found: State, own: str) -> bool:
    """Whether what was found of a thing that we noted as made is not ours: changed since, or not yet touched by us.

    own: which key the fingerprints in it are made with. A key of which nothing is noted with it is taken for ours:
    another machine, or a rotation, has installed it.
    """
    there = hash_fields(content_fields(found))
    if not there:
        return False
    if note["state"] == INTENDED:
        return there == note.get("found")
    noted = dict(note["hashes"], **note["keyed"].get(own, {}))
    untold = {field for field in there if is_keyed(found[field])} - set(noted)
    return any(one != noted.get(field) for field, one in there.items() if field not in untold)


def notes_of_run(
    results: List[Tuple[Mapping[str, Any], Document]], own: str, cluster: str, done: bool
) -> Dict[str, Optional[Document]]:
    """Return what is to be noted of a run, before it or when it is done; what is as desired counts as done already."""
    found: Dict[str, Optional[Document]] = {}
    for entry, document in results:
        found.update(folder_notes(key(entry, document["identity"]), entry["capability"], document["folders"], done))
    for entry, document in results:
        if document["status"] not in ("ok",) + CHANGES:
            continue
        gone = not document["after"]
        if entry["options"].get("state") == "absent" and (document["progress"] or not gone):
            continue  # on its way out, which may end half-way, or a folder with something in it: noted as it was
        if not gone or done:
            is_done = done or document["status"] == "ok"
            found[key(entry, document["identity"])] = (
                None if gone else make_note(entry, document, own, cluster, is_done)
            )
    return found


def fingerprint_key_id(fingerprint_key: str) -> str:
    """What tells the fingerprints that are made with one key from those of another."""
    return digest(bytes.fromhex(fingerprint_key)).hex()[:16]
