# SPDX-License-Identifier: GPL-3.0-or-later
"""Each document has a schema, which the real ones fit, and docs/formats.md names them all with their versions."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from account_scene import Folder, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import reconcile
from ansible_collections.hpc.onboard.plugins.module_utils._engine import engine, exported_script
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import notes, receipt, receipt_file
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.quick_look import AccountSummary
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import accepted, report, waivers
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats import digest_json
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import SlurmOffers
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.probe import ProbedFact
from ansible_collections.hpc.onboard.plugins.plugin_utils._export_script import script_text
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import preflight, test_job_report
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import ledger
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import VersionStore
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import (
    audit_history,
    done_steps,
    exported_scripts,
    kept_engines,
    last_runs,
    probed_facts,
    receipts,
    signed_record,
    slurm_offers,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import account_key, local_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._state_export import state_file
from ansible_collections.hpc.onboard.plugins.plugin_utils._status import memory, standing
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from tests.effort import turns

DOCS = Path(__file__).parents[3] / "docs"
SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((DOCS / "schemas").glob("*.schema.json"))
}
REGISTRY = Registry().with_resources([(one["$id"], Resource.from_contents(one)) for one in SCHEMAS.values()])
KNOWN = (
    *(notes.SCHEMA, engine.SCHEMA, engine.PLAN, signed_record.SCHEMA, ledger.HEAD_SCHEMA, versions.SCHEMA),
    *(audit_history.KNOWN_SCHEMA, audit_history.RUN_SCHEMA, state_file.SCHEMA, accepted.BASELINE, waivers.SCHEMA),
    *(
        report.SCHEMA,
        digest_json.SCHEMA,
        preflight.SCHEMA,
        test_job_report.SCHEMA,
        last_runs.SCHEMA,
        done_steps.SCHEMA,
        standing.SCHEMA,
    ),
    *(script_text.SCHEMA, exported_script.SCHEMA, exported_scripts.SCHEMA, slurm_offers.SCHEMA, probed_facts.SCHEMA),
    kept_engines.SCHEMA,
)
WRITTEN_BY_PEOPLE = {"accounts", "cluster", "profile"}  # which are checked, and have no version
DETAIL: Any = {
    "accounts": 2,
    "by_severity": {"high": 1},
    "unknown": 0,
    "new": None,
    "resolved": 0,
    "started": "2026-01-01T00:00:00Z",
}


def written(scene: Scene, state: Path) -> dict[str, Any]:
    """A real document of each kind that a test can make here: name -> document."""
    scene.make({"/work": Folder(), "/work/p": Folder()})
    link = {"kind": "storage_link", "path": "~/work", "target": "/work/p"}
    plan = {
        **scene.plan([link, {"kind": "enroot_credential", "machine": "nvcr.io", "secret": "ngc"}]),
        **{"schema": engine.PLAN, "cluster": "lrz", "receipt": True, "fingerprint_key": account_key("a@lrz")},
        "keys": {"ngc": {"known": [], "mark": None}},
    }
    answer = engine.answer(plan, KINDS)
    mark = {
        "sequence": 1,
        "rotation": versions.new_id(),
        "machine": "0" * 16,
        "controller": "",
        "when": ledger.utc_now(),
    }
    known = {"known": [mark["rotation"]], "mark": mark, "writes": True}
    reconcile(receipt.Receipt({}, "lrz", {"ngc": known}), scene.host())
    noted = {key: json.loads(text) for key, text in answer["receipt"]["notes"].items()}
    receipts.keep_receipt("a@lrz", False, {"notes": noted, "keys": {"ngc": mark}})
    book, labels = ledger.Ledger(bytes.fromhex(local_key())), VersionStore("ngc", bytes.fromhex(local_key()))
    book.append(signed_record.Event("ngc", "plan", "begun"))
    labels.read_or_adopt("personal", "0" * 12, ("a@lrz:enroot_credential",), "1" * 64)
    audit_history.keep({"sha256:1": {"rule": "LNK-001"}}, "0" * 12, "1" * 12, DETAIL)
    folder = state / "audit"
    entry = {"kind": "storage_link", "capability": "storage_links", "options": link}
    script: script_text.ScriptData = {
        **{"schema": script_text.SCHEMA, "script": "0" * 16, "account": "a@lrz", "user": "a", "ssh_target": "a@lrz"},
        **{
            "questions": {},
            "seal_key": exported_scripts.seal_key("a@lrz", "0" * 16).hex(),
            "plan": {**plan, "keys": {}},
        },
        "parts": {part: [entry] for part in ("onboard", "audit", "offboard")},
    }  # type: ignore[typeddict-item]
    exported_scripts.add_script("a@lrz", "0" * 16, {"made": ledger.utc_now(), "parts": script["parts"]})
    return {
        "export-script": script,
        "script-result": json.loads(exported_script.seal_result(script, "onboard", "reconcile", answer)),
        "exported-scripts": json.loads((state / "scripts" / "a@lrz.json").read_text()),
        "plan": plan,
        "answer": answer,
        "receipt": json.loads(scene.at(f"~/{receipt_file.PLACE}").read_text()),
        "ledger": json.loads((state / ledger.LEDGER).read_text()),
        "ledger-head": json.loads((state / ledger.HEAD).read_text()),
        "labels": json.loads((state / "secrets" / "ngc.json").read_text()),
        "known-findings": json.loads((folder / f"known-{'0' * 12}.json").read_text()),
        "former-audit": json.loads((folder / audit_history.HISTORY).read_text()),
        "state-export": state_file.collect_state(),
        "waivers": {"schema": waivers.SCHEMA, "waivers": []},
        "preflight": preflighted(state),
        "test-job": tried(state),
        **remembered(state),
    }


def remembered(state: Path) -> dict[str, Any]:
    """The record of a run, what a person said, and the status that comes of them and of the key there is."""
    recorder = last_runs.RunRecorder()
    recorder.add_result("hpc.onboard.converge", "a@lrz", {"outcomes": [], "notes": []})
    assert recorder.write({"a@lrz": "ok"}, {}) == ""
    account_offers: SlurmOffers = {
        "accounts": [{"name": "p", "qos": ["opp"], "default_qos": ""}],
        **{
            "default": "p",
            "default_partition": "gpu",
            "partitions": [{"name": "gpu", "gpus": ["a100"], "minutes": None}],
            "missed": [],
        },
    }  # type: ignore[typeddict-item]
    slurm_offers.keep_offers("a@lrz", account_offers)
    differs: ProbedFact = {"fact": "arch", "result": "differs", "says": "x86_64", "seen": "aarch64", "by": "uname -m"}
    probed_facts.remember("lrz", "a@lrz", "2026-01-01", [differs])
    done_steps.set_mark("a@lrz", "vpn", {"at": "2026-01-01T00:00:00Z", "by": "a@desk"})
    account = AccountSummary("a@lrz", "lrz", False, ("lrz",), ({"id": "ai_group", "text": "Ask."},))
    status = memory.build_status(Path("accounts.yml"), [account], True, datetime(2026, 1, 2, tzinfo=UTC))
    run, said = ((state / file).read_text() for file in (last_runs.FILE, done_steps.FILE))
    kept = kept_engines.KnownEngine("a@lrz", "0" * 64)
    kept.note_gone()
    slurm = json.loads((state / "slurm" / "a@lrz.json").read_text())
    probed = json.loads((state / "probed" / "lrz.json").read_text())
    return {
        "slurm-offers": slurm,
        "kept-engine": json.loads((state / "engines" / "a@lrz.json").read_text()),
        "probed-facts": probed,
        "last-run": json.loads(run),
        "done-steps": json.loads(said),
        "status": status,
    }


def preflighted(state: Path) -> Any:
    """The document of a preflight of one account."""
    file = state / "preflight.json"
    looked = {"a@lrz": {"hpc_onboard_preflight": {"state": "ended", "text": "the ticket ended", "next": "kinit"}}}
    variables = {"ansible_play_hosts_all": ["a@lrz"], "hostvars": looked, "preflight_output": str(file)}
    preflight.report_accounts(variables, variables.get, ledger.utc_now())
    return json.loads(file.read_text(encoding="utf-8"))


def tried(state: Path) -> Any:
    """The document of a try of two accounts, one of which was not reached."""
    file = state / "try.json"
    one = {"what": "~ can be written", "way": "writes", "works": False, "why": "it is full"}
    said = {"state": "fails", "text": "", "checks": [one], "skipped": [{"what": "a container", "why": "no image"}]}
    jobs = {
        "a@lrz": {"hpc_onboard_test_job": {"tried": said}},
        "b@lrz": {"hpc_onboard_test_job": {"msg": "no way there"}},
    }
    variables = {"ansible_play_hosts_all": ["a@lrz", "b@lrz"], "hostvars": jobs, "test_job_output": str(file)}
    assert test_job_report.report_accounts(variables, variables.get, ledger.utc_now(), False)["failed"]
    return json.loads(file.read_text(encoding="utf-8"))


def problems(name: str, document: Any) -> list[str]:
    """What a schema says of a document."""
    return [one.message for one in Draft202012Validator(SCHEMAS[name], registry=REGISTRY).iter_errors(document)]


def test_what_is_written_fits_its_schema_and_says_so(scene: Scene, state: Path) -> None:
    documents = written(scene, state)
    assert {name: problems(name, one) for name, one in documents.items() if problems(name, one)} == {}
    assert {f"hpc.onboard/{name}/" for name in documents} == {
        one["schema"].rpartition("/")[0] + "/" for one in documents.values()
    }
    assert {one["schema"] for one in documents.values()} <= set(KNOWN)
    assert set(documents) | {"audit", "audit-digest", "baseline"} | WRITTEN_BY_PEOPLE == set(
        SCHEMAS
    )  # which have tests of their own


@turns(3)
@pytest.mark.parametrize("name", sorted(set(SCHEMAS) - WRITTEN_BY_PEOPLE - {"audit", "audit-digest"}))
def test_a_schema_refuses_what_lacks_a_field_and_another_major_version(scene: Scene, state: Path, name: str) -> None:
    baseline = {"schema": accepted.BASELINE, "findings": {"sha256:1": {"rule": "LNK-001"}}}
    document = {**written(scene, state), "baseline": baseline}[name]
    assert problems(name, document) == []
    for lost in SCHEMAS[name]["required"]:
        assert problems(name, {key: one for key, one in document.items() if key != lost}), lost
    assert problems(name, {**document, "schema": f"hpc.onboard/{name}/9.0"})


def test_no_key_and_no_value_stands_in_a_receipt(scene: Scene, state: Path) -> None:
    documents = written(scene, state)
    (password,) = (one["options"]["password"] for one in documents["plan"]["resources"] if "password" in one["options"])
    mark = scene.host().fingerprint(password)
    text = json.dumps(documents["receipt"])
    for secret in (password, mark, mark.removeprefix("key "), account_key("a@lrz"), local_key()):
        assert secret not in text


def test_the_page_names_every_document_with_the_version_that_is_written() -> None:
    page = (DOCS / "formats.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| [^|]+ \| `(hpc\.onboard/[^`]+)`", page, re.MULTILINE)) == sorted(KNOWN)
    assert set(re.findall(r"\(schemas/([a-z-]+)\.schema\.json\)", page)) == set(SCHEMAS) - WRITTEN_BY_PEOPLE
