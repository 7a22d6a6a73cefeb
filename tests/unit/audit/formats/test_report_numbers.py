# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as CSV, as OpenMetrics and as a digest, each judged by a reader of such files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats import csv_table, digest, openmetrics
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.digest_json import build_digest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.files import render_report
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from report_example import REPORTS, WAIVER, account, example, finding, large, report
from strange_reports import reports

SCHEMAS = Path(__file__).parents[4] / "docs/schemas"
DIGEST = Draft202012Validator(json.loads((SCHEMAS / "audit-digest.schema.json").read_text(encoding="utf-8")))


def table(document: dict[str, Any]) -> list[dict[str, str]]:
    """The lines as Python's csv reads them, which must be those of RFC 4180."""
    written = csv_table.render(document)
    assert written.count("\r\n") == written.count("\n") == len(document["findings"]) + 1
    return list(csv.DictReader(io.StringIO(written, newline=""), strict=True))


def metrics(document: dict[str, Any]) -> dict[tuple[Any, ...], float]:
    """Each sample by its name and labels, as the parser of OpenMetrics reads them."""
    written = openmetrics.render(document)
    assert written.endswith("# EOF\n")
    samples = [one for family in text_string_to_metric_families(written) for one in family.samples]
    return {(one.name.removeprefix("hpc_onboard_audit_"), *one.labels.values()): one.value for one in samples}


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_has_a_line_a_number_and_a_digest(name: str) -> None:
    document = REPORTS[name]
    assert [one["fingerprint"] for one in table(document)] == [one["fingerprint"] for one in document["findings"]]
    assert metrics(document)["failed",] == document["summary"]["failed"]
    DIGEST.validate(build_digest(document))
    assert len(digest.render(document).splitlines()) <= 30


@settings(max_examples=50, deadline=None)
@given(reports)
def test_nothing_strange_calculates_or_starts_a_line(document: dict[str, Any]) -> None:
    for line in table(document):
        assert not [cell for cell in line.values() if cell.lstrip().startswith(("=", "+", "-", "@"))]
    metrics(document)
    DIGEST.validate(build_digest(document))
    assert all(line.isprintable() for line in digest.render(document).splitlines())


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(1)", " =1", "\uff1d1", "\t=1"])
def test_a_formula_is_a_text(cell: str) -> None:
    assert csv_table.as_text(cell) == f"'{cell}"
    assert csv_table.as_text(f"~/{cell}") == f"~/{cell}"


def test_a_line_has_what_was_found_and_what_to_do() -> None:
    first = table(example())[0]
    assert first["difference"] == "mode: 0640 instead of 0600"
    assert (first["cluster"], first["seen"], first["waived_until"]) == ("lrz", "new", "")
    assert first["fix"] == "ansible-playbook onboard.yml -l go42tum@lrz --tags enroot_credentials"


def test_the_number_of_series_is_that_of_the_clusters_and_units_are_in_the_names() -> None:
    found = metrics(example())
    assert found["findings", "lrz", "critical"] == found["accounts", "narval", "unknown"] == 1
    assert (found["changes", "new"], found["changes", "resolved"], found["duration_seconds",]) == (2, 1, 41.3)
    assert found["started_timestamp_seconds",] == 1795284000
    assert len(metrics(large(300, 5290))) == len(found)


def test_a_digest_says_what_is_new_what_was_known_and_what_is_resolved() -> None:
    lines = digest.render(example()).splitlines()
    assert lines[0] == ("Audit 2026-11-21 18:00 UTC: 1 critical, 3 high, 2 medium, 1 low, on 5 of 5 accounts.")
    assert lines[2] == "Since 2026-10-18 18:00 UTC: 2 new, 0 changed, 1 resolved, 6 unchanged."
    new, known = lines.index("New or changed:"), lines.index("Unchanged:")
    assert (known - new, lines.index("Resolved:") - known) == (3, 5)
    assert lines[new + 1].startswith("- critical: go42tum@lrz: The file with the key for nvcr.io can be read")
    since = {**example(), "run": {**example()["run"], "since": "last"}}
    assert "Unchanged:" not in digest.render(since)


def test_a_digest_names_the_place_of_each_finding_and_expired_waivers() -> None:
    text = "A deactivated key of 'ngc' is in this file (key c7669fbac6d7)." + " It may still work." * 9
    findings = [
        finding("SEC-004", "ada@dfki", "keys", place=place, text=text, new=True) for place in ("~/a:1", "~/b:3")
    ]
    expired = {"rule": "ENV-001", "account": "*", "resource": "*", **WAIVER, "state": "expired"}
    lines = digest.render(report([account("ada@dfki")], findings, waivers=[expired])).splitlines()
    assert lines[3] == "1 waiver has expired (audit/waivers.yml:12)."
    assert [(len(line), line.rpartition("…")[2]) for line in lines if "SEC-004" in line] == [
        (160, f" ({place}, SEC-004, new)") for place in ("~/a:1", "~/b:3")
    ]


def test_a_digest_of_hundreds_of_accounts_is_30_lines_and_one_event_is_one_of_them() -> None:
    moved = [
        finding("LNK-003", f"u{n:03}@lrz", "link ~/s", text=f"~/s leads to /old/u{n:03}.", new=True,
                event="~/s leads to /old/$USER.")
        for n in range(97)
    ]  # fmt: skip
    document = large(300, 5290)
    document = report(document["accounts"], [*document["findings"], *moved], history=document["history"])
    lines = digest.render(document).splitlines()
    assert len(lines) <= 30
    assert "- high: 97 accounts: ~/s leads to /old/$USER. (link ~/s, LNK-003, new)" in digest.render(
        report(document["accounts"], moved)
    )


@pytest.mark.parametrize(("kind", "shown"), [("csv", 2), ("md", 2), ("sarif", 9), ("json", 9)])
def test_lists_for_people_are_shorter_since_the_last_audit_and_documents_for_programs_are_whole(
    kind: str, shown: int
) -> None:
    document = example()
    document["run"]["since"] = "last"
    written = render_report(document, kind)
    assert sum(one["fix"] == [] or one["text"] in written for one in document["findings"]) == shown


@pytest.mark.parametrize("kind", ["md", "html"])
def test_findings_that_are_neither_new_nor_changed_are_no_clean_account(kind: str) -> None:
    document = example()
    document["run"]["since"] = "last"
    for one in document["findings"]:
        one.update(new=False, changed=False)
    written = render_report(document, kind)
    assert "none of them is new or changed" in written
    assert "No problems found" not in written
