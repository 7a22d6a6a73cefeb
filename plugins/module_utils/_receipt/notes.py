# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The notes of a receipt, and how a run changes them: functions without access to files.

The receipt is the account's record of what hpc-onboard created. A mark in the receipt names the last rotation (the
replacement) of a key. The sender is the user's machine, which sends plans. Clusters with the same home share a receipt.

A note describes one resource: its options, the clusters that declare it, and hashes of its state after the last run. It
also shows the origin of the resource. Created by hpc-onboard: "made". Existed before, and was adopted: neither "made"
nor "replaced". In place of another key or file of the user, of which a copy is kept (former_copies.py): "replaced".
"was" has former modes. "keyed" has hashes of fingerprints of keys. "found" has hashes of the state before a change,
"former" of the states after earlier runs. "for", in a folder's note, is the key of the resource that needs the folder.
"""

import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.resource import CHANGES, FAILURES, State, hash_fields
from .._core.values import note_key
from .._formats.hashes import digest

Document = Dict[str, Any]
SCHEMA = "hpc.onboard/receipt/1.0"
INTENDED, DONE = STATES = ("intended", "done")  # of a note: before and after its resource is created or changed
HIDDEN = ("password", "content")  # options that are never noted
FORMER = 5  # states of earlier runs that a note keeps until the next change is done
NUMBERS = ("lines", "entries", "keys")  # fields that count the entries of a file for one key
STORAGE = ("mode", "folder mode", "points to", "form", "order") + NUMBERS  # fields about how content is stored
FINGERPRINT = "key "  # the first characters of a key's fingerprint
ROTATION = "rotation "  # the first characters of a mark's field in the state; no resource type has this name
JOINED = "joined"  # in a new note: entries of the user were merged into one, which belongs to the user from now on
RELEASED = {}  # type: Document  # the new note of an existing resource that this cluster no longer declares


def to_state(document: Document) -> State:
    """Return the notes and marks of a receipt as the state of a resource: key -> JSON."""
    state = {key: json.dumps(note, sort_keys=True) for key, note in document["resources"].items()}
    state.update({ROTATION + name: json.dumps(mark, sort_keys=True) for name, mark in document["keys"].items()})
    return {key: state[key] for key in sorted(state)}


def parse_notes(state: State) -> Dict[str, Document]:
    """Return the notes in the state of a receipt, by their keys."""
    return {key: json.loads(text) for key, text in state.items() if not key.startswith(ROTATION)}


def parse_marks(state: State) -> Dict[str, Document]:
    """Return the marks of rotations in the state of a receipt, by the names of their keys."""
    return {key[len(ROTATION) :]: json.loads(text) for key, text in state.items() if key.startswith(ROTATION)}


def merge_changes(
    state: State, changes: Mapping[str, Optional[Document]], cluster: str, rotations: Mapping[str, Document]
) -> Document:
    """Return the receipt's document ("resources" and "keys") after the changes of a run. state: of the receipt.

    changes: new notes by key; None for a removed resource; RELEASED for a resource that this cluster no longer
    declares. rotations: by the name of an installed key, the rotations that the sender knows (plan.schema.json), and
    "writes": True if the run writes the key. The sender's "mark" of a key replaces the receipt's, or removes it if
    None. But a mark unknown to the sender stays, unless the run writes a key of a rotation.
    """
    notes = _change_notes(parse_notes(state), changes, cluster)
    marks = parse_marks(state)
    for name, rotation in rotations.items():
        old_mark, new_mark = marks.get(name), rotation["mark"]  # of the receipt, and of the sender
        is_same_rotation = old_mark and new_mark and new_mark["rotation"] == old_mark["rotation"]
        is_last_rotation = new_mark and rotation["writes"]
        if is_same_rotation or (old_mark and is_unknown_to_sender(old_mark, rotation) and not is_last_rotation):
            continue  # the mark stays
        marks.pop(name, None)
        if new_mark:
            marks[name] = dict(new_mark)
        if old_mark != new_mark:  # another rotation, so another key
            _forget_fingerprints(notes, name, changes)
    return {"resources": notes, "keys": marks}


def _change_notes(
    before: Mapping[str, Document], changes: Mapping[str, Optional[Document]], cluster: str
) -> Dict[str, Document]:
    """Return the notes after the changes of a run. before: the notes before. changes, cluster: see merge_changes."""
    notes = dict(before)
    for key, change in changes.items():
        if change:
            notes[key] = _merge_note(before.get(key), change)
        elif change is None or not list_other_clusters(before, key, cluster):
            notes.pop(key, None)  # removed, or released by the only cluster
        else:  # released, but another cluster still declares the resource
            notes[key] = dict(before[key], clusters=[name for name in before[key]["clusters"] if name != cluster])
    return notes


def _forget_fingerprints(notes: Dict[str, Document], secret: str, changes: Mapping[str, Any]) -> None:
    """Remove the hashes of a rotated key from its notes, except those in changes, which are new. secret: its name."""
    for key, note in notes.items():
        is_about_key = note.get("secret", secret) == secret  # a note without a name may be about this key, too
        if key not in changes and note["keyed"] and is_about_key:
            notes[key] = dict(note, keyed={})


def is_unknown_to_sender(mark: Mapping[str, Any], rotation: Mapping[str, Any]) -> bool:
    """Return True if a mark is of a rotation that the sender does not know. rotation: see merge_changes.

    The numbers of rotations ("sequence") do not show which one is later: each machine counts its own rotations.
    """
    return mark["rotation"] not in rotation["known"]


def _merge_note(old: Optional[Document], new: Document) -> Document:
    """Return the new note of a resource, with the origin, the clusters and the former states from its old note."""
    is_joined = new.get(JOINED, False)
    new = {field: value for field, value in new.items() if field != JOINED}
    if old is None:  # the resource was not noted before
        return new
    is_about_to_change = "found" in new
    merged = dict(old, **new)
    merged["made"] = bool(new["made"] or old["made"]) and not is_joined
    merged["for"] = new["for"] or old["for"]
    merged["clusters"] = sorted(set(old["clusters"]) | set(new["clusters"]))
    # if a key is replaced, the hashes of the former key no longer apply
    merged["keyed"] = new["keyed"] if is_about_to_change else dict(old["keyed"], **new["keyed"])
    was = dict(new.get("was", {}), **old.get("was", {}))  # the oldest values are those of the user
    if was:
        merged["was"] = was
    if new["state"] == DONE or "found" not in old:
        merged.pop("found", None)  # only the first run has seen the state before hpc-onboard
    elif old["state"] == INTENDED:
        merged["found"] = old["found"]  # the first attempt failed, and may have changed the present state
    if new["state"] == DONE:
        merged.pop("former", None)
    elif (old["hashes"], old["keyed"]) != (new["hashes"], new["keyed"]):  # until the change is done, both states apply
        merged["former"] = _list_former_states(old)
    return merged


def _list_former_states(note: Document) -> List[Dict[str, str]]:
    """Return the hashes of the states in a note and in its "former", the latest last; at most FORMER of these."""
    # fingerprints have separate hashes for each fingerprint key
    latest = [dict(note["hashes"], **hashes) for hashes in note["keyed"].values()] or [note["hashes"]]
    former = [state for state in note.get("former", []) if state not in latest]
    return (former + latest)[-FORMER:]


def _list_clusters(notes: Mapping[str, Mapping[str, Any]], key: str) -> List[str]:
    """Return the clusters that declare a noted resource, or the resource for which a noted folder was created."""
    note = notes.get(key, {})
    return list(notes.get(note.get("for") or key, {}).get("clusters", []))


def list_other_clusters(notes: Mapping[str, Document], key: str, cluster: str) -> List[str]:
    """Return the clusters other than this one that declare a resource, given by the key of its note."""
    return [name for name in _list_clusters(notes, key) if name != cluster]


def belongs_to(notes: Mapping[str, Mapping[str, Any]], key: str, cluster: str) -> bool:
    """Return True if a cluster may remove a noted resource as its own.

    A folder belongs to every cluster if the resource for which it was created has no note any more. So does a resource
    that was noted without a cluster, unless another note names a different cluster, which shares the home directory.
    """
    note = notes[key]
    if note.get("for") and not notes.get(note["for"]):
        return True
    clusters = _list_clusters(notes, key)
    if clusters:
        return cluster in clusters
    all_clusters = {name for other in notes.values() for name in other["clusters"]}
    return all_clusters <= {cluster}  # the resource was noted without a cluster


def folder_key(folder: str) -> str:
    """Return the key of the note about a folder that was created for another resource."""
    return note_key("directory", "folder %s" % folder)


def make_folder_notes(made_for: str, capability: str, folders: List[str], done: bool) -> Dict[str, Document]:
    """Return the notes of folders that are created for a resource, by their keys.

    made_for: the key of the resource's note. capability: its role. done: False before the folders are created.
    """
    return {
        folder_key(folder): {
            "kind": "directory",
            "capability": capability,
            "identity": "folder %s" % folder,
            "options": {"path": folder},
            "hashes": hash_fields({"is": "folder"}),  # the state of a folder that exists
            "keyed": {},
            "clusters": [],
            "made": True,
            "state": DONE if done else INTENDED,
            "for": made_for,
        }
        for folder in folders
    }


def is_keyed(value: str) -> bool:
    """Return True if the value of a field is the fingerprint of a key, made with a fingerprint key."""
    return value.startswith(FINGERPRINT)


def read_key_name(entry: Mapping[str, Any]) -> str:
    """Return the name of the key in a plan's entry, where the key is NAME or NAME@VERSION; "" without a key."""
    return str(entry.get("key") or "").partition("@")[0]


def make_note(entry: Mapping[str, Any], outcome: Document, key_id: str, cluster: str, done: bool) -> Document:
    """Return the note of a resource that is, or is about to be, up to date.

    entry: the plan's entry. key_id: the id of the fingerprint key; the note has separate hashes of fingerprints for
    each such key. cluster: its id, or "". done: True if the resource is up to date, False before a change begins.
    """
    after, is_changed = outcome["after"], outcome["status"] in CHANGES
    keyed = {field: value for field, value in after.items() if is_keyed(value)}
    had_key = any(is_keyed(value) for value in outcome["before"].values())  # then the entry is the user's
    note = {
        "kind": entry["kind"],
        "capability": entry["capability"],
        "identity": outcome["identity"],
        "options": {name: value for name, value in entry["options"].items() if name not in HIDDEN},
        "hashes": hash_fields({field: value for field, value in after.items() if field not in keyed}),
        "keyed": {key_id: hash_fields(keyed)} if keyed else {},
        "clusters": [cluster] if cluster else [],
        "made": is_changed and not had_key,
        "state": DONE if done else INTENDED,
        "for": "",
    }
    if read_key_name(entry):
        note["secret"] = read_key_name(entry)
    if is_changed and not done:
        note["found"] = hash_fields(select_content_fields(outcome["before"]))
    if is_changed and outcome.get("was"):
        note["was"] = outcome["was"]
    if outcome.get("evidence", {}).get("replaces"):
        note["replaced"] = True
    if is_changed and any(outcome["before"].get(field, "1") not in ("0", "1") for field in NUMBERS):
        note[JOINED] = True  # the file had several entries
    return note


def select_content_fields(state: Mapping[str, str]) -> Dict[str, str]:
    """Return the fields of a state that are content, without those about how the content is stored."""
    return {field: value for field, value in state.items() if field not in STORAGE}


def is_changed_by_user(note: Mapping[str, Any], state: State, key_id: str) -> bool:
    """Return True if the user has changed a noted resource: its state is not the state after a run of hpc-onboard.

    key_id: the id of the state's fingerprint key. A key for which the note has no hash under this id is not a change of
    the user: another machine, or a rotation, has installed the key.
    """
    hashes = hash_fields(select_content_fields(state))
    if not hashes:  # the resource does not exist, so no content of the user would be lost
        return False
    if note["state"] == INTENDED:  # the run was killed; if nothing had been changed, this is the user's former state
        return hashes == note.get("found")
    noted = dict(note["hashes"], **note["keyed"].get(key_id, {}))
    not_comparable = {field for field in hashes if is_keyed(state[field])} - set(noted)
    return any(value != noted.get(field) for field, value in hashes.items() if field not in not_comparable)


def make_notes_of_run(
    results: List[Tuple[Mapping[str, Any], Document]], key_id: str, cluster: str, done: bool
) -> Dict[str, Optional[Document]]:
    """Return the changed notes of a run, for merge_changes.

    results: the plan's entries with their outcomes. key_id, cluster: see make_note. done: False before the run changes
    anything; even then, a resource that is up to date gets its final note.
    """
    changes: Dict[str, Optional[Document]] = {}
    keys = [note_key(entry["kind"], outcome["identity"]) for entry, outcome in results]
    for key, (entry, outcome) in zip(keys, results):  # first: the note of a declared folder replaces this note
        changes.update(make_folder_notes(key, entry["capability"], outcome["folders"], done))
    for key, (entry, outcome) in zip(keys, results):
        if outcome["status"] in FAILURES:
            continue  # the old note stays
        is_gone = not outcome["after"]
        if entry["options"].get("state") == "absent" and (outcome["progress"] or not is_gone):
            continue  # the removal is not complete: the old note stays
        if not is_gone:
            changes[key] = make_note(entry, outcome, key_id, cluster, done or outcome["status"] == "ok")
        elif done:  # the resource was removed
            changes[key] = None
    return changes


def fingerprint_key_id(fingerprint_key: str) -> str:
    """Return a public id of a fingerprint key (hex): 16 digits of its hash."""
    return digest(bytes.fromhex(fingerprint_key)).hex()[:16]
