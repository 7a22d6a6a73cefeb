# SPDX-License-Identifier: GPL-3.0-or-later
"""When this machine's copy of a receipt stands in for one that the account has lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import receipts


def note(kind: str, made: bool, **more: Any) -> Any:
    """Return a note of a thing that was created, or found there, with the same hashes."""
    about = {"kind": kind, "capability": "r", "identity": kind, "options": {}, "clusters": ["lrz"], "state": "done"}
    return {**about, "made": made, "for": "", "hashes": {"is": "h"}, "keyed": {}, **more}


@pytest.mark.parametrize("keyed", [{"m": {"password": "h"}}, {}], ids=["as written", "after a rotation"])
def test_a_key_alone_shows_no_lost_receipt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keyed: Any) -> None:
    """Another machine offboarded: the link is created again here, and the user has written the same key."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    link, key = (note("storage_link", made=True), note("enroot_credential", made=True, secret="ngc", keyed=keyed))
    written: Any = {"notes": {"link": link, "key": key}, "keys": {}, "problem": None}
    assert receipts.keep_receipt("ada@lrz", False, written) is None
    adopted: Any = {**written, "notes": {"link": link, "key": {**key, "made": False}}}
    assert receipts.find_lost_notes("ada@lrz", None, adopted) == {}
    lost: Any = {**written, "notes": {"link": {**link, "made": False}, "key": {**key, "made": False}}}
    assert set(receipts.find_lost_notes("ada@lrz", None, lost)) == {"link", "key"}
