# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detect that an account has lost its receipt, and recover the notes from the copy on the sender's machine.

The receipt is the account's record of what hpc-onboard created, with a note for each resource. Fields of a note:
"made" (True if hpc-onboard created the resource), "for" (if the resource is a folder that was created for another one:
the key of that one's note), "hashes" (of the resource's state), "was" (the user's former values). The sender is the
user's machine.
"""

from typing import Dict, Mapping, Optional

from .._core.host import Host
from .._core.values import is_key_note
from .notes import Document


def shows_loss(host: Host, own_notes: Mapping[str, Document], copied_notes: Mapping[str, Document]) -> bool:
    """Return True if the account has lost its receipt, or notes of it, instead of having been offboarded.

    own_notes: the notes in the account's receipt. copied_notes: the notes in the sender's copy.

    If another machine has offboarded the account, the receipt is missing too, but so are the links and scripts that
    hpc-onboard created. Keys prove nothing: the user may have written them since then.
    """
    created = {
        key: note for key, note in copied_notes.items() if note["made"] and not note["for"] and not is_key_note(note)
    }
    for key, note in created.items():
        noted_again, path = own_notes.get(key), note["options"].get("path")
        # a run without the old receipt has noted the unchanged resource as the user's own
        if noted_again and not noted_again["made"] and noted_again["hashes"] == note["hashes"]:
            return True
        # only the home's file system is known to respond; the path of an environment is a list
        is_in_home = isinstance(path, str) and path.startswith("~/")
        if not noted_again and is_in_home and host.entry(host.expand(path)):
            return True
    return not created  # without links and scripts, nothing can show that the account was offboarded


def recover_notes(
    changes: Mapping[str, Optional[Document]], copied_notes: Mapping[str, Document]
) -> Dict[str, Document]:
    """Return the notes to add to the changes of this run, or to use instead, after the receipt was lost.

    changes: the new notes of this run, by key; None for a removed resource. copied_notes: the notes in the sender's
    copy. Those of resources that this run has not noted are returned as they are. A note of this run gets "made" from
    the copy if the resource is unchanged, and the user's former values ("was").
    """
    recovered = {key: note for key, note in copied_notes.items() if key not in changes}
    for key, new in changes.items():
        old = copied_notes.get(key)
        if not (new and old):  # a resource that this run removed, or that is not in the copy
            continue
        is_made = new["made"] or (old["made"] and old["hashes"] == new["hashes"])
        was = dict(new.get("was", {}), **old.get("was", {}))  # the older values are the user's
        note = dict(new, made=is_made)
        if was:
            note["was"] = was
        if note != new:
            recovered[key] = note
    return recovered
