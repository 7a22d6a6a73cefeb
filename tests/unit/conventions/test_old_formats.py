# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a release wrote is read for ever, and the first write upgrades it without losing a word.

tests/fixtures/formats has a folder for each release, with documents as that release wrote them. They are never
edited; a release that changes a format adds a folder. What a newer version may write is made from them here.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from account_scene import HOME, Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._engine import engine
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import notes, receipt
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import accepted
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer, payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.offboarding import undeclared
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import HEAD, LEDGER, Ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import Sidecar
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import VersionError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import audit_history, receipts, signed_record
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import local_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.signed_record import Event

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
OLD = FORMATS / "0.1.0"
PLACE, SERIES = "3fdf880dd273", "782a64ec1e27"
LRZ, WILSON = "go42tum@lrz", "simone@wilson"
AGAIN = Event("ngc", "retire", "begun", "first")


@pytest.fixture
def remembered(state: Path) -> Path:
    """The state folder as 0.1.0 left it."""
    shutil.copytree(OLD / "state", state)
    for path in [state, *state.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return state


def key() -> bytes:
    """The key of the machine that wrote it."""
    return bytes.fromhex(local_key())


def labels() -> Sidecar:
    """The labels that it left."""
    return Sidecar("ngc", key())


# -- ledger and labels -------------------------------------------------------------------------


def test_the_ledger_is_as_it_was_written_and_goes_on(remembered: Path) -> None:
    before = (remembered / LEDGER).read_bytes()
    ledger = Ledger(key())
    assert ledger.verify() is None
    assert [one.seq for one in ledger.records()] == list(range(1, 20))
    assert {one.schema for one in ledger.records()} == {"hpc.onboard/ledger/1.0"}
    assert ledger.who_has("48861d7483d2") == {
        "ada@dfki:enroot_credential": "verified",
        f"{LRZ}:enroot_credential": "verified",
    }
    new = ledger.append(AGAIN)
    assert (new.seq, new.schema, len(new.machine)) == (20, "hpc.onboard/ledger/2.0", 16)
    assert (remembered / LEDGER).read_bytes().startswith(before)
    assert json.loads((remembered / HEAD).read_text())["schema"] == "hpc.onboard/ledger-head/2.0"
    assert ledger.verify() is None
    assert ledger.append(AGAIN).seq == 21


def test_an_edited_line_of_old_still_shows(remembered: Path) -> None:
    file = remembered / LEDGER
    file.write_bytes(file.read_bytes().replace(b"canary", b"spread", 1))
    misfit = Ledger(key()).verify()
    assert misfit is not None
    assert "it was edited" in misfit.why


def test_the_labels_are_read_and_every_word_survives_the_first_write(remembered: Path) -> None:
    file = remembered / "secrets" / "ngc.json"
    before = json.loads(file.read_text())
    secret = labels().secret()
    assert secret is not None
    assert [(one.id, one.label) for one in secret.versions] == [(one["id"], one["label"]) for one in before["versions"]]
    labels().move(lambda known: versions.dead(known, "first"))
    after = json.loads(file.read_text())
    assert (after["schema"], after["seq"]) == ("hpc.onboard/labels/2.0", before["seq"] + 1)
    for old, new in zip(before["versions"], after["versions"], strict=True):
        label = "dead" if old["id"] == "first" else old["label"]
        assert {name: new[name] for name in old} == {**old, "label": label}


# -- what audits remember ----------------------------------------------------------------------


def test_the_history_of_audits_goes_on(remembered: Path) -> None:
    old = [json.loads(line) for line in (remembered / "audit" / "history.jsonl").read_text().splitlines()]
    old_known = json.loads((remembered / "audit" / f"known-{PLACE}.json").read_text())
    known, runs = audit_history.read(PLACE, SERIES)
    assert known == old_known
    assert [{**one, "series": SERIES} for one in runs] == old
    assert len(runs) == 3
    assert audit_history.keep(known, PLACE, SERIES, {"started": "now"}) == []
    assert audit_history.read(PLACE, SERIES) == (known, [*runs, {"started": "now"}])
    lines = [json.loads(line) for line in (remembered / "audit" / "history.jsonl").read_text().splitlines()]
    assert lines[:-1] == old
    assert lines[-1]["schema"] == "hpc.onboard/audit-run/1.2"
    document = json.loads((remembered / "audit" / f"known-{PLACE}.json").read_text())
    assert document == {"schema": "hpc.onboard/audit-known/2.1", "findings": old_known}


def test_the_baseline_is_read() -> None:
    wishes = {"audit_waivers": "", "audit_baseline": str(OLD / "baseline.json"), "audit_baseline_write": False}
    found = accepted.read({"inventory_dir": str(OLD)}, wishes, date(2026, 11, 22))
    assert found.baseline == {
        key: one["since"] for key, one in json.loads((OLD / "baseline.json").read_text())["findings"].items()
    }
    assert found.baseline


# -- receipts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("account", [LRZ, WILSON])
@pytest.mark.usefixtures("remembered")
def test_the_copy_of_a_receipt_is_read_with_every_word(account: str) -> None:
    before = json.loads((OLD / "state" / "receipts" / f"{account}.sandbox.json").read_text())["resources"]
    after = receipts.kept(account, True)
    assert after == {name: notes.upgraded_note(note) for name, note in before.items()}
    assert {one["kind"] for one in undeclared([], after, account.partition("@")[2])} == {
        note["kind"] for note in before.values() if not note["for"]
    }
    for name, note in before.items():
        kept = {word: after[name][word] for word in ("kind", "capability", "identity", "options", "made", "for")}
        assert kept == {word: note[word] for word in kept}
        assert after[name]["state"] == ("done" if note["done"] else "intended")
        assert after[name]["hashes"] == {f: one for f, one in note["hashes"].items() if f != "password"}
    assert receipts.keep(account, True, {"notes": after, "keys": {}}) is None
    assert receipts.document(account, True) == {"schema": notes.SCHEMA, "resources": after, "keys": {}}


@pytest.mark.parametrize("account", [LRZ, WILSON])
def test_the_receipt_of_an_account_is_read_and_the_first_write_upgrades_it(scene: Scene, account: str) -> None:
    content = (OLD / "accounts" / f"{account}.receipt.json").read_bytes()
    scene.make(
        {
            **{path: Folder() for path in ("~/.config", "~/.config/hpc.onboard")},
            f"{HOME}/{receipt.PLACE}": Plain(content, 0o600),
        }
    )
    before = json.loads(content)["resources"]
    script = {"kind": "path_script", "path": "~/x", "content": "#!/bin/sh\n"}
    looked = engine.answer({**scene.plan([script]), "work": "examine", "receipt": True}, KINDS)
    assert set(looked["receipt"]["notes"]) == set(before)
    assert scene.at(f"~/{receipt.PLACE}").read_bytes() == content
    engine.answer({**scene.plan([script]), "receipt": True, "cluster": "lrz"}, KINDS)
    document = json.loads(scene.at(f"~/{receipt.PLACE}").read_text())
    assert document["schema"] == "hpc.onboard/receipt/2.1"
    new = document["resources"].pop("path_script script ~/x")
    assert new["clusters"] == ["lrz"]
    assert document["resources"] == {name: notes.upgraded_note(note) for name, note in before.items()}
    assert "fingerprints" not in json.dumps(document), "they were made with one key for all accounts"


def test_the_answer_is_read() -> None:
    document = (OLD / "answer.json").read_text()
    text = f"\n{payload.FRAME} {len(document)}\n{document}\n{payload.FRAME}\n"
    found = answer.parse(text, "", 0, LRZ)
    assert [one["status"] for one in found["outcomes"]] == ["missing", "missing"]
    assert {one["state"] for one in found["receipt"]["notes"].values()} == {"done"}


def test_both_sides_know_the_same_versions() -> None:
    assert answer.SCHEMA == engine.SCHEMA
    assert receipts.SCHEMA == notes.SCHEMA


# -- what newer versions wrote -----------------------------------------------------------------


class Kind(NamedTuple):
    """A document in the state folder: its file, how it is read, how it is written, and who signs it."""

    file: str
    read: Callable[[], Any]
    write: Callable[[], Any]
    signer: str = ""


def written_receipt() -> Any:
    """Write the copy of a receipt, and fail by what is said."""
    said = receipts.keep(LRZ, True, {"notes": {}, "keys": {}})
    if said:
        raise AccountError(said)


DOCUMENTS = {
    "receipt": Kind(f"receipts/{LRZ}.sandbox.json", lambda: receipts.kept(LRZ, True), written_receipt),
    "labels": Kind(
        "secrets/ngc.json",
        lambda: labels().secret(),
        lambda: labels().move(lambda known: versions.dead(known, "first")),
        "versions",
    ),
    "ledger-head": Kind(
        "ledger.head", lambda: Ledger(key()).records(), lambda: Ledger(key()).append(AGAIN), "ledger head"
    ),
    "ledger": Kind("ledger.jsonl", lambda: Ledger(key()).records(), lambda: Ledger(key()).append(AGAIN), "ledger"),
    "audit-known": Kind(
        f"audit/known-{PLACE}.json",
        lambda: audit_history.read(PLACE, SERIES),
        lambda: audit_history.keep({}, PLACE, SERIES, {}),
    ),
    "audit-run": Kind(
        "audit/history.jsonl",
        lambda: audit_history.read(PLACE, SERIES),
        lambda: audit_history.keep({}, PLACE, SERIES, {}),
    ),
}


def by_a_newer_version(kind: str, document: dict[str, Any], schema: str) -> dict[str, Any]:
    """The document as a newer version would have written it, with fields of its own, signed if it is signed."""
    found = {**document, "schema": schema, "added": [1]}
    signer = DOCUMENTS[kind].signer
    if signer:
        name = "hash" if kind == "ledger" else "mac"
        found.pop(name)
        made = signed_record.subkey(key(), signer)
        text = signed_record.canonical(found).encode()
        found[name] = hmac.new(made, text, hashlib.sha256).hexdigest()
    return found


def rewrite(file: Path, kind: str, version: Callable[[str], str]) -> None:
    """Let a newer version have written the document in a file: of several lines the last one."""
    name = f"hpc.onboard/{kind}/"
    *lines, last = (
        file.read_text().splitlines() if file.suffix == ".jsonl" or kind == "ledger-head" else [file.read_text()]
    )
    document = json.loads(last)
    text = json.dumps(by_a_newer_version(kind, document, name + version(kind)), sort_keys=True, separators=(",", ":"))
    file.write_text("".join(f"{line}\n" for line in (*lines, text)))


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_newer_major_version_is_refused_by_name_and_nothing_is_overwritten(remembered: Path, kind: str) -> None:
    file = remembered / DOCUMENTS[kind].file
    DOCUMENTS[kind].write()
    rewrite(file, kind, lambda _kind: "9.0")
    before = file.read_bytes()
    for work in (DOCUMENTS[kind].read, DOCUMENTS[kind].write):
        with pytest.raises((AccountError, StateError, VersionError)) as error:
            work()
        assert f"written by a newer hpc.onboard ({kind} 9.0; this one knows " in str(error.value)
        assert str(error.value).endswith("update it: pip install -U hpc-onboard"), "and no other advice"
    assert file.read_bytes() == before


@pytest.mark.parametrize("kind", ["receipt", "labels", "audit-known", "audit-run"])
def test_what_a_later_minor_version_added_survives_the_next_write(remembered: Path, kind: str) -> None:
    file = remembered / DOCUMENTS[kind].file
    DOCUMENTS[kind].write()
    schema = f"{ {'receipt': 2, 'labels': 2, 'audit-known': 2, 'audit-run': 1}[kind] }.77"
    rewrite(file, kind, lambda _kind: schema)
    DOCUMENTS[kind].read()
    if kind == "labels":
        labels().move(lambda known: versions.purge(known, "first"))
    else:
        DOCUMENTS[kind].write()
    assert '"added":' in file.read_text()
    assert f"hpc.onboard/{kind}/{schema}" in file.read_text()


def test_a_line_of_a_later_minor_version_is_read_and_the_chain_goes_on(remembered: Path) -> None:
    ledger = Ledger(key())
    ledger.append(AGAIN)
    *lines, last = (remembered / LEDGER).read_text().splitlines()
    newer = by_a_newer_version("ledger", json.loads(last), "hpc.onboard/ledger/2.5")
    (remembered / LEDGER).write_text("".join(f"{line}\n" for line in (*lines, signed_record.canonical(newer))))
    head = {
        "schema": "hpc.onboard/ledger-head/2.0",
        "seq": 20,
        "hash": newer["hash"],
        "size": (remembered / LEDGER).stat().st_size,
    }
    made = signed_record.subkey(key(), "ledger head")
    mac = hmac.new(made, signed_record.canonical(head).encode(), hashlib.sha256).hexdigest()
    (remembered / HEAD).write_text(signed_record.canonical({**head, "mac": mac}) + "\n")
    assert ledger.verify() is None
    assert ledger.append(AGAIN).seq == 21
    assert ledger.records()[19].schema == "hpc.onboard/ledger/2.5"


@pytest.mark.parametrize(("schema", "why"), [("hpc.onboard/baseline/2.0", "newer hpc.onboard"), ("x", "is damaged")])
def test_a_baseline_of_a_newer_version_is_refused(tmp_path: Path, schema: str, why: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps({"schema": schema, "findings": {}}))
    with pytest.raises(AccountError, match=why):
        accepted.read(
            {}, {"audit_waivers": "", "audit_baseline": str(file), "audit_baseline_write": False}, date.today()
        )


def test_an_answer_of_a_newer_version_is_refused() -> None:
    document = json.dumps({**json.loads((OLD / "answer.json").read_text()), "schema": "hpc.onboard/answer/2.0"})
    text = f"\n{payload.FRAME} {len(document)}\n{document}\n{payload.FRAME}\n"
    with pytest.raises(
        answer.NoAnswer, match=r"the answer of go42tum@lrz was written by a newer hpc.onboard \(answer 2.0"
    ):
        answer.parse(text, "", 0, LRZ)


def test_a_plan_of_a_newer_version_is_refused(scene: Scene) -> None:
    said = engine.answer({**scene.plan([]), "schema": "hpc.onboard/plan/2.0"}, KINDS)
    assert "the plan was written by a newer hpc.onboard (plan 2.0; this one knows 1.3)" in said["error"]
