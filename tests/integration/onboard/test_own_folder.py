# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine remembers is the user's alone, and so is every folder made on the way to it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import ssh_login, turns

from tests.integration.runs import FileRing, onboard, play

pytestmark = pytest.mark.testbed


@contextmanager
def careless() -> Iterator[None]:
    """A umask that takes nothing away: what is made without a mode is everybody's."""
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def open_to_others(top: Path) -> dict[str, str]:
    """What others may read, write or enter there."""
    modes = {path: path.lstat().st_mode for path in (top, *top.rglob("*"))}
    return {str(path.relative_to(top)): f"{mode:o}" for path, mode in modes.items() if stat.S_IMODE(mode) & 0o077}


def test_nobody_else_may_look_into_what_is_kept_here(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("lrz")
    ring = FileRing(tmp_path)
    top = tmp_path / "never made"
    environment = {
        **ring.env,
        "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file),
        "XDG_STATE_HOME": str(top / "local" / "state"),
        "XDG_CACHE_HOME": str(top / "cache"),
    }
    with careless():
        ran = onboard(bed, account, environment=environment)
        audited = play(bed, "-i", str(bed.accounts_file([account])), playbook="audit.yml", environment=environment)
    assert ran.code == 0, ran.text
    assert audited.code in (0, 2), audited.text
    kept = {path.name for path in (top / "local" / "state" / "hpc.onboard").iterdir()}
    assert {"fingerprint.key", "receipts", "audit"} <= kept, kept
    assert open_to_others(top) == {}
    assert open_to_others(ring.file.parent) == {}


def test_what_is_made_first_on_the_way_to_a_session_or_a_turn_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tempfile.TemporaryDirectory(prefix="s") as folder:  # a socket's path is short
        top = Path(folder)
        monkeypatch.setenv("XDG_STATE_HOME", str(top / "turn" / "state"))
        with careless(), turns.hold_place("a.host"):
            assert list((top / "turn" / "state" / "hpc.onboard" / "turns").iterdir())
        session = top / "session" / "hpc.onboard" / "ssh" / "one"
        with careless():
            assert ssh_login.open_session(["nowhere.invalid"], str(session), 1, str, str)
        assert session.parent.is_dir()
        assert open_to_others(top / "turn") == open_to_others(top / "session") == {}
