# SPDX-License-Identifier: GPL-3.0-or-later
"""What audits and onboardings remember on this machine; what is damaged costs memory and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import audit_history, receipts

KNOWN = {"sha256:1": {"rule": "LNK-001", "account": "a@lrz", "since": "2026-01-02"}}
NOTE = {
    "kind": "storage_link",
    "identity": "~/it",
    "made": True,
    "options": {},
    "keyed": {},
    "clusters": [],
    "hashes": {},
}
NOTES = {"k": NOTE}
RECEIPT = {"notes": NOTES, "keys": {}}


@pytest.mark.usefixtures("state")
def test_what_is_kept_is_read_and_runs_over_other_accounts_are_apart() -> None:
    assert audit_history.read("file", "one") == ({}, [])
    audit_history.keep(KNOWN, "file", "one", {"started": "2026-01-02T00:00:00Z"})
    audit_history.keep(KNOWN, "file", "other", {"started": "2026-01-03T00:00:00Z"})
    assert audit_history.read("file", "one") == (KNOWN, [{"started": "2026-01-02T00:00:00Z"}])
    assert audit_history.read("file", "none") == (KNOWN, [])
    assert audit_history.read("another", "one")[0] == {}


@pytest.mark.usefixtures("state")
def test_the_last_runs_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_history, "SHOWN_RUNS", 3)
    for number in range(5):
        audit_history.keep({}, "file", "one", {"started": str(number)})
    assert [run["started"] for run in audit_history.read("file", "one")[1]] == ["2", "3", "4"]


DAMAGED = [b"x", b"{", b"[]", b"\x00\xff", b'{"schema": "hpc.onboard/x/1.0", "findings": {}}']


OTHER: Any = {
    "known": {"file": {"findings": KNOWN}},
    "runs": [{"schema": audit_history.RUN_SCHEMA, "series": "one", "started": "y"}],
}
WRITERS = [
    lambda: audit_history.keep(KNOWN, "file", "one", {"started": "y"}),
    lambda: audit_history.merge(OTHER)[2],
]


@pytest.mark.parametrize("write", WRITERS, ids=["an audit", "an import"])
@pytest.mark.parametrize("content", DAMAGED)
def test_what_is_damaged_is_as_if_it_were_not_there_and_is_kept_aside(
    state: Path, content: bytes, write: Callable[[], list[str]]
) -> None:
    assert not audit_history.has_audit("file")
    audit_history.keep(KNOWN, "file", "one", {"started": "x"})
    assert audit_history.has_audit("file")
    for name in (audit_history.KNOWN % "file", audit_history.HISTORY):
        (state / audit_history.FOLDER / name).write_bytes(content)
    assert audit_history.read("file", "one") == ({}, [])
    assert not audit_history.has_audit("file"), "fix must not say that there is nothing to fix"
    said = write()
    for name, text in zip((audit_history.KNOWN % "file", audit_history.HISTORY), said, strict=True):
        assert (state / audit_history.FOLDER / f"{name}.damaged").read_bytes() == content
        assert name in text
    assert audit_history.read("file", "one") == (KNOWN, [{"started": "y"}])


def test_an_import_without_new_runs_keeps_the_intact_lines_of_a_damaged_history(state: Path) -> None:
    audit_history.keep(KNOWN, "file", "one", {"started": "x"})
    with (state / audit_history.FOLDER / audit_history.HISTORY).open("ab") as file:
        file.write(b"{\n")
    assert len(audit_history.merge({"known": {}, "runs": []})[2]) == 1
    assert audit_history.read("file", "one") == (KNOWN, [{"started": "x"}])


def test_a_receipt_is_kept_for_each_account_and_its_sandbox_apart(state: Path) -> None:
    assert receipts.keep_receipt("a@lrz", False, RECEIPT) is None
    assert receipts.read_notes("a@lrz", False) == NOTES
    assert receipts.read_notes("a@lrz", True) == {}
    assert receipts.read_notes("../a@lrz", False) == {}
    assert receipts.keep_receipt("../../x", False, RECEIPT) is None
    assert all(file.parent == state / "receipts" for file in state.rglob("*.json"))
    assert (state / "receipts" / "a@lrz.json").stat().st_mode & 0o777 == 0o600


def test_where_it_cannot_be_kept_that_is_said(state: Path) -> None:
    state.mkdir(parents=True, mode=0o700)
    (state / "receipts").symlink_to("/tmp")
    assert "could not be copied to this machine" in str(receipts.keep_receipt("a@lrz", False, RECEIPT))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"resources": {}}', b'{"schema": 1}'])
def test_a_damaged_copy_of_a_receipt_is_neither_taken_for_an_empty_one_nor_replaced(
    state: Path, content: bytes
) -> None:
    receipts.keep_receipt("a@lrz", False, RECEIPT)
    file = state / "receipts" / "a@lrz.json"
    file.write_bytes(content)
    with pytest.raises(AccountError, match="is damaged: rename or move the file"):
        receipts.read_notes("a@lrz", False)
    assert "is damaged: rename or move the file" in str(receipts.keep_receipt("a@lrz", False, RECEIPT))
    assert file.read_bytes() == content
