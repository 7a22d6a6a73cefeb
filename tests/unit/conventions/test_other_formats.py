# SPDX-License-Identifier: GPL-3.0-or-later
"""A document of another format is refused in one sentence that names it, and nothing is written over it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from account_scene import Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._engine import engine
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import accepted
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer, payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import VersionStore
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import (
    audit_history,
    done_steps,
    exported_scripts,
    receipts,
    signed_record,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import local_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.signed_record import Event

ACCOUNT = "go42tum@lrz"
PLACE, SERIES = "3fdf880dd273", "782a64ec1e27"
EVENT = Event("ngc", "retire", "begun", "first")


def key() -> bytes:
    return bytes.fromhex(local_key())


class Kept(NamedTuple):
    """A document in the state folder: its file, how it is read and written, and the purpose of its signing key."""

    file: str
    read: Callable[[], Any]
    write: Callable[[], Any]
    signer: str = ""


def keep_receipt() -> None:
    warning = receipts.keep_receipt(ACCOUNT, True, {"notes": {}, "keys": {"ngc": {"sequence": 1}}})  # type: ignore
    if warning:
        raise AccountError(warning)


def keep_audit() -> None:
    audit_history.keep({}, PLACE, SERIES, {})  # type: ignore


def read_audit() -> Any:
    return audit_history.read(PLACE, SERIES)


def add_event() -> Any:
    return Ledger(key()).append(EVENT)


def read_ledger() -> Any:
    return Ledger(key()).records()


DOCUMENTS = {
    "receipt": Kept(f"receipts/{ACCOUNT}.sandbox.json", lambda: receipts.read_notes(ACCOUNT, True), keep_receipt),
    "labels": Kept(
        "secrets/ngc.json",
        lambda: VersionStore("ngc", key()).load(),
        lambda: VersionStore("ngc", key()).read_or_adopt("personal"),
        "versions",
    ),
    "ledger-head": Kept("ledger.head", read_ledger, add_event, "ledger head"),
    "ledger": Kept("ledger.jsonl", read_ledger, add_event, "ledger"),
    "known-findings": Kept(f"audit/known-{PLACE}.json", read_audit, keep_audit),
    "former-audit": Kept("audit/history.jsonl", read_audit, keep_audit),
    "done-steps": Kept(
        "done_steps.json",
        done_steps.read_marks,
        lambda: done_steps.set_mark(ACCOUNT, "vpn", {"at": "2026-11-22T10:00:00Z", "by": "ada@desk"}),
    ),
    "exported-scripts": Kept(
        f"scripts/{ACCOUNT}.json",
        lambda: exported_scripts.read_scripts(ACCOUNT),
        lambda: exported_scripts.add_script(ACCOUNT, "0" * 16, {"made": "", "parts": {}}),
    ),
}


def set_version(file: Path, name: str, signer: str) -> None:
    """Give the document in a file, of several lines the last one, the version 9.0 of its format and a new signature."""
    is_lines = file.suffix == ".jsonl" or name == "ledger-head"
    *lines, last = file.read_text().splitlines() if is_lines else [file.read_text()]
    document = {**json.loads(last), "schema": f"hpc.onboard/{name}/9.0"}
    if signer:
        field = "hash" if name == "ledger" else "mac"
        document.pop(field)
        text = signed_record.canonical_json(document).encode()
        document[field] = hmac.new(signed_record.derive_subkey(key(), signer), text, hashlib.sha256).hexdigest()
    file.write_text("".join(f"{line}\n" for line in (*lines, signed_record.canonical_json(document))))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_another_format_is_refused_by_name_and_nothing_is_overwritten(state: Path, name: str) -> None:
    kept = DOCUMENTS[name]
    file = state / kept.file
    kept.write()
    set_version(file, name, kept.signer)
    before = file.read_bytes()
    for work in (kept.read, kept.write):
        with pytest.raises(AccountError) as error:
            work()
        assert f"{name} 9.0" in str(error.value) or f"{name}/9.0" in str(error.value)
        assert "run 'git pull' and 'pip install .' in its clone" in str(error.value)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("schema", "why"),
    [("hpc.onboard/baseline/2.0", "run 'git pull' and 'pip install .' in its clone"), ("x", "is damaged")],
)
def test_a_baseline_of_another_format_is_refused(tmp_path: Path, schema: str, why: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps({"schema": schema, "findings": {}}))
    with pytest.raises(AccountError, match=why):
        accepted.read_accepted(
            {}, {"audit_waivers": "", "audit_baseline": str(file), "audit_baseline_write": False}, date.today()
        )


def test_an_answer_of_another_format_is_refused() -> None:
    document = json.dumps({"schema": "hpc.onboard/answer/9.0", "outcomes": []})
    text = f"\n{payload.FRAME} {len(document)}\n{document}\n{payload.FRAME}\n"
    with pytest.raises(answer.NoAnswer, match=r"answer.9\.0"):
        answer.parse(text, "", 0, ACCOUNT)


def test_a_plan_of_another_format_is_refused(scene: Scene) -> None:
    answered = engine.answer({**scene.plan([]), "schema": "hpc.onboard/plan/9.0"}, KINDS)
    assert "the plan" in answered["error"]
    assert "9.0" in answered["error"]


def test_both_sides_know_the_same_versions() -> None:
    assert answer.SCHEMA == engine.SCHEMA
