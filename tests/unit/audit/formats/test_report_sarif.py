# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as SARIF: valid by its official schema, and read by a reader of such files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.sarif import build_message, render
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.catalogue import RULES
from hypothesis import given, settings
from jsonschema import Draft4Validator
from report_example import REPORTS, example, finding, large, report
from sarif.loader import load_sarif_file
from strange_reports import reports, texts

from tests.effort import turns

pytestmark = turns(2)

SCHEMA = json.loads((Path(__file__).parent / "standards/sarif-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = Draft4Validator(SCHEMA, format_checker=Draft4Validator.FORMAT_CHECKER)


def run(document: dict[str, Any]) -> Any:
    """The one run."""
    (found,) = json.loads(render(document))["runs"]
    return found


def results(document: dict[str, Any]) -> dict[str, Any]:
    """The results by rule."""
    return {one["ruleId"]: one for one in run(document)["results"]}


@pytest.mark.parametrize("name", REPORTS)
def test_it_is_valid(name: str) -> None:
    said = render(REPORTS[name])
    assert said.isascii()
    VALIDATOR.validate(json.loads(said))


@settings(max_examples=30, deadline=None)
@given(reports)
def test_what_is_strange_is_valid_too(document: dict[str, Any]) -> None:
    VALIDATOR.validate(json.loads(render(document)))


@settings(deadline=None)
@given(texts)
def test_no_message_has_a_link_or_a_place_to_fill_in(said: str) -> None:
    made = build_message(said)["text"]
    assert not re.search(r"\]\(|(?<!\{)\{\d+\}(?!\})", made)


def test_a_reader_finds_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "audit.sarif").write_text(render(example()), encoding="utf-8")
    read = load_sarif_file(str(tmp_path / "audit.sarif"))
    assert read.get_distinct_tool_names() == ["hpc.onboard audit"]
    counts = read.get_report().get_issue_type_histogram_for_severity("error")
    assert {"SEC-001", "KEY-002", "LNK-003", "RUN-002"} == {name.split()[0] for name in counts}
    records = {record["Code"]: record for record in read.get_records()}
    assert (records["KEY-002"]["Location"], records["KEY-002"]["Line"]) == ("inventory/accounts.yml", 12)


def test_severities_are_levels() -> None:
    levels = {rule: result["level"] for rule, result in results(example()).items()}
    assert levels["SEC-001"] == levels["LNK-003"] == "error"
    assert levels["KEY-007"] == "warning"
    assert levels["ORP-001"] == levels["RUN-001"] == "note"


def test_a_result_lies_where_it_is_declared_and_else_at_the_playbook() -> None:
    found = results(example())
    where = {rule: one["locations"][0]["physicalLocation"] for rule, one in found.items()}
    assert where["SEC-001"] == {"artifactLocation": {"uri": "inventory/accounts.yml"}, "region": {"startLine": 12}}
    assert where["ORP-001"] == {"artifactLocation": {"uri": "audit.yml"}, "region": {"startLine": 1}}
    (thing,) = found["ENV-002"]["locations"][0]["logicalLocations"]
    assert thing["name"] == "~/.bashrc:7"
    assert thing["fullyQualifiedName"] == "ada@daint/shell_environment/environment in ~/.bashrc"


def test_waivers_are_suppressions_and_baselines_are_told() -> None:
    found = results(example())
    (waived,) = found["PKG-002"]["suppressions"]
    assert (waived["kind"], waived["status"]) == ("external", "accepted")
    assert waived["justification"].startswith("The group's own conda")
    assert waived["location"]["physicalLocation"]["region"] == {"startLine": 12}
    assert "suppressions" not in found["SEC-001"]
    assert (found["SEC-001"]["baselineState"], found["KEY-002"]["baselineState"]) == ("new", "unchanged")
    assert found["DIR-001"]["baselineState"] == "absent"


def test_fingerprints_are_those_of_the_document() -> None:
    for one in example()["findings"]:
        known = results(example())[one["rule"]]["partialFingerprints"]
        assert one["fingerprint"] == f"sha256:{known['hpcOnboard/v1']}"


def test_github_tells_all_results_apart() -> None:
    """By file, rule and this one fingerprint of those that it knows; the form is its own: a hash and a number."""
    found = run(example())["results"]
    same = [
        (
            one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            one["ruleId"],
            one["partialFingerprints"]["primaryLocationLineHash"],
        )
        for one in found
    ]
    assert len({*same}) == len(found)
    assert all(re.fullmatch(r"[0-9a-f]{16}:1", known) for _file, _rule, known in same)


def test_an_account_that_was_not_measured_makes_the_run_unsuccessful() -> None:
    (said,) = run(example())["invocations"]
    assert (said["executionSuccessful"], said["exitCode"]) == (False, 2)
    assert "ada@narval could not be checked" in said["toolExecutionNotifications"][0]["message"]["text"]
    assert said["endTimeUtc"] == "2026-11-21T18:00:41Z"
    assert run(REPORTS["in_order"])["invocations"][0]["executionSuccessful"] is True


def test_github_gets_the_5000_most_severe_results_and_the_rest_is_counted() -> None:
    document = large(300, 5290)
    found = run(document)
    VALIDATOR.validate(json.loads(render(document)))
    severities = [one["properties"]["severity"] for one in found["results"]]
    assert severities == [one["severity"] for one in document["findings"][:5000]]
    (note,) = found["invocations"][0]["toolExecutionNotifications"]
    assert note["level"] == "warning"
    assert note["message"]["text"].startswith("The 290 mildest results are not in this file")
    assert found["invocations"][0]["executionSuccessful"]


def test_what_does_not_apply_does_not_fail() -> None:
    one = finding("LNK-001", "ada@dfki", "link ~/work", **{"class": "not_applicable"})
    result = results(report([example()["accounts"][2]], [one]))["LNK-001"]
    assert (result["kind"], result["level"]) == ("notApplicable", "none")


def test_every_rule_is_told_with_its_help() -> None:
    rules = run(REPORTS["empty"])["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    assert all(rule["helpUri"].endswith(f"docs/rules.md#{rule['id'].lower()}") for rule in rules)
    for result in run(example())["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_resolved_finding_may_have_a_rule_of_another_version() -> None:
    document = example()
    document["resolved"][0]["rule"] = "XYZ-999"
    results = json.loads(render(document))["runs"][0]["results"]
    (result,) = [one for one in results if one["ruleId"] == "XYZ-999"]
    assert "ruleIndex" not in result
