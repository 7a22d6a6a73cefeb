# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""This machine's copy of what is noted on each account (see module_utils/_receipt/receipt.py).

It is what tells of things that are not declared any more, and stands in where the account's own notes are gone.
Nothing here is a key, and losing it costs an answer to "who changed that?", not more.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import state_folder

FOLDER = "receipts"
Notes = dict[str, dict[str, Any]]


def _file(account: str, sandbox: bool) -> str:
    name = re.sub(r"[^A-Za-z0-9_.@+-]", lambda found: f"%{ord(found[0]):04x}", account)
    return f"{name}{'.sandbox' if sandbox else ''}.json"


def kept(account: str, sandbox: bool) -> Notes:
    """The notes that this machine has of an account; none where it has none that can be read."""
    try:
        text = (state_folder() / FOLDER / _file(account, sandbox)).read_text(encoding="utf-8")
        notes = json.loads(text)["resources"]
        return {str(key): dict(note) for key, note in notes.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def keep(account: str, sandbox: bool, notes: Notes) -> str | None:
    """Have the notes of an account here, too. Gives a warning where they cannot be kept."""
    if notes == kept(account, sandbox):
        return None
    from ansible_collections.hpc.onboard.plugins.plugin_utils._state import durable_files  # most runs change nothing

    text = json.dumps({"schema": "hpc.onboard/receipt/1.0", "resources": notes}, indent=1, sort_keys=True)
    try:
        with durable_files.told(FOLDER), durable_files.folder(FOLDER) as at:
            durable_files.replace(at, _file(account, sandbox), text.encode() + b"\n")
    except durable_files.StateError as error:
        return f"what was written on {account} could not be noted here: {error}"
    return None
