# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The notes of a receipt and how a run changes them: pure functions over its document.

A note describes one resource: its options, the clusters that declare it, and hashes of the state that a run left. It
also says where the resource comes from. Created: "made". Adopted: neither "made" nor "replaced". Replaced: the user
had another key or thing there, which is kept (former_copies.py). "was" has the former values of what was changed
around it. Clusters that share a home share a receipt.
"""

import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.resource import CHANGES, State, hash_fields
from .._core.values import note_key
from .._formats.hashes import digest

Document = Dict[str, Any]
SCHEMA = "hpc.onboard/receipt/1.0"
INTENDED, DONE = "intended", "done"  # states of a note: about to be created or changed, and as the run left it
HIDDEN = ("password", "content")  # options that are never noted
FORMER = 5  # states of earlier runs that a note keeps until the next change is done
NUMBERS = ("lines", "entries", "keys")  # fields that count the entries of a file for one key
KEPT = ("mode", "folder mode", "points to", "form", "order") + NUMBERS  # fields about how content is stored
KEY = "key "  # the first characters of a key's fingerprint
ROTATION = "rotation "  # the first characters of a mark's field in the state; no resource type has this name
JOINED = "joined"  # in a new note: an entry of the user's was joined with the created one, and is theirs from now on
ADOPTED = "adopted"  # the field of an outcome's evidence that says how the user's own thing serves
RELEASED = {}  # type: Document
"""The note of a resource that this cluster no longer declares, though it is still there."""


# -- the document ------------------------------------------------------------------------------


def to_state(document: Document) -> State:
    """Return the notes and marks of a receipt as the state of a resource: key -> JSON."""
    found = {key: json.dumps(note, sort_keys=True) for key, note in document["resources"].items()}
    found.update({ROTATION + name: json.dumps(mark, sort_keys=True) for name, mark in document["keys"].items()})
    return {key: found[key] for key in sorted(found)}


def parse_notes(state: State) -> Dict[str, Document]:
    """Return the notes in the state of a receipt, by their keys."""
    return {key: json.loads(text) for key, text in state.items() if not key.startswith(ROTATION)}


def parse_marks(state: State) -> Dict[str, Document]:
    """Return the marks of rotations in the state of a receipt, by the names of their secrets."""
    return {key[len(ROTATION) :]: json.loads(text) for key, text in state.items() if key.startswith(ROTATION)}


# -- what changes ------------------------------------------------------------------------------


def merge_changes(
    state: State, news: Mapping[str, Optional[Document]], cluster: str, rotations: Mapping[str, Document]
) -> Document:
    """Return a receipt's resources and keys with the changes of a run.

    news: new notes by key; None: the resource is gone; RELEASED: this cluster no longer declares it.
    rotations: by the name of an installed secret, what the sender knows: {sequence, known, mark}. Its mark replaces an
    older one, never a newer one; None removes it.
    """
    before = parse_notes(state)
    notes = dict(before)
    for key, new in news.items():
        if new:
            notes[key] = _merge_note(before.get(key), new)
        elif new is None or not other_clusters(before, key, cluster):
            notes.pop(key, None)
        else:
            notes[key] = dict(before[key], clusters=[one for one in before[key]["clusters"] if one != cluster])
    marks = parse_marks(state)
    for name, rotation in rotations.items():
        old, mark = marks.get(name), rotation["mark"]
        if old and (is_newer(old, rotation) or (mark and mark["rotation"] == old["rotation"])):
            continue
        marks.pop(name, None)
        if mark:
            marks[name] = dict(mark)
        if old != mark:
            _forget_fingerprints(notes, name, news)
    return {"resources": notes, "keys": marks}


def _forget_fingerprints(notes: Dict[str, Document], secret: str, news: Mapping[str, Any]) -> None:
    """Remove the hashes of the former key from the notes about a secret that was just rotated."""
    for key, note in notes.items():
        if key not in news and note["keyed"] and note.get("secret", secret) == secret:
            notes[key] = dict(note, keyed={})


def is_newer(mark: Mapping[str, Any], rotation: Mapping[str, Any]) -> bool:
    """Return True if a mark is of a rotation that the sender does not know and that is not older than its last one."""
    return mark["rotation"] not in rotation["known"] and bool(mark["sequence"] >= rotation["sequence"])


def _merge_note(old: Optional[Document], new: Document) -> Document:
    """Return the new note with what the old one knows: who created the resource, its clusters, its former states."""
    is_joined = new.get(JOINED, False)
    new = {field: value for field, value in new.items() if field != JOINED}
    if old is None:
        return new
    is_changing = "found" in new  # another key is there, so hashes of the former one no longer apply
    merged = dict(old, **new)
    merged["made"] = bool(new["made"] or old["made"]) and not is_joined
    merged["for"] = new["for"] or old["for"]
    merged["clusters"] = sorted(set(old["clusters"]) | set(new["clusters"]))
    merged["keyed"] = new["keyed"] if is_changing else dict(old["keyed"], **new["keyed"])
    was = dict(new.get("was", {}), **old.get("was", {}))  # the first values are those of the user
    if was:
        merged["was"] = was
    if new["state"] == DONE or "found" not in old:
        merged.pop("found", None)  # only the first run saw what was there before hpc-onboard
    elif old["state"] == INTENDED:
        merged["found"] = old["found"]  # the first attempt failed, and what is there now may be its work
    if new["state"] == DONE:
        merged.pop("former", None)
    elif (old["hashes"], old["keyed"]) != (new["hashes"], new["keyed"]):
        left = [dict(old["hashes"], **one) for one in old["keyed"].values()] or [old["hashes"]]
        former = [one for one in old.get("former", []) if one not in left]
        merged["former"] = (former + left)[-FORMER:]
    return merged


def _clusters_of(notes: Mapping[str, Mapping[str, Any]], key: str) -> List[str]:
    """Return the clusters that declare a resource; for a folder, those of the resource for which it was created."""
    note = notes.get(key, {})
    return list(notes.get(note.get("for") or key, {}).get("clusters", []))


def other_clusters(notes: Mapping[str, Document], key: str, cluster: str) -> List[str]:
    """Return the clusters other than this one that declare a resource."""
    return [one for one in _clusters_of(notes, key) if one != cluster]


def belongs_to(notes: Mapping[str, Mapping[str, Any]], key: str, cluster: str) -> bool:
    """Return True if a cluster may remove a noted resource as its own.

    One that was noted without a cluster belongs to any, unless other notes show that clusters share the home. A folder
    whose resource is noted no more belongs to any as well.
    """
    note = notes[key]
    if note.get("for") and not notes.get(note["for"]):
        return True
    clusters = _clusters_of(notes, key)
    if clusters:
        return cluster in clusters
    return not any(one != cluster for each in notes.values() for one in each["clusters"])


# -- notes -------------------------------------------------------------------------------------


def folder_key(folder: str) -> str:
    """Return the key of the note about a folder that was created for another resource."""
    return note_key("directory", "folder %s" % folder)


def folder_notes(made_for: str, capability: str, folders: List[str], done: bool) -> Dict[str, Document]:
    """Return the notes of folders that are created for a resource, given by its key."""
    return {
        folder_key(folder): {
            **{"kind": "directory", "capability": capability, "identity": "folder %s" % folder},
            **{"options": {"path": folder}, "hashes": hash_fields({"is": "folder"}), "keyed": {}, "clusters": []},
            **{"made": True, "state": DONE if done else INTENDED, "for": made_for},
        }
        for folder in folders
    }


def is_keyed(value: str) -> bool:
    """Return True if a field's value is a fingerprint, which is comparable only under the same fingerprint key."""
    return value.startswith(KEY)


def make_note(declared: Mapping[str, Any], outcome: Mapping[str, Any], own: str, cluster: str, done: bool) -> Document:
    """Return the note of a resource that is, or is about to be, up to date.

    own: id of the fingerprint key (fingerprint_key_id); hashes of fingerprints are kept apart for each such key.
    """
    after, is_changed = outcome["after"], outcome["status"] in CHANGES
    keyed = {field: value for field, value in after.items() if is_keyed(value)}
    had_key = any(is_keyed(value) for value in outcome["before"].values())  # any key is an entry of the user's
    note = {
        "kind": declared["kind"],
        "capability": declared["capability"],
        "identity": outcome["identity"],
        "options": {name: value for name, value in declared["options"].items() if name not in HIDDEN},
        "hashes": hash_fields({field: value for field, value in after.items() if field not in keyed}),
        "keyed": {own: hash_fields(keyed)} if keyed else {},
        "clusters": [cluster] if cluster else [],
        "made": is_changed and not had_key,
        "state": DONE if done else INTENDED,
        "for": "",
    }
    secret = str(declared.get("key") or "").partition("@")[0]
    if secret:
        note["secret"] = secret
    if is_changed and not done:
        note["found"] = hash_fields(content_fields(outcome["before"]))
    if is_changed and outcome.get("was"):
        note["was"] = outcome["was"]
    if outcome.get("evidence", {}).get("replaces"):
        note["replaced"] = True
    if is_changed and any(outcome["before"].get(field, "1") not in ("0", "1") for field in NUMBERS):
        note[JOINED] = True
    return note


def content_fields(state: Mapping[str, str]) -> Dict[str, str]:
    """Return the fields of a state that a user fills in, without those about how they are stored."""
    return {field: value for field, value in state.items() if field not in KEPT}


def is_changed_by_user(note: Mapping[str, Any], state: State, own: str) -> bool:
    """Return True if the state of a resource that is noted as made is not the one that a run left.

    own: id of the fingerprint key of the state. A key without a hash under it counts as left by a run: another machine,
    or a rotation, has installed it.
    """
    there = hash_fields(content_fields(state))
    if not there:
        return False
    if note["state"] == INTENDED:
        return there == note.get("found")
    left = dict(note["hashes"], **note["keyed"].get(own, {}))
    unknown = {field for field in there if is_keyed(state[field])} - set(left)
    return any(value != left.get(field) for field, value in there.items() if field not in unknown)


def notes_of_run(
    results: List[Tuple[Mapping[str, Any], Document]], own: str, cluster: str, done: bool
) -> Dict[str, Optional[Document]]:
    """Return the notes of a run, before it or when it is done; what is up to date counts as done already."""
    found: Dict[str, Optional[Document]] = {}
    keys = [note_key(entry["kind"], outcome["identity"]) for entry, outcome in results]
    for key, (entry, outcome) in zip(keys, results):
        found.update(folder_notes(key, entry["capability"], outcome["folders"], done))
    for key, (entry, outcome) in zip(keys, results):
        if outcome["status"] not in ("ok",) + CHANGES:
            continue
        is_gone = not outcome["after"]
        if entry["options"].get("state") == "absent" and (outcome["progress"] or not is_gone):
            continue  # its removal may end half-way, or the folder is not empty: the old note stays
        if not is_gone:
            found[key] = make_note(entry, outcome, own, cluster, done or outcome["status"] == "ok")
        elif done:
            found[key] = None
    return found


def mark_adopted(
    results: List[Tuple[Mapping[str, Any], Document]],
    noted: Mapping[str, Mapping[str, Any]],
    recorded: Mapping[str, Mapping[str, Any]],
) -> None:
    """Set the evidence "adopted" of each outcome whose resource is up to date and was not created by hpc-onboard.

    It is "equal", unless the resource itself reported "equivalent": another form that serves as well. recorded: the
    notes before the run; what they have was adopted by an earlier one.
    """
    for entry, outcome in results:
        note = noted.get(note_key(entry["kind"], outcome["identity"]), {})
        is_there = outcome["status"] == "ok" and outcome["after"] and entry["options"].get("state") != "absent"
        if is_there and not note.get("made") and not note.get("replaced"):
            outcome["evidence"].setdefault(ADOPTED, "equal")
            outcome["evidence"].update(
                {"recorded": True} if note_key(entry["kind"], outcome["identity"]) in recorded else {}
            )
        else:
            outcome["evidence"].pop(ADOPTED, None)


def fingerprint_key_id(fingerprint_key: str) -> str:
    """Return a public id of a fingerprint key (hex): 16 digits of its hash."""
    return digest(bytes.fromhex(fingerprint_key)).hex()[:16]
