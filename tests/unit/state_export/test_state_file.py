# SPDX-License-Identifier: GPL-3.0-or-later
"""What one machine remembers goes to another in one file, without a key, and nothing newer is overwritten there."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.accounts import CommandError
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.main import run
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.key_marks import encrypt_hash
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import VersionStore
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import (
    audit_history,
    done_steps,
    last_runs,
    receipts,
    signed_record,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import account_key, local_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.signed_record import Event
from ansible_collections.hpc.onboard.plugins.plugin_utils._state_export import state_file

VALUE = "nvapi-" + "c" * 64
SECOND = "4ea24cfd-1ad6-4480-9bcd-4125a0594c36"
PLACE, SERIES = "3fdf880dd273", "782a64ec1e27"
NOTE: Any = {
    "kind": "directory",
    "identity": "~/it",
    "options": {},
    "keyed": {},
    "clusters": [],
    "made": True,
    "for": "",
}
NOTE["hashes"] = {}
MORE = Event("ngc", "prove_dead", "begun", "first")
Machine = Callable[[str], Path]


def state(words: list[str]) -> int:
    """Run `hpc-onboard state`, and return its exit code."""
    try:
        return run(["state", *words])
    except CommandError as error:
        print(error, file=sys.stderr)
        return 2


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Be at the machine of that name; gives its state folder."""

    def at(name: str) -> Path:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        return tmp_path / name / "hpc.onboard"

    return at


def test_copies_of_files_are_not_exported(machine: Machine, tmp_path: Path) -> None:
    """Their names would be refused by the import, which would call the whole file damaged."""
    folder = machine("old")
    receipts.keep_receipt("ada@lrz", False, {"notes": {"directory ~/it": NOTE}, "keys": {}, "problem": ""})
    VersionStore("ngc", bytes.fromhex(local_key())).read_or_adopt("personal")
    run_of_audit: Any = {"started": "2026-11-21T18:00:00Z"}
    audit_history.keep({}, PLACE, SERIES, run_of_audit)
    for name in ("receipts/ada@lrz", "secrets/ngc", f"audit/known-{PLACE}"):
        for copy in (f"{name} (copy).json", str(Path(name).with_name(f"._{Path(name).name}.json"))):
            (folder / copy).write_bytes((folder / f"{name}.json").read_bytes())
            (folder / copy).chmod(0o600)
    assert state(["export", str(tmp_path / "s.json")]) == 0
    machine("new")
    assert state(["import", str(tmp_path / "s.json")]) == 0
    assert receipts.read_notes("ada@lrz", is_sandbox=False)


@pytest.fixture
def file(machine: Machine, tmp_path: Path) -> Path:
    """The state that the old machine has exported: a key was rotated there, and an account onboarded and audited."""
    machine("old")
    for step, version in (("plan", SECOND), ("canary", SECOND), ("retire", "first")):
        Ledger(key()).append(Event("ngc", step, "begun", version))
    first = versions.KeyVersion("first", "personal", "retired", fingerprint="2dd3159defdd")
    VersionStore("ngc", key()).write(
        versions.Secret("ngc", (first, versions.KeyVersion(SECOND, "personal", "current")))
    )
    receipts.keep_receipt("go42tum@lrz", True, {"notes": {"note": NOTE}, "keys": {}})
    audit_history.keep({"sha256:1": {"rule": "LNK-001"}}, PLACE, SERIES, {"started": "2026-01-02"})
    rotate_on("old")
    file = tmp_path / "state.json"
    assert state(["export", str(file)]) == 0
    return file


def key() -> bytes:
    """The key of the machine that we are at."""
    return bytes.fromhex(local_key())


def rotate_on(author: str) -> None:
    """Go on with the rotation, as one of that name."""
    Ledger(key(), signed_record.Author("0" * 8, author, author)).append(MORE)
    kept = encrypt_hash(VALUE, "ngc", "first", key())

    def change(secret: versions.Secret) -> versions.Secret:
        known = tuple(replace(one, sealed=kept) if one.id == "first" else one for one in secret.versions)
        return replace(secret, versions=known)

    VersionStore("ngc", key()).update(change)


def told() -> list[dict[str, Any]]:
    return Ledger(key()).export_records()


def test_all_of_it_is_there_on_another_machine_and_the_chain_verifies(machine: Machine, file: Path) -> None:
    secret, records = VersionStore("ngc", key()).load(), told()
    known, runs = audit_history.read(PLACE, SERIES)
    notes = receipts.read_notes("go42tum@lrz", True)
    new = machine("new")
    assert state(["import", str(file)]) == 0
    assert Ledger(key()).find_misfit() is None
    assert told() == records
    assert len(records) == 4
    there = VersionStore("ngc", key()).load()
    assert there is not None
    assert secret is not None
    assert [(one.id, one.label, one.targets) for one in there.versions] == [
        (one.id, one.label, one.targets) for one in secret.versions
    ]
    assert receipts.read_notes("go42tum@lrz", True) == notes
    assert audit_history.read(PLACE, SERIES) == (known, runs)
    assert {f"{path.stat().st_mode & 0o777:o}" for path in new.rglob("*") if path.is_file()} == {"600"}
    Ledger(key()).append(MORE)
    assert Ledger(key()).find_misfit() is None


RUN: Any = {"schema": last_runs.SCHEMA, "at": "2026-11-20T10:00:00Z", "account": "ada@lrz", "sandbox": False}
RUN |= {"subcommand": "onboard", "ended": "ok", "reached": True}


def test_how_runs_ended_and_the_steps_that_were_done_go_along_and_the_later_word_counts(
    machine: Machine, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine("old")
    early, late = {"at": "2026-11-01T10:00:00Z", "by": "ada@old"}, {"at": "2026-11-02T10:00:00Z", "by": "ada@new"}
    last_runs.add_records([RUN, {**RUN, "subcommand": "audit"}])
    for step in ("agree", "enrol"):
        done_steps.set_mark("ada@lrz", step, early)
    assert state(["export", str(tmp_path / "more.json")]) == 0
    machine("new")
    last_runs.add_records([{**RUN, "at": "2026-11-21T10:00:00Z", "ended": "failed"}])
    done_steps.set_mark("ada@lrz", "enrol", late)
    capsys.readouterr()
    assert state(["import", str(tmp_path / "more.json")]) == 0
    assert "the results of 1 run; 1 manual step that you marked as done" in capsys.readouterr().out
    assert done_steps.read_marks() == {"ada@lrz": {"agree": early, "enrol": late}}
    ends = {verb: one["ended"] for verb, one in last_runs.read_last_runs()["ada@lrz", False].items()}
    assert ends == {"onboard": "failed", "audit": "ok"}


def test_the_same_once_more_changes_nothing(machine: Machine, file: Path) -> None:
    new = machine("new")
    state(["import", str(file)])
    before = {path: path.read_bytes() for path in new.rglob("*") if path.is_file() and "lock" not in path.name}
    assert state(["import", str(file)]) == 0
    assert {path: path.read_bytes() for path in before} == before


def test_no_key_travels(machine: Machine, file: Path) -> None:
    text = file.read_text()
    machine("old")
    every = [local_key(), VALUE, encrypt_hash(VALUE, "ngc", "first", key()), "nvapi-", account_key("go42tum@lrz")]
    every += [signed_record.derive_subkey(key(), purpose).hex() for purpose in ("ledger", "ledger head", "versions")]
    assert [one for one in every if one in text] == []
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_import_says_what_the_export_said(machine: Machine, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.unlink()
    state(["export", str(file)])
    said = json.loads(file.read_text())["checksum"]
    assert said in capsys.readouterr().out
    machine("new")
    assert state(["import", "--checksum", "0" * 64, str(file)]) == 2
    assert "has the checksum" in capsys.readouterr().err
    assert state(["import", "--checksum", said, str(file)]) == 0
    out = capsys.readouterr().out
    assert said in out
    assert "4 records of the ledger, signed by this machine; versions of ngc" in out


def test_what_went_on_there_comes_back(machine: Machine, file: Path, tmp_path: Path) -> None:
    machine("new")
    state(["import", str(file)])
    Ledger(key()).append(MORE)
    VersionStore("ngc", key()).update(lambda secret: versions.mark_dead(secret, "first"))
    back = tmp_path / "back.json"
    assert state(["export", str(back)]) == 0
    machine("old")
    assert state(["import", str(back)]) == 0
    assert len(told()) == 5
    assert Ledger(key()).find_misfit() is None
    first = VersionStore("ngc", key()).load()
    assert first is not None
    assert first.find_version("first").label == "dead"
    assert first.find_version("first").sealed == encrypt_hash(VALUE, "ngc", "first", key()), (
        "what this machine knows stays"
    )


def test_what_is_newer_here_stays(machine: Machine, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine("old")
    rotate_on("old")
    VersionStore("ngc", key()).update(lambda secret: versions.mark_dead(secret, "first"))
    assert state(["import", str(file)]) == 0
    assert "Unchanged on this machine: the ledger, which has 1 record that" in capsys.readouterr().out
    assert len(told()) == 5
    secret = VersionStore("ngc", key()).load()
    assert secret is not None
    assert secret.find_version("first").label == "dead"


def test_a_version_that_is_in_use_here_stays_even_if_the_ledger_was_lost(
    machine: Machine, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = machine("old")
    new = versions.KeyVersion(versions.new_id(), "personal")
    secret = VersionStore("ngc", key()).update(lambda secret: versions.add_pending(secret, new))
    for name in ("ledger.jsonl", "ledger.head"):
        (folder / name).unlink()
    assert state(["import", str(file)]) == 0
    assert "Unchanged on this machine: the versions of ngc, of which the other" in capsys.readouterr().out
    assert VersionStore("ngc", key()).load() == secret


def test_two_that_went_different_ways_are_not_mixed(
    machine: Machine, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = machine("new")
    state(["import", str(file)])
    rotate_on("new")
    machine("old")
    rotate_on("old")
    file.unlink()
    state(["export", str(file)])
    machine("new")
    before = {path: path.read_bytes() for path in folder.rglob("*.json*")}
    assert state(["import", str(file)]) == 2
    assert "nothing was imported: both machines have rotated ngc since" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*.json*")} == before


def test_receipts_are_merged(machine: Machine, file: Path) -> None:
    machine("new")
    mine = {"note of mine": NOTE}
    marks = {"ngc": {"sequence": 3, "rotation": "r", "machine": "m", "when": "w"}}
    receipts.keep_receipt("go42tum@lrz", True, {"notes": mine, "keys": marks})
    state(["import", str(file)])
    after = receipts.read_receipt("go42tum@lrz", True)
    assert after["keys"] == marks
    machine("old")
    assert after["resources"] == {**receipts.read_notes("go42tum@lrz", True), **mine}


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "a record": lambda found: found["ledger"][3].update(result="verified"),
    "a label": lambda found: found["key_versions"]["ngc"]["versions"][0].update(label="purged"),
    "a receipt": lambda found: found["receipts"].clear(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_was_changed_is_refused(machine: Machine, file: Path, change: str) -> None:
    found = json.loads(file.read_text())
    CHANGES[change](found)
    file.write_text(json.dumps(found))
    new = machine("new")
    assert state(["import", str(file)]) == 2
    assert not new.exists()


HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a path as the name of a receipt": lambda found: found["receipts"].update(
        {"../../x.json": found["receipts"].popitem()[1]}
    ),
    "a path as the name of a secret": lambda found: found["key_versions"].update(
        {"../x": found["key_versions"]["ngc"]}
    ),
    "a path as a place": lambda found: found["audits"]["known"].update({"../../x": {"findings": {}}}),
    "a key in a record": lambda found: found["ledger"][0].update(target=VALUE),
    "a field in a record": lambda found: found["ledger"][0].update(key=VALUE),
    "no records": lambda found: found.update(ledger=[1]),
    "a record without a secret": lambda found: found["ledger"][0].pop("secret"),
    "an audit that is none": lambda found: found["audits"]["runs"].append({}),
    "a newer audit": lambda found: found["audits"]["runs"].append({"schema": "hpc.onboard/former-audit/9.0"}),
    "an infinite number": lambda found: found["receipts"].update(
        {"a.json": {"schema": receipts.SCHEMA, "resources": {}, "keys": {"ngc": {"sequence": math.inf, "when": ""}}}}
    ),
    "no receipt": lambda found: found["receipts"].update({"a.json": {"schema": receipts.SCHEMA}}),
    "a day that does not exist": lambda found: found["key_versions"]["ngc"]["versions"][1].update(expires="2027-19-39"),
    "a rotation that is none": lambda found: found["receipts"].update(
        {"a.json": {"schema": receipts.SCHEMA, "resources": {}, "keys": {"ngc": 7}}}
    ),
    "a note without a name": lambda found: found["receipts"]["go42tum@lrz.sandbox.json"]["resources"]["note"].pop(
        "identity"
    ),
    "a run that is none": lambda found: found.update(last_runs=[{"account": "x"}]),
    "an escape sequence in a run": lambda found: found["last_runs"].append({**RUN, "subcommand": "\x1b[2J"}),
    "an escape sequence in a step": lambda found: found.update(done_steps={"a@b": {"c": {"at": "", "by": "\x1b[2J"}}}),
    "newer": lambda found: found.update(schema="hpc.onboard/state-export/2.0"),
    "a newer receipt": lambda found: found["receipts"].update({"a.json": {"schema": "hpc.onboard/receipt/9.0"}}),
}


@pytest.mark.parametrize("change", HOSTILE)
def test_a_file_with_a_right_checksum_is_checked_all_the_same(
    machine: Machine, file: Path, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(file.read_text())
    HOSTILE[change](found)
    file.write_text(json.dumps({**found, "checksum": state_file.hash_document(found)}))
    new = machine("new")
    assert state(["import", str(file)]) == 2
    assert [path for path in new.parent.rglob("*.json*") if path.stat().st_size] == []
    assert ("newer hpc-onboard" in capsys.readouterr().err) == ("newer" in change)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b'{"schema": 1}', b'{"schema": "hpc.onboard/state-export/1.0"}']
)
def test_what_is_no_such_file_is_said_to_be_none(machine: Machine, tmp_path: Path, content: bytes) -> None:
    machine("new")
    (tmp_path / "x").write_bytes(content)
    assert state(["import", str(tmp_path / "x")]) == 2
    assert state(["import", str(tmp_path / "nothing")]) == 2


def test_an_edited_ledger_is_not_exported(machine: Machine, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = machine("old")
    ledger = folder / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b"canary", b"spread", 1))
    assert state(["export", str(file) + "2"]) == 2
    err = capsys.readouterr().err
    assert "was edited" in err
    assert "imported" not in err
    assert not Path(str(file) + "2").exists()


def test_no_file_is_written_over(machine: Machine, file: Path) -> None:
    machine("old")
    before = file.read_bytes()
    assert state(["export", str(file)]) == 2
    assert file.read_bytes() == before


def test_a_full_disk_leaves_no_file(
    file: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_handle: int) -> None:
        raise OSError(28, "no space")

    machine("old")
    monkeypatch.setattr(state_file.os, "fsync", refuse)
    assert state(["export", str(file.with_name("second.json"))]) == 2
    assert "could not write" in capsys.readouterr().err
    assert not file.with_name("second.json").exists()
