# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detect that an account has lost its receipt, and recover the notes from the copy on the sender's machine."""

from typing import Dict, Mapping, Optional

from .._core.host import Host
from .._core.values import is_key_note
from .notes import Document


def shows_loss(host: Host, noted: Mapping[str, Document], copy: Mapping[str, Document]) -> bool:
    """Return True if hpc-onboard created something according to the sender's copy, but not according to the receipt.

    If another machine offboarded the account, the receipt is missing too, but so are links and scripts. If the copy has
    neither, a missing receipt is regarded as lost. Keys prove nothing: the user may have written them since then.
    noted: the notes in the receipt. copy: the notes in the sender's copy.
    """
    created = {key: note for key, note in copy.items() if note["made"] and not note["for"] and not is_key_note(note)}
    for key, note in created.items():
        found, path = noted.get(key), note["options"].get("path")
        if found and not found["made"] and found["hashes"] == note["hashes"]:
            return True
        # only the home's file system is known to respond; an environment has a list of paths
        if not found and isinstance(path, str) and path.startswith("~/") and host.entry(host.expand(path)):
            return True
    return not created  # nothing can show that the account was offboarded


def recover_notes(changes: Mapping[str, Optional[Document]], copy: Mapping[str, Document]) -> Dict[str, Document]:
    """Return the notes of the sender's copy that a lost receipt had and the changes of this run do not.

    A note of this run for an unchanged resource gets "made" from the copy, and every note gets the user's former
    values ("was"). The other notes are of folders or of resources no longer declared, which offboarding inspects.
    """
    recovered = {key: note for key, note in copy.items() if key not in changes}
    for key, new in changes.items():
        old = copy.get(key)
        if not (new and old):  # removed by this run, or not in the copy
            continue
        is_made = new["made"] or (old["made"] and old["hashes"] == new["hashes"])
        was = dict(new.get("was", {}), **old.get("was", {}))
        note = dict(new, made=is_made)
        if was:
            note["was"] = was
        if note != new:
            recovered[key] = note
    return recovered
