# SPDX-License-Identifier: GPL-3.0-or-later
"""When this machine's copy of a receipt stands in for one that the account has lost."""

from __future__ import annotations

from typing import Any

import pytest
from account_scene import Link, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import lost_receipt
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import receipts


def note(kind: str, made: bool, **more: Any) -> Any:
    """Return a note of a thing that was created, or found there, with the same hashes."""
    about = {"kind": kind, "capability": "r", "identity": kind, "options": {}, "clusters": ["lrz"], "state": "done"}
    return {**about, "made": made, "for": "", "hashes": {"is": "h"}, "keyed": {}, **more}


@pytest.mark.parametrize("keyed", [{"m": {"password": "h"}}, {}], ids=["as written", "after a rotation"])
def test_a_key_alone_shows_no_lost_receipt_unless_something_created_is_left(scene: Scene, keyed: Any) -> None:
    """Another machine offboarded: the link is created again here, and the user has written the same key."""
    host = scene.host()
    link = note("storage_link", made=True, options={"path": "~/dss"})
    key = note("enroot_credential", made=True, secret="ngc", keyed=keyed)
    adopted = {**key, "made": False}
    written = {"link": link, "key": key, "rc": note("shell_environment", made=True, options={"path": ["~/bin"]})}
    assert not lost_receipt.shows_loss(host, {"link": link, "key": adopted}, written)
    assert lost_receipt.shows_loss(host, {"link": {**link, "made": False}, "key": adopted}, written)
    assert not lost_receipt.shows_loss(host, {"key": adopted}, written)
    assert lost_receipt.shows_loss(host, {"key": adopted}, {"key": key})
    scene.make({"~/dss": Link("/dss/x")})
    assert lost_receipt.shows_loss(host, {"key": adopted}, written)


def test_a_copy_that_has_more_than_the_receipt_is_sent_along(state: None) -> None:
    link, key = note("link", made=True), note("key", made=True, secret="ngc")
    written: Any = {"notes": {"link": link, "key": key}, "keys": {}, "problem": None}
    assert receipts.keep_receipt("ada@lrz", False, written) is None

    def lost(notes: Any, *planned: str) -> set[str]:
        return set(receipts.find_lost_notes("ada@lrz", False, {**written, "notes": notes}, planned))

    assert not lost(written["notes"])
    assert lost({**written["notes"], "key": {**key, "made": False}}) == {"link", "key"}
    assert lost({"key": key}) == {"link", "key"}
    assert not lost({"key": key}, "link"), "this run removed it"
    assert not lost({}), "the copy stays, so another session in each run would show nothing new"


def test_the_copy_of_an_account_without_notes_stays_until_all_is_removed(state: None) -> None:
    written: Any = {"notes": {one: note(one, made=True) for one in ("link", "key")}, "keys": {}, "problem": None}
    gone: Any = {**written, "notes": {}}
    for removed, left in (((), {"link", "key"}), (("link",), {"key"}), (("link", "key"), set())):
        assert receipts.keep_receipt("ada@lrz", False, written) is None
        assert receipts.keep_receipt("ada@lrz", False, gone, removed) is None
        assert set(receipts.read_notes("ada@lrz", False)) == left
