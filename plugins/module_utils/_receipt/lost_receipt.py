# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notice that an account has lost its receipt, and recover the notes from the sender's copy of it."""

from typing import Dict, Mapping, Optional

from .._core.host import Host
from .._core.values import is_key_note
from .notes import Document


def shows_loss(host: Host, noted: Mapping[str, Document], copy: Mapping[str, Document]) -> bool:
    """Return True if the sender's copy has a thing that hpc-onboard created, and the receipt does not say so any more.

    If another machine offboarded the account, its receipt is gone too, but so are its links and scripts. A key alone
    shows a loss only if nothing else was created: the user may have written it since then.
    """
    created = {key: note for key, note in copy.items() if note["made"] and not note["for"] and not is_key_note(note)}
    for key, note in created.items():
        own, path = noted.get(key), note["options"].get("path")
        if own and not own["made"] and own["hashes"] == note["hashes"]:
            return True
        # only the home is known to answer; an environment has a list of paths
        if not own and isinstance(path, str) and path.startswith("~/") and host.entry(host.expand(path)):
            return True
    return not created


def recover_notes(news: Mapping[str, Optional[Document]], copy: Mapping[str, Document]) -> Dict[str, Document]:
    """Return the notes of the sender's copy that the lost receipt had: of unchanged created resources, and the rest.

    The rest is no longer declared, or a folder that was created for something; offboarding looks before it removes any.
    Former values that a run changed are the user's, whoever created the resource.
    """
    found = {key: note for key, note in copy.items() if key not in news}
    for key, new in news.items():
        old = copy.get(key)
        if not (new and old):
            continue
        is_made = new["made"] or (old["made"] and old["hashes"] == new["hashes"])
        was = dict(new.get("was", {}), **old.get("was", {}))
        recovered = dict(new, made=is_made, was=was) if was else dict(new, made=is_made)
        if recovered != new:
            found[key] = recovered
    return found
